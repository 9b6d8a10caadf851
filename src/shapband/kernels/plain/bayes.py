"""Gaussian naive Bayes of coalitions of providers, from sums over the records of each class."""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.kernels.plain.class_scores import class_scores

ROUNDING = 1e-13  # variance over mean square below which the values of a class count as equal


def class_moments(
    X: FloatArray,
    codes: IntArray,
    rows: IntArray,
    mean: FloatArray,
    inv_scale: FloatArray,
    summaries: FloatArray,
    provider: int,
) -> None:
    """Write a provider's summaries of the records rows (g, size) into (g, n, C, 1 + 2 d)."""
    Z = (X[rows] - mean) * inv_scale
    terms = np.concatenate([np.ones((*rows.shape, 1)), Z, Z**2], axis=2)
    for c in range(summaries.shape[2]):
        summaries[:, provider, c] = (terms * (codes[rows] == c)[:, :, None]).sum(axis=1)


def bayes_rows(
    summaries: FloatArray,
    inside: MemberArray,
    of_game: IntArray,
    columns: FloatArray,
    codes: IntArray,
    score: int,
    units: FloatArray,
    smoothing: float,
) -> FloatArray:
    """Scores (n_rows,) of coalitions given as rows of members; 0 without any record."""
    scores = np.zeros(len(inside))
    for r, (row, g) in enumerate(zip(inside, of_game, strict=True)):
        total = summaries[g][row.astype(bool)].sum(axis=0)
        if total[:, 0].sum() > 0:
            logits = _logits(total, columns[: len(units)], units, smoothing)
            scores[r] = class_scores(logits[None], codes, len(total), score)[0]
    return scores


def _logits(
    total: FloatArray, columns: FloatArray, units: FloatArray, smoothing: float
) -> FloatArray:
    """Logits (C, n_val) of a coalition with the sums total (C, 1 + 2 d)."""
    extra = smoothing * (_moments(total.sum(axis=0))[1] * units).max()
    logits = np.full((len(total), columns.shape[1]), -np.inf)
    for c in np.flatnonzero(total[:, 0]):
        mean, variance = _moments(total[c])
        logits[c] = np.log(total[c, 0])
        if extra > 0:  # otherwise all records are equal, and the features count for nothing
            variance += extra / units
            logits[c] -= 0.5 * np.log(variance).sum()
            logits[c] -= (0.5 * (columns - mean[:, None]) ** 2 / variance[:, None]).sum(axis=0)
    return logits


def _moments(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and variances (d,) from sums (1 + 2 d,)."""
    mean, square = np.split(sums[1:] / sums[0], 2)
    variance = square - mean**2
    return mean, np.where(variance > ROUNDING * square, variance, 0.0)
