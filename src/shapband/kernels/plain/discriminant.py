"""Linear discriminant analysis of coalitions of providers, from sums over their records.

See the compiled twin for the layout of summaries.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.kernels.plain.class_scores import class_scores

ROUNDING = 1e-13  # variance over mean square below which a feature counts as constant in classes
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
    """Write a provider's summaries of the records rows (g, size) into (g, n, C + d, 1 + d)."""
    d = X.shape[1]
    classes = summaries.shape[2] - d
    Z = (X[rows] - mean) * inv_scale
    with_ones = np.concatenate([np.ones((*rows.shape, 1)), Z], axis=2)
    for c in range(classes):
        of_class = (codes[rows] == c)[:, :, None]
        summaries[:, provider, c] = (with_ones * of_class).sum(axis=1)
    summaries[:, provider, classes:, 0] = 0.0
    summaries[:, provider, classes:, 1:] = np.tril(Z.transpose(0, 2, 1) @ Z)


def discriminant_rows(
    summaries: FloatArray,
    inside: MemberArray,
    of_game: IntArray,
    columns: FloatArray,
    codes: IntArray,
    score: int,
) -> FloatArray:
    """Scores (n_rows,) of coalitions given as rows of members; 0 without any record."""
    d = summaries.shape[3] - 1
    classes = summaries.shape[2] - d
    scores = np.zeros(len(inside))
    for r, (row, g) in enumerate(zip(inside, of_game, strict=True)):
        total = summaries[g][row.astype(bool)].sum(axis=0)
        if total[:classes, 0].sum() > 0:
            logits = _logits(total[:classes], total[classes:, 1:], columns[:d])
            scores[r] = class_scores(logits[None], codes, classes, score)[0]
    return scores


def _logits(sums: FloatArray, products: FloatArray, columns: FloatArray) -> FloatArray:
    """Logits (C, n_val) from class sums (C, 1 + d) and the lower triangle of products (d, d)."""
    held = np.flatnonzero(sums[:, 0])
    counts = sums[held, 0]
    means = sums[held, 1:] / counts[:, None]
    inverse = _inverse_covariance(counts, means, np.tril(products, -1).T + products)
    logits = np.full((len(sums), columns.shape[1]), -np.inf)
    slopes = (means - means[0]) @ inverse
    constants = np.log(counts) - 0.5 * ((means + means[0]) * slopes).sum(axis=1)
    logits[held] = constants[:, None] + slopes @ columns
    return logits


def _inverse_covariance(counts: FloatArray, means: FloatArray, products: FloatArray) -> FloatArray:
    """Pseudo-inverse of the covariance within classes; zero if nothing varies within them."""
    count = counts.sum()
    scatter = products - (means * counts[:, None]).T @ means
    constant = ~(np.diag(scatter) > ROUNDING * np.diag(products))
    if constant.all():
        return np.zeros_like(scatter)
    spread = np.sqrt(np.where(constant, 1.0, np.diag(scatter) / count))
    scatter[constant], scatter[:, constant] = 0.0, 0.0
    eigenvalues, vectors = np.linalg.eigh(scatter / count / np.outer(spread, spread))
    kept = eigenvalues > SMALLEST**2
    inverse = (vectors[:, kept] / eigenvalues[kept]) @ vectors[:, kept].T
    return np.asarray(inverse / np.outer(spread, spread))
