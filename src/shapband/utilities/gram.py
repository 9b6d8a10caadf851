"""Sums of products of scaled records, packed: the summaries of least squares.

The first part of a summary is the lower triangle of [Z y]'[Z y], followed by the anchor, the first
record of the draw, in the features' own units. Z is a column of ones and the features, relative to
the anchor. So sums of products lose no digits however far the draw is from zero, and the sums of a
feature that is constant in the draw are exactly zero.

The second part holds the same sums in 32 digits, for coalitions that need them (`exact_fits`).
These sums take many times as long, so they are computed game by game, and only for games with such
a coalition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shapband import kernels
from shapband._typing import FloatArray
from shapband.records.arrays import float_targets
from shapband.records.draws import Draws
from shapband.utilities.magnitudes import LARGEST


class Centre(NamedTuple):
    """Numbers that standardise records: features to (x - mean) * inv_scale, targets to y - y_mean.

    The scales are powers of two, so that no digit is lost.
    """

    mean: FloatArray
    inv_scale: FloatArray
    y_mean: float


@dataclass(frozen=True, eq=False)
class GramGames:
    """Summaries of consecutive games, whose second parts are computed only when needed.

    Attributes
    ----------
    sums : (n_games, n, n_sums) first parts
    exact : returns the second parts (n, n_exact) of a game, given by its position
    """

    sums: FloatArray
    exact: Callable[[int], FloatArray]

    @staticmethod
    def of(games: Any, d: int) -> GramGames:
        """Take summaries of d features as they are passed to utilities."""
        if isinstance(games, GramGames):
            return games
        both = np.asarray(games)
        first = first_size(d)
        return GramGames(np.ascontiguousarray(both[..., :first]), lambda g: both[g, :, first:])

    def only(self, g: int) -> GramGames:
        """Return the summaries of one game alone."""
        return GramGames(self.sums[g : g + 1], lambda _: self.exact(g))

    def anchors(self, g: int, d: int) -> FloatArray:
        """Return the first records (n, d) of the draws of a game."""
        return np.ascontiguousarray(self.sums[g, :, -d:])

    def __len__(self) -> int:
        return len(self.sums)

    def __getitem__(self, key: int | tuple[int, int]) -> FloatArray:
        if isinstance(key, tuple):
            return np.asarray(self[key[0]][key[1]])
        return np.concatenate([self.sums[key], self.exact(key)], axis=1)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the sums, and not the records from which they could be computed."""
        return np.stack, ([self[g] for g in range(len(self))],)


def gram_games(draws: Sequence[Draws], features: Sequence[FloatArray], centre: Centre) -> GramGames:
    """Return the summaries of consecutive games.

    Parameters
    ----------
    draws : one for each provider
    features : (n_rows, d) of the batch of each of the draws
    """

    def exact(g: int) -> FloatArray:
        of_game = slice(g, g + 1) if g >= 0 else slice(g, None)
        parts = [drawn.part(of_game) for drawn in draws]
        return np.concatenate([exact_sums(one, X) for one, X in zip(parts, features, strict=True)])

    return GramGames(gram_sums(draws, features, centre), exact)


def gram_sums(draws: Sequence[Draws], features: Sequence[FloatArray], centre: Centre) -> FloatArray:
    """Return the first parts of the summaries of consecutive games: (n_games, n, n_sums)."""
    gram = kernels.load("linear").gram_summaries
    d = len(centre.mean)
    sums = np.empty((draws[0].choice.n_games, len(draws), first_size(d)))
    for place, (drawn, X) in enumerate(zip(draws, features, strict=True)):
        y = float_targets(drawn.batch.y)
        gram(X, y, np.ascontiguousarray(drawn.rows), *centre[1:], sums, place)
    return sums


def exact_sums(drawn: Draws, X: FloatArray) -> FloatArray:
    """Return the second parts of the summaries of one provider: (n_games, n_exact)."""
    rows, y = np.ascontiguousarray(drawn.rows), float_targets(drawn.batch.y)
    return np.asarray(kernels.load("exact_sums").all_draw_sums(X, y, rows))


def first_size(d: int) -> int:
    """Number of floats in the first part of a summary of d features."""
    return (d + 2) * (d + 3) // 2 + d


def summary_size(d: int) -> int:
    """Number of floats in a summary of d features."""
    return first_size(d) + 3 + 7 * d + d * (d + 1)


def own_records(drawn: Draws, X: FloatArray) -> FloatArray:
    """Return the features and the targets: (n_games, size, d + 1)."""
    rows, y = drawn.rows, float_targets(drawn.batch.y)
    return np.concatenate([X[rows], y[rows][:, :, None]], axis=2)


def gram_of_records(game: Sequence[FloatArray], centre: Centre) -> GramGames:
    """Return the summaries of one game as sums; some are given as records (`own_records`)."""
    d = len(centre.mean)
    first = first_size(d)
    sums = np.empty((1, len(game), first))
    gram = kernels.load("linear").gram_summaries
    for place, one in enumerate(game):
        if one.ndim == 1:
            sums[0, place] = one[:first]
        else:
            X, y, every = _split(one)
            gram(X, y, every, *centre[1:], sums, place)

    def exact(_: int) -> FloatArray:
        return np.stack([one[first:] if one.ndim == 1 else exact_of_records(one) for one in game])

    return GramGames(sums, exact)


def exact_of_records(records: FloatArray) -> FloatArray:
    """Return the second part of the summary of records (n_records, d + 1) of `own_records`."""
    X, y, every = _split(records)
    return np.asarray(kernels.load("exact_sums").all_draw_sums(X, y, every)[0])


def _split(records: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Features, targets, and the indices (1, n_records) of all records."""
    X, y = np.ascontiguousarray(records[:, :-1]), np.ascontiguousarray(records[:, -1])
    return X, y, np.arange(len(records))[None]


class Form(NamedTuple):
    """The validation error beta'A beta - 2 b'beta + c of coefficients beta, and the penalty.

    Attributes
    ----------
    A, b, c : moments of the validation rows, A packed
    penalty : summary that ridge regression adds to the summary of a coalition
    measure : the error that counts as 1 in the score: 1, or the variance for R²
    """

    A: FloatArray
    b: FloatArray
    c: float
    penalty: FloatArray
    measure: float


def make_form(moments: FloatArray, c: float, ridge: FloatArray, measure: float) -> Form:
    """Make the form from the Gram matrix of the validation rows, divided by their number.

    `ridge` (d,) holds the weight of the squared coefficient of each standardised feature.
    """
    p = len(ridge) + 1
    penalty = np.zeros(len(moments))
    diagonal = np.arange(2, p + 1) * np.arange(3, p + 2) // 2 - 1
    penalty[diagonal] = ridge
    return Form(moments[: -p - 1].copy(), moments[-p - 1 : -1].copy(), c, penalty, measure)


def form_of_rows(
    columns: FloatArray,
    y: FloatArray,
    variance: float,
    centre: Centre,
    alpha: float,
    measure: float,
) -> Form:
    """Make the form from validation rows with features (d, n_rows) and the variance of targets."""
    # A penalty above LARGEST makes a slope so small that it changes no digit of a prediction.
    ridge = np.minimum(alpha * centre.inv_scale**2, LARGEST)
    sums = gram_of_records([np.column_stack([columns.T, y])], centre).sums
    products, _ = kernels.load("linear").recentred(sums, *centre[:2])
    moments = products[0, 0] / len(y)
    # If targets differ only in their last digits, their mean is rounded too much for `moments`.
    centred = variance == y.var() and centre.y_mean == y.mean()
    return make_form(moments, float(variance if centred else moments[-1]), ridge, measure)
