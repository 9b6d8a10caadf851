"""Scores of classifiers from their logits, as `shapband.kernels.careful.class_scores` defines them.

*Log loss.* The sum of the logarithms of factors is the logarithm of their product. So factors are
multiplied, and a logarithm is taken only when the product has become large.

*Folds.* A score that is a mean over rows is computed on all rows and on each fold, and the scores
without each fold are made from those. The AUC counts pairs of rows (see `auc`).
"""

import math

import numpy as np
from numba import njit

from shapband.kernels.compiled.auc import area_under_curve, pair_room
from shapband.kernels.compiled.lanes import (
    LANES,
    OPTIONS,
    add,
    divide,
    exponential,
    lane_sum,
    larger,
    load,
    multiply,
    multiply_add,
    pointer,
    smaller,
    splat,
    store,
    subtract,
)
from shapband.kernels.compiled.parts import PART

ACCURACY, LOG_LOSS, AUC, BRIER = range(4)
TIE = 1e-10  # see `shapband.kernels.careful.class_scores`
EPS = float(np.finfo(np.float64).eps)
WORST = -math.log(EPS)  # largest log loss of one row, because probabilities are clipped to EPS
BEST = -math.log1p(-EPS)  # smallest log loss of one row
LARGE = 1e280  # a product beyond it is replaced by its logarithm
# Rows whose factors are multiplied before a logarithm is taken: 512 factors of at most 2 in each
# lane make a product of at most 2**512.
PRODUCT = 512 * LANES


def class_scores(logits, codes, n_labels, score):
    """Scores (m,) of models from their logits (m, n_classes, n_rows); larger is better."""
    room, nothing = score_room(codes), np.empty(0)
    return np.array([score_of(model, n_labels, score, room, nothing) for model in logits])


def score_room(codes, folds=None):
    """Working arrays, which the scores of all models of the same rows share.

    The first rows are all validation rows, and the rows of each fold follow. The arrays are: the
    codes of the rows; their signs and their log odds, both padded with zeros to a multiple of
    LANES; the sizes of the logits from which the odds were computed; the numbers of the rows; where
    each part begins in the codes and in the signs and, without the fold, in the negatives and the
    positives of the AUC; the room of the AUC.

    Parameters
    ----------
    folds : (n_rows,) the fold of each row; None if there are no folds
    """
    count = 0 if folds is None else folds.max() + 1
    everything = np.arange(len(codes))
    parts = [everything, *(np.flatnonzero(folds == fold) for fold in range(count))]
    kept = [everything, *(np.flatnonzero(folds != fold) for fold in range(count))]
    own = [codes[part] for part in parts]
    filled = [np.append(np.where(one == 1, 1.0, -1.0), np.zeros(-len(one) % LANES)) for one in own]
    signs, rows = np.concatenate(filled), np.concatenate(parts)
    begins = np.zeros((len(parts) + 1, 4), np.int64)
    begins[1:, 0] = np.cumsum([len(part) for part in parts])
    begins[1:, 1] = np.cumsum([len(part) for part in filled])
    begins[1:, 2] = np.cumsum([(codes[part] == 0).sum() for part in kept])
    begins[1:, 3] = np.cumsum([(codes[part] == 1).sum() for part in kept])
    odds, sizes, pairs = np.zeros(len(signs)), np.empty(len(rows)), pair_room(codes, kept, folds)
    return codes[rows], signs, odds, sizes, rows, begins, pairs


def score_rooms(codes, folds, n_models):
    """Return the room, and the array (n_models, n_folds) for scores without each fold.

    Parameters
    ----------
    folds : the fold of each row, and this array; None if there are no folds
    """
    if folds is None:
        return score_room(codes), np.empty((n_models, 0))
    return score_room(codes, folds[0]), folds[1]


@njit(**OPTIONS)
def score_of(logits, n_labels, score, room, parts):
    """Score of one model from its logits (n_classes, n_rows); see `score_of_odds` for `parts`."""
    if logits.shape[0] == 2 or score == AUC:
        _log_odds(logits, room[2], room[3])
        return _scores_of_odds(score, room, parts)
    return _scores_of_logits(logits, n_labels, score, room, parts)


@njit(**PART)
def score_of_odds(score, room, parts):
    """Score of a model of two classes from the log odds of class 1, which are in the room.

    The scores without each fold are written to `parts`, whose size is the number of folds.
    """
    odds, sizes, begins = room[2], room[3], room[5]
    for r in range(begins[1, 0]):
        sizes[r] = abs(odds[r])
    return _scores_of_odds(score, room, parts)


@njit(**PART)
def _scores_of_odds(score, room, parts):
    """Score of a model of two classes from the log odds and the sizes in the room."""
    codes, signs, odds, sizes, rows, begins, pairs = room
    if score == AUC:
        for r in range(begins[1, 0]):
            sizes[r] = margin(sizes[r])
        return area_under_curve(odds, sizes, begins, pairs, parts)
    whole = 0.0
    # One call in a loop, where two calls would take twice as long to compile.
    for part in range(parts.shape[0] + 1):
        first, first_sign, last_sign = begins[part, 0], begins[part, 1], begins[part + 1, 1]
        last = begins[part + 1, 0]
        if part > 0:
            for r in range(last - first):
                odds[first_sign + r] = odds[rows[first + r]]
                sizes[first + r] = sizes[rows[first + r]]
        found = _mean_score_of_odds(
            codes[first:last], signs[first_sign:last_sign], odds[first_sign:last_sign],
            sizes[first:last], score,
        )  # fmt: skip
        if part == 0:
            whole = found
        else:
            parts[part - 1] = found
    _leave_out_each(score, begins, parts)
    return whole


