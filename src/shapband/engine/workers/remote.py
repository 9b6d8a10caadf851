"""Workers in other processes, on this machine or on others.

A job is pickled and sent once; every process unpickles it with its first task and keeps it. Tasks
and results are sent as bytes too, so that the cluster software needs none of the user's modules,
and an error arrives as it was raised, not wrapped by the cluster software.
"""

from __future__ import annotations

import pickle
import threading
import traceback
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import uuid4

import cloudpickle

from shapband.checks import error_line
from shapband.engine.workers.base import Answer, Job, Workers, in_order
from shapband.errors import EvaluationError, InvalidInput

JOB = "the utility or the solver"  # names in errors what in a job may fail to be sent
_KEPT_JOBS = 4  # each process keeps this many jobs, so that several valuations can share workers


@dataclass(frozen=True, eq=False)
class ShippedJob:
    """A job that was sent to other processes.

    Attributes
    ----------
    job : the job itself
    token : the name under which processes keep it
    place : where processes find it; its form depends on the kind of workers
    """

    job: Job[Any]
    token: str
    place: Any


class RemoteWorkers(Workers):
    """Workers that are other processes."""

    def __init__(self) -> None:
        self._shipped_job: ShippedJob | None = None

    @abstractmethod
    def ship(self, job: Job[Any]) -> Any:
        """Put a job where every process finds it, and return that place."""

    @abstractmethod
    def submit(self, shipped: ShippedJob, task: bytes) -> Any:
        """Submit a call of `perform` to some process, and return a handle to its result."""

    @abstractmethod
    def result(self, handle: Any) -> bytes:
        """Wait for a result."""

    @abstractmethod
    def cancel(self, handle: Any) -> None:
        """Cancel a task whose result is not needed any more."""

    def map(self, job: Job[Answer], tasks: Iterator[Any], n_tasks: int) -> Iterator[Answer]:  # noqa: ARG002
        shipped = self._shipped(job)
        return in_order(
            lambda task: self.submit(shipped, seal(job.packed(task), "a draw")),
            lambda handle: cast(Answer, opened_result(self.result(handle))),
            self.cancel,
            _rehearsed(job, tasks),
            2 * self.n_jobs,
        )

    def _shipped(self, job: Job[Any]) -> ShippedJob:
        """Send a job unless it was sent before: the stages of a valuation share one job."""
        if self._shipped_job is None or self._shipped_job.job is not job:
            self._shipped_job = ShippedJob(job, uuid4().hex, self.ship(job))
        return self._shipped_job


def _rehearsed(job: Job[Any], tasks: Iterator[Any]) -> Iterator[Any]:
    """Rehearse the first task before it is sent."""
    for count, task in enumerate(tasks):
        if not count:
            job.rehearse(task)
        yield task


def seal(
    thing: object, what: str, keep: Callable[[pickle.PickleBuffer], bool] | None = None
) -> bytes:
    """Pickle an object, including functions and classes of the main script.

    `keep` is called with every array, and returns whether it is pickled with the rest.
    """
    try:
        sealed: bytes = cloudpickle.dumps(thing, buffer_callback=keep)
    except Exception as cause:
        raise InvalidInput(
            f"{what} cannot be sent to another process: use n_jobs=1, or take out what cannot "
            f"be pickled ({error_line(cause)})"
        ) from cause
    return sealed


@dataclass(frozen=True, eq=False)
class _Outcome:
    """The answer of a task, or its error, and the warnings that it caused."""

    answer: Any = None
    error: Exception | None = None
    trace: str = ""
    warned: tuple[tuple[str, type[Warning]], ...] = ()


class _RemoteTrace(Exception):
    """The traceback of an error in another process, shown as its cause."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def perform(token: str, fetch: Callable[[], bytes], task: bytes) -> bytes:
    """Do a task in this process; `fetch` gets the bytes of a job that is not yet known here."""
    outcome = _caught(
        lambda: _kept_job(token, lambda: cloudpickle.loads(fetch()))(cloudpickle.loads(task))
    )
    sealed: bytes = cloudpickle.dumps(outcome)
    return sealed


def prepare(token: str, open_job: Callable[[], Job[Any]]) -> bytes:
    """Open a job in this process before its first task, and drop all other jobs.

    Returns b"", or the pickled outcome if the job cannot be opened. Warnings are reported with the
    first task.
    """
    _kept.clear()
    outcome = _caught(lambda: _kept_job(token, open_job))
    _untold.extend(outcome.warned)
    if outcome.error is None:
        return b""
    failed: bytes = cloudpickle.dumps(outcome)
    return failed


def perform_prepared(token: str, task: bytes) -> bytes:
    """Do a task whose job was prepared."""
    outcome = _caught(lambda: _kept[token](cloudpickle.loads(task)))
    sealed: bytes = cloudpickle.dumps(replace(outcome, warned=(*_untold, *outcome.warned)))
    _untold.clear()
    return sealed


def _caught(work: Callable[[], Any]) -> _Outcome:
    """Call a function, and return its result or its error, with its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        try:
            outcome = _Outcome(work())
        except Exception as error:  # noqa: BLE001  raised again where the result is awaited
            outcome = _Outcome(error=_portable(error), trace=traceback.format_exc())
    warned = dict.fromkeys((str(one.message), one.category) for one in caught)
    return replace(outcome, warned=tuple(warned))


def perform_sealed(token: str, sealed: bytes, task: bytes) -> bytes:
    """Do a task whose job was sent with it."""
    return perform(token, lambda: sealed, task)


def opened_result(sealed: bytes) -> Any:
    """Return the answer of a task, or raise its error.

    The task's warnings are issued in this process, where equal ones are shown once and secrets are
    hidden.
    """
    outcome: _Outcome = cloudpickle.loads(sealed)
    for text, category in outcome.warned:
        warnings.warn(text, category, stacklevel=2)
    if outcome.error is not None:
        raise outcome.error from _RemoteTrace(outcome.trace)
    return outcome.answer


_kept: dict[str, Job[Any]] = {}
_untold: list[tuple[str, type[Warning]]] = []  # warnings from preparing a job, not yet reported
_keeping = threading.Lock()


def _kept_job(token: str, open_job: Callable[[], Job[Any]]) -> Job[Any]:
    """Return the job of this name, opened once in this process."""
    with _keeping:
        if token not in _kept:
            job = open_job()
            job.set_up_worker()
            _kept[token] = job
            if len(_kept) > _KEPT_JOBS:
                del _kept[next(iter(_kept))]
        return _kept[token]


def _portable(error: Exception) -> Exception:
    """Return the error itself if it can be pickled, else its kind and message."""
    if _can_be_pickled(error):
        return error
    return EvaluationError(error_line(error))


def _can_be_pickled(error: Exception) -> bool:
    """Whether an error survives pickling unchanged."""
    try:
        copy = cloudpickle.loads(cloudpickle.dumps(error))
    except Exception:  # noqa: BLE001  any error means no
        return False
    return type(copy).__name__ == type(error).__name__ and str(copy) == str(error)
