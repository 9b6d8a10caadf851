"""Workers in other processes, on this machine or on others.

A job is sealed into bytes and sent once; every process opens it when its first task comes, and
keeps it. Tasks and results travel as bytes too, so the engine in between, whichever it is, moves
them without looking inside: it needs none of the user's modules, and an error comes back as it
was raised, not in the engine's wrapping.
"""

from __future__ import annotations

import threading
import traceback
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast
from uuid import uuid4

import cloudpickle

from shapband.checks import one_line
from shapband.errors import EvaluationError, InvalidInput
from shapband.execution.base import Answer, Job, Workers, in_order

_KEPT_JOBS = 4  # in each process: as many valuations can share workers without sending jobs again


@dataclass(frozen=True, eq=False)
class ShippedJob:
    """A job that was sent away.

    Attributes
    ----------
    job : the job itself
    token : the name under which processes keep it
    place : where processes find its bytes, as the kind of workers understands it
    """

    job: Job[Any]
    token: str
    place: Any


class RemoteWorkers(Workers):
    """Workers that are other processes."""

    def __init__(self) -> None:
        self._shipped_job: ShippedJob | None = None

    @abstractmethod
    def ship(self, sealed: bytes) -> Any:
        """Put the bytes of a job where every process finds them, and tell where that is."""

    @abstractmethod
    def submit(self, shipped: ShippedJob, task: bytes) -> Any:
        """Have `perform` called in some process, and give a handle to its result."""

    @abstractmethod
    def result(self, handle: Any) -> bytes:
        """Wait for a result."""

    @abstractmethod
    def cancel(self, handle: Any) -> None:
        """Give up a task that nobody waits for any more."""

    def map(
        self,
        job: Job[Answer],
        tasks: Iterator[Any],
        n_tasks: int,  # noqa: ARG002  some workers want to know it
    ) -> Iterator[Answer]:
        """Apply the job to every task, elsewhere."""
        shipped = self._shipped(job)
        return in_order(
            lambda task: self.submit(shipped, seal(job.packed(task), "a draw")),
            lambda handle: cast(Answer, opened_result(self.result(handle))),
            self.cancel,
            tasks,
            2 * self.n_jobs,
        )

    def _shipped(self, job: Job[Any]) -> ShippedJob:
        """Send a job, unless it was sent before: a valuation maps the same one in many stages."""
        if self._shipped_job is None or self._shipped_job.job is not job:
            place = self.ship(seal(job, "the utility or the solver"))
            self._shipped_job = ShippedJob(job, uuid4().hex, place)
        return self._shipped_job


def seal(thing: object, what: str) -> bytes:
    """Turn anything into bytes, functions and classes of the main script included."""
    try:
        sealed: bytes = cloudpickle.dumps(thing)
    except Exception as cause:
        raise InvalidInput(
            f"{what} cannot be sent to another process: use n_jobs=1, or take out what cannot "
            f"be pickled ({type(cause).__name__}: {one_line(cause)})"
        ) from cause
    return sealed


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What became of a task."""

    answer: Any = None
    error: Exception | None = None
    trace: str = ""


class _Elsewhere(Exception):
    """The trace of an error in another process, shown as its cause."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def perform(token: str, fetch: Callable[[], bytes], task: bytes) -> bytes:
    """Do a task in the process that this is called in.

    Parameters
    ----------
    token : name of the job
    fetch : gets the job's bytes if this process does not have it yet
    task : the sealed task
    """
    try:
        outcome = _Outcome(_kept_job(token, fetch)(cloudpickle.loads(task)))
    except Exception as error:  # noqa: BLE001  whatever it is, it is raised where it is waited for
        outcome = _Outcome(error=_portable(error), trace=traceback.format_exc())
    sealed: bytes = cloudpickle.dumps(outcome)
    return sealed


def opened_result(sealed: bytes) -> Any:
    """Give the answer of a task, or raise the error that it raised."""
    outcome: _Outcome = cloudpickle.loads(sealed)
    if outcome.error is not None:
        raise outcome.error from _Elsewhere(outcome.trace)
    return outcome.answer


_kept: dict[str, Job[Any]] = {}
_keeping = threading.Lock()


def _kept_job(token: str, fetch: Callable[[], bytes]) -> Job[Any]:
    """Give the job of this name, opened once in this process."""
    with _keeping:
        if token not in _kept:
            job: Job[Any] = cloudpickle.loads(fetch())
            job.set_up_worker()
            _kept[token] = job
            if len(_kept) > _KEPT_JOBS:
                del _kept[next(iter(_kept))]
        return _kept[token]


def _portable(error: Exception) -> Exception:
    """Give the error itself if it survives the journey, else its kind and message."""
    if _survives(error):
        return error
    return EvaluationError(f"{type(error).__name__}: {one_line(error)}")


def _survives(error: Exception) -> bool:
    """Whether an error can be taken apart and put together again."""
    try:
        copy = cloudpickle.loads(cloudpickle.dumps(error))
    except Exception:  # noqa: BLE001  whatever stands in the way, the answer is no
        return False
    return type(copy).__name__ == type(error).__name__ and str(copy) == str(error)
