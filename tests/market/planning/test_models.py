"""The models of errors and times, against known answers and against all alternatives."""

from dataclasses import replace
from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from tests.conftest import gaussian_providers

import shapband as sb
from shapband.market.planning.errors import ErrorModel, _shrunk
from shapband.market.planning.parts import mixed
from shapband.market.planning.pilot import pilot_design
from shapband.market.planning.requests import RequestTimes
from shapband.market.planning.search import Limits, Search
from shapband.market.planning.seconds import TimeModel
from shapband.market.planning.solvers import FAMILIES, families_for
from shapband.market.planning.ways import Way, methods_for, pool_grid

SD = np.array([1.0, 2.0, 3.0])
B = 20


@pytest.fixture(scope="module")
def found():
    """A plan for the additive Gaussian game, in which every variance is known."""
    providers = gaussian_providers([1.0, 2.0, 3.0], SD)
    return sb.plan(
        providers, sb.AdditiveUtility(), n_sample=B, budget=sb.Budget(records=3000), minutes=0.2,
        seed=3,
    )  # fmt: skip


def method(name):
    return next(one for one in methods_for(B) if one.name == name)


@pytest.fixture(scope="module")
def model(found):
    return ErrorModel.of(found.pilot, B)


EXACT = FAMILIES[0]


@pytest.mark.parametrize(
    ("name", "n_pool", "n_games", "square"),
    [
        ("Fresh", 0, 50, lambda v: v / 50),
        ("Pooled, without replacement", 400, 100, lambda v: v * 0.05),
        ("Pooled, with replacement", 400, 100, lambda v: v * (1 / 100 + 0.05)),
    ],
)
def test_errors_of_sums_are_those_of_theory(model, name, n_pool, n_games, square):
    """60 records show a variance to 18 %, and the standard error to 9 %; three times that."""
    errors = model.errors(Way(method(name), n_pool, EXACT, 7, model.stocks), n_games)
    theory = np.sqrt(square(SD**2 / B))
    np.testing.assert_allclose(errors.standard_error / theory, 1.0, atol=0.28)
    assert (np.abs(errors.standard_error / np.sqrt(2 * theory**2) - 1) > 0.05).all()  # the control


def solvers(name):
    return next(one for one in FAMILIES if one.name == name)


def test_more_games_records_and_work_lower_the_error(model):
    pooled = method("Pooled, without replacement")
    small, large = (Way(pooled, n_pool, EXACT, 7, model.stocks) for n_pool in (100, 200))
    base = model.errors(small, 50)
    assert (model.errors(small, 100).half_width < base.half_width).all()
    assert (model.errors(large, 50).half_width < base.half_width).all()
    noisy = replace(model, noise={"Permutation": (np.array([2.0]), np.ones((1, 3)))})
    few, many = (
        noisy.errors(Way(pooled, 100, solvers("Permutation"), work, model.stocks), 50)
        for work in (2, 4)
    )
    assert (many.half_width < few.half_width).all()


def test_pools_that_are_whole_stocks_have_no_variance_between_them(model):
    small = replace(model, stocks=np.array([50.0, 50.0, 50.0]))
    assert (small.between(np.array([50.0, 50.0, 50.0])) == 0).all()


def test_a_value_is_moved_mostly_by_its_own_pool():
    np.testing.assert_allclose(mixed(np.array([0.0, 1.0, 1.0])), [1 / 8, 15 / 16, 15 / 16])
    assert mixed(np.array([0.5])) == [0.5]


def test_uncertain_variances_are_shrunk():
    sure, unsure = np.full(3, 1e-6), np.full(3, 10.0)
    values = np.array([1.0, 2.0, 6.0])
    np.testing.assert_allclose(_shrunk(values, sure), values)
    np.testing.assert_allclose(_shrunk(values, unsure), 3.0)


def test_the_noise_of_other_amounts_of_work_is_that_which_a_solver_reports(wine, monkeypatch):
    # By a clock that goes on by 10 µs when it is read, every probe solves as many games as it may,
    # on a busy machine too.
    clock = SimpleNamespace(perf_counter=partial(next, count(0.0, 1e-5)))
    monkeypatch.setattr("shapband.market.planning.probes.time", clock)
    monkeypatch.setattr("shapband.market.planning.probes._MOST_PROBED", 16)
    found = sb.plan(wine.providers, wine.utility, n_sample=60, minutes=60, seed=0)
    model = ErrorModel.of(found.pilot, 60)
    for name, work in (("Permutation", 16), ("BalancedPermutation", 40), ("Strata", 150)):
        family = solvers(name)
        valuation = sb.value(
            wine.providers, wine.utility, sampling=sb.Fresh(60), solver=family.make(work),
            n_games=200, seed=1,
        )  # fmt: skip
        ratio = model.solver_noise(family, work).mean() / valuation.solver_variance.mean()
        assert 0.6 < ratio < 1.5
        assert not 0.6 < 3 * ratio < 1.5  # the control


def test_noise_is_a_power_of_the_work_between_probes_and_falls_like_its_inverse_beyond(model):
    noisy = replace(
        model, noise={"Strata": (np.array([10.0, 40.0]), np.array([[8.0] * 3, [0.5] * 3]))}
    )
    works = {5: 16.0, 10: 8.0, 20: 2.0, 40: 0.5, 80: 0.25}
    for work, noise in works.items():
        np.testing.assert_allclose(noisy.solver_noise(solvers("Strata"), work), noise)


