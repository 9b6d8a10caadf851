import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import shapband as sb
from shapband.estimate.estimator import Estimator
from shapband.estimate.moments import Moments, moments_of_games
from shapband.estimate.variance import fourth_moment
from shapband.solvers.base import Solution

SUMS = (
    "mean",
    "m2",
    "m3",
    "m4",
    "m5",
    "m6",
    "products_21",
    "noise",
    "noise_m2",
    "cross_11",
    "cross_21",
)
DESIGN = sb.Design(names=("a", "b", "c"), seed=0, draw_sizes=np.full(3, 5), estimand="any draws")


def games(n_games, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    values = rng.gamma(2.0, size=(n_games, 3)) + offset
    return values, rng.gamma(1.0, size=(n_games, 3))


@settings(max_examples=40)
@given(cuts=st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_folding_gives_the_same_bits_for_every_cutting(cuts):
    values, noise = games(sum(cuts))
    estimator, start = Estimator(DESIGN), 0
    for cut in cuts:
        estimator.add(Solution(values[start : start + cut], noise[start : start + cut], cut))
        start += cut
    assert estimator.n_games == start
    whole, found = sb.Estimate.of(values, noise).moments, estimator.estimate().moments
    for name in SUMS:
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))


@settings(max_examples=40)
@given(sizes=st.lists(st.integers(1, 50), min_size=2, max_size=4))
def test_merged_sums_equal_numpy(sizes):
    values, noise = games(sum(sizes), offset=100.0)
    edges = np.cumsum([0, *sizes])
    merged = Moments.empty(3)
    for a, b in pairwise(edges):
        merged = merged.merge(moments_of_games(values[a:b], noise[a:b]))
    dx, dw = values - values.mean(axis=0), noise - noise.mean(axis=0)
    expected = {
        "mean": values.mean(axis=0),
        "m2": (dx**2).sum(axis=0),
        "m3": (dx**3).sum(axis=0),
        "m4": (dx**4).sum(axis=0),
        "m5": (dx**5).sum(axis=0),
        "m6": (dx**6).sum(axis=0),
        "products_21": (dx**2).T @ dx,
        "noise": noise.mean(axis=0),
        "noise_m2": (dw**2).sum(axis=0),
        "cross_11": (dx * dw).sum(axis=0),
        "cross_21": (dx**2 * dw).sum(axis=0),
    }
    for name, number in expected.items():
        np.testing.assert_allclose(getattr(merged, name), number, rtol=1e-8, atol=1e-8)


def test_a_large_offset_does_not_spoil_the_variance():
    values, _ = games(1000)
    shifted = sb.Estimate.of(values + 1e8)
    np.testing.assert_allclose(shifted.raw_variance, values.var(axis=0, ddof=1), rtol=1e-6)


def test_shuffles_keep_the_means_of_complete_ones():
    values, _ = games(14)
    moments = sb.Estimate.of(values, per_shuffle=4).moments
    np.testing.assert_allclose(moments.raw_variance, values.var(axis=0, ddof=1), rtol=1e-13)
    means = values[:12].reshape(3, 4, 3).mean(axis=1)
    apart = means - means.mean(axis=0)
    assert (moments.shuffles.size, moments.shuffles.count) == (4, 3)
    np.testing.assert_allclose(moments.shuffles.square, 4 * (apart**2).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.shuffles.products, 4 * apart.T @ apart, rtol=1e-12)


@pytest.mark.parametrize("m", [3, 4, 10])
def test_the_fourth_moment_is_unbiased_for_small_groups(m):
    rng = np.random.default_rng(m)
    rows = rng.gamma(2.0, size=(m, 200_000))
    deviations = rows - rows.mean(axis=0)
    variance = rows.var(axis=0, ddof=1)
    m4 = (deviations**4).sum(axis=0)
    # The formula needs E[m4] and σ⁴, so it is tested on their averages over many groups.
    sigma2 = 2.0
    estimate = fourth_moment(np.array([m4.mean()]), np.array([sigma2]), m)
    error = m4.std() / np.sqrt(rows.shape[1]) * m**2 / (m - 1) / (m**2 - 3 * m + 3)
    truth = stats.gamma(2.0).stats("k") * sigma2**2 + 3 * sigma2**2
    assert abs(estimate[0] - truth) < 4 * error
    assert abs(variance.mean() - sigma2) < 0.05


def test_one_game_has_no_fourth_moment():
    found = fourth_moment(np.zeros(3), np.full(3, np.nan), 1)
    assert found.shape == (3,)
    assert np.isnan(found).all()


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 2, 2)])
def test_games_of_another_shape_are_refused(shape):
    said = re.escape(f"Estimate: games must have the shape (n_games, n); received {shape}")
    with pytest.raises(sb.errors.InvalidInput, match=f"^{said}$"):
        sb.Estimate.of(np.zeros(shape))


def test_games_and_noise_may_be_numbers_of_any_kind():
    halves = [[Fraction(1, 2), Fraction(3, 2)], [Fraction(5, 2), Fraction(3, 2)]]
    estimate = sb.Estimate.of(halves, halves)
    for numbers in (estimate.expectation, estimate.solver_variance):
        assert numbers.dtype == np.float64
        assert numbers.tolist() == [1.5, 1.5]
    assert estimate.raw_variance.tolist() == [2.0, 0.0]


def test_no_games_add_nothing():
    nothing = Moments.empty(3)
    assert nothing.n_games == 0
    assert np.isnan(nothing.raw_variance).all()
    some = moments_of_games(*games(8))
    assert some.merge(nothing) is some
    assert nothing.merge(some) is some
    estimate = sb.Estimate.of_moments(nothing)
    assert np.isnan(estimate.standard_error).all()
    assert not estimate.shape.two_values.found.any()
