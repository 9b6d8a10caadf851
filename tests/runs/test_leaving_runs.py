"""A run goes on without a provider that fails for good, and keeps what it has bought."""

import json
import os
import random
import time
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import shapband as sb
from shapband.errors import InvalidInput, ProviderFailed, ProviderLeftOut, RunDamaged
from shapband.runs.solved import StoredGames
from shapband.runs.store import RunStore
from tests.access.flaky import Flaky, near
from tests.app.cli.test_cli import called
from tests.runs.test_extended_runs import bits, bought_twice
from tests.runs.test_kill import FORKS
from tests.test_leaving_out import ONCE, ROWS, after

SAMPLINGS = {
    "fresh": sb.Fresh(5),
    "pooled": sb.Pooled(40, 10),
    "dealt": sb.Pooled(40, 10, replace=False),
    "stratified": sb.Stratified(40, 10, 0.5),
}


def value(sources, run=None, leave_out_failing=True, **options):
    providers = [sb.Provider(name, source, ONCE) for name, source in sources.items()]
    options = {"sampling": sb.Fresh(5), "n_games": 24, "seed": 1, "chunk_size": 4, **options}
    utility = sb.LinearUtility(ROWS, ROWS.sum(axis=1))
    options |= {"run": run, "leave_out_failing": leave_out_failing}
    return sb.value(providers, utility, **options)


def same(found, alone):
    """Whether two valuations have the same bits, apart from what was paid to those left out."""
    found, alone = bits(found), bits(alone)
    for one in (found, alone):
        del one["design"]["estimand"], one["access"]
        one["design"]["setup"].pop("left_out", None)
    return found == alone


class Stopped(Exception):
    pass


@contextmanager
def stopping(monkeypatch, method, number, *, before=True):
    """End the process, as it were, before or after a call of a method of the store."""
    whole, calls = getattr(*method), []

    def counted(*arguments):
        calls.append(arguments)
        if before and len(calls) == number:
            raise Stopped
        whole(*arguments)
        if not before and len(calls) == number:
            raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(*method, counted)
        with pytest.raises(Stopped):
            yield


@pytest.mark.parametrize("works", [0, 9, 17])
@pytest.mark.parametrize("kind", SAMPLINGS)
def test_the_run_is_the_one_of_the_others_and_nothing_is_bought_twice(tmp_path, works, kind):
    sampling, run = SAMPLINGS[kind], tmp_path / "run"
    a, c = Flaky(concurrent=4), Flaky(shift=2.0)
    b = Flaky(after(works if kind == "fresh" else 0))
    with pytest.warns(ProviderLeftOut, match="provider 'b'.*begins anew without it"):
        found = value({"a": a, "b": b, "c": c}, run, sampling=sampling)
    alone = value({"a": Flaky(), "c": Flaky(shift=2.0)}, sampling=sampling)
    assert same(found, alone)
    assert found.estimand == f"{alone.estimand}, without 'b'"
    for name, source in {"a": a, "c": c}.items():
        assert sum(source.draws) == alone.access.by_provider[name].requests
    assert bought_twice(run) == []
    loaded = sb.load(run)
    loaded.verify()
    # What was bought from the provider that failed stays, and is reported.
    kept = loaded.ledger.query("outcome == 'received'").providers.map(lambda one: one == ("b",))
    paid = found.access.by_provider.get("b", sb.extend.Usage())
    assert kept.sum() == paid.requests == b.calls - b.faults
    assert loaded.status.access.by_provider == found.access.by_provider
    # The run says who left, and why.
    assert loaded.status.manifest["providers"] == ["a", "c"]
    (left,) = loaded.status.extensions
    assert left.left_out == ("b", "provider 'b': ConnectionError: refused (attempt 2 of 2)")
    assert str(left).startswith("without provider 'b': ConnectionError: refused (attempt 2 of 2), ")
    assert loaded.status.valuation.setup == found.setup
    assert "left out: provider 'b'" in called("show", run).stdout
    assert "extended: without provider 'b'" in called("show", run).stdout
    # Called again it returns the result, and asks nobody.
    calls = a.calls, b.calls, c.calls
    assert bits(value({"a": a, "b": b, "c": c}, run, sampling=sampling)) == bits(found)
    assert (a.calls, b.calls, c.calls) == calls


ENDS = {
    "before the note": ((RunStore, "extend"), 1, True),
    "after the note": ((RunStore, "extend"), 1, False),
    "in the first games": ((StoredGames, "store_games"), 2, False),
    "in later games": ((StoredGames, "store_games"), 5, False),
}


