"""Runs from beginning to end: started, resumed after any interruption, and looked at."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shapband.access.access import Access
from shapband.access.meter import AccessReport, Usage
from shapband.engine import Watch, play
from shapband.errors import (
    BudgetExceeded,
    InvalidInput,
    RunDamaged,
    RunError,
    VersionsChanged,
)
from shapband.moments.accumulate import Fold
from shapband.providers import Provider
from shapband.runs.built import Built, Description
from shapband.runs.ledger import now
from shapband.runs.store import RunStore, discard_untouched
from shapband.runs.versions import changes, versions
from shapband.sampling.base import Realisation, Sampling
from shapband.seeds import Seeds
from shapband.valuation import Valuation

State = Literal["running", "interrupted", "finished"]


@dataclass(frozen=True, eq=False)
class RunStatus:
    """How a run stands.

    Attributes
    ----------
    run : the directory
    state : ``running`` while a process is at work in it, ``interrupted`` if none is and there
        are games left to play, or ``finished``
    manifest : what the run was asked to do, and with what
    access : what was asked of the sources so far
    done : games played
    n_games : games asked for; a budget or a stopping rule may end the run before
    valuation : the result; before the end that of the games so far, without their single
        values, or None while there are fewer than two
    unanswered : requests that have no answer: under way, or cut off with the process that asked
    digest : the last digest of a finished run, which all that is stored leads up to
    """

    run: Path
    state: State
    manifest: Mapping[str, Any]
    access: AccessReport
    done: int
    n_games: int
    valuation: Valuation | None
    unanswered: int
    digest: str | None


def start(config: Description, base: Path, out: Path, watch: Watch) -> Valuation:
    """Begin a run and play it to its end.

    Parameters
    ----------
    config : what to play
    base : where relative paths in it start
    out : the run directory: a new one, or an empty one
    watch : is shown the standing after every chunk of games
    """
    built = config.build(base)
    existed = out.exists()
    try:
        with RunStore.create(out, _manifest(config, base, built)) as store, store.lock():
            return _play(store, built, watch)
    except (BudgetExceeded, InvalidInput):
        # What cannot be played as it is described must not stand in the way of the mended run.
        discard_untouched(out, keep=existed)
        raise


def resume(
    run: Path,
    watch: Watch,
    parse: Callable[[str], Description] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Valuation:
    """Go on with a run that was interrupted; a finished one just gives its result.

    Parameters
    ----------
    run : the run directory
    watch : is shown the standing after every chunk of games
    parse : reads the text of the description; by default, as a configuration file
    warn : is told in one line if versions changed since the run began; by default, a
        VersionsChanged warning
    """
    with RunStore.open(run) as store:
        finished = store.finished()
        if finished is not None:
            store.verify()
            return finished
    with RunStore.open(run, write=True) as store, store.lock():
        store.verify()
        built = _rebuild(store, parse or _parse)
        _check_versions(store, warn or _warn)
        return store.finished() or _play(store, built, watch)


def look(run: Path) -> RunStatus:
    """Tell how a run stands, whether or not a process is at work in it."""
    with RunStore.open(run) as store:
        valuation = store.finished()
        used = store.usage()
        names = store.manifest["providers"]
        access = AccessReport({name: used.get(name, Usage()) for name in names})
        state: State = "running" if store.is_locked else "interrupted"
        return RunStatus(
            run=run,
            state=state if valuation is None else "finished",
            manifest=store.manifest,
            access=access,
            done=store.games.count,
            n_games=store.manifest["n_games"],
            valuation=valuation or _so_far(store, access),
            unanswered=store.unanswered(),
            digest=store.digest(),
        )


def _play(store: RunStore, built: Built, watch: Watch) -> Valuation:
    plan = replace(
        built.plan,
        seeds=Seeds(store.manifest["seed"]),
        sampling=_Noted(built.plan.sampling, store),
    )
    journal = store.journal(plan.names)
    with built.workers() as workers:
        valuation = play(plan, workers, watch, journal)
    store.finish(valuation)
    return valuation


@dataclass(frozen=True, eq=False, repr=False)
class _Noted(Sampling):
    """A sampling that notes what its games are, for those who look at the run before its end."""

    inner: Sampling
    store: RunStore

    def check(self, providers: Sequence[Provider]) -> None:
        self.inner.check(providers)

    def prepare(self, access: Access) -> Realisation:
        real = self.inner.prepare(access)
        pools = real.pool_sizes
        self.store.note(
            "games",
            {
                "draw_sizes": real.draw_sizes.tolist(),
                "pool_sizes": None if pools is None else pools.tolist(),
                "target": real.target,
                "group": real.group,
            },
        )
        return real

    def __repr__(self) -> str:
        return repr(self.inner)


def _manifest(config: Description, base: Path, built: Built) -> dict[str, Any]:
    plan = built.plan
    return {
        "config": config.text,
        "config_sha256": _sha256(config.text),
        "base": str(base.resolve()),
        "created": now(),
        "seed": plan.seeds.seed,
        "n_games": plan.n_games,
        "budget": {"records": plan.budget.records, "requests": plan.budget.requests},
        "providers": list(plan.names),
        "setup": plan.setup,
        "fingerprints": dict(built.fingerprints),
        "validation": built.validation,
        "versions": versions(),
    }


def _rebuild(store: RunStore, parse: Callable[[str], Description]) -> Built:
    """Make the objects of the run again, and check that they are the same."""
    manifest = store.manifest
    if _sha256(manifest["config"]) != manifest["config_sha256"]:
        raise RunDamaged(f"the configuration in the run {store.run} was altered")
    built = parse(manifest["config"]).build(Path(manifest["base"]))
    before = _data(manifest["fingerprints"], manifest["validation"])
    found = _data(built.fingerprints, built.validation)
    for what in (*before, *found):
        if before.get(what) != found.get(what):
            raise RunError(
                f"the {what} changed since the run began: bring the old data back, or begin a "
                "new run"
            )
    for what, words in built.plan.setup.items():
        if manifest["setup"][what] != words:
            raise RunError(
                f"the {what} changed since the run began, from {manifest['setup'][what]} to "
                f"{words}: bring the old one back, or begin a new run"
            )
    if manifest["providers"] != list(built.plan.names):
        raise RunError("the providers changed since the run began: begin a new run")
    return built


def _check_versions(store: RunStore, warn: Callable[[str], None]) -> None:
    """Say and note which versions changed: the run can go on, but perhaps not bit for bit."""
    found = versions()
    changed = changes(store.manifest["versions"], found)
    if changed:
        before = store.noted("versions") or []
        since = {"time": now(), "games": store.games.count, "versions": found}
        store.note("versions", [*before, since])
        warn(
            f"versions changed since the run began ({changed}): the games from here on may "
            "differ in their last bits"
        )


def _warn(line: str) -> None:
    warnings.warn(line, VersionsChanged, stacklevel=4)


def _data(fingerprints: Mapping[str, str], validation: str | None) -> dict[str, str | None]:
    """Fingerprints, by what they are of."""
    data: dict[str, str | None] = {
        f"data of provider {name!r}": mark for name, mark in fingerprints.items()
    }
    return {**data, "validation data of the utility": validation}


def _parse(text: str) -> Description:
    from shapband.runs.config import Config

    config: Description = Config.parse(text)
    return config


def _so_far(store: RunStore, access: AccessReport) -> Valuation | None:
    """The valuation that the games so far give."""
    noted = store.noted("games")
    names, done = store.manifest["providers"], store.games.count
    if noted is None or done < 2:
        return None
    fold = Fold(len(names), noted["group"])
    for chunk in store.games.chunks(range(done), len(names)):
        fold.add(chunk.values, chunk.noise)
    pools = noted["pool_sizes"]
    return Valuation(
        names=tuple(names),
        moments=fold.moments(),
        games=np.empty((0, len(names))),
        access=access,
        evaluations=store.games.evaluations(range(done)),
        draw_sizes=np.array(noted["draw_sizes"], dtype=np.int64),
        pool_sizes=None if pools is None else np.array(pools, dtype=np.int64),
        target=noted["target"],
        stopped="so far: the run is not finished",
        seed=store.manifest["seed"],
        setup=store.manifest["setup"],
        seconds=store.games.seconds(done),
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
