"""Gaussian naive Bayes of coalitions of providers, from sums over the records of each class.

See the compiled twin for the layout of summaries.
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

LARGE = 1e4  # logits beyond which differences have errors of more than 1e-12
LOST = 1e-4  # variance over mean square below which sums have lost more than four digits


def class_moments(
    X: FloatArray,
    codes: IntArray,
    rows: IntArray,
    mean: FloatArray,
    inv_scale: FloatArray,
    summaries: FloatArray,
    provider: int,
) -> None:
    """Write a provider's summaries of the records rows (g, size) into (g, n, C, 1 + 4 d)."""
    Z = (X[rows] - mean) * inv_scale
    d = X.shape[1]
    terms = np.concatenate([np.ones((*rows.shape, 1)), Z, Z**2], axis=2)
    for c in range(summaries.shape[2]):
        of_class = codes[rows] == c
        summary = summaries[:, provider, c]
        summary[:, : 1 + 2 * d] = (terms * of_class[:, :, None]).sum(axis=1)
        summary[:, 1 + 2 * d :] = 0.0
        for g in np.flatnonzero(of_class.any(axis=1)):
            own = Z[g, of_class[g]]
            # Relative to the last record, so that the mean of equal numbers is that number.
            means = own[-1] + (own - own[-1]).mean(axis=0)
            summary[g, 1 + 2 * d :] = np.concatenate([means, ((own - means) ** 2).sum(axis=0)])


def bayes_rows(
    summaries: FloatArray,
    inside: MemberArray,
    of_game: IntArray,
    columns: FloatArray,
    codes: IntArray,
    score: int,
    units: FloatArray,
    smoothing: float,
    folds: tuple[IntArray, FloatArray] | None = None,
) -> FloatArray:
    """Scores (n_rows,) of coalitions given as rows of members; 0 without any record.

    A score is NaN if sums overflow; the utility refuses it.
    """
    scores = np.zeros(len(inside))
    for r, (row, g) in enumerate(zip(inside, of_game, strict=True)):
        members = summaries[g][row.astype(bool)]
        if members[:, :, 0].sum() == 0:
            continue
        scores[r] = np.nan
        if np.isfinite(members[..., : 1 + 2 * len(units)]).all():
            smooth = score in (LOG_LOSS, BRIER)
            logits = _logits(members, columns[: len(units)], units, smoothing, smooth)
            if logits is not None:
                fixed = codes, summaries.shape[2], score
                scores[r] = class_scores(logits[None], *fixed)[0]
                if folds is not None:
                    folds[1][r] = scores_without_folds(logits, *fixed, folds[0])
    return scores


def bayes_sums(
    sums: FloatArray,
    columns: FloatArray,
    codes: IntArray,
    score: int,
    units: FloatArray,
    smoothing: float,
    folds: tuple[IntArray, FloatArray] | None = None,
) -> FloatArray:
    """Scores (n_rows,) of coalitions given as sums: NaN, so that all are made from members."""
    return np.full(len(sums), np.nan)


def _logits(
    members: FloatArray, columns: FloatArray, units: FloatArray, smoothing: float, smooth: bool
) -> FloatArray | None:
    """Logits (C, n_val) of a coalition with the summaries members (n, C, 1 + 4 d).

    None if the largest variance overflows. Scores that are smooth in the logits need small
    differences of large ones; others count such differences as ties.
    """
    with np.errstate(over="ignore"):
        extra = smoothing * (_moments(members)[1] * units).max()
    if not np.isfinite(extra):
        return None
    logits = np.full((members.shape[1], columns.shape[1]), -np.inf)
    counts = members[:, :, 0].sum(axis=0)
    held = np.flatnonzero(counts)
    # Relative to the first class, so that units of features change no logit.
    logits[held] = np.log(counts[held] / counts[held[0]])[:, None]
    if extra == 0:  # all records are equal, and the features count for nothing
        return logits
    moments = [_moments(members[:, c : c + 1]) for c in held]
    means = np.array([mean for mean, _ in moments])
    with np.errstate(over="ignore", divide="ignore"):
        variances = np.array([variance + extra / units for _, variance in moments])
    # An infinite variance is the same in all classes, and no distance counts beside it.
    finite = np.isfinite(variances).all(axis=0)
    logits[held] -= 0.5 * np.log(variances[:, finite] / variances[0, finite]).sum(axis=1)[:, None]
    # A feature with the same moments in all classes changes all logits of a row alike.
    common = (means == means[0]).all(axis=0) & (variances == variances[0]).all(axis=0)
    kept = finite & ~common
    constants, means, variances = logits[held], means[:, kept], variances[:, kept]
    for c, mean, variance in zip(held, means, variances, strict=True):
        far = (columns[kept] - mean[:, None]) ** 2
        logits[c] -= (0.5 * far / variance[:, None]).sum(axis=0)
    for r in np.flatnonzero(logits.max(axis=0) <= -LARGE) if smooth else ():
        best = logits[held, r].argmax()
        own = columns[kept, r] - means, 0.5 / variances
        logits[held, r] = constants[:, r] - constants[best, r] - _farther(*own, best)
    return logits


def _farther(gaps: FloatArray, weights: FloatArray, best: int) -> FloatArray:
    """Weighted squares of gaps (C, d) minus those of the best class, without a cancellation."""
    squares = weights * (gaps - gaps[best]) * (gaps + gaps[best])
    return np.asarray((squares + (weights - weights[best]) * gaps[best] ** 2).sum(axis=1))


def _moments(members: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and variances (d,) from the summaries of some classes (n, C, 1 + 4 d)."""
    d = (members.shape[2] - 1) // 4
    total = members[:, :, : 1 + 2 * d].sum(axis=(0, 1))
    mean, square = np.split(total[1:] / total[0], 2)
    variance = square - mean**2
    # Sums have lost digits there; own means are relative to the first, so that equal ones stay so.
    lost = ~(variance > LOST * square)
    held = members[members[:, :, 0] > 0]
    own, squares = held[:, 1 + 2 * d : 1 + 3 * d][:, lost], held[:, 1 + 3 * d :][:, lost]
    counts = held[:, :1]
    mean[lost] = own[0] + (counts * (own - own[0])).sum(axis=0) / total[0]
    variance[lost] = (squares + counts * (own - mean[lost]) ** 2).sum(axis=0) / total[0]
    return mean, variance
