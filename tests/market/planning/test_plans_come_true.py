"""Plans come true: errors, times and bills of what was proposed, over many seeds.

An error is compared with the root mean square deviation from a long valuation. All providers are
taken together, so 12 seeds of 10 providers tell it to about 8 %; the tolerance is 25 %. It is
larger with unequal sizes, participation, an index or groups, as docs/planning.md says.
"""

import os
import time
from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor

import shapband as sb

_SLOPE = np.array([1.0, -2.0, 0.5])


class _Site:
    """Draws records of a linear model; sites differ in their noise."""

    def __init__(self, place):
        self.place = place

    def __call__(self, size, rng):
        X = rng.normal(size=(size, 3)) + 0.2 * self.place
        return X, X @ _SLOPE + (1 + 0.3 * self.place) * rng.normal(size=size)


def _wine():
    task = sb.datasets.wine()
    return task.providers, task.providers, task.utility, 60


def _synthetic():
    task = sb.datasets.synthetic(seed=0)
    return task.providers, task.providers, task.utility, 100


def _late():
    near = [sb.Provider(f"p{i}", sb.FunctionSource(_Site(i))) for i in range(5)]
    far = [sb.Provider(p.name, sb.with_delay(p.source, 0.02)) for p in near]
    X, y = _Site(0)(300, np.random.default_rng(1))
    return far, near, sb.LinearUtility(X, y), 20


def _boosting():
    task = sb.datasets.wine()
    model = GradientBoostingRegressor(n_estimators=10, max_depth=2, random_state=0)
    utility = sb.EstimatorUtility(model, task.X_val[:300], task.y_val[:300])
    return task.providers[:4], task.providers[:4], utility, 40


SIZES = (200, 400, 800, 1500, 3000, 6000, 12_000, 20_000)


def _hospitals(stocks):
    """Hospitals with records of one linear model; later ones have more noise."""
    rng = np.random.default_rng(0)
    sites = [(f"h{i}", _Site(i / 2)(n, rng)) for i, n in enumerate(stocks)]
    providers = [sb.Provider(name, sb.ArraySource(*records)) for name, records in sites]
    X, y = _Site(0)(300, rng)
    return providers, sb.LinearUtility(X, y)


