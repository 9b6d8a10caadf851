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
from shapband.kernels.plain.least_norm import error_of, least_norm


def holds_records(game: Sequence[AnyArray]) -> bool:
    """Whether some summary of a game is a table of records; the others are Gram matrices."""
    return any(np.ndim(summary) == 2 for summary in game)


def record_counts(game: Sequence[FloatArray]) -> IntArray:
    """The number of records behind each summary."""
    return np.array([len(one) if one.ndim == 2 else round(one[0]) for one in game])


def few_records_mse(
    game: Sequence[FloatArray],
    inside: MemberArray,
    scale: FloatArray,
    A: FloatArray,
    b: FloatArray,
    c: float,
) -> FloatArray:
    """Return the validation errors of the minimum-norm fits of coalitions of records: (m,).

    Parameters
    ----------
    game : (n_records, d + 1) standardised features and targets of each member
    inside : (m, n) a coalition in each row, 1 for members
    scale : (d,) feature in its own units = standardised feature * scale
    A, b, c : moments of the validation rows, A packed
    """
    held = [one if one.ndim == 2 else np.empty((0, len(b))) for one in game]
    records = np.concatenate(held)
    edges = np.concatenate([[0], np.cumsum([len(one) for one in held])])
    paths = _paths(inside)
    order = np.lexsort(paths.T[::-1])  # depth first, so that neighbours share their beginnings
    mse = np.empty(len(paths))
    path_errors = kernels.load("least_norm").path_errors
    mse[order] = path_errors(records, edges, paths[order], scale, A, b, c)
    for at in np.flatnonzero(np.isnan(mse)):
        rows = np.concatenate([held[i] for i in np.flatnonzero(inside[at])])
        mse[at] = error_of(least_norm(rows, scale), A, b, c)
    return mse


def _paths(inside: MemberArray) -> IntArray:
    """The members of each coalition in ascending order, padded with -1: (m, n)."""
    members_first = np.argsort(inside == 0, axis=1, kind="stable")
    count = (inside != 0).sum(axis=1)
    return np.where(np.arange(inside.shape[1]) < count[:, None], members_first, -1)
