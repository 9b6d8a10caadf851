"""Intervals of interactions hold the expectation over the population as often as they say."""

import numpy as np
import pytest
from tests.conftest import linear_providers, one_record_providers
from tests.interactions import of_table, upper

import shapband as sb
from shapband.games import Games
from shapband.seeds import Seeds

SEEDS = 80


@pytest.fixture(scope="module")
def task():
    providers, (X, y) = linear_providers(n=5, records=400)
    utility = sb.LinearUtility(X, y)
    many = sb.value(
        providers, utility, sampling=sb.Fresh(12), n_games=10_000, seed=10**6, interactions=True,
        fixed_validation=True,
    )  # fmt: skip
    return providers, utility, upper(many.interactions.matrix)


def levels(task, sampling, **given):
    """Share of intervals that hold the truth, and the share if only the games had errors."""
    providers, utility, truth = task
    held, control = [], []
    for seed in range(SEEDS):
        found = sb.value(
            providers, utility, sampling=sampling, seed=seed, interactions=True,
            fixed_validation=True, **given,
        ).interactions  # fmt: skip
        low, high = upper(found.interval()).T
        held.append((low <= truth) & (truth <= high))
        of_games = np.hypot(found.error["games"], found.error["solver"]).to_numpy()
        control.append(np.abs(upper(found.matrix) - truth) <= 2 * of_games)
    return np.mean(held), np.mean(control)


# The intervals of one valuation are correlated. If the ten of them were always held or missed
# together, a level of 95 % would have a standard error of 2.4 %.
@pytest.mark.parametrize(
    "solver", [sb.Exact(), pytest.param(sb.Strata(22), marks=pytest.mark.long)], ids=repr
)
def test_intervals_of_fresh_draws_hold(task, solver):
    held, _ = levels(task, sb.Fresh(12), n_games=40, solver=solver)
    assert 0.95 - 3 * 0.024 < held < 0.999


def test_intervals_of_pools_hold_and_would_not_without_the_error_of_the_pools(task):
    held, control = levels(task, sb.Pooled(40, 12, replace=False), n_games=100)
    assert held > 0.95 - 2 * 0.024
    assert control < 0.85


def games_of(table, n, count):
    names = tuple(one.name for one in one_record_providers(n))
    return Games(
        sb.TableUtility(table), [[None] * n] * count, names, range(count), Seeds(1),
        interactions=True,
    )  # fmt: skip


@pytest.mark.parametrize(("n", "n_evaluations"), [(6, 24), (6, 50), (7, 60), (8, 32)])
def test_interactions_of_strata_are_unbiased_and_report_their_noise(n, n_evaluations):
    masks = np.arange(2**n)
    there = masks[:, None] >> np.arange(n) & 1
    sums = there @ np.linspace(0.2, 0.9, n) - 0.3 * there[:, 0] * there[:, 1]
    table, count = 1 - np.exp(-sums), 400
    found = sb.Strata(n_evaluations).solve(games_of(table, n, count)).pairs
    error = found.values.std(axis=0, ddof=1) / np.sqrt(count)
    apart = (found.values.mean(axis=0) - of_table(table)) / error
    # Up to 28 pairs in each of four cases: a false alarm in about 5 of 1,000 seeds.
    assert np.abs(apart).max() < 4
    reported = found.noise.mean() / found.values.var(axis=0, ddof=1).mean()
    assert 0.8 < reported < 1.2
    # Another game is noticed: the same one without the interaction of the first two.
    other = of_table(1 - np.exp(-(there @ np.linspace(0.2, 0.9, n))))
    assert np.abs((found.values.mean(axis=0) - other) / error).max() > 6


def test_interactions_of_strata_are_exact_if_all_coalitions_are_evaluated():
    table = np.random.default_rng(0).normal(size=64)
    found = sb.Strata(63).solve(games_of(table, 6, 2)).pairs
    np.testing.assert_allclose(found.values[0], of_table(table), rtol=0, atol=1e-12)
    # 62 of 63 coalitions: only one size misses one coalition.
    nearly = sb.Strata(62).solve(games_of(table, 6, 50)).pairs
    assert nearly.noise.mean() < 0.02
