"""Are the estimators right on average? Seeded repetitions, judged in their own standard errors.

A correct estimator fails a check at 4 standard errors once in 16,000 times per number.
"""

from functools import cache

import numpy as np
import pytest
from tests.conftest import gaussian_providers

import shapband as sb
from shapband.coalitions import members
from shapband.utilities.base import Utility

MEANS, DEVIATIONS, WEIGHTS = [1.0, -2.0, 0.5], [1.0, 3.0, 0.5], [2.0, 1.0, -1.0]


def repeat(n_repeats, estimate):
    """Mean over seeds and its standard error."""
    found = np.array([estimate(seed) for seed in range(n_repeats)])
    return found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(n_repeats)


def assert_unbiased(estimate, truth, n_repeats=300):
    mean, error = repeat(n_repeats, estimate)
    z = (mean - truth) / error
    assert (np.abs(z) < 4).all(), f"off by {z} standard errors"


@cache  # several tests look at the same valuations
def additive(seed, sampling, n_games=10):
    return sb.value(
        gaussian_providers(MEANS, DEVIATIONS),
        sb.AdditiveUtility(WEIGHTS),
        sampling=sampling,
        n_games=n_games,
        seed=seed,
    )


def test_fresh_draws_estimate_both_moments_of_the_additive_game():
    exact = sb.theory.additive_gaussian(MEANS, DEVIATIONS, WEIGHTS, n_sample=8)
    assert_unbiased(lambda seed: additive(seed, sb.Fresh(8)).expectation, exact.expectation)
    assert_unbiased(lambda seed: additive(seed, sb.Fresh(8)).variance, exact.variance)


def test_a_wrong_target_fails_the_same_check():
    exact = sb.theory.additive_gaussian(MEANS, DEVIATIONS, WEIGHTS, n_sample=8)
    with pytest.raises(AssertionError, match="standard errors"):
        assert_unbiased(lambda seed: additive(seed, sb.Fresh(8)).variance, 1.25 * exact.variance)
    with pytest.raises(AssertionError, match="standard errors"):
        assert_unbiased(
            lambda seed: additive(seed, sb.Fresh(8)).expectation, exact.expectation + 0.1
        )


def test_pooled_variances_are_unbiased_after_the_finite_pool_correction():
    exact = sb.theory.additive_gaussian(MEANS, DEVIATIONS, WEIGHTS, n_sample=8)

    def corrected(seed):
        valuation = additive(seed, sb.Pooled(n_pool=12, n_boot=8))
        return sb.theory.finite_pool_correction(valuation.variance, valuation.pool_sizes)

    assert_unbiased(corrected, exact.variance)
    with pytest.raises(AssertionError, match="standard errors"):
        assert_unbiased(lambda seed: additive(seed, sb.Pooled(12, 8)).variance, exact.variance, 600)


def test_stratified_variances_are_unbiased_at_a_common_draw_size():
    exact = sb.theory.additive_gaussian(MEANS, DEVIATIONS, WEIGHTS, n_sample=8)

    def normalised(seed):
        valuation = additive(seed, sb.Stratified(n_pool=64, n_boot=16, alpha=0.5))
        corrected = sb.theory.finite_pool_correction(valuation.variance, valuation.pool_sizes)
        return sb.theory.normalise_draw_size(corrected, valuation.draw_sizes, n_sample=8)

    assert_unbiased(normalised, exact.variance)


def test_blocks_are_unbiased_without_any_correction():
    exact = sb.theory.additive_gaussian(MEANS, DEVIATIONS, WEIGHTS, n_sample=8)
    blocks = sb.Pooled(24, 8, replace=False)
    assert_unbiased(lambda seed: additive(seed, blocks, n_games=12).variance, exact.variance)
    assert_unbiased(lambda seed: additive(seed, blocks, n_games=12).expectation, exact.expectation)


class PairsUtility(Utility):
    """Worth START once anyone is in, plus Σ x_i, plus PAIR x_i x_j for every pair inside.

    By symmetry and additivity φ_i = START / n + x_i (1 + PAIR / 2 Σ_{j≠i} x_j).
    """

    START, PAIR = 5.0, 1.5

    def summarise(self, batch):
        return float(batch.y.mean())

    def evaluate(self, summaries, coalitions):
        return np.array([self._worth(np.array(summaries)[members(c)]) for c in coalitions])

    def _worth(self, x):
        if not len(x):
            return 0.0
        return self.START + x.sum() + self.PAIR * (x.sum() ** 2 - (x**2).sum()) / 2


def pairs_moments(n_sample):
    """E and Var of x_i Y with Y = 1 + PAIR / 2 Σ_{j≠i} x_j independent of x_i."""
    mu, var = np.array(MEANS), np.array(DEVIATIONS) ** 2 / n_sample
    y_mean = 1 + PairsUtility.PAIR / 2 * (mu.sum() - mu)
    y_var = (PairsUtility.PAIR / 2) ** 2 * (var.sum() - var)
    expectation = PairsUtility.START / len(mu) + mu * y_mean
    variance = (mu**2 + var) * (y_mean**2 + y_var) - (mu * y_mean) ** 2
    return expectation, variance


@cache
def pairs(seed, solver, n_games=12):
    return sb.value(
        gaussian_providers(MEANS, DEVIATIONS),
        PairsUtility(),
        sampling=sb.Fresh(16),
        solver=solver,
        n_games=n_games,
        seed=seed,
    )


@pytest.mark.parametrize(
    "solver",
    [
        pytest.param(sb.Exact(), marks=pytest.mark.long),
        pytest.param(sb.Permutation(2), marks=pytest.mark.long),
        sb.BalancedPermutation(6),
    ],
    ids=repr,
)
def test_the_corrected_variance_is_unbiased_whatever_the_solver(solver):
    expectation, variance = pairs_moments(16)
    played = cache(lambda seed: pairs(seed, solver))
    assert_unbiased(lambda seed: played(seed).expectation, expectation)
    assert_unbiased(lambda seed: played(seed).variance, variance)


@pytest.mark.long
def test_where_the_raw_one_is_off_by_a_factor():
    _, variance = pairs_moments(16)
    mean, error = repeat(300, lambda seed: pairs(seed, sb.Permutation(2)).raw_variance)
    assert (mean - 4 * error > 2 * variance).all()


@pytest.mark.long
def test_the_error_of_the_corrected_variance_is_the_one_seen():
    found = [pairs(seed, sb.Permutation(2), n_games=16) for seed in range(200)]
    estimates = np.array([valuation.variance for valuation in found])
    seen = (estimates - estimates.mean(axis=0)) ** 2

    def off(claimed):
        excess = np.array(claimed) ** 2 - seen
        return excess.mean(axis=0) / (excess.std(axis=0, ddof=1) / np.sqrt(len(excess)))

    assert (np.abs(off([valuation.variance_standard_error for valuation in found])) < 4).all()
    # Control: the error that the values alone would have, without that of the noise.
    without_noise = [sb.Estimate.of(valuation.games) for valuation in found]
    assert (off([estimate.variance_standard_error for estimate in without_noise]) < -4).all()
