"""Formulas for games that depend on each other, against sums over all pairs of games."""

from types import SimpleNamespace

import numpy as np
import pytest

from shapband.estimate.averaged import Averaged, games_part, own_presence, pools_part
from shapband.estimate.dependence import (
    _largest_of_others,
    correlation_of,
    long_run_variance,
    square_factor,
    variance_of_rate,
)
from shapband.estimate.errors import welch_freedom


def mean_over_pairs(rho, n_games):
    """1 + 2 Σ (1 - k / G) ρ^k, from the correlations of all pairs of games."""
    apart = np.abs(np.subtract.outer(np.arange(n_games), np.arange(n_games)))
    return (rho**apart).sum() / n_games


@pytest.mark.parametrize("n_games", [1, 2, 7, 300])
@pytest.mark.parametrize("rho", [0.0, 0.3, -0.6, 0.99, 1.0])
def test_the_variance_of_a_rate_is_the_sum_over_all_pairs(rho, n_games):
    p = np.array([0.2, 0.7])
    found = variance_of_rate(p, np.array([rho, rho]), n_games)
    expected = p * (1 - p) / n_games * mean_over_pairs(rho, n_games)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_persistence_near_one_does_not_cancel():
    close = variance_of_rate(np.array([0.5]), np.array([1 - 1e-9]), 100)
    np.testing.assert_allclose(close, 0.25, rtol=1e-6)


def test_the_others_largest_number():
    assert _largest_of_others(np.array([3.0])).tolist() == [0.0]
    assert _largest_of_others(np.array([1.0, 5.0, 3.0])).tolist() == [5.0, 3.0, 5.0]
    assert _largest_of_others(np.array([5.0, 5.0, -1.0])).tolist() == [5.0, 5.0, 5.0]


def test_long_run_variances():
    """Two games at a distance of k have the covariance `after` ρ'^(k - 1) at most."""
    variance, after, rho = np.array([4.0, 9.0]), np.array([1.0, 2.0]), np.array([0.5, 0.8])
    found = long_run_variance(variance, after, rho, 50)
    for at, other in enumerate((0.8, 0.5)):
        steps = sum((1 - k / 50) * other ** (k - 1) for k in range(1, 50))
        assert found[at] == pytest.approx(variance[at] + 2 * after[at] * steps)
    # A negative covariance is not used, and a single provider has no others.
    assert long_run_variance(variance, -after, 0 * rho, 50).tolist() == [4.0, 9.0]
    alone = long_run_variance(variance[:1], after[:1], rho[:1], 50)
    assert alone.tolist() == pytest.approx([4.0 + 2 * 49 / 50])


def test_negative_persistence_may_hide_as_much_as_its_size():
    variance, after, rho = np.ones(3), np.zeros(3), np.array([0.5, -0.4, 0.5])
    found = long_run_variance(variance, after, rho, 10**6)
    # 2 · 0.4 / (1 - 0.5), of the others' most negative one; the second has 0.5 · -0.4 of its own.
    np.testing.assert_allclose(found, [1 + 1.6, 1 + 0.8, 1 + 1.6], rtol=1e-4)


def test_factors_of_squares():
    """Own parts are raised by one factor and the rest by another; never below 1."""
    found = square_factor(
        np.array([1.0, 9.0, 1.0, 1.0]),
        np.array([3.0, 3.0, 0.1, 5.0]),
        np.array([2.0, 2.0, 0.1, 5.0]),
        np.array([4.0, 4.0, 4.0, 0.0]),
    )
    assert found.tolist() == [(1 * 3 + 3 * 2) / 4, 3.0, 1.0, 1.0]


def test_correlations_of_what_may_be_no_covariance():
    found = correlation_of(np.array([[4.0, 9.0, 1.0], [9.0, 9.0, 1.0], [1.0, 1.0, -2.0]]))
    assert found.tolist() == [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    found = correlation_of(np.array([[4.0, 3.0], [1.5, 9.0]]))
    assert found == pytest.approx(np.array([[1.0, 0.375], [0.375, 1.0]]))


def test_welchs_degrees_of_freedom():
    none = np.array([0.0])
    assert welch_freedom((none, none + 9), (none, none + 9)).tolist() == [np.inf]
    found = welch_freedom((none + 1, none + 10), (none + 4, none + 5))
    assert found.tolist() == pytest.approx([25 / (1 / 10 + 16 / 5)])
    tiny = welch_freedom((none + 1e-300, none + 10), (none + 4e-300, none + 5))
    assert tiny.tolist() == pytest.approx(found.tolist())


def test_errors_of_averages_over_who_is_present():
    averaged = Averaged(
        rates=np.array([0.5, 0.8]), mean=np.ones(2), m2=np.array([18.0, 0.0]), cross_21=np.zeros(2)
    )
    assert games_part(averaged, 10).tolist() == pytest.approx([18 / 9 / 10, 0.0])
    assert games_part(averaged, 1).tolist() == [18.0, 0.0]
    moments = SimpleNamespace(
        n_games=10, mean=np.array([3.0, 2.0]), raw_variance=np.array([4.0, 0.0]), pools=None
    )
    assert pools_part(averaged, moments).tolist() == [0.0, 0.0]
    assert own_presence(averaged, moments) == pytest.approx([9 - 0.4, 0.25 * 4])
    moments.pools = SimpleNamespace(variance=np.array([1.0, 3.0]), hidden=np.array([0.5, 1.0]))
    assert pools_part(averaged, moments) == pytest.approx([0.25 * 2, 0.0])
    assert own_presence(averaged, moments) == pytest.approx([9 - 0.4 - 0.5, 0.25 * (4 - 1)])
