"""Scores of classifiers from their logits, as `shapband.kernels.plain.class_scores` defines them.

*Log loss.* The sum of the logarithms of factors is the logarithm of their product, so a logarithm
is needed only once the product is large.

*AUC.* The scores of negative rows are sorted into buckets of equal width. A positive row is above
all negatives in lower buckets, and is compared with those in its own bucket only.
"""

import math

import numpy as np
from numba import njit

from shapband.kernels.compiled.lane_functions import (
    divide,
    exponential,
    larger,
    smaller,
    subtract,
)
from shapband.kernels.compiled.lanes import (
    LANES,
    OPTIONS,
    add,
    lane_sum,
    load,
    multiply,
    multiply_add,
    pointer,
    splat,
    store,
)

ACCURACY, LOG_LOSS, AUC, BRIER = range(4)
TIE = 1e-10
EPS = float(np.finfo(np.float64).eps)
WORST = -math.log(EPS)  # largest loss of one row
BEST = -math.log1p(-EPS)
LARGE = 1e280  # a product beyond it is replaced by its logarithm
PRODUCT = 512 * LANES  # rows whose factors, of at most 2, are multiplied: 512 in each lane
BUCKETS = 2048
FULL = 128  # negatives in one bucket beyond which buckets are not used


def class_scores(logits, codes, n_labels, score):
    """Scores (m,) of models from their logits (m, n_classes, n_rows); larger is better."""
    room = score_room(codes)
    return np.array([score_of(model, codes, n_labels, score, room) for model in logits])


def score_room(codes):
    """Arrays for the scores of models of the same rows.

    Signs of the rows and their log odds, filled with zeros to a multiple of LANES; the places of
    the negative rows and of the others, and the sorted log odds of the negatives; buckets.
    """
    rows = codes.shape[0]
    filled = (rows + LANES - 1) // LANES * LANES
    signs = np.zeros(filled)
    signs[:rows] = np.where(codes == 1, 1.0, -1.0)
    negatives, positives = np.flatnonzero(codes == 0), np.flatnonzero(codes == 1)
    buckets = np.empty(BUCKETS + 2, np.int64)
    return signs, np.zeros(filled), negatives, positives, np.empty(negatives.shape[0]), buckets


@njit(**OPTIONS)
def score_of(logits, codes, n_labels, score, room):
    """Score of one model from its logits (n_classes, n_rows)."""
    if logits.shape[0] == 2 or score == AUC:
        _log_odds(logits, room[1])
        return score_of_odds(codes, score, room)
    if score == ACCURACY:
        return _accuracy(logits, codes)
    if score == LOG_LOSS:
        return -_log_loss(logits, codes)
    return -_brier(logits, codes) * (0.5 if n_labels <= 2 else 1.0)


@njit(**OPTIONS)
def score_of_odds(codes, score, room):
    """Score of a model of two classes from the log odds of class 1, which are in the room."""
    signs, odds = room[0], room[1]
    if score == ACCURACY:
        right = 0
        for r in range(codes.shape[0]):
            right += (odds[r] > TIE) == (codes[r] == 1)
        return right / codes.shape[0]
    if score == LOG_LOSS:
        return -_log_loss_of_odds(signs, odds, codes.shape[0])
    if score == BRIER:
        return -_brier_of_odds(signs, odds, codes.shape[0])
    return _auc(odds[: codes.shape[0]], room)


@njit(**OPTIONS)
def _log_loss_of_odds(signs, odds, rows):
    """Mean of log(1 + exp(-s)) with s = sign x odds, between the logarithms of EPS and 1 - EPS."""
    sign, odd = pointer(signs, 0), pointer(odds, 0)
    lanes = np.empty(LANES)
    zero, one, most, least = splat(0.0), splat(1.0), splat(WORST), splat(-WORST)
    linear, loss = zero, 0.0
    for first in range(0, signs.shape[0], PRODUCT):
        product = one
        for r in range(first, min(first + PRODUCT, signs.shape[0]), LANES):
            s = larger(least, smaller(most, multiply(load(sign, r), load(odd, r))))
            below = subtract(zero, smaller(s, zero))
            linear = add(linear, below)
            # |s| = s + 2 below, and the exponential of its negative is at most 1.
            size = add(s, add(below, below))
            product = multiply(product, add(one, exponential(subtract(zero, size))))
        store(pointer(lanes, 0), 0, product)
        for lane in range(LANES):
            loss += math.log(lanes[lane])
    # Rows that only fill a vector have s = 0 and add log 2.
    return (loss + lane_sum(linear) - (signs.shape[0] - rows) * math.log(2.0)) / rows


@njit(**OPTIONS)
def _brier_of_odds(signs, odds, rows):
    """Mean square of the probabilities of the false class."""
    sign, odd = pointer(signs, 0), pointer(odds, 0)
    one, total = splat(1.0), splat(0.0)
    for r in range(0, signs.shape[0], LANES):
        s = multiply(load(sign, r), load(odd, r))
        wrong = divide(one, add(one, exponential(s)))
        total = multiply_add(total, wrong, wrong)
    # Rows that only fill a vector have s = 0 and add 1/4.
    return (lane_sum(total) - (signs.shape[0] - rows) * 0.25) / rows


@njit(**OPTIONS)
def _accuracy(logits, codes):
    classes, rows = logits.shape
    right = 0
    for r in range(rows):
        top = logits[0, r]
        for k in range(1, classes):
            top = max(top, logits[k, r])
        best = 0
        while logits[best, r] < top - TIE:
            best += 1
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
def _auc(odds, room):
    """Share of pairs of a positive and a negative row in the right order; equal odds count half."""
    _, _, negatives, positives, ordered, ends = room
    low, high = odds[0], odds[0]
    for r in range(odds.shape[0]):
        low, high = min(low, odds[r]), max(high, odds[r])
    if not low < high:
        return 0.5
    per_width = BUCKETS / (high - low)
    if not (per_width > 0.0 and _fill_buckets(odds, low, per_width, room)):
        return _auc_of_all_pairs(odds, negatives, positives)
    # Bucket b holds ordered[ends[b] : ends[b + 1]].
    twice = 0
    for r in positives:
        own = odds[r]
        b = min(int((own - low) * per_width), BUCKETS - 1)
        twice += 2 * ends[b]
        for s in range(ends[b], ends[b + 1]):
            twice += (ordered[s] < own) + (ordered[s] <= own)
    return twice / (2.0 * negatives.shape[0] * positives.shape[0])


@njit(**OPTIONS)
def _fill_buckets(odds, low, per_width, room):
    """Sort the odds of the negatives into buckets; False if one of them holds too many."""
    _, _, negatives, _, ordered, ends = room
    ends[:] = 0
    for r in negatives:
        ends[min(int((odds[r] - low) * per_width), BUCKETS - 1) + 2] += 1
    most = 0
    for b in range(2, BUCKETS + 2):
        most = max(most, ends[b])
        ends[b] += ends[b - 1]
    for r in negatives:
        b = min(int((odds[r] - low) * per_width), BUCKETS - 1)
        ordered[ends[b + 1]] = odds[r]
        ends[b + 1] += 1
    return most <= FULL


@njit(**OPTIONS)
def _auc_of_all_pairs(odds, negatives, positives):
    """The AUC of odds of which many are in the same bucket, or infinite."""
    twice = 0
    for r in positives:
        for s in negatives:
            twice += (odds[s] < odds[r]) + (odds[s] <= odds[r])
    return twice / (2.0 * negatives.shape[0] * positives.shape[0])
