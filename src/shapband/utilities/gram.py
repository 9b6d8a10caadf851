"""Gram matrices of scaled records, packed: the summaries of least squares.

A summary is the lower triangle of Z'Z followed by Z'y, where Z is a column of ones and the
features, relative to the first record of the draw, its anchor; then the anchor in the features'
own units. Relative to a record of the draw, sums of products lose no digits wherever the draw is,
and a feature that is constant in it has sums that are exactly zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shapband import kernels
from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.kernels.plain.linear import ROUNDING
from shapband.records.arrays import float_targets
from shapband.records.draws import Draws


class Centre(NamedTuple):
    """What standardises records: feature by feature (x - mean) * inv_scale, and y - y_mean.

    The scales are powers of two, so that no digit is lost.
    """

    mean: FloatArray
    inv_scale: FloatArray
    y_mean: float


def gram_summaries(
    draws: Sequence[Draws], features: Sequence[FloatArray], centre: Centre
) -> FloatArray:
    """Return the summaries of consecutive games: (n_games, n, n_sums).

    Parameters
    ----------
    draws : one for each provider
    features : (n_rows, d) of the batch of each of the draws
    """
    gram = kernels.load("linear").gram_summaries
    d = len(centre.mean)
    summaries = np.empty((draws[0].choice.n_games, len(draws), summary_size(d)))
    for place, (drawn, X) in enumerate(zip(draws, features, strict=True)):
        y = float_targets(drawn.batch.y)
        gram(X, y, np.ascontiguousarray(drawn.rows), *centre[1:], summaries, place)
    return summaries


def summary_size(d: int) -> int:
    """Number of floats in a summary of d features."""
    return (d + 1) * (d + 4) // 2 + d


def own_records(drawn: Draws, X: FloatArray, centre: Centre) -> FloatArray:
    """Return the features in their own units, and the targets: (n_games, size, d + 1)."""
    rows, y = drawn.rows, float_targets(drawn.batch.y)
    return np.concatenate([X[rows], y[rows][:, :, None] - centre.y_mean], axis=2)


def gram_of(records: FloatArray, centre: Centre) -> FloatArray:
    """Return the summary of records (n_records, d + 1) of `own_records`: (n_sums,)."""
    X, y = np.ascontiguousarray(records[:, :-1]), np.ascontiguousarray(records[:, -1])
    summary = np.empty((1, 1, summary_size(X.shape[1])))
    every = np.arange(len(records))[None]
    kernels.load("linear").gram_summaries(X, y, every, centre.inv_scale, 0.0, summary, 0)
    return np.asarray(summary[0, 0])


class Spread(NamedTuple):
    """Records of m coalitions, or of m draws, relative to their means.

    Attributes
    ----------
    records : (m,) how many there are
    means : (m, d) of the scaled features, relative to the validation means
    scatter : (m, d, d) sums of products of the scaled features
    target : (m,) means of the targets
    products : (m, d) sums of products of the features and the targets
    sizes : (m, d) largest distance of a member's mean from 0, in scaled units
    """

    records: FloatArray
    means: FloatArray
    scatter: FloatArray
    target: FloatArray
    products: FloatArray
    sizes: FloatArray

    def only(self, which: NDArray[np.bool_] | IntArray) -> Spread:
        """Return some of the coalitions."""
        return Spread(*(part[which] for part in self))

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether each feature varies by more than rounding: (m, d)."""
        square = np.einsum("mii->mi", self.scatter)
        noise = self.records[:, None] * (ROUNDING * self.sizes) ** 2
        return np.asarray(square > np.maximum(noise, 1e-300))


def spread_of(summaries: FloatArray, centre: Centre) -> Spread:
    """Means and sums of products within each of the draws (m, n_sums)."""
    d = len(centre.mean)
    p = d + 1
    packed, anchors = summaries[:, :-d], summaries[:, -d:]
    gram, products = unpack(packed[:, :-p], p), packed[:, -p:]
    count = gram[:, 0, 0]
    moved = gram[:, 0, 1:] / count[:, None]
    scatter = gram[:, 1:, 1:] - count[:, None, None] * moved[:, :, None] * moved[:, None, :]
    within = products[:, 1:] - moved * products[:, :1]
    means = (anchors - centre.mean) * centre.inv_scale + moved
    sizes = np.abs(anchors * centre.inv_scale)
    return Spread(count, means, scatter, products[:, 0] / count, within, sizes)


def merge(draws: Spread, inside: MemberArray) -> Spread:
    """Merge the draws of one game into coalitions (m, n), each relative to its own mean.

    Sums of products within draws and between their means are added; both are exact to rounding
    wherever the draws are.
    """
    count = inside * draws.records
    total = count.sum(axis=1)
    share = count / np.maximum(total, 1.0)[:, None]
    means, target = share @ draws.means, share @ draws.target
    apart = draws.means[None] - means[:, None]  # (m, n, d)
    differ = draws.target[None] - target[:, None]
    members = inside.astype(np.float64)
    n, d = draws.means.shape
    within = (members @ draws.scatter.reshape(n, d * d)).reshape(-1, d, d)
    between = np.einsum("cif,cig->cfg", apart * count[:, :, None], apart, optimize=True)
    products = members @ draws.products + np.einsum("cif,ci->cf", apart, count * differ)
    sizes = (members[:, :, None] * draws.sizes[None]).max(axis=1)
    return Spread(total, means, within + between, target, products, sizes)


def unpack(packed: FloatArray, p: int) -> FloatArray:
    """Convert packed lower triangles (m, p(p+1)/2) into symmetric matrices (m, p, p)."""
    row, column = np.tril_indices(p)
    full = np.empty((len(packed), p, p))
    full[:, row, column] = packed
    full[:, column, row] = packed
    return full


class ValidationRows(NamedTuple):
    """Scaled validation rows (n_rows, d), relative to their means, and targets (n_rows,)."""

    rows: FloatArray
    targets: FloatArray

    def errors_of(self, intercepts: FloatArray, slopes: FloatArray) -> FloatArray:
        """Mean squared errors (m,) of fits with intercepts (m,) and slopes (m, d).

        Residuals lose no digits where the quadratic form of `Form` is a small difference of large
        numbers.
        """
        residuals = slopes @ self.rows.T + intercepts[:, None] - self.targets
        return np.asarray((residuals**2).mean(axis=1))


def cancelled(mse: FloatArray, variance: float) -> NDArray[np.bool_]:
    """Whether errors of a quadratic form are so much smaller than its terms that digits are lost.

    The terms are at least the variance of the targets and have relative errors of 1e-15, which
    must not change errors by 1e-10, or by 1e-10 of themselves above 1.
    """
    return np.asarray(1e-15 * variance > 1e-10 * np.maximum(mse, 1.0))


class Form(NamedTuple):
    """The validation error beta'A beta - 2 b'beta + c of coefficients beta, and what is penalised.

    Attributes
    ----------
    A, b, c : moments of the validation rows, A packed
    penalty : summary that ridge regression adds to that of a coalition
    """

    A: FloatArray
    b: FloatArray
    c: float
    penalty: FloatArray


def make_form(moments: FloatArray, variance: float, ridge: FloatArray) -> Form:
    """Make the form from the Gram matrix of the validation rows, divided by their number.

    `ridge` (d,) holds the weight of the squared coefficient of each standardised feature.
    """
    p = len(ridge) + 1
    penalty = np.zeros(len(moments))
    diagonal = np.arange(2, p + 1) * np.arange(3, p + 2) // 2 - 1
    penalty[diagonal] = ridge
    return Form(moments[:-p].copy(), moments[-p:].copy(), variance, penalty)
