"""Do 95 % intervals cover 95 % of the time?"""

import numpy as np
import pytest
from tests.conftest import gaussian_providers

import shapband as sb

MEANS, DEVIATIONS = [1.0, -2.0, 0.5], [1.0, 3.0, 0.5]


def coverage(n_repeats, sampling, n_games, n_sample):
    """Part of the repetitions whose intervals hold E and Var, over all providers."""
    exact = sb.theory.additive_gaussian(MEANS, DEVIATIONS, n_sample=n_sample)
    held = np.zeros(2)
    for seed in range(n_repeats):
        valuation = sb.value(
            gaussian_providers(MEANS, DEVIATIONS),
            sb.AdditiveUtility(),
            sampling=sampling,
            n_games=n_games,
            seed=seed,
        )
        low, high = valuation.interval(0.95).T
        held[0] += np.mean((low <= exact.expectation) & (exact.expectation <= high))
        low, high = valuation.variance_interval(0.95).T
        held[1] += np.mean((low <= exact.variance) & (exact.variance <= high))
    return held / n_repeats


def test_intervals_cover_both_moments():
    # 450 intervals: the standard error of a coverage of 0.95 is 0.010.
    found = coverage(150, sb.Fresh(4), n_games=30, n_sample=4)
    assert (found > 0.95 - 0.04).all()
    assert (found < 0.95 + 0.04).all()


def test_intervals_of_the_wrong_target_do_not_cover():
    """The variance of twice the draw size is half as large: its intervals must miss."""
    found = coverage(60, sb.Fresh(8), n_games=30, n_sample=4)
    assert found[0] > 0.9
    assert found[1] < 0.7


def test_blocks_intervals_are_on_the_safe_side():
    found = coverage(150, sb.Pooled(32, 4, replace=False), n_games=40, n_sample=4)
    assert (found > 0.95 - 0.04).all()


@pytest.mark.long
def test_intervals_cover_between_93_and_97_percent():
    found = coverage(1000, sb.Fresh(4), n_games=30, n_sample=4)
    assert (found >= 0.93).all(), found
    assert (found <= 0.97).all(), found
