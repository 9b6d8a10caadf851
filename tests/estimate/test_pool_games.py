"""Errors of pools if some providers are absent from some games."""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.report.made_up import made_up

from shapband.estimate.kept import kept_errors
from shapband.estimate.many import _DifferenceErrors
from shapband.estimate.pool_games import _of_all_games
from shapband.estimate.pools import PoolErrors


def found_if_present():
    return PoolErrors(
        games=np.zeros(3),
        variance=np.array([0.04, 0.01, 0.09]),
        freedom=np.array([9.0, 7.0, 8.0]),
        hidden=np.zeros(3),
        square=np.array([0.25, 0.16, 0.36]),
    )


def moments_of(freedom):
    """A provider in half of the games, one in all of them, and one whose value is always 0."""
    presence = SimpleNamespace(
        count=np.array([20.0, 40.0, 10.0]),
        mean=np.array([3.0, 2.0, np.nan]),
        raw_variance=np.array([0.5, 0.6, np.nan]),
        freedom=freedom,
    )
    raw = np.array([0.5 * 0.5 + 0.25 * 9.0, 0.6, 0.0])
    return SimpleNamespace(presence=presence, n_games=40, raw_variance=raw)


def test_pools_move_the_variance_over_all_games_through_variance_and_mean_if_present():
    """Of q V + q (1 - q) μ², relative to it; a value that never varies keeps what was found."""
    found = _of_all_games(found_if_present(), moments_of(np.array([8.0, 8.0, 8.0])))
    first = (0.5 * 0.5 * 0.5 + 2 * 0.5 * 3.0 * 0.2) / 2.5
    np.testing.assert_allclose(found.square, [first**2, 0.16, 0.36])
    assert found.freedom.tolist() == [8.0, 7.0, 8.0]
    assert _of_all_games(found_if_present(), moments_of(None)).freedom.tolist() == [9.0, 7.0, 8.0]


def test_the_largest_error_of_each_provider_is_its_own():
    valuation = made_up(4, 30)
    order = np.array([2, 0, 3, 1])
    found = _DifferenceErrors.of(valuation.estimate, valuation.games, order)
    assert found.mean.tolist() == valuation.expectation[order].tolist()
    variances = kept_errors(valuation.estimate, valuation.games, order).variances
    assert found.largest == pytest.approx(np.sqrt(variances.max(axis=0)), rel=1e-6)
    assert len(set(found.largest)) == 4
    without = _DifferenceErrors.of(valuation.estimate, None, order)
    assert without.largest == pytest.approx(valuation.standard_error[order], rel=1e-6)
    assert (without.most_freedom, without.kept) == (np.inf, None)
