"""Runs started, interrupted, resumed and looked at."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shapband as sb
from shapband.app.config.config import Built
from shapband.engine.arguments import check_arguments
from shapband.engine.workers.local import LocalWorkers
from shapband.errors import RunError, SourceError, VersionsChanged
from shapband.runs.store import RunStore
from shapband.runs.versions import versions
from tests.conftest import linear_providers
from tests.runs import small
from tests.runs.small import SmallConfig, assert_same, ignore, look, resume, start

QUICK = {"delay": 0.0, "think": 0.0}


class Interrupted(Exception):
    """What a watcher raises to end a run."""


class After:
    """A watcher that interrupts the run once enough games are done."""

    def __init__(self, games: int) -> None:
        self._games = games

    def __call__(self, standing: Any) -> None:
        if standing.done >= self._games:
            raise Interrupted


@dataclasses.dataclass(frozen=True)
class Fixed:
    """A description whose objects are at hand."""

    make: Any
    text: str = "at hand"

    def build(self, base: Path) -> Built:
        return self.make()


def built(providers: Any, utility: Any, workers: int = 1, **options: Any) -> Built:
    plan = check_arguments(providers, utility, **{"seed": 3, **options})
    return Built(plan, LocalWorkers(workers, threads=True))


def interrupted_and_whole(tmp_path: Path, make: Any, games: int) -> tuple[Any, Any]:
    config = Fixed(make)
    whole = start(config, tmp_path, tmp_path / "whole", ignore)
    with pytest.raises(Interrupted):
        start(config, tmp_path, tmp_path / "run", After(games))
    return resume(tmp_path / "run", ignore, lambda text: config), whole


@pytest.mark.parametrize("sampling", ["fresh", "pooled"])
def test_a_run_gives_what_a_plain_valuation_gives(tmp_path, sampling):
    config = SmallConfig.of(sampling=sampling, **QUICK)
    plan = config.build(tmp_path).arguments
    plain = sb.value(
        plan.providers,
        plan.utility,
        sampling=plan.sampling,
        solver=plan.solver,
        n_games=plan.n_games,
        seed=small.SEED,
        budget=plan.budget,
    )
    found = start(config, tmp_path, tmp_path / "run", ignore)
    assert_same(found, plain)
    assert_same(resume(tmp_path / "run", ignore), plain)  # a finished run is only read
    assert_same(look(tmp_path / "run").valuation, plain)


@pytest.mark.parametrize("games", [1, 9, 33, 50])
@pytest.mark.parametrize(
    "sampling",
    [sb.Fresh(8), sb.Pooled(20, 8), sb.Pooled(30, 5, replace=False), sb.Stratified(20, 8, 0.75)],
    ids=repr,
)
def test_every_sampling_resumes_with_the_same_bits(tmp_path, sampling, games):
    providers, validation = linear_providers()
    utility = sb.LinearUtility(*validation)

    def make() -> Built:
        return built(providers, utility, sampling=sampling, n_games=70, chunk_size=9)

    assert_same(*interrupted_and_whole(tmp_path, make, games))


def test_a_resumed_run_may_have_other_workers_and_chunks(tmp_path):
    providers, validation = linear_providers()
    utility = sb.LinearUtility(*validation)
    chunks = iter([11, 11, 4])

    def make() -> Built:
        chunk = next(chunks)
        return built(
            providers, utility, 13 - chunk, sampling=sb.Fresh(8), n_games=70, chunk_size=chunk
        )

    assert_same(*interrupted_and_whole(tmp_path, make, 30))


def test_a_stopping_rule_ends_a_resumed_run_where_it_ends_a_whole_one(tmp_path):
    providers, validation = linear_providers()
    utility = sb.LinearUtility(*validation)
    rule = sb.Precision(absolute=0.004)

    def make() -> Built:
        return built(
            providers, utility, sampling=sb.Fresh(8), n_games=2000, stop=rule, chunk_size=5
        )

    found, whole = interrupted_and_whole(tmp_path, make, 40)
    assert_same(found, whole)
    assert 64 <= whole.n_games < 2000


class Clock:
    """Goes on by one second with every game that is solved."""

    _counters = ("seconds",)  # the time is no setting of the utility

    def __init__(self, monkeypatch: Any) -> None:
        self.seconds = 100.0
        module = SimpleNamespace(perf_counter=lambda: self.seconds)
        monkeypatch.setattr("shapband.engine.play.time", module)

    def worth(self, X: Any, y: Any) -> float:
        self.seconds += 1.0
        return float(y.mean())

    def run(self, **options: Any) -> Fixed:
        providers = [sb.Provider("p", sb.ArraySource(np.arange(9.0), np.arange(9.0)))]
        utility = sb.FunctionUtility(self.worth, empty=0.0)
        return Fixed(lambda: built(providers, utility, sampling=sb.Fresh(4), **options))


def test_seconds_are_those_of_all_sessions_without_the_pauses(tmp_path, monkeypatch):
    clock = Clock(monkeypatch)
    config = clock.run(n_games=20)
    with pytest.raises(Interrupted):
        start(config, tmp_path, tmp_path / "run", After(8))
    clock.seconds += 1000.0
    assert look(tmp_path / "run").valuation.seconds == 8.0
    with pytest.raises(Interrupted):
        resume(tmp_path / "run", After(11), lambda text: config)
    clock.seconds += 1000.0
    assert look(tmp_path / "run").valuation.seconds == 11.0
    assert resume(tmp_path / "run", ignore, lambda text: config).seconds == 20.0
    assert look(tmp_path / "run").valuation.seconds == 20.0


@pytest.mark.parametrize("games", [20, 32, 38])
def test_a_limit_of_seconds_counts_earlier_sessions(tmp_path, monkeypatch, games):
    clock = Clock(monkeypatch)
    config = clock.run(n_games=1000, stop=sb.Seconds(39))
    with pytest.raises(Interrupted):
        start(config, tmp_path, tmp_path / "run", After(games))
    found = resume(tmp_path / "run", ignore, lambda text: config)
    assert found.n_games == 39  # the clock is looked at after every game
    assert found.seconds == 39.0
    assert found.stopped_code == "rule"


def test_a_run_killed_when_its_time_was_up_ends_with_the_games_it_has(tmp_path, monkeypatch):
    clock = Clock(monkeypatch)
    config = clock.run(n_games=1000, stop=sb.Seconds(39))
    with pytest.raises(Interrupted):
        start(config, tmp_path, tmp_path / "run", After(39))
    clock.seconds += 1000.0
    found = resume(tmp_path / "run", ignore, lambda text: config)
    assert (found.n_games, found.stopped_code, clock.seconds) == (39, "rule", 1139.0)


def test_data_frames_of_a_distant_source_resume(tmp_path):
    frame = pd.DataFrame({"a": np.arange(30.0), "ward": ["x", "y", "z"] * 10, "y": np.arange(30.0)})
    far = sb.with_delay(sb.FrameSource(frame, target="y"), 0.0)
    providers = [sb.Provider("far", far), sb.Provider("near", sb.FrameSource(frame, target="y"))]

    def worth(X: Any, y: Any) -> float:
        return float(y.sum() + (X["ward"] == "x").sum() + X["a"].iloc[0])

    def make() -> Built:
        return built(providers, sb.FunctionUtility(worth), sampling=sb.Fresh(4), n_games=12)

    assert_same(*interrupted_and_whole(tmp_path, make, 5))


def test_a_source_that_fails_can_be_mended_and_asked_again(tmp_path):
    broken = {"game": 7}

    def draw(size: int, rng: Any) -> Any:
        broken["game"] -= 1
        if broken["game"] == 0:
            raise OSError("the line is dead")
        x = rng.normal(size=size)
        return x[:, None], x

    def make() -> Built:
        providers = [sb.Provider("far", sb.FunctionSource(draw))]
        return built(providers, sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=20)

    with pytest.raises(SourceError, match="'far': OSError: the line is dead"):
        start(Fixed(make), tmp_path, tmp_path / "run", ignore)
    found = resume(tmp_path / "run", ignore, lambda text: Fixed(make))
    assert_same(found, start(Fixed(make), tmp_path, tmp_path / "whole", ignore))
    with RunStore.open(tmp_path / "run") as store:
        store.verify()
        entries = list(store.ledger.entries())
    (failed,) = [entry for entry in entries if entry.outcome == "failed"]
    assert (failed.note, failed.records) == ("OSError: the line is dead", 0)
    asked = [entry.first_game for entry in entries if entry.outcome == "asked"]
    assert asked.count(failed.first_game) == 2
    assert len(asked) == 21


def test_the_manifest_is_there_before_any_source_is_asked(tmp_path):
    seen = []

    def draw(size: int, rng: Any) -> Any:
        seen.append(look(tmp_path / "run"))
        return np.ones((size, 1)), np.ones(size)

    def make() -> Built:
        providers = [sb.Provider("far", sb.FunctionSource(draw))]
        return built(providers, sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=2)

    start(Fixed(make), tmp_path, tmp_path / "run", ignore)
    first = seen[0]
    assert (first.state, first.done, first.n_games, first.valuation) == ("running", 0, 2, None)
    assert first.manifest["config"] == "at hand"
    assert first.manifest["arguments"]["data of provider 'far'"] == "FunctionSource, not in memory"
    assert first.manifest["versions"]["numpy"] == np.__version__
    assert first.manifest["versions"]["shapband"] == sb.__version__


def test_an_open_seed_is_drawn_once(tmp_path):
    config = SmallConfig.of(seed=None, **QUICK)
    with pytest.raises(Interrupted):
        start(config, tmp_path, tmp_path / "run", After(5))
    found = resume(tmp_path / "run", ignore, SmallConfig)
    assert found.seed == look(tmp_path / "run").manifest["seed"]
    again = start(SmallConfig.of(seed=found.seed, **QUICK), tmp_path, tmp_path / "again", ignore)
    assert_same(found, again)
    other = start(config, tmp_path, tmp_path / "other", ignore)
    assert other.seed != found.seed


def test_changed_data_is_named_and_nothing_is_lost(tmp_path):
    with pytest.raises(Interrupted):
        start(SmallConfig.of(**QUICK), tmp_path, tmp_path / "run", After(5))

    def shifted(text: str) -> SmallConfig:
        return SmallConfig(json.dumps({**json.loads(text), "shift": 0.5}))

    with pytest.raises(RunError, match="the data of provider 'near' changed"):
        resume(tmp_path / "run", ignore, shifted)
    found = resume(tmp_path / "run", ignore, SmallConfig)
    assert_same(found, start(SmallConfig.of(**QUICK), tmp_path, tmp_path / "whole", ignore))


def test_a_changed_setup_is_named(tmp_path):
    with pytest.raises(Interrupted):
        start(SmallConfig.of(**QUICK), tmp_path, tmp_path / "run", After(5))

    def pooled(text: str) -> SmallConfig:
        return SmallConfig(json.dumps({**json.loads(text), "sampling": "pooled"}))

    with pytest.raises(RunError, match=r"the sampling changed since the run .* began, from Fresh"):
        resume(tmp_path / "run", ignore, pooled)


def test_changed_versions_are_told_and_noted(tmp_path, monkeypatch):
    config, run = SmallConfig.of(**QUICK), tmp_path / "run"
    with pytest.raises(Interrupted):
        start(config, tmp_path, run, After(5))
    at_work = versions()
    other = {**at_work, "numpy": "99.1", "numba": "99.2"}
    monkeypatch.setattr("shapband.runs.run.versions", lambda: other)
    said = f"(numpy from {at_work['numpy']} to 99.1, numba from {at_work['numba']} to 99.2)"
    with pytest.warns(VersionsChanged, match=re.escape(said)) as caught, pytest.raises(Interrupted):
        resume(run, After(9), SmallConfig)
    assert len(caught) == 1
    lines: list[str] = []
    found = resume(run, ignore, SmallConfig, lines.append)
    assert [said in line for line in lines] == [True]
    assert_same(found, start(config, tmp_path, tmp_path / "whole", ignore))
    with RunStore.open(run) as store:
        store.verify()
        assert store.manifest["versions"] == at_work
        notes = store.ledger.noted("versions")
    assert [note["versions"] for note in notes] == [other, other]
    assert 5 <= notes[0]["games"] < notes[1]["games"]


def test_the_same_versions_are_not_worth_a_word(tmp_path):
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        start(SmallConfig.of(**QUICK), tmp_path, run, After(5))
    lines: list[str] = []
    resume(run, ignore, SmallConfig, lines.append)
    assert lines == []
    with RunStore.open(run) as store:
        assert store.ledger.noted("versions") is None


@pytest.mark.parametrize("sampling", [sb.Fresh(8), sb.Pooled(30, 5, replace=False)], ids=repr)
def test_a_look_at_an_interrupted_run_shows_the_games_so_far(tmp_path, sampling):
    providers, validation = linear_providers()
    utility = sb.LinearUtility(*validation)

    def make(n_games: int) -> Built:
        return built(providers, utility, sampling=sampling, n_games=n_games, chunk_size=6)

    with pytest.raises(Interrupted):
        start(Fixed(lambda: make(60)), tmp_path, tmp_path / "run", After(24))
    status = look(tmp_path / "run")
    assert (status.state, status.done, status.n_games) == ("interrupted", 24, 60)
    short = start(Fixed(lambda: make(24)), tmp_path, tmp_path / "short", ignore)
    assert status.valuation is not None
    assert status.valuation.variance.tobytes() == short.variance.tobytes()
    assert status.valuation.interval().tobytes() == short.interval().tobytes()
    assert status.valuation.estimand == short.estimand
    assert status.valuation.evaluations == short.evaluations
    assert status.access.requests == short.access.requests
    assert "so far" in str(status.valuation)
    assert 0 < status.valuation.seconds < 600
    assert status.valuation.to_json()


def test_a_run_without_kept_games_stays_without(tmp_path):
    providers, validation = linear_providers()

    def make() -> Built:
        utility = sb.LinearUtility(*validation)
        return built(providers, utility, sampling=sb.Fresh(8), n_games=20, keep_games=7)

    found = start(Fixed(make), tmp_path, tmp_path / "run", ignore)
    assert found.games.shape == (7, 5)
    assert_same(resume(tmp_path / "run", ignore), found)
