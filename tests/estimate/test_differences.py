"""Differences of two valuations with different validation rows."""

import numpy as np
import pytest
from tests.conftest import with_sums

from shapband.estimate.differences import independent_difference
from shapband.estimate.estimate import Estimate
from shapband.estimate.joint import two_sided_p
from shapband.estimate.validation import ValidationErrors, effective_freedom

N, ROWS, FOLDS, GAMES = 3, 100, 10, 50


def estimated(rng, rows, tails):
    """An estimate whose expectations are moved by the mean effect of some validation rows."""
    per_row = rows if tails is None else np.sinh(tails * rows)
    folds = per_row.reshape(FOLDS, -1, N).mean(axis=1)
    without = (per_row.mean(axis=0) - folds) / (FOLDS - 1)  # change without each fold
    games = rng.normal(0, 0.3, (GAMES, N)) + per_row.mean(axis=0)
    effects = ValidationErrors.of(without[None])
    return with_sums(Estimate.of(games), validation=effects)


def flagged(tails, *, same=False, covered=True, repeats=1500):
    """Share of equal providers with a p-value below 0.05."""
    rng, rows = np.random.default_rng(0), (list(range(N)), list(range(N)))
    found = []
    for _ in range(repeats):
        first = rng.normal(size=(ROWS, N))
        other = first if same else rng.normal(size=(ROWS, N))
        pair = [estimated(rng, one, tails) for one in (first, other)]
        if not covered:
            pair = [with_sums(one, validation=None) for one in pair]
        apart = independent_difference(*pair, rows)
        found.append(two_sided_p(apart, np.ones(N)) < 0.05)
    return np.mean(found)


ERROR = np.sqrt(0.05 * 0.95 / 1500)  # providers of one pair are not counted as independent


@pytest.mark.parametrize("tails", [None, 1.0])
def test_equal_providers_with_other_rows_are_flagged_at_their_level(tails):
    assert flagged(tails) < 0.05 + 3 * ERROR


def test_the_same_rows_cancel():
    # The effects of the same rows are subtracted, so their error changes nothing.
    share = flagged(None, same=True, repeats=500)
    assert share < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)
    assert share == flagged(None, same=True, covered=False, repeats=500)


def test_rows_that_are_not_counted_raise_false_alarms():
    assert flagged(None, covered=False, repeats=300) > 0.3


def test_the_degrees_of_freedom_follow_the_kurtosis():
    rng = np.random.default_rng(1)
    normal = rng.normal(size=(10, 2000))
    normal -= normal.mean(axis=0)
    assert abs(effective_freedom(normal) - 9) < 0.3
    heavy = np.sinh(2 * normal)
    heavy -= heavy.mean(axis=0)
    assert effective_freedom(heavy) < 5
    # The kurtosis of ten numbers is at most 8.11: the other effects are equal.
    assert 2 < effective_freedom(np.eye(10)[:, :1] - 0.1) < 3
    assert effective_freedom(normal[:5]) == 4
    assert effective_freedom(np.zeros((10, 2))) == 9
