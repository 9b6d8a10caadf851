"""Intervals of skewed values: formulas against direct ones, and their levels with a control."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import shapband as sb
from shapband.estimate import joint
from shapband.estimate.influence import record_skewness
from shapband.estimate.intervals import variance_interval
from shapband.estimate.shapes import skewness_of_squares
from shapband.estimate.skewness import (
    difference_skewness,
    lengthened,
    shortened_statistic,
)


def lognormal(repeats, games, seed, sigma=0.8):
    return np.random.default_rng(seed).lognormal(0.0, sigma, (games, repeats))


def variance_levels(values, truth):
    """Part of the columns whose interval of the variance holds: with the correction, without."""
    estimate = sb.Estimate.of(values)
    # Without sixth powers, as in older results, there is no correction.
    plain = sb.Estimate.of_moments(replace(estimate.moments, m5=None, m6=None))
    found = [variance_interval(one, 0.95) for one in (estimate, plain)]
    return [np.mean((low <= truth) & (truth <= high)) for low, high in (one.T for one in found)]


def test_the_skewness_of_squares_is_the_direct_one():
    values = lognormal(4, 70, seed=1)
    direct = stats.skew((values - values.mean(axis=0)) ** 2)
    np.testing.assert_allclose(skewness_of_squares(sb.Estimate.of(values).moments), direct)


@pytest.mark.parametrize("scale", [1e-70, 1e-40, 1e40, 1e70])
def test_values_of_any_size_have_intervals_and_documents(scale):
    providers = [
        sb.Provider(f"p{i}", sb.ArraySource(np.zeros((50, 1)), scale * values))
        for i, values in enumerate(lognormal(3, 50, seed=2).T)
    ]
    valuation = sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(2), n_games=40, seed=0)
    low, high = valuation.variance_interval(0.95).T / scale**2
    assert (low < high).all()
    again = sb.Valuation.from_json(valuation.to_json())
    np.testing.assert_array_equal(again.variance_interval(), valuation.variance_interval())


def test_equal_squares_are_not_skewed():
    values = np.array([[1.0, 5.0], [3.0, 5.0]] * 10)
    assert skewness_of_squares(sb.Estimate.of(values).moments).tolist() == [0.0, 0.0]


def test_skewed_variances_are_held_and_not_without_the_correction():
    # 400 columns; the standard error of a level of 0.9 is 0.015.
    truth = (np.exp(0.64) - 1) * np.exp(0.64)
    corrected, plain = variance_levels(lognormal(400, 50, seed=3), truth)
    assert corrected > 0.9 - 3 * 0.015
    assert plain < 0.85


def test_normal_variances_keep_their_level():
    normal = np.random.default_rng(4).normal(size=(50, 400))
    corrected, plain = variance_levels(normal, 1.0)
    assert 0.95 - 3 * 0.011 < plain <= corrected < 0.99


@pytest.mark.long
@pytest.mark.parametrize(
    ("draw", "truth", "least"),
    [
        (lambda rng, size: rng.normal(size=size), 1.0, 0.945),
        (lambda rng, size: rng.gamma(3.0, size=size), 3.0, 0.93),
        (lambda rng, size: rng.exponential(size=size), 1.0, 0.92),
        (lambda rng, size: rng.lognormal(0, 0.5, size), (np.exp(0.25) - 1) * np.exp(0.25), 0.91),
        (lambda rng, size: rng.lognormal(0, 0.8, size), (np.exp(0.64) - 1) * np.exp(0.64), 0.875),
    ],
)
@pytest.mark.parametrize("games", [30, 50, 200])
def test_levels_of_variances(draw, truth, least, games):
    values = draw(np.random.default_rng(games), (games, 400 * 10))
    levels = [variance_levels(part, truth)[0] for part in np.split(values, 10, axis=1)]
    assert np.mean(levels) > least - 3 * 0.005
    assert np.mean(levels) < 0.98


def test_the_skewness_of_a_difference_is_the_direct_one():
    values = lognormal(3, 60, seed=5) * [1.0, 2.0, 3.0]
    estimate = sb.Estimate.of(values)
    covariance = estimate.errors.covariance
    diagonal = np.diag(covariance)
    variances = np.add.outer(diagonal, diagonal) - 2 * covariance
    found = difference_skewness(estimate, variances)
    direct = stats.skew(values[:, 2] - values[:, 0], bias=False) / np.sqrt(60)
    np.testing.assert_allclose(found[2, 0], direct)
    np.testing.assert_allclose(found, -found.T)
    assert np.abs(found.diagonal()).max() == 0


def test_copies_have_no_skewed_difference():
    values = lognormal(1, 60, seed=6)
    both = sb.Estimate.of(np.concatenate([values, values], axis=1))
    found = joint.difference(both, 0, 1)
    assert np.isfinite(found.skewness)
    assert joint.two_sided_p(found, np.asarray(1.0)) == 1.0


@pytest.mark.parametrize("skewness", [-1.5, -0.2, 0.0, 0.4, 2.0])
def test_p_values_agree_with_intervals(skewness):
    for estimate in (-4.0, -1.0, 2.0, 3.5):
        found = joint.Statistic(*map(np.asarray, (estimate, 1.0, 30.0, skewness)))
        p = joint.two_sided_p(found, np.asarray(0.0))
        low, high = joint.student_interval(found, 1 - float(p))
        np.testing.assert_allclose(min(abs(low), abs(high)), 0.0, atol=1e-9)


def test_shortened_statistics_keep_their_sign_and_side():
    t = np.linspace(-5, 5, 11)
    short = shortened_statistic(t, np.full(11, 0.7))
    np.testing.assert_allclose(short[t >= 0], t[t >= 0])  # the end that faces 0 is not lengthened
    assert (np.abs(short) <= np.abs(t)).all()
    half, one = np.abs(short), np.ones(11)
    np.testing.assert_allclose(lengthened(half, 0.7 * one, half)[1][t < 0], -t[t < 0])


def difference_level(seed, repeats, *, corrected):
    """Level of the difference of a lognormal and a normal value from 15 games."""
    rng, held = np.random.default_rng(seed), 0
    truth = np.exp(0.32)
    for _ in range(repeats):
        values = np.stack([rng.lognormal(0, 0.8, 15), rng.normal(0, 0.3, 15)], axis=1)
        found = joint.difference(sb.Estimate.of(values), 0, 1)
        low, high = joint.student_interval(
            found if corrected else found._replace(skewness=0.0), 0.95
        )
        held += low <= truth <= high
    return held / repeats


def test_skewed_differences_are_held_and_not_without_the_correction():
    # The standard error of a level of 0.93 is 0.009.
    assert difference_level(7, 800, corrected=True) > 0.93 - 3 * 0.009
    assert difference_level(7, 800, corrected=False) < 0.92 - 0.009


def test_the_skewness_of_records_is_found_without_noise_and_shrunk_with_it():
    influence = np.random.default_rng(8).exponential(size=4000) - 1
    np.testing.assert_allclose(record_skewness(influence, 0.0), stats.skew(influence), rtol=0.05)
    # Influences that are noise alone count as a quarter of it, so their skewness has the variance
    # 15 · 4³ / 60 = 16 and is multiplied by 4 / (4 + 16).
    noise = np.random.default_rng(9).normal(size=60)
    square = float((noise**2).sum())
    plain = np.sqrt(60) * (noise**3).sum() / (square / 4) ** 1.5
    np.testing.assert_allclose(record_skewness(noise, square), plain / 5)
    assert record_skewness(np.zeros(10), 0.0) == 0.0
