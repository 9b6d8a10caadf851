"""Read a run, whether or not a process is at work in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shapband._typing import FloatArray
from shapband.access.meter import AccessReport, Usage
from shapband.grouping import Grouping
from shapband.groups import Groups
from shapband.moments.fold import Fold
from shapband.moments.grouped import GroupFold
from shapband.runs.fingerprints import is_unchecked
from shapband.runs.ledger import COLUMNS
from shapband.runs.plausible import check_facts, check_valuation, is_averaged, readable
from shapband.runs.refused import RefusedAnswer, refused_answers
from shapband.runs.store import RunStore
from shapband.sampling.base import PoolDesign
from shapband.sampling.participation import Presence
from shapband.sampling.participations import OWN, from_plain
from shapband.sampling.shared import Shared
from shapband.sampling.targets import OddLabel
from shapband.seeds import Seeds
from shapband.valuation import Valuation

if TYPE_CHECKING:
    import pandas as pd

State = Literal["running", "interrupted", "finished"]


@dataclass(frozen=True, eq=False)
class RunStatus:
    """How far a run has come.

    Attributes
    ----------
    state : ``running`` while a process is at work in it, ``interrupted`` if none is and there
        are games left to play, or ``finished``
    manifest : what the run was asked to do, and with what
    access : what was asked of the sources so far
    done : games played
    n_games : games asked for; a budget or a stopping rule may end the run before
    valuation : the result; before the end that of the games so far, without their single
        values, or None while there are fewer than two, or if a participation of your own says
        who takes part
    unanswered : requests without an answer: under way, or cut off with the process that asked
    digest : that of the last ledger entry, which depends on everything stored before it
    refused : answers that could not be used; their records are counted in `access`

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
    """A run directory, opened to be read. `load` makes it.

    Every property reads the directory anew, so a run in progress can be followed.

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
        with RunStore.open(self.path) as store, readable(self.path, "the database"):
            return _status(store)

    @property
    def valuation(self) -> Valuation | None:
        """The result, or that of the games so far; None while there are fewer than two."""
        return self.status.valuation

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
    ('finished', 20, 5)
    """
    return Run(Path(run))


def _status(store: RunStore) -> RunStatus:
    valuation = store.finished()
    used = store.usage()
    names = store.manifest["providers"]
    access = AccessReport({name: used.get(name, Usage()) for name in names})
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
    )


def _so_far(store: RunStore, access: AccessReport) -> Valuation | None:
    """The valuation that the games so far give."""
    facts = store.games.facts()
    names, done = store.manifest["providers"], store.games.solved()
    certain = "certain" in store.manifest["setup"]
    if facts is None or done < (1 if certain else 2) or _is_own(facts):
        return None
    check_facts(facts, len(names))
    fold = Fold(
        len(names),
        facts["group"],
        _design(store.manifest, facts),
        *_participation(store.manifest, facts),
        certain=certain,
    )
    grouping = Grouping.of_labels(store.manifest.get("groups") or ())
    group_fold = None if grouping is None else GroupFold(grouping, facts["group"], certain=certain)
    for solution in store.games.solved_chunks():
        fold.add_solved(solution)
        if group_fold is not None and solution.group_noise is not None:
            group_fold.add(solution.values, solution.group_noise)
    moments, groups = fold.moments(), None
    if grouping is not None and group_fold is not None:
        groups = Groups(grouping, tuple(names), group_fold.moments(moments), moments)
    pools, distinct = facts["pool_sizes"], facts.get("distinct_records")
    evaluations, failures = store.games.counts(range(done))
    valuation = Valuation(
        names=tuple(names),
        moments=moments,
        games=np.empty((0, len(names))),
        access=access,
        evaluations=evaluations,
        failures=failures,
        draw_sizes=np.array(facts["draw_sizes"], dtype=np.int64),
        pool_sizes=None if pools is None else np.array(pools, dtype=np.int64),
        target=facts["target"],
        target_code=facts["target_code"],
        stopped="so far: the run is not finished",
        stopped_code="unfinished",
        seed=store.manifest["seed"],
        setup=store.manifest["setup"],
        seconds=store.games.seconds(done),
        groups=groups,
        distinct_records=None if distinct is None else np.array(distinct, dtype=np.float64),
        shared_records=tuple(Shared.of(pair) for pair in facts.get("shared_records", ())),
        one_target=tuple(facts.get("one_target", ())),
        odd_labels=tuple(OddLabel(*one) for one in facts.get("odd_labels", ())),
    )
    check_valuation(valuation, store.manifest)
    return valuation


def _is_own(facts: Mapping[str, Any]) -> bool:
    """Whether a class of the user's own says who takes part; reading a run imports none."""
    participation = facts.get("participation")
    return participation is not None and participation["kind"] == OWN


def _participation(
    manifest: Mapping[str, Any], facts: Mapping[str, Any]
) -> tuple[Presence | None, FloatArray | None]:
    """Who takes part in which games, or the rates if values are averaged over that."""
    if facts.get("participation") is None:
        return None, None
    names = tuple(manifest["providers"])
    participation = from_plain(facts["participation"])
    participation.check(names)
    if is_averaged(manifest):
        return None, participation.rates(names)
    return Presence(participation, Seeds(manifest["seed"]), names), None


def _design(manifest: Mapping[str, Any], facts: Mapping[str, Any]) -> PoolDesign | None:
    """How the games choose their records, or None without pools and in runs of older versions."""
    if facts.get("unseen") is None:
        return None
    return PoolDesign(
        seed=manifest["seed"],
        names=tuple(manifest["providers"]),
        pool_sizes=tuple(facts["pool_sizes"]),
        draw_sizes=tuple(facts["draw_sizes"]),
        unseen=tuple(facts["unseen"]),
        replace=facts["replace"],
        per_shuffle=facts["group"],
    )
