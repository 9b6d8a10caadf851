"""Linear discriminant analysis of coalitions of providers, from sums over their records.

See the compiled twin for the layout of summaries.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.kernels.plain.class_scores import class_scores

LOST = 1e-4  # scatter over squares below which sums have lost more than four digits
ROUNDING = 1e-30  # scatter over squares of numbers that differ in their last digit only
SMALLEST = 1e-4  # singular values of standardised rows that are dropped, as by scikit-learn


def class_scatter(
    X: FloatArray,
    codes: IntArray,
    rows: IntArray,
    mean: FloatArray,
    inv_scale: FloatArray,
    summaries: FloatArray,
    provider: int,
) -> None:
    """Write a provider's summaries of the records rows (g, size) into (g, n, 2 (C + d), 1 + d)."""
    d = X.shape[1]
    classes = summaries.shape[2] // 2 - d
    Z = (X[rows] - mean) * inv_scale
    with_ones = np.concatenate([np.ones((*rows.shape, 1)), Z], axis=2)
    for c in range(classes):
        of_class = (codes[rows] == c)[:, :, None]
        summaries[:, provider, c] = (with_ones * of_class).sum(axis=1)
    summaries[:, provider, classes:] = 0.0
    summaries[:, provider, classes : classes + d, 1:] = np.tril(Z.transpose(0, 2, 1) @ Z)
    for g, c in np.ndindex(len(rows), classes):
        own = Z[g, codes[rows[g]] == c]
        if len(own):
            # Relative to the last record, so that the mean of equal numbers is that number.
            mean = own[-1] + (own - own[-1]).mean(axis=0)
            summaries[g, provider, classes + d + c, 1:] = mean
            scatter = np.tril((own - mean).T @ (own - mean))
            summaries[g, provider, 2 * classes + d :, 1:] += scatter


def discriminant_rows(
    summaries: FloatArray,
    inside: MemberArray,
    of_game: IntArray,
    columns: FloatArray,
    codes: IntArray,
    score: int,
) -> FloatArray:
    """Scores (n_rows,) of coalitions given as rows of members; 0 without any record.

    A score is NaN if sums overflow; the utility refuses it.
    """
    d = summaries.shape[3] - 1
    classes = summaries.shape[2] // 2 - d
    scores = np.zeros(len(inside))
    for r, (row, g) in enumerate(zip(inside, of_game, strict=True)):
        members = summaries[g][row.astype(bool)]
        if members[:, :classes, 0].sum() == 0:
            continue
        scores[r] = np.nan
        if np.isfinite(members).all():
            logits = _logits(members, classes, columns[:d])
            scores[r] = class_scores(logits[None], codes, classes, score)[0]
    return scores


def _logits(members: FloatArray, classes: int, columns: FloatArray) -> FloatArray:
    """Logits (C, n_val) from the summaries of a coalition's members (n, 2 (C + d), 1 + d)."""
    counts, means, scatter, squares = _within(members, classes)
    inverse = _inverse_covariance(counts.sum(), scatter, squares)
    logits = np.full((classes, columns.shape[1]), -np.inf)
    slopes = (means - means[0]) @ inverse
    constants = np.log(counts) - 0.5 * ((means + means[0]) * slopes).sum(axis=1)
    held = np.flatnonzero(members[:, :classes, 0].sum(axis=0))
    logits[held] = constants[:, None] + slopes @ columns
    return logits


def _within(
    members: FloatArray, classes: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Counts, means and scatter of the classes that have records, and squares of the features."""
    d = members.shape[2] - 1
    total = members.sum(axis=0)
    held = np.flatnonzero(total[:classes, 0])
    counts = total[held, 0]
    means = total[held, 1:] / counts[:, None]
    products = _full(total[classes : classes + d, 1:])
    scatter, squares = products - (means * counts[:, None]).T @ means, np.diag(products)
    lost = ~(np.diag(scatter) > LOST * squares)
    merged, about = means.copy(), _full(total[2 * classes + d :, 1:])
    for place, c in enumerate(held):
        inside = members[:, c, 0] > 0
        own, weights = members[inside, classes + d + c, 1:], members[inside, c, :1]
        # Relative to the first mean, so that equal means merge without rounding.
        merged[place] = own[0] + (weights * (own - own[0])).sum(axis=0) / counts[place]
        gap = own - merged[place]
        about += (weights * gap).T @ gap
    means[:, lost] = merged[:, lost]
    scatter = np.where(lost | lost[:, None], about, scatter)
    return counts, means, scatter, squares


def _full(triangle: FloatArray) -> FloatArray:
    """The symmetric matrix of a lower triangle."""
    return np.asarray(np.tril(triangle, -1).T + triangle)


def _inverse_covariance(count: float, scatter: FloatArray, squares: FloatArray) -> FloatArray:
    """Pseudo-inverse of the covariance within classes; zero if nothing varies within them."""
    constant = ~(np.diag(scatter) > ROUNDING * squares)
    if constant.all():
        return np.zeros_like(scatter)
    spread = np.sqrt(np.where(constant, 1.0, np.diag(scatter) / count))
    scatter[constant], scatter[:, constant] = 0.0, 0.0
    eigenvalues, vectors = np.linalg.eigh(scatter / count / np.outer(spread, spread))
    kept = eigenvalues > SMALLEST**2
    inverse = (vectors[:, kept] / eigenvalues[kept]) @ vectors[:, kept].T
    return np.asarray(inverse / np.outer(spread, spread))
