"""Linear discriminant analysis of coalitions of providers, from sums over their records.

See the compiled twin for the layout of summaries. This one always uses the providers' own means and
factors, never the sums of products.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.kernels.careful.class_scores import (
    BRIER,
    LOG_LOSS,
    class_scores,
    scores_without_folds,
)

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
    """Write a provider's summaries of the records rows (g, size) into (g, n, 3 C + 2 d, 1 + d)."""
    d = X.shape[1]
    classes = (summaries.shape[2] - 2 * d) // 3
    Z = (X[rows] - mean) * inv_scale
    with_ones = np.concatenate([np.ones((*rows.shape, 1)), Z], axis=2)
    for c in range(classes):
        of_class = (codes[rows] == c)[:, :, None]
        summaries[:, provider, c] = (with_ones * of_class).sum(axis=1)
    summaries[:, provider, classes:] = 0.0
    summaries[:, provider, classes : classes + d, 1:] = np.tril(Z.transpose(0, 2, 1) @ Z)
    for g, chosen in enumerate(rows):
        about = np.zeros((len(chosen), d))
        for c in np.unique(codes[chosen]):
            own = X[chosen[codes[chosen] == c]]
            # Relative to the last record, so that the mean of equal numbers is that number.
            gaps = (own - own[-1]) * inv_scale
            shift = gaps.mean(axis=0)
            summaries[g, provider, classes + d + c, 1:] = (own[-1] - mean) * inv_scale
            summaries[g, provider, 2 * classes + d + c, 1:] = shift
            about[codes[chosen] == c] = gaps - shift
        summaries[g, provider, 3 * classes + d :, 1:] = _factor(about)


def _factor(about: FloatArray) -> FloatArray:
    """Lower triangle L (d, d) with L L' = A' A for rows A (m, d), and a diagonal without signs."""
    d = about.shape[1]
    upper = np.asarray(np.linalg.qr(np.concatenate([about, np.zeros((d, d))]), mode="r"))
    return np.asarray((upper * np.where(np.diag(upper) < 0, -1.0, 1.0)[:, None]).T)


def discriminant_sums(
    sums: FloatArray,
    columns: FloatArray,
    codes: IntArray,
    score: int,
    folds: tuple[IntArray, FloatArray] | None = None,
) -> FloatArray:
    """Scores (n_rows,) of coalitions given as sums: NaN, so that all are made from members."""
    return np.full(len(sums), np.nan)


def discriminant_rows(
    summaries: FloatArray,
    inside: MemberArray,
    of_game: IntArray,
    columns: FloatArray,
    codes: IntArray,
    score: int,
    folds: tuple[IntArray, FloatArray] | None = None,
) -> FloatArray:
    """Scores (n_rows,) of coalitions given as rows of members; 0 without any record.

    A score is NaN if sums overflow; the utility refuses it.
    """
    d = summaries.shape[3] - 1
    classes = (summaries.shape[2] - 2 * d) // 3
    scores = np.zeros(len(inside))
    for r, (row, g) in enumerate(zip(inside, of_game, strict=True)):
        members = summaries[g][row.astype(bool)]
        if members[:, :classes, 0].sum() == 0:
            continue
        scores[r] = np.nan
        if np.isfinite(members).all():
            logits = _logits(members, classes, columns[:d], score in (LOG_LOSS, BRIER))
            scores[r] = class_scores(logits[None], codes, classes, score)[0]
            if folds is not None:
                folds[1][r] = scores_without_folds(logits, codes, classes, score, folds[0])
    return scores


def _logits(members: FloatArray, classes: int, columns: FloatArray, smooth: bool) -> FloatArray:
    """Logits (C, n_val) from the summaries of a coalition's members (n, 3 C + 2 d, 1 + d).

    Scores that are smooth in the logits need small differences of large ones; others count such
    differences as ties.
    """
    counts, origins, offsets, factor = _within(members, classes)
    means = origins + offsets
    whitener = _whitener(factor, counts.sum())
    logits = np.full((classes, columns.shape[1]), -np.inf)
    held = np.flatnonzero(members[:, :classes, 0].sum(axis=0))
    gaps = [(origins - o) + (offsets - f) for o, f in zip(origins, offsets, strict=True)]
    logits[held] = _relative_to(0, counts, means, gaps[0] @ whitener.T @ whitener, columns)
    best = logits[held].argmax(axis=0)
    for place in np.unique(best) if smooth else ():
        # Relative to the best class, logits that count are small and have all digits.
        slopes = gaps[place] @ whitener.T @ whitener
        relative = _relative_to(place, counts, means, slopes, columns)
        logits[np.ix_(held, best == place)] = relative[:, best == place]
    return logits


def _relative_to(
    base: int, counts: FloatArray, means: FloatArray, slopes: FloatArray, columns: FloatArray
) -> FloatArray:
    """Logits of the classes that have records, minus those of the class at `base`."""
    constants = np.log(counts / counts[base]) - 0.5 * ((means + means[base]) * slopes).sum(axis=1)
    return np.asarray(constants[:, None] + slopes @ columns)


def _within(
    members: FloatArray, classes: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Counts and means of the classes that have records, and a factor of the scatter.

    A mean is a record and an offset from it.
    """
    d = members.shape[2] - 1
    held = np.flatnonzero(members[:, :classes, 0].sum(axis=0))
    counts = members[:, held, 0].sum(axis=0)
    origins, offsets, rows = np.empty((len(held), d)), np.empty((len(held), d)), []
    for place, c in enumerate(held):
        inside, weights = members[members[:, c, 0] > 0], members[members[:, c, 0] > 0, c, :1]
        origins[place] = inside[0, classes + d + c, 1:]
        own = inside[:, classes + d + c, 1:] - origins[place] + inside[:, 2 * classes + d + c, 1:]
        offsets[place] = (weights * own).sum(axis=0) / counts[place]
        rows.append(np.sqrt(weights) * (own - offsets[place]))
    rows.extend(one[3 * classes + d :, 1:].T for one in members)
    return counts, origins, offsets, _factor(np.concatenate(rows))


def _whitener(factor: FloatArray, count: float) -> FloatArray:
    """Rows W for which W' W is the pseudo-inverse of the covariance within classes."""
    spread = np.sqrt(np.square(factor).sum(axis=1) / count)
    varies = spread > 0
    whitener = np.zeros_like(factor)
    if varies.any():
        standard = factor[varies] / spread[varies, None] / np.sqrt(count)
        vectors, singular, _ = np.linalg.svd(standard, full_matrices=False)
        kept = singular > SMALLEST
        rows = (vectors[:, kept] / singular[kept]).T / spread[varies]
        whitener[np.ix_(np.flatnonzero(kept), varies)] = rows
    return whitener
