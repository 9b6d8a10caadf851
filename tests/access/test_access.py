"""What is asked of the sources, how it is counted, and how a budget limits it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shapband as sb
from shapband.access.access import Access
from shapband.access.journal import Event, Failed, NullPurchases
from shapband.errors import BudgetExceeded, SourceError
from shapband.records.batch import Batch
from shapband.seeds import Seeds
from shapband.sources.base import FiniteSource, GenerativeSource

POOLED = [sb.Pooled(9, 4), sb.Pooled(9, 4, replace=False), sb.Stratified(9, 4, 0.75)]


class Till:
    """Where all sources of a test count what is asked of them."""

    def __init__(self) -> None:
        self.requests = 0
        self.records = 0

    def count(self, records: int) -> None:
        self.requests += 1
        self.records += records


class Counted(FiniteSource):
    def __init__(self, till: Till, size: int) -> None:
        self._till = till
        self._size = size

    @property
    def size(self) -> int:
        return self._size

    @property
    def schema(self) -> None:
        return None

    def take(self, rows: Any) -> Batch:
        self._till.count(len(rows))
        return Batch(rows[:, None].astype(float), rows.astype(float))


class CountedDraws(GenerativeSource):
    def __init__(self, till: Till) -> None:
        self._till = till

    @property
    def schema(self) -> None:
        return None

    def draw(self, size: int, rng: np.random.Generator) -> Batch:
        self._till.count(size)
        X = rng.normal(size=(size, 1))
        return Batch(X, X[:, 0])


def three(till: Till) -> list[sb.Provider]:
    return [
        sb.Provider("large", Counted(till, 40)),
        sb.Provider("small", Counted(till, 8)),
        sb.Provider("endless", CountedDraws(till)),
    ]


def run(providers: list[sb.Provider], sampling: Any, n_games: int = 6, **options: Any) -> Any:
    return sb.value(
        providers, sb.AdditiveUtility(), sampling=sampling, n_games=n_games, seed=0, **options
    )


@pytest.mark.parametrize("chunk_size", [None, 1, 4])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fresh_draws_ask_every_provider_in_every_game(chunk_size, n_jobs):
    valuation = run(three(till := Till()), sb.Fresh(5), chunk_size=chunk_size, n_jobs=n_jobs)
    for name in ("large", "small", "endless"):
        used = valuation.access.by_provider[name]
        assert (used.requests, used.records) == (6, 30)
        assert used.seconds > 0
    assert (valuation.access.requests, valuation.access.records) == (18, 90)
    assert (till.requests, till.records) == (18, 90)


@pytest.mark.parametrize("sampling", POOLED, ids=repr)
def test_pools_ask_every_provider_once_however_many_the_games(sampling):
    for n_games in (2, 50):
        valuation = run(three(till := Till()), sampling, n_games)
        counts = {name: used.records for name, used in valuation.access.by_provider.items()}
        assert counts == {"large": 9, "small": 8, "endless": 9}
        assert all(used.requests == 1 for used in valuation.access.by_provider.values())
        assert (valuation.access.requests, valuation.access.records) == (3, 26)
        assert (till.requests, till.records) == (3, 26)


def test_the_totals_are_the_sums_over_providers():
    access = run(three(Till()), sb.Fresh(5)).access
    parts = access.by_provider.values()
    assert access.seconds == sum(used.seconds for used in parts)
    assert access.total == sb.extend.Usage(access.requests, access.records, access.seconds)
    assert list(access.by_provider) == ["large", "small", "endless"]


def test_records_in_memory_are_counted_like_any_others():
    providers = [sb.Provider("p", sb.ArraySource(np.arange(9.0), np.arange(9.0)))]
    assert run(providers, sb.Fresh(4)).access.records == 24


def test_the_account_cannot_be_altered():
    access = run(three(Till()), sb.Fresh(5)).access
    with pytest.raises(TypeError):
        access.by_provider["large"] = sb.extend.Usage()


@settings(max_examples=60)
@given(
    records=st.none() | st.integers(1, 140),
    requests=st.none() | st.integers(1, 30),
    n_sample=st.integers(1, 8),
    n_games=st.integers(2, 9),
    chunk_size=st.sampled_from([None, 1, 2, 5]),
)
def test_a_budget_is_never_exceeded_and_buys_all_it_can(
    records, requests, n_sample, n_games, chunk_size
):
    budget = sb.Budget(records=records, requests=requests)
    paid_for = min(
        n_games,
        n_games if records is None else records // (3 * n_sample),
        n_games if requests is None else requests // 3,
    )
    till = Till()
    if paid_for < 2:
        with pytest.raises(BudgetExceeded) as caught:
            run(three(till), sb.Fresh(n_sample), n_games, budget=budget, chunk_size=chunk_size)
        assert "budget" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert till.requests == 0
        return
    valuation = run(three(till), sb.Fresh(n_sample), n_games, budget=budget, chunk_size=chunk_size)
    assert valuation.n_games == len(valuation.games) == paid_for
    assert till.records == valuation.access.records == paid_for * 3 * n_sample
    assert till.requests == valuation.access.requests == paid_for * 3


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (sb.Budget(records=70), "70 records"),
        (sb.Budget(requests=14), "14 requests"),
        (sb.Budget(records=1000, requests=14), "1,000 records and 14 requests"),
    ],
    ids=str,
)
def test_a_valuation_that_ends_early_says_so_and_keeps_its_games(budget, said):
    short = run(three(Till()), sb.Fresh(5), 9, budget=budget)
    assert short.n_games == 4
    assert "budget" in short.stopped
    assert said in short.stopped
    assert "9" in short.stopped.replace(said, "")
    full = run(three(Till()), sb.Fresh(5), 9)
    assert short.games.tobytes() == full.games[:4].tobytes()
    assert "budget" not in full.stopped


def test_a_budget_that_suffices_leaves_no_trace():
    valuation = run(three(Till()), sb.Fresh(5), 6, budget=sb.Budget(records=90, requests=18))
    assert valuation.n_games == 6
    assert "budget" not in valuation.stopped


def test_a_budget_for_one_game_is_refused_with_what_to_do():
    with pytest.raises(BudgetExceeded, match=r"29 records.*15 records in 3 requests.*raise") as e:
        run(three(till := Till()), sb.Fresh(5), budget=sb.Budget(records=29))
    assert "two" in str(e.value)
    assert till.requests == 0


@pytest.mark.parametrize("sampling", POOLED, ids=repr)
@pytest.mark.parametrize("budget", [sb.Budget(records=25), sb.Budget(requests=2)], ids=str)
def test_pools_too_dear_are_refused_before_any_request(sampling, budget):
    with pytest.raises(BudgetExceeded, match=r"the pools take 26 records in 3 requests.*raise"):
        run(three(till := Till()), sampling, budget=budget)
    assert till.requests == 0


@pytest.mark.parametrize("sampling", POOLED, ids=repr)
def test_a_budget_that_pays_for_the_pools_pays_for_all_games(sampling):
    budget = sb.Budget(records=26, requests=3)
    valuation = run(three(till := Till()), sampling, 40, budget=budget)
    assert valuation.n_games == 40
    assert (till.requests, till.records) == (3, 26)


def test_a_source_that_fails_ends_the_asking():
    till = Till()

    def fail(size, rng):
        till.count(size)
        raise OSError("the line is dead")

    slow = [sb.Provider(p.name, sb.with_delay(p.source, 0.05)) for p in three(till)]
    providers = [sb.Provider("broken", sb.FunctionSource(fail)), *slow]
    with pytest.raises(SourceError, match=r"'broken'.*OSError: the line is dead"):
        run(providers, sb.Fresh(5))
    # Sources are asked side by side: each of the others may be in its first request.
    assert till.requests <= 1 + len(slow)


class Told(NullPurchases):
    """Writes down how requests began and ended."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def record(self, events: Sequence[Event]) -> None:
        for event in events:
            self.lines.append(event.reason if isinstance(event, Failed) else "asked")


@pytest.mark.parametrize(
    ("raised", "error", "said"),
    [
        (asyncio.CancelledError(), SourceError, "CancelledError"),
        (SystemExit(3), SourceError, "SystemExit: 3"),
        (KeyboardInterrupt(), KeyboardInterrupt, "KeyboardInterrupt"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_a_source_raises_ends_its_request(raised, error, said):
    def draw(size, rng):
        raise raised

    journal = Told()
    providers = [sb.Provider("p", sb.FunctionSource(draw))]
    with pytest.raises(error) as caught:
        Access(providers, Seeds(0), sb.Budget(), journal=journal).fetch("draw", range(3), [4], "")
    assert journal.lines == ["asked", said]
    assert str(caught.value) in (f"provider 'p': {said}", str(raised))


def test_the_account_survives_being_written_and_read():
    valuation = run(three(Till()), sb.Fresh(5))
    read = sb.Valuation.from_json(valuation.to_json())
    assert read.access == valuation.access
    assert read.stopped == valuation.stopped
