"""Errors of recorded presence: the variance within games that have the same providers present."""

import numpy as np
import pytest

import shapband as sb
from shapband.estimate.estimator import Estimator
from shapband.estimate.recorded import RoundSums
from shapband.solvers.base import Solution


def sums_of(present, x):
    sums = RoundSums(x.shape[1])
    for at in range(0, len(x), 7):
        sums.add(present[at : at + 7], x[at : at + 7])
    return sums.within()


def games_of(n_rounds, n, n_games, seed=0):
    rng = np.random.default_rng(seed)
    rounds = rng.random((n_rounds, n)) < 0.6
    rounds[0] = True
    present = rounds[np.arange(n_games) % n_rounds]
    return rounds, present, np.where(present, rng.normal(size=(n_games, n)), 0.0)


def slow(present, x, i):
    """Variance of the sum of one provider's values and degrees of freedom, stratum by stratum."""
    strata = {}
    for who, value in zip(present, x[:, i], strict=True):
        strata.setdefault(tuple(who), []).append(value)
    once = [v[0] for who, v in strata.items() if len(v) == 1 and who[i]]
    parts = [v for who, v in strata.items() if len(v) > 1 and who[i]]
    parts += [once] if len(once) > 1 else []
    games = sum(map(len, parts))
    of_sum = sum(len(v) * np.var(v, ddof=1) for v in parts)
    if len(once) == 1:
        of_sum *= (games + 1) / games
    return of_sum, games - len(parts)


@pytest.mark.parametrize("n_games", [24, 30, 36, 90])
def test_strata_are_those_of_a_loop(n_games):
    _, present, x = games_of(12, 5, n_games)
    x[:, 4] *= 1e6
    found = sums_of(present, x)
    for i in range(5):
        of_sum, freedom = slow(present, x, i)
        np.testing.assert_allclose(found.of_sum[i], of_sum, rtol=1e-9)
        assert found.freedom[i] == freedom


def test_products_are_about_the_means_of_the_strata():
    _, present, x = games_of(6, 4, 60)
    centred = x.copy()
    for who in np.unique(present, axis=0):
        same = (present == who).all(axis=1)
        centred[same] -= x[same].mean(axis=0)
    np.testing.assert_allclose(sums_of(present, x).products, centred.T @ centred, atol=1e-9)


def test_rounds_played_once_show_all_that_varies():
    present = np.array([[1, 1, 0], [1, 0, 1], [1, 0, 0], [1, 1, 1]], dtype=bool)
    x = np.where(present, np.random.default_rng(1).normal(size=(4, 3)), 0.0)
    found = sums_of(present, x)
    np.testing.assert_allclose(found.of_sum[0], 4 * x[:, 0].var(ddof=1))
    assert found.freedom.tolist() == [3, 1, 1]


def ratios(n_rounds, n, n_games, repeats, effect=1.5):
    """Reported over true standard error: of this version, and of the variance if present."""
    rng = np.random.default_rng([n_rounds, n, n_games])
    rounds = rng.random((n_rounds, n)) < 0.7
    rounds[0] = True
    design = sb.Design(
        names=tuple(f"p{i}" for i in range(n)),
        seed=0,
        draw_sizes=np.full(n, 5),
        estimand="any draws",
        participation=sb.Trace(rounds),
    )
    present = design.present(range(n_games))
    others = present.sum(axis=1, keepdims=True) - present
    means, squares, plain = [], [], []
    for _ in range(repeats):
        noise = rng.normal(size=(n_games, n)) * 0.5
        x = np.where(present, np.arange(n) - effect * others / (n - 1) + noise, 0.0)
        estimator = Estimator(design)
        estimator.add(Solution(x, np.zeros_like(x), 0))
        estimate = estimator.estimate()
        means.append(estimate.expectation)
        squares.append(estimate.standard_error**2)
        found = estimate.moments.presence
        plain.append(found.count * found.raw_variance / n_games**2)
    true = np.var(means, axis=0)
    return [np.sqrt(np.mean(each, axis=0) / true).mean() for each in (squares, plain)]


def test_reported_errors_are_the_true_ones_and_not_those_if_present():
    # 150 repetitions of 4 providers: the ratio has a standard error of about 0.03.
    found, plain = ratios(10, 4, 40, 150)
    assert 0.9 < found < 1.1
    assert plain > 1.15


@pytest.mark.long
@pytest.mark.parametrize(("n_rounds", "n", "n_games"), [(20, 4, 40), (30, 8, 60), (12, 5, 240)])
def test_reported_errors_of_more_traces(n_rounds, n, n_games):
    found, _ = ratios(n_rounds, n, n_games, 600)
    assert 0.93 < found < 1.07
