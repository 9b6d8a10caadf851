"""Predicted seconds, from times that are given instead of measured."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import shapband as sb
from shapband.market.planning.requests import RequestTimes
from shapband.market.planning.search import Limits, Search
from shapband.market.planning.seconds import TimeModel
from shapband.market.planning.solvers import FAMILIES
from shapband.market.planning.ways import MOST_GAMES, Way, methods_for

EXACT, ARCS, STRATA, PERMUTATION, BALANCED = FAMILIES
FRESH, POOLED, BOOTSTRAP = methods_for(10)
STOCKS = np.array([100.0, 1000.0])


def probe(family: Any, evaluations: float, seconds: float) -> SimpleNamespace:
    return SimpleNamespace(family=family, evaluations=evaluations, seconds=seconds)


PROBES = (probe(STRATA, 40.0, 0.5), probe(STRATA, 20.0, 0.3), probe(PERMUTATION, 10.0, 0.2))


class Distant(sb.FunctionSource):
    """A source that is asked from a thread, or from the calling thread."""

    def __init__(self, waits: bool, concurrent: int = 1) -> None:
        super().__init__(lambda size, rng: (np.zeros((size, 1)), np.zeros(size)))
        self.waits, self.concurrent = waits, concurrent


def pilot(waits: tuple[bool, ...] = (), **parts: Any) -> SimpleNamespace:
    """Two providers in memory, or distant ones; 2 s per request and 0.1 s per record."""
    in_memory = sb.ArraySource([[0.0]], [0.0])
    sources = [Distant(one, 3) for one in waits] or [in_memory] * 2
    concurrency = parts.pop("concurrency", 8)
    arguments = SimpleNamespace(
        providers=[sb.Provider(f"p{at}", one) for at, one in enumerate(sources)],
        utility=SimpleNamespace(threaded=parts.pop("threaded", False)),
        concurrency=concurrency,
        participation=None,
        names=("p0", "p1"),
    )
    waiting = np.array(waits or (False, False))
    requests = RequestTimes(
        per_request=np.full(2, 2.0),
        per_record=np.full(2, 0.1),
        waits=waiting,
        concurrency=concurrency,
        at_once=np.where(waiting, 3.0, 1.0),
        handling=parts.pop("handling", 0.0),
    )
    made = {
        "arguments": arguments,
        "stocks": STOCKS,
        "pool_sizes": np.array([40, 60]),
        "probes": PROBES,
        "fold_seconds": 0.01,
        "pool_fold_seconds": 0.03,
        "requests": requests,
        "seconds": 5.0,
    }
    return SimpleNamespace(**(made | parts))


def way(method: Any, n_pool: int = 0, family: Any = STRATA) -> Way:
    return Way(method, n_pool, family, 20, STOCKS)


def model(n_jobs: int = 1, evaluations: float = 20.0, **parts: Any) -> TimeModel:
    """A model that need not count the evaluations of a game."""
    counted = {
        (family.name, 20, pooled): evaluations for family in FAMILIES for pooled in (True, False)
    }
    return TimeModel(pilot(**parts), 10, n_jobs, counted)


@pytest.mark.parametrize(
    ("family", "evaluations", "seconds"),
    [
        (STRATA, 20.0, 0.3),
        (STRATA, 30.0, 0.4),
        (STRATA, 60.0, 0.7),
        (STRATA, 15.0, 0.25),
        (STRATA, 1.0, 0.15),  # at least half of the quickest probe
        (PERMUTATION, 30.0, 0.6),  # one probe: in proportion
        (EXACT, 16.0, 0.2),  # no probe: at the best pace of the others, 0.5 s / 40
    ],
)
def test_the_time_to_solve_a_game(family, evaluations, seconds):
    times = model(evaluations=evaluations)
    assert times.per_game(way(FRESH, family=family)) == pytest.approx(seconds + 0.01)


def test_slower_quick_probes_give_no_negative_slope():
    times = model(evaluations=100.0, probes=(probe(STRATA, 20.0, 0.5), probe(STRATA, 40.0, 0.3)))
    assert times.per_game(way(FRESH)) == pytest.approx(0.5 + 0.01)


def test_the_time_to_add_a_game_to_the_sums():
    times = model()
    assert times.per_game(way(POOLED, 80)) == pytest.approx(0.3 + 0.03)
    assert Way(POOLED, 80, STRATA, 20, STOCKS).per_shuffle == 8


def test_evaluations_are_counted_once_for_a_solver():
    times = TimeModel(pilot(), 10, 1, {("Strata", 20, False): 17.0})
    assert times.evaluations(way(FRESH)) == 17.0


def test_the_time_before_the_first_game():
    times = model()
    assert times.fixed(way(FRESH)) == 5.0
    # 40 and 100 more records, then 40 more and none: a request that asks for nothing is not made.
    assert times.fixed(way(POOLED, 100)) == pytest.approx(5.0 + (2 + 6.0) + (2 + 4.0))
    assert times.fixed(way(POOLED, 50)) == pytest.approx(5.0 + (2 + 1.0))
    assert model(pool_sizes=None).fixed(way(POOLED, 50)) == pytest.approx(5.0 + 2 * (2 + 5.0))


def test_fresh_draws_from_memory_take_the_times_of_their_requests():
    times = model()
    each = 0.3 + 0.01 + 2 * (2 + 1.0)  # solved, added, and two requests for ten records
    assert times.seconds(way(FRESH), 7) == pytest.approx(5.0 + 7 * each)
    assert times.seconds(way(POOLED, 40), 7) == pytest.approx(5.0 + 7 * 0.33)


def test_draws_are_fetched_while_games_are_solved():
    """Both sources wait and answer three requests at once: a game's draws take a second."""
    times = model(waits=(True, True))
    first = 8 * 3  # games that are fetched before the first is solved
    assert times.fixed(way(FRESH)) == pytest.approx(5.0 + first * 1.0)
    assert times.seconds(way(FRESH), 7) == pytest.approx(5.0 + first + 7 * 1.0)
    slow = model(waits=(True, True), evaluations=200.0)  # 2.1 s per game
    assert slow.seconds(way(FRESH), 7) == pytest.approx(5.0 + first + 7 * 2.11)


