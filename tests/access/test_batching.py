"""A source may answer several draws in one call; every draw stays a request of its own."""

import numpy as np
import pytest
from tests.access.flaky import Flaky, X, at_random, first, near

import shapband as sb
from shapband.errors import BudgetExceeded, InvalidInput, SourceError

QUICK = sb.Retry(attempts=40, wait=0.0005, longest_wait=0.01)


def value(sources, retry=None, n_games=40, **options):
    providers = [sb.Provider(name, source, retry) for name, source in sources.items()]
    options = {"sampling": sb.Fresh(5), "seed": 1, **options}
    return sb.value(providers, sb.AdditiveUtility(), n_games=n_games, **options)


def test_draws_that_are_answered_together_are_the_same_draws():
    source = Flaky(together=10)
    found = value({"a": source, "b": near(1.0)})
    exact = value({"a": near(), "b": near(1.0)})
    np.testing.assert_array_equal(found.games, exact.games)
    assert source.draws == [10, 10, 10, 10]
    assert found.access.by_provider["a"].requests == 40
    assert found.access.by_provider["a"].records == 200


def test_a_source_in_the_thread_of_the_caller_answers_together_too():
    source = Flaky(together=10)
    source.waits = False
    found = value({"a": source}, chunk_size=25)
    np.testing.assert_array_equal(found.games, value({"a": near()}).games)
    assert source.draws == [10, 10, 5, 10, 5]


@pytest.mark.parametrize("seed", range(12))
def test_any_sizes_of_calls_and_any_failures_give_the_same_bits(seed):
    rng = np.random.default_rng(seed)

    def far(shift):
        concurrent, together = rng.integers(1, 6), rng.integers(1, 9)
        fault = at_random(rng.choice([0.0, 0.2, 0.5]), seed=seed)
        return Flaky(fault, shift=shift, concurrent=int(concurrent), together=int(together))

    sources = {name: far(shift) for shift, name in enumerate("abc")}
    options = {"concurrency": int(rng.integers(1, 9)), "chunk_size": int(rng.integers(1, 30))}
    presence = sb.Independent(0.6) if seed % 2 else None
    found = value(sources, QUICK, participation=presence, **options)
    exact = value({name: near(shift) for shift, name in enumerate("abc")}, participation=presence)
    np.testing.assert_array_equal(found.games, exact.games)
    assert found.access.records == exact.access.records
    for source in sources.values():
        assert max(source.draws) <= source.together
        assert source.most <= source.concurrent
    if options["concurrency"] == 1:
        assert sum(source.most for source in sources.values()) == 3


def test_a_call_that_fails_is_repeated_for_all_its_draws(tmp_path):
    source = Flaky(first(1, ConnectionError("reset")), together=10)
    found = value({"a": source}, QUICK, run=tmp_path / "run")
    np.testing.assert_array_equal(found.games, value({"a": near()}).games)
    assert found.access.retries == 10
    ledger = sb.load(tmp_path / "run").ledger
    counts = ledger[ledger.providers == ("a",)].outcome.value_counts().to_dict()
    assert counts == {"asked": 50, "received": 40, "failed": 10}


def test_the_budget_counts_draws():
    source = Flaky(together=10)
    found = value({"a": source}, budget=sb.Budget(requests=23))
    assert found.n_games == found.access.requests == sum(source.draws) == 23
    with pytest.raises(BudgetExceeded):
        value({"a": source}, budget=sb.Budget(records=9))


class Wrong(sb.FiniteSource):
    """Gives wrong answers to calls for several draws."""

    waits, together, size = True, 4, len(X)

    def __init__(self, spoil):
        self._spoil = spoil

    def take(self, rows):
        return X[rows], X[rows].sum(axis=1)

    def take_many(self, draws):
        return self._spoil([self.take(rows) for rows in draws])


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (lambda answers: answers[:-1], "3 answers"),
        (lambda answers: [*answers, answers[0]], "5 answers"),
        (lambda answers: None, "None"),
    ],
)
def test_a_call_needs_one_answer_for_each_draw(tmp_path, spoil, found):
    words = f"provider 'a': take_many must return one answer for each of the 4 draws; .* {found}"
    with pytest.raises(SourceError, match=words):
        value({"a": Wrong(spoil)}, run=tmp_path / "run")
    refused = sb.load(tmp_path / "run").status.refused
    assert len(refused) >= 4  # what was asked for counts, because it may have to be paid
    assert {answer.records for answer in refused} == {5}


def test_one_bad_answer_does_not_lose_the_others_of_its_call(tmp_path):
    def spoil(answers):
        return [*answers[:-1], (np.full((5, 2), np.nan), np.ones(5))]

    with pytest.raises(SourceError, match="provider 'a'"):
        value({"a": Wrong(spoil)}, run=tmp_path / "run")
    status = sb.load(tmp_path / "run").status
    assert {answer.game % 4 for answer in status.refused} == {3}
    assert status.access.requests == 4 * len(status.refused)


class Waves(sb.GenerativeSource):
    waits, together, concurrent = True, 8, 2

    def __init__(self):
        self.calls = []

    def draw(self, size, rng):
        x = rng.normal(size=(size, 1))
        return x, x[:, 0]

    def draw_many(self, sizes, generators):
        self.calls.append(len(sizes))
        return super().draw_many(sizes, generators)


def test_generative_sources_answer_together():
    waves = Waves()
    found = value({"a": waves})
    exact = value({"a": sb.FunctionSource(Waves().draw)})
    np.testing.assert_array_equal(found.games, exact.games)
    assert waves.calls
    assert max(waves.calls) == 8


def test_a_delay_is_paid_once_per_call():
    found = value({"a": sb.with_delay(Flaky(together=20), 0.05)})
    assert 0.1 <= found.access.seconds < 1.0  # two calls, not 40
    np.testing.assert_array_equal(found.games, value({"a": near()}).games)


@pytest.mark.parametrize("together", [0, 1.5, "all"])
def test_together_must_be_a_number_of_draws(together):
    source = Flaky()
    source.together = together
    with pytest.raises(InvalidInput, match="provider 'a': the attribute together of its source"):
        value({"a": source})


@pytest.mark.parametrize("concurrent", [1, 3])
def test_games_of_a_black_box_are_fetched_together_although_each_is_solved_alone(concurrent):
    def value(**options):
        sources = {name: Flaky(shift=shift, **options) for name, shift in (("a", 0.0), ("b", 1.0))}
        providers = [sb.Provider(name, source) for name, source in sources.items()]
        utility = sb.FunctionUtility(lambda X, y: float(y.mean()))
        found = sb.value(providers, utility, sampling=sb.Fresh(5), n_games=60, seed=2)
        return found, sources.values()

    alone, one_by_one = value()
    found, together = value(together=8, concurrent=concurrent)
    np.testing.assert_array_equal(found.games, alone.games)
    assert found.access.requests == alone.access.requests == 120
    assert [source.calls for source in one_by_one] == [60, 60]
    for source in together:  # the first game is fetched alone, to find out how long it takes
        assert sum(source.draws) == 60
        assert source.calls <= 20
