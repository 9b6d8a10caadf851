"""Least squares for coalitions with no more records than features.

A draw with no more records than features is summarised by its records, which are fewer numbers than
two Gram matrices. A coalition of such draws is fitted exactly while its records are no more than
the features, and by the sum of their Gram matrices beyond.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shapband import kernels
from shapband._typing import AnyArray, FloatArray, IntArray, MemberArray
from shapband.kernels.plain.linear import ROUNDING
from shapband.utilities.gram import Centre, ValidationRows, cancelled
from shapband.utilities.scaled_norm import scaled_least_norm

# The compiled fit has errors of 1e-16 times these ratios; beyond them every coalition is solved
# by itself.
_UNITS = 1e7  # largest spread of a feature over the smallest, in own units
_OFFSET = 1e4  # distance of a feature from its validation mean over its spread


def holds_records(game: Sequence[AnyArray]) -> bool:
    """Whether some summary of a game is a table of records; the others are Gram matrices."""
    return any(np.ndim(summary) == 2 for summary in game)


def record_counts(game: Sequence[FloatArray]) -> IntArray:
    """The number of records behind each summary."""
    return np.array([len(one) if one.ndim == 2 else round(one[0]) for one in game])


def few_records_mse(
    game: Sequence[FloatArray],
    inside: MemberArray,
    centre: Centre,
    validation: ValidationRows,
    A: FloatArray,
    b: FloatArray,
    c: float,
) -> FloatArray:
    """Return the validation errors of the minimum-norm fits of coalitions of records: (m,).

    Parameters
    ----------
    game : (n_records, d + 1) features in their own units and targets of each member
    inside : (m, n) a coalition in each row, 1 for members
    centre : the mean and the scale of the validation rows
    validation : the validation rows
    A, b, c : moments of the validation rows, A packed
    """
    held = [one if one.ndim == 2 else np.empty((0, len(b))) for one in game]
    if not _alike(np.concatenate(held), centre):
        return np.array([_error(held, row, centre, validation) for row in inside])
    scale = 1.0 / centre.inv_scale
    records = np.concatenate(held)
    records[:, :-1] = (records[:, :-1] - centre.mean) * centre.inv_scale
    edges = np.concatenate([[0], np.cumsum([len(one) for one in held])])
    paths = _paths(inside)
    order = np.lexsort(paths.T[::-1])  # depth first, so that neighbours share their beginnings
    mse = np.empty(len(paths))
    path_errors = kernels.load("least_norm").path_errors
    mse[order] = path_errors(records, edges, paths[order], scale, A, b, c)
    for at in np.flatnonzero(np.isnan(mse) | cancelled(mse, c)):
        mse[at] = _error(held, inside[at], centre, validation)
    return mse


def _alike(records: FloatArray, centre: Centre) -> bool:
    """Whether features vary on similar scales, near the validation rows, or not at all."""
    X = records[:, :-1]
    spread = np.ptp(X, axis=0)
    varies = spread > 0
    if not varies.any():
        return True
    offset = np.abs(X - centre.mean).max(axis=0)
    near = (offset <= _OFFSET * spread) | ~varies
    units = np.concatenate([spread[varies], 1.0 / centre.inv_scale])
    return bool(near.all() and units.max() <= _UNITS * units.min())


def _error(
    held: Sequence[FloatArray],
    inside: MemberArray,
    centre: Centre,
    validation: ValidationRows,
) -> float:
    """Validation error of the minimum-norm fit of one coalition, whatever the scales."""
    rows = np.concatenate([held[i] for i in np.flatnonzero(inside).tolist()])
    X, y = rows[:, :-1], rows[:, -1]
    # Differences to the first record are exact for records close to it.
    apart = X - X[0]
    apart[:, np.abs(apart).max(axis=0) <= ROUNDING * np.abs(X[0])] = 0.0
    moved, target = apart.mean(axis=0), y.mean()
    # Records less their mean are dependent; as many contrasts as they have dimensions are not.
    contrasts = _contrasts(len(X))
    slopes = scaled_least_norm(contrasts @ apart, contrasts @ (y - target)) / centre.inv_scale
    means = (X[0] - centre.mean + moved) * centre.inv_scale
    return float(validation.errors_of(np.array([target - means @ slopes]), slopes[None])[0])


def _contrasts(n: int) -> FloatArray:
    """Orthonormal rows (n - 1, n) with sum zero: each compares a record with the earlier ones."""
    k = np.arange(1.0, n)[:, None]
    place = np.arange(n)
    rows = np.where(place < k, 1.0, np.where(place == k, -k, 0.0))
    return np.asarray(rows / np.sqrt(k * (k + 1)))


def _paths(inside: MemberArray) -> IntArray:
    """The members of each coalition in ascending order, padded with -1: (m, n)."""
    members_first = np.argsort(inside == 0, axis=1, kind="stable")
    count = (inside != 0).sum(axis=1)
    return np.where(np.arange(inside.shape[1]) < count[:, None], members_first, -1)
