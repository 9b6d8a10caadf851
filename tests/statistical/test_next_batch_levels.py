"""Gains from one more draw: unbiased beside plain NumPy, and how often their intervals hold."""

from functools import cache

import numpy as np
import pytest

import shapband as sb
from shapband.estimate.estimate import Estimate
from shapband.estimate.intervals import expectation_interval

NAMES = ("a", "b", "c", "d")
NOISE, SHIFT = (0.5, 1.0, 1.5, 2.0), (0.0, 0.5, -0.5, 1.0)
DRAW, STOCK = 15, 100_000
POOLS = sb.Pooled(20 * DRAW, DRAW, replace=False)


def regression(rng, i, n):
    X = rng.normal(size=(n, 3)) + SHIFT[i] * np.array([1.0, 0.0, 0.0])
    return X, X @ [1.0, -1.0, 0.5] + 0.3 * X[:, 0] ** 2 + NOISE[i] * rng.normal(size=n)


def classes(rng, i, n):
    X = rng.normal(size=(n, 3))
    score = X @ [1.0, -1.0, 0.5] + 0.5 * X[:, 0] ** 2 + NOISE[i] * rng.normal(size=n)
    return X, (score > 0.3).astype(float)


KINDS = {
    "regression": (regression, sb.LinearUtility),
    "classes": (classes, sb.GaussianNBUtility),
}


@cache
def stocks(kind):
    rng = np.random.default_rng(7)
    return [
        sb.Provider(name, sb.ArraySource(*KINDS[kind][0](rng, i, STOCK)))
        for i, name in enumerate(NAMES)
    ]


def utility_of(kind, rng, rows):
    parts = [KINDS[kind][0](rng, i, rows // 4) for i in range(4)]
    return KINDS[kind][1](*(np.concatenate(part) for part in zip(*parts, strict=True)))


def gains(kind, sampling, utility, seed, n_games, *, fixed):
    return sb.next_batch(
        stocks(kind), utility, sampling=sampling, n_games=n_games, seed=seed, fixed_validation=fixed
    )


def inverse_mse(X, y, X_val, y_val):
    wide = np.column_stack([np.ones(len(X)), X])
    left = y_val - np.column_stack([np.ones(len(X_val)), X_val]) @ np.linalg.lstsq(wide, y)[0]
    return 1 / (1 + (left**2).mean())


def by_hand(X_val, y_val, n_games):
    """Gains of fresh records, from plain NumPy: mean and standard error."""
    rng = np.random.default_rng(11)
    found = np.empty((n_games, 4))
    for g in range(n_games):
        first = [regression(rng, i, DRAW) for i in range(4)]
        X, y = (np.concatenate(part) for part in zip(*first, strict=True))
        now = inverse_mse(X, y, X_val, y_val)
        for i in range(4):
            more = regression(rng, i, DRAW)
            both = np.concatenate([X, more[0]]), np.concatenate([y, more[1]])
            found[g, i] = inverse_mse(*both, X_val, y_val) - now
    return found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(n_games)


@pytest.mark.long
def test_gains_are_unbiased_beside_a_plain_loop():
    rng = np.random.default_rng(5)
    parts = [regression(rng, i, 50) for i in range(4)]
    X_val, y_val = (np.concatenate(part) for part in zip(*parts, strict=True))
    truth, error = by_hand(X_val, y_val, n_games=1000)
    utility = sb.LinearUtility(X_val, y_val)
    fresh = gains("regression", sb.Fresh(DRAW), utility, seed=1, n_games=8000, fixed=True)
    z = (fresh.gain - truth) / np.hypot(error, fresh.standard_error)
    assert (np.abs(z) < 4).all(), f"off by {z} standard errors"
    runs = np.array(
        [gains("regression", POOLS, utility, seed, 50, fixed=True).gain for seed in range(40)]
    )
    spread = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    z = (runs.mean(axis=0) - truth) / np.hypot(error, spread)
    assert (np.abs(z) < 4).all(), f"off by {z} standard errors"
    # Control: twice the records of one provider are not twice the gain.
    double = gains("regression", sb.Fresh(2 * DRAW), utility, seed=1, n_games=8000, fixed=True)
    z = (double.gain - truth) / np.hypot(error, double.standard_error)
    assert (np.abs(z) > 4).any()


def truth_of(kind, utility, n_games):
    return gains(kind, sb.Fresh(DRAW), utility, seed=99, n_games=n_games, fixed=True).gain


def levels(kind, sampling, *, repeats, n_games, fixed):
    """How often 95 % intervals hold, per provider; and those that leave lasting errors out."""
    rng = np.random.default_rng(12345)
    known = utility_of(kind, rng, 400 if fixed else 40_000)
    truth = truth_of(kind, known, 40_000 if fixed else 3000)
    held, control = np.zeros(4), np.zeros(4)
    for seed in range(repeats):
        rows = known if fixed else utility_of(kind, np.random.default_rng(1000 + seed), 200)
        found = gains(kind, sampling, rows, 5000 + seed, n_games, fixed=fixed)
        held += _inside(found.interval(), truth)
        bare = found.estimate.moments
        plain = Estimate.of_moments(type(bare)(**{**vars(bare), "pools": None, "validation": None}))
        control += _inside(expectation_interval(plain, 0.95), truth)
    return held / repeats, control / repeats


def _inside(interval, truth):
    return (interval[:, 0] <= truth) & (truth <= interval[:, 1])


CASES = [
    (kind, sampling, n_games, fixed)
    for kind in KINDS
    for sampling, n_games, fixed in ((sb.Fresh(DRAW), 100, False), (POOLS, 1000, True))
]


@pytest.mark.parametrize(("kind", "sampling", "n_games", "fixed"), CASES[:1])
def test_intervals_hold_about_as_often_as_they_say(kind, sampling, n_games, fixed):
    held, control = levels(kind, sampling, repeats=20, n_games=n_games, fixed=fixed)
    # Of 80 intervals, which are nearly independent, 95 % hold with a standard error of 2.4 %.
    assert held.mean() > 0.95 - 4 * 0.024
    assert control.mean() < 0.8  # without the errors that last, intervals are too short


@pytest.mark.long
@pytest.mark.parametrize(("kind", "sampling", "n_games", "fixed"), CASES)
def test_intervals_hold_in_93_to_97_percent(kind, sampling, n_games, fixed):
    held, control = levels(kind, sampling, repeats=300, n_games=n_games, fixed=fixed)
    assert 0.93 <= held.mean() <= 0.97
    assert held.min() >= 0.9
    if kind == "regression":
        assert control.mean() < 0.8
