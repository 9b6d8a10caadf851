"""Reading a run, whether or not a process is working in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shapband.access.meter import AccessReport, Usage
from shapband.estimate.estimator import Estimator
from shapband.runs.extensions import Extension
from shapband.runs.fingerprints import is_unchecked
from shapband.runs.ledger import COLUMNS
from shapband.runs.plausible import check_choices, check_valuation, readable
from shapband.runs.refused import RefusedAnswer, refused_answers
from shapband.runs.store import RunStore
from shapband.sampling.participations import OwnClass
from shapband.valuation.document import check_design
from shapband.valuation.valuation import Valuation

if TYPE_CHECKING:
    import pandas as pd

State = Literal["running", "interrupted", "finished"]


@dataclass(frozen=True, eq=False)
class RunStatus:
    """The progress and cost of a run.

    Attributes
    ----------
    state : ``running`` while a process is working in it, ``interrupted`` if none is and games are
        left to play, or ``finished``
    manifest : the arguments of the run after its extensions, and the versions and data it was
        begun with
    access : requests, records and seconds so far
    done : games played
    n_games : games asked for; a budget or a stopping rule may end the run before
    valuation : the result. Before the end, the result of the games so far, without the values of
        single games; None if fewer than two games are done, or if a participation of your own
        says who takes part
    unanswered : requests without an answer: under way, or lost when the process ended
    digest : the digest of the last ledger entry, which depends on everything stored before it
    refused : answers that could not be used; their records are counted in `access`
    extensions : what was changed since the run was begun

    Examples
    --------
    >>> import shapband as sb, tempfile
    >>> task = sb.datasets.wine()
    >>> folder = tempfile.TemporaryDirectory()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=5,
    ...                      seed=0, run=f"{folder.name}/my-run")
    >>> sb.load(f"{folder.name}/my-run").status.state
    'finished'
    >>> folder.cleanup()
    """

    state: State
    manifest: Mapping[str, Any]
    access: AccessReport
    done: int
    n_games: int
    valuation: Valuation | None
    unanswered: int
    digest: str
    refused: tuple[RefusedAnswer, ...] = ()
    extensions: tuple[Extension, ...] = ()

    @property
    def no_result(self) -> str:
        """Why there is no valuation yet."""
        if self.done < 2:
            return "fewer than two games are done, so there is no result yet"
        return (
            f"{self.done:,} games are done; who takes part is decided by a class of your own, "
            "which is not imported here, so there is no result before the end"
        )

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Providers whose data may have changed during the run: their sources state no version."""
        arguments = self.manifest["arguments"]
        return tuple(
            name
            for name in self.manifest["providers"]
            if is_unchecked(arguments.get(f"data of provider {name!r}", ""))
        )


class Run:
    """A run directory, opened for reading by `load`.

    Every property reads the directory again, so a run in progress can be followed.

    Attributes
    ----------
    path : the directory

    Examples
    --------
    >>> import shapband as sb, tempfile
    >>> task = sb.datasets.wine()
    >>> folder = tempfile.TemporaryDirectory()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=5,
    ...                      seed=0, run=f"{folder.name}/my-run")
    >>> sb.load(f"{folder.name}/my-run").ledger.outcome.tolist()
    ['noted', 'taken', 'solved', 'finished']
    >>> folder.cleanup()
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        RunStore.open(path).close()  # refuses what is not a run

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def status(self) -> RunStatus:
        """How far the run has come, and what it has cost."""
        return status_of(self.path)

    @property
    def valuation(self) -> Valuation | None:
        """The result, or the result of the games so far; None before two games are done."""
        return self.status.valuation

    @property
    def earlier_results(self) -> list[Valuation]:
        """The results that the run had before it was extended, the oldest first.

        They do not hold the values of single games. An extension of an unfinished run has none.
        """
        with RunStore.open(self.path) as store:
            return store.earlier_results()

    @property
    def ledger(self) -> pd.DataFrame:
        """Every request to a source and everything stored, one row each, in order."""
        import pandas as pd

        with RunStore.open(self.path) as store, readable(self.path, "the ledger"):
            entries = [asdict(entry) for entry in store.ledger.entries()]
        return pd.DataFrame(entries, columns=list(COLUMNS)).set_index("id")

    def verify(self) -> None:
        """Raise RunDamaged unless everything stored is as it was written."""
        with RunStore.open(self.path) as store:
            store.verify()


def load(run: str | os.PathLike[str]) -> Run:
    """Open the directory of a run to read it.

    Examples
    --------
    >>> import shapband as sb, tempfile
    >>> task = sb.datasets.wine()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     valuation = sb.value(task.providers, task.utility, sampling=sb.Pooled(250, 60),
    ...                          n_games=20, seed=0, run=f"{folder}/my-run")
    ...     run = sb.load(f"{folder}/my-run")
    ...     run.verify()
    ...     run.status.state, run.valuation.n_games, len(run.ledger)
    ('finished', 20, 6)
    """
    return Run(Path(run))


def status_of(run: Path, result: Valuation | None = None) -> RunStatus:
    """Read how far a run has come; the `result` of one that has just finished is not read again."""
    with RunStore.open(run) as store, readable(run, "the database"):
        valuation = store.finished() if result is None else result
        used = store.usage()
        names = store.manifest["providers"]
        # Providers that were left out have been paid, so they stay in the report.
        access = AccessReport({name: used.get(name, Usage()) for name in names} | dict(used))
        state: State = "finished"
        if valuation is None:  # a finished run can be read where files cannot be locked
            state = "running" if store.is_locked else "interrupted"
        return RunStatus(
            state=state,
            manifest=store.manifest,
            access=access,
            done=store.games.solved(),
            n_games=store.manifest["n_games"],
            valuation=valuation or _so_far(store, access),
            unanswered=store.unanswered(),
            digest=store.ledger.digest,
            refused=refused_answers(store.ledger),
            extensions=store.extensions,
        )


def _so_far(store: RunStore, access: AccessReport) -> Valuation | None:
    """The valuation from the games so far.

    There is none if a class of the user decides who takes part, because reading a run imports no
    classes of the user.
    """
    design, done = store.games.design(store.manifest), store.games.solved()
    if design is None or done < design.least_games or isinstance(design.participation, OwnClass):
        return None
    check_design(design)
    check_choices(design)
    if design.participation is not None:
        design.participation.check(design.names)
        if design.rounds:
            design.participation.check_rounds(design.rounds)
    estimator = Estimator(design)
    for solution in store.games.solved_chunks():
        estimator.add(solution)
    evaluations, failures = store.games.counts(range(done))
    valuation = Valuation(
        design=design,
        estimate=estimator.estimate(),
        games=np.empty((0, len(design.names))),
        access=access,
        evaluations=evaluations,
        failures=failures,
        stopped="so far: the run is not finished",
        stopped_code="unfinished",
        seconds=store.games.seconds(done),
        group_estimate=estimator.group_estimate(),
        pair_estimate=estimator.pair_estimate(),
        round_estimate=estimator.round_estimate(),
        variance_split=estimator.variance_split(),
    )
    check_valuation(valuation, store.manifest)
    return valuation