@pytest.mark.filterwarnings("ignore::shapband.errors.ProviderLeftOut")
@pytest.mark.parametrize("end", ENDS)
def test_a_run_that_is_stopped_resumes_with_the_same_bits(tmp_path, monkeypatch, end):
    place, number, before = ENDS[end]
    run, sources = tmp_path / "run", {"a": Flaky(), "b": Flaky(after(9)), "c": Flaky(shift=2.0)}
    with stopping(monkeypatch, place, number, before=before):
        value(sources, run)
    sb.load(run).verify()
    found = value(sources, run)
    assert same(found, value({"a": Flaky(), "c": Flaky(shift=2.0)}))
    assert bought_twice(run) == []
    assert len(sb.load(run).status.extensions) == 1
    sb.load(run).verify()


def test_a_provider_that_was_left_out_is_not_asked_again(tmp_path):
    run, b = tmp_path / "run", Flaky(after(4))
    with pytest.warns(ProviderLeftOut):
        value({"a": near(), "b": b, "c": near(2.0)}, run)
    repaired = Flaky()
    found = value({"a": near(), "b": repaired, "c": near(2.0)}, run, n_games=48)
    assert repaired.calls == 0
    assert same(found, value({"a": near(), "c": near(2.0)}, n_games=48))
    assert len(sb.load(run).status.extensions) == 2


def test_several_fail_one_after_the_other_also_in_an_extension(tmp_path):
    run = tmp_path / "run"
    sources = {"a": near(), "b": Flaky(after(9)), "c": Flaky(after(40)), "d": near(2.0)}
    with pytest.warns(ProviderLeftOut):
        first = value(sources, run)
    with pytest.warns(ProviderLeftOut, match="'c'"):
        found = value(sources, run, n_games=60)
    assert first.names == ("a", "c", "d")
    assert same(found, value({"a": near(), "d": near(2.0)}, n_games=60))
    assert found.estimand.endswith("without 'b', 'c'")
    loaded = sb.load(run)
    loaded.verify()
    assert [one.left_out and one.left_out.name for one in loaded.status.extensions] == [
        "b",
        None,
        "c",
    ]
    (earlier,) = loaded.earlier_results
    assert earlier.names == ("a", "c", "d")


def test_without_a_failure_and_without_being_told_nothing_changes(tmp_path):
    sources = {"a": near(), "b": Flaky(), "c": near(2.0)}
    found = value(sources, tmp_path / "run")
    assert bits(found) == bits(value(sources, tmp_path / "other", leave_out_failing=False))
    with pytest.raises(ProviderFailed):
        value({**sources, "b": Flaky(after(4))}, tmp_path / "stopped", leave_out_failing=False)
    assert sb.load(tmp_path / "stopped").status.extensions == ()
    with pytest.warns(ProviderLeftOut):  # the user says so when the run is resumed
        value({**sources, "b": Flaky(after(0))}, tmp_path / "stopped")
    with pytest.raises(InvalidInput, match="the run has left out a provider that failed"):
        value(sources, tmp_path / "stopped", leave_out_failing=False)
    others = {"a": near(), "c": near(2.0)}
    assert value(others, tmp_path / "stopped", leave_out_failing=False).names == ("a", "c")


def test_groups_and_the_default_solver_follow(tmp_path):
    def players():
        east = [sb.Provider("a", near(), ONCE), sb.Provider("b", Flaky(after(9)), ONCE)]
        return [sb.Group("east", east), sb.Provider("c", near(1.0)), sb.Provider("d", near(2.0))]

    arguments = {"sampling": sb.Fresh(5), "n_games": 24, "seed": 3, "leave_out_failing": True}
    utility = sb.LinearUtility(ROWS, ROWS.sum(axis=1))
    with pytest.warns(ProviderLeftOut):
        found = sb.value(players(), utility, run=tmp_path / "run", **arguments)
    assert found.names == ("a", "c", "d")
    assert found.groups.labels == ["east", "", ""]
    sb.load(tmp_path / "run").verify()
    again = sb.value(players(), utility, run=tmp_path / "run", **arguments)
    np.testing.assert_array_equal(again.games, found.games)


def test_the_budget_covers_what_was_paid_to_a_provider_that_failed(tmp_path):
    budget, run = sb.Budget(requests=40), tmp_path / "run"
    with pytest.warns(ProviderLeftOut):
        found = value({"a": Flaky(), "b": Flaky(after(8)), "c": Flaky()}, run, budget=budget)
    assert found.access.requests <= 40
    assert found.n_games >= 12


def test_an_altered_note_of_who_is_left_is_damage(tmp_path):
    run = tmp_path / "run"
    with pytest.warns(ProviderLeftOut):
        value({"a": near(), "b": Flaky(after(4)), "c": near(2.0)}, run)
    with RunStore.open(run, write=True) as store:
        (note,) = store.ledger.noted("extensions")
        note["remaining"]["providers"] = []
        store.ledger.note("extensions", [note])
    with pytest.raises(RunDamaged, match="at least one provider"):
        sb.load(run)


