"""Least squares for coalitions with no more records than features.

A draw with no more records than features is summarised by its records, which are fewer numbers than
two Gram matrices. A coalition of such draws is fitted from its records if it has no more records
than features, and from the sum of Gram matrices if it has more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shapband import kernels
from shapband._typing import AnyArray, FloatArray, IntArray, MemberArray
from shapband.kernels.walks import walk_of_rows
from shapband.utilities.base import GameSummaries
from shapband.utilities.gram import Centre, Form

# The compiled fit has errors of 1e-16 times these ratios. A coalition with a larger ratio
# is solved in 32 digits.
_UNITS = 1e7  # largest spread of a feature / smallest spread of a feature, in their own units
_OFFSET = 1e4  # distance of a feature from its validation mean / spread of the feature


def holds_records(games: GameSummaries) -> bool:
    """Whether some summary of games is a table of records; the others are sums of products."""
    return isinstance(games, list | tuple) and has_records(games[0])


def has_records(game: Sequence[AnyArray] | AnyArray) -> bool:
    """Whether some summary of one game is a table of records."""
    return not isinstance(game, np.ndarray) and any(np.ndim(summary) == 2 for summary in game)


def record_counts(game: Sequence[FloatArray]) -> IntArray:
    """The number of records behind each summary."""
    return np.array([len(one) if one.ndim == 2 else round(one[0]) for one in game])


def few_records_mse(
    game: Sequence[FloatArray],
    inside: MemberArray,
    centre: Centre,
    form: Form,
) -> FloatArray:
    """Return the validation errors of the minimum-norm fits of coalitions of records: (m,).

    An error is NaN if 16 digits may not be enough.

    Parameters
    ----------
    game : (n_records, d + 1) features in their own units and targets of each member
    inside : (m, n) a coalition in each row, 1 for members
    centre : the mean and the scale of the validation rows
    form : the validation error as a function of the coefficients
    """
    held = [one if one.ndim == 2 else np.empty((0, len(form.b))) for one in game]
    records = np.concatenate(held)
    if not _alike(records, centre):
        return np.full(len(inside), np.nan)
    records[:, :-1] = (records[:, :-1] - centre.mean) * centre.inv_scale
    records[:, -1] -= centre.y_mean
    edges = np.concatenate([[0], np.cumsum([len(one) for one in held])])
    errors = kernels.load("least_norm").least_norm_errors
    walk, scale = walk_of_rows(inside), 1.0 / centre.inv_scale
    return np.asarray(
        errors(records, edges, *walk, len(inside), scale, form.A, form.b, form.c, form.measure)
    )


def refitted_mse(
    model: Any,
    game: Sequence[FloatArray],
    inside: MemberArray,
    columns: FloatArray,
    targets: FloatArray,
) -> FloatArray:
    """Return the validation errors of a scikit-learn model fitted to coalitions of records: (m,).

    Parameters
    ----------
    model : least squares after scalers, whose least norm is in the units of the scaled features
    game, inside : as in `few_records_mse`; members without records are summarised otherwise
    columns, targets : (d, n_rows) features and (n_rows,) targets of the validation rows
    """
    from sklearn.base import clone

    errors = np.empty(len(inside))
    for at, members in enumerate(inside):
        records = np.concatenate([one for one, member in zip(game, members, strict=True) if member])
        fitted = clone(model).fit(records[:, :-1], records[:, -1])
        errors[at] = np.mean((fitted.predict(columns.T) - targets) ** 2)
    return errors


def _alike(records: FloatArray, centre: Centre) -> bool:
    """Whether all features that vary have similar scales and lie near the validation rows."""
    X = records[:, :-1]
    spread = np.ptp(X, axis=0)
    varies = spread > 0
    if not varies.any():
        return True
    offset = np.abs(X - centre.mean).max(axis=0)
    near = (offset <= _OFFSET * spread) | ~varies
    units = np.concatenate([spread[varies], 1.0 / centre.inv_scale])
    return bool(near.all() and units.max() <= _UNITS * units.min())
