"""Scores of classifiers from their logits, as `shapband.kernels.plain.class_scores` defines them.

*Log loss.* The sum of the logarithms of factors is the logarithm of their product, so a logarithm
is needed only once the product is large.

*AUC.* The scores of negative rows are sorted into buckets of equal width. A positive row is above
all negatives in lower buckets, and is compared with those in its own bucket only.
"""

import math

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import OPTIONS

ACCURACY, LOG_LOSS, AUC, BRIER = range(4)
EPS = float(np.finfo(np.float64).eps)
WORST = -math.log(EPS)  # largest loss of one row
BEST = -math.log1p(-EPS)
LARGE = 1e280  # a product beyond it is replaced by its logarithm
BUCKETS = 2048


@njit(**OPTIONS)
def class_scores(logits, codes, n_labels, score):
    """Scores (m,) of models from their logits (m, n_classes, n_rows); larger is better."""
    scores = np.empty(logits.shape[0])
    room = score_room(codes)
    for m in range(logits.shape[0]):
        scores[m] = score_of(logits[m], codes, n_labels, score, room)
    return scores


@njit(**OPTIONS)
def score_room(codes):
    """Room for the log odds of all rows and the sorted log odds of the negatives."""
    return np.empty(2 * codes.shape[0])


@njit(**OPTIONS)
def score_of(logits, codes, n_labels, score, room):
    """Score of one model from its logits (n_classes, n_rows)."""
    if score == ACCURACY:
        return _accuracy(logits, codes)
    if score == LOG_LOSS:
        return -_log_loss(logits, codes)
    if score == BRIER:
        return -_brier(logits, codes) * (0.5 if n_labels <= 2 else 1.0)
    rows = codes.shape[0]
    odds = room[:rows]
    _log_odds(logits, odds)
    return _auc(odds, codes, room[rows:])


@njit(**OPTIONS)
def _accuracy(logits, codes):
    classes, rows = logits.shape
    right = 0
    for r in range(rows):
        best = 0
        for k in range(1, classes):
            if logits[k, r] > logits[best, r]:
                best = k
        right += best == codes[r]
    return right / rows


@njit(**OPTIONS)
def _log_loss(logits, codes):
    """Mean of -log p of the true classes, p clipped to [EPS, 1 - EPS]."""
    classes, rows = logits.shape
    total, product = 0.0, 1.0
    for r in range(rows):
        top = logits[0, r]
        for k in range(1, classes):
            top = max(top, logits[k, r])
        below = top - logits[codes[r], r]
        mass = 0.0
        for k in range(classes):
            mass += math.exp(logits[k, r] - top)
        if below > 30.0 or mass - 1.0 < 2.0 * EPS:
            total += min(max(below + math.log(mass), BEST), WORST)
            continue
        total += below
        product *= mass
        if product > LARGE:
            total += math.log(product)
            product = 1.0
    return (total + math.log(product)) / rows


@njit(**OPTIONS)
def _brier(logits, codes):
    """Mean over rows of the squared distance between probabilities and the true class."""
    classes, rows = logits.shape
    total = 0.0
    for r in range(rows):
        top = logits[0, r]
        for k in range(1, classes):
            top = max(top, logits[k, r])
        mass, squares = 0.0, 0.0
        for k in range(classes):
            part = math.exp(logits[k, r] - top)
            mass += part
            squares += part * part
        true = math.exp(logits[codes[r], r] - top) / mass
        total += squares / (mass * mass) + 1.0 - 2.0 * true
    return total / rows


@njit(**OPTIONS)
def _log_odds(logits, odds):
    """Log odds of class 1 against all others."""
    classes, rows = logits.shape
    for r in range(rows):
        if classes == 2:
            odds[r] = logits[1, r] - logits[0, r]
            continue
        top = logits[0, r]
        for k in range(2, classes):
            top = max(top, logits[k, r])
        mass = 0.0
        for k in range(classes):
            if k != 1 and top > -np.inf:
                mass += math.exp(logits[k, r] - top)
        odds[r] = logits[1, r] - (top + math.log(mass) if mass > 0.0 else -np.inf)


@njit(**OPTIONS)
def _auc(odds, codes, negatives):
    """Share of pairs of a positive and a negative row that are in the right order."""
    rows = odds.shape[0]
    low, high = np.inf, -np.inf
    for r in range(rows):
        low, high = min(low, odds[r]), max(high, odds[r])
    if not low < high:
        return 0.5
    per_width = BUCKETS / (high - low)
    ends = np.zeros(BUCKETS + 2, np.int64)
    for r in range(rows):
        if codes[r] == 0:
            ends[_bucket(odds[r], low, per_width) + 2] += 1
    for b in range(2, BUCKETS + 2):
        ends[b] += ends[b - 1]
    for r in range(rows):
        if codes[r] == 0:
            b = _bucket(odds[r], low, per_width)
            negatives[ends[b + 1]] = odds[r]
            ends[b + 1] += 1
    # Bucket b holds negatives[ends[b] : ends[b + 1]].
    pairs = 0
    for r in range(rows):
        if codes[r] == 1:
            b = _bucket(odds[r], low, per_width)
            pairs += 2 * ends[b]
            for s in range(ends[b], ends[b + 1]):
                pairs += 2 * (negatives[s] < odds[r]) + (negatives[s] == odds[r])
    below = ends[BUCKETS]
    return pairs / (2.0 * below * (rows - below))


@njit(**OPTIONS)
def _bucket(odds, low, per_width):
    return min(int((odds - low) * per_width), BUCKETS - 1)
