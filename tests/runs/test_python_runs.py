"""Runs from Python: `value(..., run=...)` keeps and resumes, `load` reads."""

import numpy as np
import pytest

import shapband as sb
from shapband.errors import RunError, SourceError
from shapband.runs.ledger import Ledger
from tests.conftest import linear_providers
from tests.runs.small import assert_same


class Counting:
    """A distant source that counts its requests, and fails when told to."""

    def __init__(self, fail_at=None):
        self.requests = 0
        self.fail_at = fail_at

    def draw(self, size, rng):
        self.requests += 1
        if self.requests == self.fail_at:
            raise ConnectionError("the line is dead")
        X = rng.normal(size=(size, 3))
        return X, X.sum(axis=1)


def arguments(source=None, **changes):
    providers, (X, y) = linear_providers()
    if source is not None:
        providers = [*providers, sb.Provider("far", sb.FunctionSource(source.draw))]
    settings = {
        "providers": providers,
        "utility": sb.LinearUtility(X, y),
        "sampling": sb.Fresh(8),
        "solver": sb.Permutation(5),
        "n_games": 40,
        "seed": 4,
        "budget": sb.Budget(records=10_000),
    }
    return {**settings, **changes}


def test_a_run_gives_what_a_plain_valuation_gives(tmp_path):
    assert_same(sb.value(**arguments(), run=tmp_path / "run"), sb.value(**arguments()))


def test_a_finished_run_gives_its_result_without_asking_again(tmp_path):
    source = Counting()
    first = sb.value(**arguments(source), run=tmp_path / "run")
    asked = source.requests
    assert_same(sb.value(**arguments(source), run=str(tmp_path / "run")), first)
    assert source.requests == asked == 40


@pytest.mark.parametrize("fail_at", [1, 2, 17, 40])
def test_an_interrupted_run_is_resumed_and_buys_nothing_twice(tmp_path, fail_at):
    source = Counting(fail_at)
    with pytest.raises(SourceError, match="the line is dead"):
        sb.value(**arguments(source, chunk_size=4), run=tmp_path / "run")
    assert sb.load(tmp_path / "run").status.state == "interrupted"
    found = sb.value(**arguments(source, chunk_size=7, n_jobs=2), run=tmp_path / "run")
    assert_same(found, sb.value(**arguments(Counting())))
    assert source.requests == 40 + 1  # all but the failed one answered once


def shifted(providers):
    X, y = np.ones((40, 3)), np.ones(40)
    return [sb.Provider(providers[0].name, sb.ArraySource(X, y)), *providers[1:]]


CHANGES = {
    "providers": lambda a: {"providers": a["providers"][:-1]},
    "data of provider 'site 0'": lambda a: {"providers": shifted(a["providers"])},
    "utility": lambda a: {"utility": sb.AdditiveUtility()},
    "settings or validation rows of the utility": lambda a: {
        "utility": sb.LinearUtility(*linear_providers(seed=5)[1])
    },
    "sampling": lambda a: {"sampling": sb.Fresh(9)},
    "solver": lambda a: {"solver": sb.Permutation(6)},
    "index": lambda a: {"index": sb.Banzhaf()},
    "keep_games": lambda a: {"keep_games": 3},
    "participation": lambda a: {"participation": sb.Independent(0.8)},
    "seed": lambda a: {"seed": 5},
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("finished", [True, False])
def test_other_arguments_are_refused_by_name(tmp_path, what, finished):
    source = Counting(None if finished else 9)
    given = arguments(source)
    if finished:
        sb.value(**given, run=tmp_path / "run")
    else:
        with pytest.raises(SourceError):
            sb.value(**given, run=tmp_path / "run")
    asked = source.requests
    with pytest.raises(RunError, match=f"^the {what}.*begin a new run$"):
        sb.value(**{**given, **CHANGES[what](given)}, run=tmp_path / "run")
    assert source.requests == asked


def test_an_open_seed_is_that_of_the_run(tmp_path):
    source = Counting(11)
    with pytest.raises(SourceError):
        sb.value(**arguments(source, seed=None), run=tmp_path / "run")
    found = sb.value(**arguments(source, seed=None), run=tmp_path / "run")
    assert_same(found, sb.value(**arguments(Counting(), seed=found.seed)))


def test_a_changed_function_is_another_utility(tmp_path):
    def worth(factor):
        return sb.FunctionUtility(lambda X, y: factor * len(y))

    sb.value(**arguments(utility=worth(1.0)), run=tmp_path / "run")
    sb.value(**arguments(utility=worth(1.0)), run=tmp_path / "run")
    with pytest.raises(RunError, match="settings or validation rows of the utility"):
        sb.value(**arguments(utility=worth(2.0)), run=tmp_path / "run")
    other = sb.FunctionUtility(lambda X, y: 2 * len(X))
    with pytest.raises(RunError, match="settings or validation rows of the utility"):
        sb.value(**arguments(utility=other), run=tmp_path / "run")


def test_a_loaded_run_shows_its_parts(tmp_path):
    valuation = sb.value(**arguments(Counting()), run=tmp_path / "run")
    run = sb.load(tmp_path / "run")
    assert_same(run.valuation, valuation)
    assert run.status.state == "finished"
    assert (run.status.done, run.status.n_games) == (40, 40)
    received = run.ledger[run.ledger.outcome == "received"]
    assert len(received) == 40
    assert received.records.sum() == 40 * 8
    assert run.ledger.index.name == "id"
    run.verify()
    assert repr(run) == f"Run({str(tmp_path / 'run')!r})"


def test_what_is_not_a_run_cannot_be_loaded(tmp_path):
    with pytest.raises(RunError, match="is not a run"):
        sb.load(tmp_path)


def test_a_damaged_run_does_not_verify(tmp_path):
    import sqlite3

    sb.value(**arguments(), run=tmp_path / "run")
    connection = sqlite3.connect(tmp_path / "run" / "run.db")
    with connection:
        connection.execute("UPDATE ledger SET records = 1 WHERE id = 1")
    connection.close()
    with pytest.raises(sb.errors.RunDamaged, match="entry 1"):
        sb.load(tmp_path / "run").verify()


def test_answers_are_written_to_the_disk_at_once_and_requests_alone_are_not(tmp_path, monkeypatch):
    """A power failure loses no record that was paid for; waiting for the disk takes long."""
    entered = []
    enter = Ledger.enter

    def spy(self, requests=(), also=None, *, durable=True):
        entered.append(({one.outcome for one in requests}, durable))
        enter(self, requests, also, durable=durable)

    monkeypatch.setattr(Ledger, "enter", spy)
    far = sb.FunctionSource(lambda size, rng: (rng.normal(size=(size, 1)), rng.normal(size=size)))
    sb.value(
        [sb.Provider("far", far)],
        sb.AdditiveUtility(),
        sampling=sb.Fresh(3),
        n_games=4,
        seed=0,
        run=tmp_path / "run",
    )
    assert ({"asked"}, False) in entered
    assert any("received" in outcomes for outcomes, _ in entered)
    assert all(durable for outcomes, durable in entered if "received" in outcomes)
    assert not any(durable for outcomes, durable in entered if outcomes == {"asked"})