def test_one_request_at_a_time_or_a_source_in_the_calling_thread_leaves_no_time_to_solve():
    alone = model(waits=(True, True), concurrency=1)
    assert alone.seconds(way(FRESH), 7) == pytest.approx(5.0 + 7 * (6.0 + 0.31))
    bound = model(waits=(True, False))
    assert bound.seconds(way(FRESH), 7) == pytest.approx(5.0 + 7 * (1.0 + 3.0 + 0.31))


def test_the_handling_of_requests_takes_time_beside_or_after_the_answers():
    assert model(waits=(True, True), handling=4.0)._fetch == 4.0
    assert model(waits=(True, True), handling=0.5)._fetch == pytest.approx(1.0)
    assert model(waits=(True, False), handling=0.5)._fetch == pytest.approx(1.0 + 3.0 + 0.5)
    assert model(handling=0.5)._fetch == pytest.approx(6.0 + 0.5)


def test_workers_share_the_work_once_they_are_started():
    assert model()._shared(100.0) == 100.0
    assert model(4, threaded=True)._shared(100.0) == 25.0
    assert model(4)._shared(3.99) == 3.99
    assert model(4)._shared(4.0) == pytest.approx(2.0 + 2.0 / 4)
    assert model(4)._shared(100.0) == pytest.approx(2.0 + 98.0 / 4)


@pytest.mark.parametrize("n_jobs", [1, 4])
@pytest.mark.parametrize("waits", [(), (True, True), (True, False)])
@pytest.mark.parametrize("seconds", [6.0, 60.0, 1000.0])
@pytest.mark.parametrize("method", [FRESH, POOLED])
def test_as_many_games_as_fit_in_a_time(n_jobs, waits, seconds, method):
    times, one = model(n_jobs, waits=waits), way(method, 40 if method.pooled else 0)
    games = times.games_within(one, seconds)
    within = seconds * (1 + 1e-9)
    assert games == 0 or times.seconds(one, games) <= within
    if times.fixed(one) < seconds:
        # A second more of starting processes, or one game more.
        assert times.seconds(one, games + 1 + int(games / 50)) > seconds


def test_no_time_is_no_game_and_no_work_is_all_games():
    assert model().games_within(way(POOLED, 40), 4.0) == 0
    free = model(probes=(probe(STRATA, 20.0, 0.0),), fold_seconds=0.0, pool_fold_seconds=0.0)
    assert free.games_within(way(POOLED, 40), 10.0) == MOST_GAMES


def games_of(method, pools, most, error=None):
    """Games that a search plays if games and pools add these variances."""
    made = SimpleNamespace(
        pools_variance=lambda way: np.full(2, pools),
        games_variance=lambda way, n_games=None: np.ones(2),
    )
    clock = SimpleNamespace(games_within=lambda way, seconds: most)
    limits = Limits(sb.Budget(), None, None, 1.0, error)
    search = Search(pilot(), made, clock, limits)
    return search._games(way(method, 80)), list(search.failures)


def test_games_are_played_until_the_pools_cause_nearly_all_of_the_error():
    """Up to 2 % of the pools' variance: 100 games if both variances are 1 and 0.5."""
    assert games_of(BOOTSTRAP, 0.5, most=10**6) == (101, [])
    assert games_of(BOOTSTRAP, 0.5, most=90) == (90, [])
    assert games_of(BOOTSTRAP, 1e6, most=10**6) == (2, [])  # two games at least
    assert games_of(BOOTSTRAP, 0.5, most=1) == (0, ["no more than 1 games fit in 1 min"])
    assert games_of(POOLED, 0.5, most=10**6) == (96, [])  # whole shuffles of eight games
    assert games_of(POOLED, 0.5, most=90) == (88, [])