@njit(**PART)
def _scores_of_logits(logits, n_labels, score, room, parts):
    """Score of a model of any number of classes from its logits."""
    codes, rows, begins = room[0], room[4], room[5]
    classes, whole = logits.shape[0], 0.0
    gathered = np.empty(classes * logits.shape[1] if parts.shape[0] > 0 else 0)
    for part in range(parts.shape[0] + 1):
        first, last = begins[part, 0], begins[part + 1, 0]
        own, true = logits, codes[first:last]
        if part > 0:
            own = gathered[: classes * (last - first)].reshape(classes, last - first)
            for k in range(classes):
                for r in range(last - first):
                    own[k, r] = logits[k, rows[first + r]]
        if score == ACCURACY:
            found = _accuracy(own, true)
        elif score == LOG_LOSS:
            found = -_log_loss(own, true)
        else:
            found = -_brier(own, true) * (0.5 if n_labels <= 2 else 1.0)
        if part == 0:
            whole = found
        else:
            parts[part - 1] = found
    _leave_out_each(score, begins, parts)
    return whole


@njit(**PART)
def _leave_out_each(score, begins, parts):
    """Turn the scores on each fold, means over rows, into the scores on all other folds."""
    sums = np.empty(parts.shape[0])
    for fold in range(parts.shape[0]):
        sums[fold] = parts[fold] * (begins[fold + 2, 0] - begins[fold + 1, 0])
        if score == ACCURACY:
            sums[fold] = math.floor(sums[fold] + 0.5)  # a number of rows
    for fold in range(parts.shape[0]):
        # Adding up the others loses no digits, however large the sum of this fold is.
        total = 0.0
        for other in range(parts.shape[0]):
            if other != fold:
                total += sums[other]
        left_out = begins[fold + 2, 0] - begins[fold + 1, 0]
        parts[fold] = total / (begins[1, 0] - left_out)


@njit(**PART)
def _mean_score_of_odds(codes, signs, odds, sizes, score):
    """Score of a model of two classes that is a mean over rows."""
    if score == ACCURACY:
        right = 0
        for r in range(codes.shape[0]):
            right += (odds[r] > margin(sizes[r])) == (codes[r] == 1)
        return right / codes.shape[0]
    if score == LOG_LOSS:
        return -_log_loss_of_odds(signs, odds, codes.shape[0])
    return -_brier_of_odds(signs, odds, codes.shape[0])


@njit(inline="always")
def margin(size):
    """Largest difference at which two logits of this size count as tied; 0 if they are infinite."""
    return TIE * max(1.0, size) if size < np.inf else 0.0


@njit(**PART)
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
            # With below = max(-s, 0), |s| = s + 2 below. exp(-|s|) is at most 1: no overflow.
            size = add(s, add(below, below))
            product = multiply(product, add(one, exponential(subtract(zero, size))))
        store(pointer(lanes, 0), 0, product)
        for lane in range(LANES):
            loss += math.log(lanes[lane])
    # Rows that only fill a vector have s = 0 and add log 2.
    return (loss + lane_sum(linear) - (signs.shape[0] - rows) * math.log(2.0)) / rows


@njit(**PART)
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


@njit(inline="always")
def _largest(logits, row):
    """The largest logit of a row."""
    top = logits[0, row]
    for k in range(1, logits.shape[0]):
        top = max(top, logits[k, row])
    return top


@njit(**PART)
def _accuracy(logits, codes):
    rows = logits.shape[1]
    right = 0
    for r in range(rows):
        top = _largest(logits, r)
        best = 0
        while logits[best, r] < top - margin(abs(top)):
            best += 1
        right += best == codes[r]
    return right / rows


@njit(**PART)
def _log_loss(logits, codes):
    """Mean of -log p of the true classes, p clipped to [EPS, 1 - EPS]."""
    classes, rows = logits.shape
    total, product = 0.0, 1.0
    for r in range(rows):
        top = _largest(logits, r)
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


@njit(**PART)
def _brier(logits, codes):
    """Mean over rows of the squared distance between probabilities and the true class."""
    classes, rows = logits.shape
    total = 0.0
    for r in range(rows):
        top = _largest(logits, r)
        mass, squares = 0.0, 0.0
        for k in range(classes):
            part = math.exp(logits[k, r] - top)
            mass += part
            squares += part * part
        true = math.exp(logits[codes[r], r] - top) / mass
        total += squares / (mass * mass) + 1.0 - 2.0 * true
    return total / rows


@njit(**PART)
def _log_odds(logits, odds, sizes):
    """Log odds of class 1 against all others, and the larger of the two logits behind them."""
    classes, rows = logits.shape
    for r in range(rows):
        rest = logits[0, r]
        if classes > 2:
            for k in range(2, classes):
                rest = max(rest, logits[k, r])
            top, mass = rest, 0.0
            for k in range(classes):
                if k != 1 and top > -np.inf:
                    mass += math.exp(logits[k, r] - top)
            rest = top + math.log(mass) if mass > 0.0 else -np.inf
        odds[r] = logits[1, r] - rest
        sizes[r] = max(abs(logits[1, r]), abs(rest))
