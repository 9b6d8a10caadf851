"""Games dealt from shuffles, against their exact moments over all ways to deal a small pool."""

from itertools import combinations, permutations

import numpy as np
import pytest

import shapband as sb
from shapband.estimate.shuffles import Shuffles, apart, dealt

POOL = np.array([0.3, 1.1, 2.7, 4.2, 5.0, 9.5])


def curve(rows):
    """A value of a draw that is not a sum over its records."""
    return np.sqrt(POOL[list(rows)].sum()) + 0.1 * POOL[list(rows)].max()


def moments_of_a_pool(size):
    """Variance of single draws of a pool of six, and covariance of two that share no record."""
    draws = list(combinations(range(6), size))
    values = np.array([curve(draw) for draw in draws])
    pairs = [
        (one - values.mean()) * (other - values.mean())
        for one, a in zip(values, draws, strict=True)
        for other, b in zip(values, draws, strict=True)
        if not set(a) & set(b)
    ]
    return values.var(), np.mean(pairs)


def all_dealt(size, n_games):
    """The values of the first games of every shuffle: (n_shuffles, n_games)."""
    orders = permutations(range(6))
    return np.array(
        [[curve(o[at * size : (at + 1) * size]) for at in range(n_games)] for o in orders]
    )


@pytest.mark.parametrize(("size", "n_games"), [(1, 6), (2, 3), (2, 2), (3, 2), (1, 4)])
def test_variances_of_games_and_means_are_those_over_all_shuffles(size, n_games):
    """With F known, the formulas are exact, also for an incomplete shuffle."""
    variance, covariance = moments_of_a_pool(size)
    games = all_dealt(size, n_games)
    raw = games.var(axis=1, ddof=1).mean()
    # Before shuffles show C it is taken from `between`, here the true one.
    found = dealt(np.array([raw]), n_games, Shuffles(6 // size, 0, np.zeros(1)), -covariance)
    np.testing.assert_allclose(found.single, [variance], rtol=1e-9)
    np.testing.assert_allclose(found.of_mean, [games.mean(axis=1).var()], rtol=1e-9, atol=1e-12)


def test_pairs_of_different_shuffles_are_counted():
    for n_games, size in [(1, 3), (3, 3), (4, 3), (10, 4), (12, 4)]:
        shuffle = np.arange(n_games) // size
        assert apart(n_games, size) == (shuffle[:, None] != shuffle).sum()


def played(n_games, k, seed, f):
    rng = np.random.default_rng(seed)
    pool = np.random.default_rng(3).normal(size=(60, 3))
    rows = [rng.permutation(60)[: 60 // k * k].reshape(k, -1) for _ in range(-(-n_games // k))]
    return np.array([f(pool[row]) for row in np.concatenate(rows)[:n_games]])


@pytest.mark.parametrize("k", [2, 5])
def test_errors_of_many_shuffles_hold(k):
    """The mean of 100 estimates; squared errors of 100 means are known to 14 %, here to 4 of it."""
    found, means, singles = [], [], []
    for seed in range(100):
        games = played(150, k, seed, lambda x: np.log1p(x**2).max(axis=0) + x.mean(axis=0))
        estimate = sb.Estimate.of(games, per_shuffle=k)
        found.append(estimate.errors.total)
        means.append(games.mean(axis=0))
        singles.append(games.var(axis=0, ddof=1) / len(games))
    true = np.var(means, axis=0, ddof=1).mean()
    assert 1 - 0.35 < np.mean(found) / true < 1 + 0.56
    assert np.mean(singles) / true > 1.8  # the control: games as if they were independent


def test_values_that_dealing_makes_more_alike_have_larger_errors():
    """Squares of means are equal for both halves of a pool whose mean is 0, so nothing cancels."""
    centre = np.random.default_rng(3).normal(size=(60, 3)).mean(axis=0)
    games = played(400, 2, 0, lambda x: (x.mean(axis=0) - centre) ** 2)
    plain, dealt_ones = sb.Estimate.of(games), sb.Estimate.of(games, per_shuffle=2)
    ratio = dealt_ones.errors.total / plain.errors.total
    np.testing.assert_allclose(ratio, 2.0, atol=0.3)


def test_one_more_game_never_changes_errors_by_much():
    """From two games on, through incomplete shuffles, whatever is seen of the pools."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X @ [1.0, -0.5] + rng.normal(size=300)
    stocks = [sb.ArraySource(X[i * 60 : i * 60 + 60], y[i * 60 : i * 60 + 60]) for i in range(4)]
    providers = [sb.Provider(f"p{i}", stock) for i, stock in enumerate(stocks)]
    utility = sb.LinearUtility(X[240:], y[240:])
    for n_pool in (30, 60):
        sampling = sb.Pooled(n_pool, 5, replace=False)
        errors = [
            sb.value(providers, utility, sampling=sampling, n_games=n_games, seed=1).standard_error
            for n_games in range(10, 40)
        ]
        steps = np.diff(np.log([one.mean() for one in errors]))
        assert np.abs(steps).max() < np.log(1.5)