# name: stocks, arguments of the plan, records, games of the truth, bounds of promised over reached
OTHERS = {
    "independent": ([2000] * 6, {"n_sample": 20, "participation": sb.Independent(0.7)}, 1500,
                    20_000, (0.85, 1.3)),
    "cohort": ([2000] * 6, {"n_sample": 20, "participation": sb.Cohort(3)}, 1500, 100_000,
               (0.8, 1.3)),
    "chain": ([2000] * 6, {"n_sample": 20, "participation": sb.MarkovChain(0.3, 0.8)}, 1500,
              200_000, (0.8, 1.3)),
    "banzhaf": ([2000] * 6, {"n_sample": 20, "index": sb.Banzhaf()}, 1500, 20_000, (0.85, 1.3)),
    "groups": ([2000] * 6, {"n_sample": 20}, 1500, 20_000, (0.85, 1.3)),
    "fractions": (SIZES, {"n_sample": 0.1}, 20_000, 10_000, (0.85, 1.5)),
    "names": (SIZES, {"n_sample": {f"h{i}": n // 20 for i, n in enumerate(SIZES)}}, 12_000, 10_000,
              (0.8, 1.4)),
}  # fmt: skip


def _truth(players, utility, stocks, n_games, given):
    """Values of draws from the whole stocks, which have no error due to pools."""
    others = {name: part for name, part in given.items() if name != "n_sample"}
    sampling = sb.Pooled(max(stocks), given["n_sample"], replace=False)
    return sb.value(
        players, utility, sampling=sampling, solver=sb.Exact(), n_games=n_games, seed=10**6,
        fixed_validation=True, **others,
    )  # fmt: skip


def _players(name, providers):
    return [sb.Group("g", providers[:3]), *providers[3:]] if name == "groups" else providers


@pytest.mark.long
@pytest.mark.parametrize("name", OTHERS)
def test_a_plan_with_other_arguments_comes_true(name):
    stocks, given, records, n_truth, (low, high) = OTHERS[name]
    providers, utility = _hospitals(stocks)
    players = _players(name, providers)
    truth = _truth(players, utility, stocks, n_truth, given)
    promised, reached, reported = [], [], []
    for seed in range(4000, 4024):
        found = sb.plan(
            players, utility, budget=sb.Budget(records=records), minutes=0.4, seed=seed,
            fixed_validation=True, **given,
        )  # fmt: skip
        row, valuation = found.recommended, found.value()
        assert (valuation.access.records, valuation.access.requests) == (row.records, row.requests)
        promised.append(row.standard_error)
        reached.append(valuation.expectation - truth.expectation)
        reported.append(valuation.standard_error)
    error, deviation, told = np.mean(promised), _deviation(reached), np.mean(reported)
    print(f"{name}: promised {error:.3g}, reached {deviation:.3g}, reported {told:.3g}")  # noqa: T201
    assert low < error / deviation < high
    assert low < error / told < high
    assert not low < 2 * error / deviation < high  # the control


@pytest.mark.usefixtures("warm_kernels")
@pytest.mark.parametrize("name", ["independent", "banzhaf", "groups", "unequal"])
def test_a_small_plan_comes_true(name, monkeypatch):
    """The mean of three plans, of which one is played with 16 other seeds.

    A plan from one pilot has an error of about 30 %, and 16 seeds of four providers tell what is
    reached to about 12 %. So promised over reached has an error of about 21 %, and the bounds are
    twice that.
    """
    # By a clock that goes on by 10 µs when it is read, pilots play all games that they may.
    clock = SimpleNamespace(perf_counter=partial(next, count(0.0, 1e-5)))
    monkeypatch.setattr("shapband.market.planning.probes.time", clock)
    monkeypatch.setattr("shapband.market.planning.probes._MOST_PROBED", 16)
    stocks = (100, 300, 700, 1500) if name == "unequal" else [600] * 4
    given = {
        "independent": {"n_sample": 15, "participation": sb.Independent(0.7)},
        "banzhaf": {"n_sample": 15, "index": sb.Banzhaf()},
        "groups": {"n_sample": 15},
        "unequal": {"n_sample": 0.1},
    }[name]
    providers, utility = _hospitals(stocks)
    players = _players(name, providers)
    truth = _truth(players, utility, stocks, 5000, given)
    rows = [
        sb.plan(
            players, utility, budget=sb.Budget(records=sum(stocks) // 3), minutes=1, seed=seed,
            fixed_validation=True, **given,
        ).recommended
        for seed in (1, 2, 3)
    ]  # fmt: skip
    row = rows[0]
    # More games than these lower the error by 3 % at most, and would take longer.
    arguments = {**row.arguments, "n_games": min(row.n_games, 600)}
    reached = [
        sb.value(players, utility, **(arguments | {"seed": seed})).expectation - truth.expectation
        for seed in range(16)
    ]
    ratio = np.mean([one.standard_error for one in rows]) / _deviation(reached)
    print(f"{name}: promised / reached {ratio:.2f}")  # noqa: T201
    assert 0.6 < ratio < 1.6
    assert not 0.6 < 3 * ratio < 1.6  # the control


TASKS = {
    # name: task, games of the truth, limits, seeds, least and most of promised / reached errors.
    # Promises are too small for gradient boosting, whose pilot has few games; too large for wine.
    "wine": (_wine, 20_000, {"budget": sb.Budget(records=2500), "minutes": 0.5}, 24, 0.75, 1.35),
    "synthetic": (
        _synthetic, 4000, {"budget": sb.Budget(records=5000), "minutes": 0.3}, 12, 0.75, 1.25
    ),
    "late": (_late, 10_000, {"budget": sb.Budget(records=8000), "minutes": 0.1}, 24, 0.75, 1.25),
    "boosting": (
        _boosting, 500, {"budget": sb.Budget(records=1000), "minutes": 0.5}, 10, 0.6, 1.15
    ),
}  # fmt: skip


def _deviation(errors):
    """Root mean square over seeds, then the mean over providers."""
    return float(np.sqrt(np.mean(np.square(errors), axis=0)).mean())


@pytest.mark.long
@pytest.mark.parametrize("name", TASKS)
def test_a_plan_comes_true(name):
    """The errors are about the rows at hand, because all valuations have the same ones."""
    make, n_truth, limits, seeds, least, most = TASKS[name]
    providers, near, utility, n_sample = make()
    fixed = {"fixed_validation": True}
    long = sb.value(
        near, utility, sampling=sb.Fresh(n_sample), n_games=n_truth, seed=10**6, **fixed
    )
    promised, reached, reported, pace = [], [], [], []
    for seed in range(1000, 1000 + seeds):
        found = sb.plan(providers, utility, n_sample=n_sample, seed=seed, **limits, **fixed)
        row = found.recommended
        started = time.perf_counter()
        valuation = found.value()
        seconds = time.perf_counter() - started + found.pilot.seconds
        assert (valuation.access.records, valuation.access.requests) == (row.records, row.requests)
        promised.append(row.standard_error)
        reached.append(valuation.expectation - long.expectation)
        reported.append(valuation.standard_error)
        pace.append(row.seconds / seconds)
    error, truth, told = np.mean(promised), _deviation(reached), np.mean(reported)
    print(f"{name}: promised {error:.3g}, reached {truth:.3g}, reported {told:.3g}")  # noqa: T201
    print(f"{name}: promised time / taken {np.quantile(pace, [0.1, 0.5, 0.9]).round(2)}")  # noqa: T201
    assert least < error / truth < most
    assert least < error / told < most
    assert not least < 2 * error / truth < most  # the control: twice the error is not a match
    if os.getloadavg()[0] < len(os.sched_getaffinity(0)):  # others must not use the machine
        assert 1 / 1.4 < np.median(pace) < 1.4


@pytest.mark.long
def test_no_split_of_the_wine_budget_is_much_better():
    """Other ways to spend 2,500 records and the time of the recommended row, measured."""
    providers, near, utility, n_sample = _wine()
    truth = sb.value(near, utility, sampling=sb.Fresh(60), n_games=20_000, seed=10**6)
    limits = {"budget": sb.Budget(records=2500), "minutes": 0.5}
    row = sb.plan(providers, utility, n_sample=n_sample, seed=0, **limits).recommended

    def error(sampling, solver, n_games):
        found = [
            sb.value(
                near, utility, sampling=sampling, solver=solver, n_games=n_games, seed=seed
            ).expectation
            - truth.expectation
            for seed in range(30)
        ]
        return _deviation(found)

    best = error(row.sampling, row.solver, row.n_games)
    for other in (
        (sb.Fresh(60), sb.Exact(), 4),
        (sb.Pooled(125, 60), sb.Exact(), row.n_games),
        (sb.Pooled(250, 60, replace=False), sb.Exact(), 4 * row.n_games),
        (sb.Pooled(250, 60, replace=False), sb.Permutation(16), 2 * row.n_games),
        (sb.Pooled(250, 60, replace=False), sb.BalancedPermutation(20), 2 * row.n_games),
        (sb.Pooled(240, 60, replace=False), sb.Exact(), row.n_games),
    ):
        assert best < 1.15 * error(*other)