CONFIG = """
n_games = 24
seed = 1
leave_out_failing = true
sampling = {{ kind = "fresh", n_sample = 5 }}
utility = {{ kind = "additive" }}

[[providers]]
name = "a"
source = {{ kind = "object", object = "shaky:Shaky", options = {{ log = "{log}" }} }}

[[providers]]
name = "b"
retry = {{ attempts = 2, wait = 0.001 }}
source = {{ kind = "object", object = "shaky:Shaky", options = {{ log = "{log}", works = 6 }} }}

[[providers]]
name = "c"
source = {{ kind = "object", object = "shaky:Shaky", options = {{ log = "{log}", shift = 2.0 }} }}
"""
SHAKY = """
from pathlib import Path
import numpy as np
import shapband as sb

X = np.random.default_rng(0).normal(size=(200, 2))

class Shaky(sb.FiniteSource):
    waits = True
    size = len(X)

    def __init__(self, log, works=10**9, shift=0.0):
        self._works, self._shift, self._log = works, shift, Path(log)

    def take(self, rows):
        self._works -= 1
        if self._works < 0:
            raise ConnectionError("refused")
        with self._log.open("a") as file:
            file.write(f"{self._shift}\\n")
        return X[rows], X[rows].sum(axis=1) + self._shift
"""


@pytest.mark.filterwarnings("default::shapband.errors.ProviderLeftOut")
def test_by_the_command_line(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "shaky.py").write_text(SHAKY)
    (tmp_path / "run.toml").write_text(CONFIG.format(log=tmp_path / "log"))
    run = tmp_path / "run"
    result = called("run", tmp_path / "run.toml", "--out", run, "--quiet")
    assert result.exit_code == 0, result.output
    assert "ProviderLeftOut: provider 'b': ConnectionError: refused" in result.stderr
    assert sb.load(run).valuation.names == ("a", "c")
    assert len((tmp_path / "log").read_text().split()) == 2 * 24 + 6
    result = called("resume", run, "--games", 48, "--json")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert [one["left_out"] is None for one in shown["extensions"]] == [False, True]
    assert len((tmp_path / "log").read_text().split()) == 2 * 48 + 6
    assert bought_twice(run) == []
    called("report", run, "--out", tmp_path / "page.html")
    assert "without provider" in (tmp_path / "page.html").read_text()


class Logged(Flaky):
    """Writes a line for every answer, and fails once `works` of them are written."""

    def __init__(self, log, name, works=10**9, shift=0.0):
        super().__init__(shift=shift)
        self._log, self._name, self._works = log, name, works

    def _answer(self, draws):
        time.sleep(0.002)
        told = self._log.read_text().split() if self._log.exists() else []
        if told.count(self._name) >= self._works:
            raise ConnectionError("refused")
        with self._log.open("a") as file:
            file.write(f"{self._name}\n")
        return super()._answer(draws)


def play(run, log):
    warnings.simplefilter("ignore", ProviderLeftOut)
    a, c = Logged(log, "a"), Logged(log, "c", shift=2.0)
    return value({"a": a, "b": Logged(log, "b", works=14), "c": c}, run)


def play_apart(ready, run, log):
    """What a process that will be killed does."""
    ready.send("ready")
    play(run, log)
    os._exit(0)


def killed(seconds, run, log):
    """Play in a process; return whether it was killed before its end."""
    ready, far = FORKS.Pipe(duplex=False)
    child = FORKS.Process(target=play_apart, args=(far, run, log))
    child.start()
    far.close()
    with ready:
        assert ready.recv() == "ready"
    child.join(seconds)
    if child.exitcode is not None:
        assert child.exitcode == 0
        return False
    child.kill()
    child.join()
    return True


def torment(folder, rng, most):
    """Kill a run up to so many times, let it end, and check it; return the kills."""
    run, log, kills = folder / "run", folder / "log", 0
    while kills < most and killed(rng.uniform(0.0, 0.4), run, log):
        kills += 1
        if (run / "run.db").exists():
            sb.load(run).verify()
    with warnings.catch_warnings():
        found = play(run, log)
    assert same(found, value({"a": Flaky(), "c": Flaky(shift=2.0)}))
    sb.load(run).verify()
    assert bought_twice(run) == []
    assert len(sb.load(run).status.extensions) == 1
    received = len(sb.load(run).ledger.query("outcome == 'received'"))
    # A request may be repeated only because a kill came before its answer was stored.
    assert 0 <= len(log.read_text().split()) - received <= 3 * kills
    return kills


def test_a_killed_run_leaves_out_the_same_provider(tmp_path):
    torment(tmp_path, random.Random(1), 3)  # noqa: S311


@pytest.mark.long
def test_thirty_kills_of_runs_that_leave_out_a_provider(tmp_path):
    rng, kills = random.Random(2), 0  # noqa: S311
    while kills < 30:
        folder = tmp_path / str(kills)
        folder.mkdir()
        kills += torment(folder, rng, rng.choice([1, 2, 3]))
