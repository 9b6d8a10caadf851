"""Games from pools with skewed records: levels of intervals, with the plain ones as control."""

from dataclasses import replace

import numpy as np
import pytest

import shapband as sb
from shapband.estimate.estimate import Estimate
from shapband.estimate.estimator import Estimator
from shapband.estimate.intervals import expectation_interval, variance_interval
from shapband.solvers.base import Solution

N_POOL, N_DRAW, N_GAMES, N = 60, 12, 60, 3


def estimate_of(draw, seed):
    """Estimate from an additive game: the values are the means of the chosen records."""
    design = sb.Design(
        names=tuple(f"p{i}" for i in range(N)),
        seed=seed,
        draw_sizes=np.full(N, N_DRAW),
        pool_sizes=np.full(N, N_POOL),
        unseen=np.ones(N),
        replace=False,
        estimand="any draws",
    )
    pools = draw(np.random.default_rng(seed), (N, N_POOL))
    chosen = design.choices(range(N_GAMES))
    values = np.stack(
        [pool[choice.rows()].mean(axis=1) for pool, choice in zip(pools, chosen, strict=True)],
        axis=1,
    )
    estimator = Estimator(design)
    estimator.add(Solution(values, np.zeros_like(values), 0))
    return estimator.estimate()


def without_skewness(estimate):
    pools = replace(estimate.moments.pools, skewness=None, square_skewness=None)
    return Estimate.of_moments(replace(estimate.moments, pools=pools))


def levels(draw, mean, variance, repeats, change=lambda estimate: estimate):
    """Part of the intervals that hold, of expectations and of variances."""
    held = []
    for seed in range(repeats):
        estimate = change(estimate_of(draw, 7_000 + seed))
        ends = expectation_interval(estimate, 0.95), variance_interval(estimate, 0.95)
        truths = mean, variance / N_DRAW
        held.append(
            [
                np.mean((each[:, 0] <= truth) & (truth <= each[:, 1]))
                for each, truth in zip(ends, truths, strict=True)
            ]
        )
    return np.mean(held, axis=0)


def events(rng, size):
    return (rng.random(size) < 0.08).astype(float)


def lognormal(rng, size):
    return rng.lognormal(0.0, 0.8, size)


LOGNORMAL = np.exp(0.32), (np.exp(0.64) - 1) * np.exp(0.64)


def test_rare_events_are_held_and_not_without_the_correction():
    # 300 intervals each: the standard error of a level of 0.95 is 0.013.
    expectation, variance = levels(events, 0.08, 0.08 * 0.92, 100)
    assert expectation > 0.95 - 3 * 0.013
    assert variance > 0.93 - 3 * 0.015
    plain, _ = levels(events, 0.08, 0.08 * 0.92, 100, without_skewness)
    assert plain < expectation - 0.02


@pytest.mark.long
def test_levels_of_skewed_records():
    # 1,200 intervals each: the standard error of a level of 0.92 is 0.008.
    found = levels(lognormal, *LOGNORMAL, 400)
    assert found[0] > 0.92
    assert found[1] > 0.89 - 2 * 0.009
    plain = levels(lognormal, *LOGNORMAL, 400, without_skewness)
    assert (plain < found).all()


@pytest.mark.long
def test_levels_of_normal_records_stay():
    found = levels(lambda rng, size: rng.normal(size=size), 0.0, 1.0, 400)
    assert 0.93 < found[0] < 0.975
    assert found[1] > 0.93