@pytest.mark.parametrize("error", [None, 0.03])
def test_no_other_split_is_much_better(found, error):
    """The grid of the search, against a grid that is many times finer."""
    pilot, limits = found.pilot, replace(found.limits, error=error)
    model, times = ErrorModel.of(pilot, B), TimeModel(pilot, B, 1)
    search = Search(pilot, model, times, limits)
    for one in methods_for(B):
        for family in families_for(3):
            best = search.best(one, family)
            pools = range(60, 1000) if one.pooled else [0]
            ways = [
                Way(one, n_pool, family, work, pilot.stocks)
                for n_pool in pools
                for work in family.works(3)
            ]
            others = [search._make(way, n_games) for way in ways if (n_games := search._games(way))]
            fitting = [other for other in others if search._fits(other)]
            if isinstance(best, str):
                assert not fitting
            elif error is None:
                assert best.worst <= 1.05 * min(other.worst for other in fitting)
            else:
                cheapest = min(search.bill(other) for other in fitting)
                assert float(search.bill(best)) <= 1.15 * float(cheapest)


def test_games_fit_in_the_time(found):
    for n_jobs in (1, 4):
        times = TimeModel(found.pilot, B, n_jobs)
        for one in methods_for(B):
            way = Way(one, 100 if one.pooled else 0, EXACT, 7, found.pilot.stocks)
            games = times.games_within(way, 6.0)
            assert times.seconds(way, games) <= 6.0 * (1 + 1e-9)
            assert times.seconds(way, int(1.01 * games) + 1) > 6.0


def test_waiting_sources_are_asked_together():
    times = RequestTimes(
        per_request=np.array([1.0, 2.0, 3.0]),
        per_record=np.array([0.0, 0.1, 0.0]),
        waits=np.array([True, True, False]),
        concurrency=256,
        at_once=np.array([1.0, 4.0, 1.0]),
    )
    assert times.seconds(np.array([10.0, 10.0, 10.0])) == 6.0  # max(1, 3) + 3
    assert times.seconds(np.array([10.0, 0.0, 0.0])) == 1.0
    assert replace(times, concurrency=1).seconds(np.array([10.0, 10.0, 0.0])) == 4.0
    # Of many games, the second source answers four at the same time: 3 s / 4 is less than 1 s.
    assert times.per_game(np.array([10.0, 10.0, 10.0])) == 4.0
    assert times.per_game(np.array([0.0, 10.0, 0.0])) == 0.75
    assert replace(times, concurrency=1).per_game(np.array([10.0, 10.0, 0.0])) == 4.0


def test_the_speed_of_a_source_follows_from_two_requests():
    plan = sb.plan(
        gaussian_providers([1.0, 2.0], [1.0, 1.0]), sb.AdditiveUtility(), n_sample=5, seed=0,
        minutes=0.1,
    ).pilot.arguments  # fmt: skip
    # A request of 10 records, then one of 30: 1 s + 0.1 s a record; and 2 s whatever the size.
    found = RequestTimes.of_pools(plan, [10, 10], [40, 40], [2.0, 2.0], [6.0, 4.0])
    np.testing.assert_allclose(found.per_request, [1.0, 2.0])
    np.testing.assert_allclose(found.per_record, [0.1, 0.0])


@pytest.mark.parametrize(("least", "most"), [(2, 2), (2, 3), (100, 1000), (7, 10**6)])
def test_the_grid_of_pools_is_fine(least, most):
    grid = pool_grid(least, most)
    assert (grid[0], grid[-1]) == (least, most)
    steps = np.diff(grid)
    assert (steps > 0).all()
    assert (steps <= np.maximum(0.16 * np.array(grid[:-1]) + 1, 1)).all()


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 21, 100])
def test_solvers_to_try_are_valid_and_cheaper_than_exact_ones(n):
    families = families_for(n)
    assert families
    for family in families:
        for work in family.works(n):
            family.make(work).check(n)
            if family.noisy and n <= 20:
                each = 1 if family.name == "Strata" else n
                assert work * each < 2**n - 1


def test_limits_in_words():
    none = Limits(sb.Budget(), None, None, None, None)
    assert str(none) == "no limit"
    assert str(replace(none, budget=sb.Budget(records=10), minutes=1.5)) == "10 records and 1.5 min"


def test_exact_values_take_all_coalitions_of_few_providers():
    assert [EXACT.works(n) for n in (1, 3, 10, 20, 21)] == [[1], [7], [1023], [2**20 - 1], []]


def test_a_pilot_draws_without_replacement_if_the_stocks_have_two_draws():
    rng = np.random.default_rng(0)
    stocks = [sb.Provider(f"p{i}", sb.ArraySource(rng.normal(size=(90, 1)), rng.normal(size=90)))
              for i in range(2)]  # fmt: skip
    for n_sample in (10, 45):
        sampling, _ = pilot_design(stocks, n_sample, lambda cost: True)
        assert sampling == sb.Pooled(max(2 * n_sample, 60), n_sample, replace=False)
    sampling, games = pilot_design(stocks, 46, lambda cost: True)
    assert (sampling, games > 2) == (sb.Fresh(46), True)
    with pytest.raises(sb.errors.BudgetExceeded, match="the pilot takes 40 records in 2 requests"):
        pilot_design(stocks, 10, lambda cost: False)


def test_a_row_is_played_as_it_is_proposed(found):
    for row in found.rows:
        given = row.arguments
        assert (given["sampling"], given["solver"], given["n_games"]) == (
            row.sampling, row.solver, row.n_games,
        )  # fmt: skip
        assert given["budget"] == sb.Budget(records=row.records, requests=row.requests)
