"""Scores of classifiers from their logits, as `shapband.kernels.careful.class_scores` defines them.

*Log loss.* The sum of the logarithms of factors is the logarithm of their product. So factors are
multiplied, and a logarithm is taken only when the product has become large.

*AUC.* The log odds of each row become an interval, with half a margin on both sides; two rows are
tied if their intervals overlap. The upper ends of the negative rows' intervals are sorted into
buckets of equal width, and so are the lower ends. A positive row is above all ends in lower
buckets, so it is compared with the ends in its own bucket only.
"""

import math

import numpy as np
from numba import njit

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
from shapband.kernels.compiled.sorting import count_below, sort

ACCURACY, LOG_LOSS, AUC, BRIER = range(4)
TIE = 1e-10  # see `shapband.kernels.careful.class_scores`
EPS = float(np.finfo(np.float64).eps)
WORST = -math.log(EPS)  # largest log loss of one row, because probabilities are clipped to EPS
BEST = -math.log1p(-EPS)  # smallest log loss of one row
LARGE = 1e280  # a product beyond it is replaced by its logarithm
# Rows whose factors are multiplied before a logarithm is taken: 512 factors of at most 2 in each
# lane make a product of at most 2**512.
PRODUCT = 512 * LANES
BUCKETS = 2048
FULL = 128  # if a bucket holds more ends, all ends are sorted instead


def class_scores(logits, codes, n_labels, score):
    """Scores (m,) of models from their logits (m, n_classes, n_rows); larger is better."""
    room, nothing = score_room(codes, score), np.empty(0)
    return np.array([score_of(model, n_labels, score, room, nothing) for model in logits])


def score_room(codes, score, folds=None):
    """Working arrays, which the scores of all models of the same rows share.

    The first rows are all validation rows. Behind them are the rows of each fold or, for the AUC,
    which is no mean over rows, the rows without each fold. The arrays are: the codes of the rows;
    their signs and their log odds, both padded with zeros to a multiple of LANES; the sizes of the
    logits from which the odds were computed; the places of the negative rows and of the others; the
    sorted ends of the negatives; the buckets; the numbers of the rows; where each part begins in
    the codes, the signs, the negatives and the positives.

    Parameters
    ----------
    folds : (n_rows,) the fold of each row; None if there are no folds
    """
    count = 0 if folds is None else folds.max() + 1
    parts = [np.arange(len(codes))]
    parts += [np.flatnonzero((folds == fold) != (score == AUC)) for fold in range(count)]
    rows = np.concatenate(parts)
    own = [codes[part] for part in parts]
    filled = [np.append(np.where(one == 1, 1.0, -1.0), np.zeros(-len(one) % LANES)) for one in own]
    signs = np.concatenate(filled)
    negatives = [np.flatnonzero(one == 0) for one in own]
    positives = [np.flatnonzero(one == 1) for one in own]
    begins = np.zeros((len(parts) + 1, 4), np.int64)
    for kind, arrays in enumerate((own, filled, negatives, positives)):
        begins[1:, kind] = np.cumsum([len(one) for one in arrays])
    return (
        codes[rows], signs, np.zeros(len(signs)), np.empty(len(rows)), np.concatenate(negatives),
        np.concatenate(positives), np.empty(len(negatives[0])), np.empty(BUCKETS + 2, np.int64),
        rows, begins,
    )  # fmt: skip


def score_rooms(codes, score, folds, n_models):
    """Return the room, and the array (n_models, n_folds) for scores without each fold.

    Parameters
    ----------
    folds : the fold of each row, and this array; None if there are no folds
    """
    if folds is None:
        return score_room(codes, score), np.empty((n_models, 0))
    return score_room(codes, score, folds[0]), folds[1]


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
    odds, sizes, begins = room[2], room[3], room[9]
    for r in range(begins[1, 0]):
        sizes[r] = abs(odds[r])
    return _scores_of_odds(score, room, parts)


@njit(**PART)
def _scores_of_odds(score, room, parts):
    """Score of a model of two classes from the log odds and the sizes in the room."""
    codes, signs, odds, sizes, negatives, positives, ordered, buckets, rows, begins = room
    whole = 0.0
    # One call in a loop, where two calls would take twice as long to compile.
    for part in range(parts.shape[0] + 1):
        first, first_sign = begins[part, 0], begins[part, 1]
        count = begins[part + 1, 0] - first
        if part > 0:
            for r in range(count):
                odds[first_sign + r] = odds[rows[first + r]]
                sizes[first + r] = sizes[rows[first + r]]
        own = (
            signs[first_sign : begins[part + 1, 1]],
            odds[first_sign : begins[part + 1, 1]],
            negatives[begins[part, 2] : begins[part + 1, 2]],
            positives[begins[part, 3] : begins[part + 1, 3]],
            ordered, buckets, sizes[first : first + count],
        )  # fmt: skip
        found = _score_of_odds(codes[first : first + count], score, own)
        if part == 0:
            whole = found
        else:
            parts[part - 1] = found
    _leave_out_each(score, begins, parts)
    return whole


@njit(**PART)
def _scores_of_logits(logits, n_labels, score, room, parts):
    """Score of a model of any number of classes from its logits."""
    codes, rows, begins = room[0], room[8], room[9]
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
    if score == AUC:
        return
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
def _score_of_odds(codes, score, room):
    """Score of a model of two classes on the rows of one part."""
    signs, odds, _, _, _, _, sizes = room
    if score == ACCURACY:
        right = 0
        for r in range(codes.shape[0]):
            right += (odds[r] > margin(sizes[r])) == (codes[r] == 1)
        return right / codes.shape[0]
    if score == LOG_LOSS:
        return -_log_loss_of_odds(signs, odds, codes.shape[0])
    if score == BRIER:
        return -_brier_of_odds(signs, odds, codes.shape[0])
    return _auc(odds[: codes.shape[0]], room)


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


@njit(**PART)
def _auc(odds, room):
    """Share of pairs of a positive and a negative row in the right order; ties count half."""
    _, _, negatives, positives, _, _, sizes = room
    # A positive row beats the negatives whose upper ends are below its lower end. It beats or ties
    # with the negatives whose lower ends are at most its upper end.
    lower, upper = np.empty(odds.shape[0]), np.empty(odds.shape[0])
    for r in range(odds.shape[0]):
        half = 0.5 * margin(sizes[r])
        lower[r], upper[r] = odds[r] - half, odds[r] + half
    twice = 0
    # One call in a loop, where two calls would take twice as long to compile.
    for or_equal in (False, True):
        of_negatives, of_positives = (lower, upper) if or_equal else (upper, lower)
        twice += _count(of_negatives, of_positives, or_equal, room)
    return twice / (2.0 * negatives.shape[0] * positives.shape[0])


@njit(**PART)
def _count(of_negatives, of_positives, or_equal, room):
    """Number of pairs in which the negative row's end is below the positive row's end."""
    _, _, negatives, positives, ordered, ends, _ = room
    low, high = of_negatives[negatives[0]], of_negatives[negatives[0]]
    for r in negatives:
        low, high = min(low, of_negatives[r]), max(high, of_negatives[r])
    per_width = BUCKETS / (high - low)
    if not 0.0 < per_width < np.inf or not _fill_buckets(of_negatives, low, per_width, room):
        return _count_sorted(of_negatives, of_positives, or_equal, room)
    # Bucket b holds ordered[ends[b] : ends[b + 1]].
    count = 0
    for r in positives:
        own = of_positives[r]
        if own < low:
            continue
        b = BUCKETS - 1 if own > high else min(int((own - low) * per_width), BUCKETS - 1)
        count += ends[b]
        for s in range(ends[b], ends[b + 1]):
            count += (ordered[s] <= own) if or_equal else (ordered[s] < own)
    return count


@njit(**PART)
def _fill_buckets(of_negatives, low, per_width, room):
    """Sort the ends of the negatives into buckets; False if one of them holds too many."""
    _, _, negatives, _, ordered, ends, _ = room
    ends[:] = 0
    for r in negatives:
        ends[min(int((of_negatives[r] - low) * per_width), BUCKETS - 1) + 2] += 1
    most = 0
    for b in range(2, BUCKETS + 2):
        most = max(most, ends[b])
        ends[b] += ends[b - 1]
    for r in negatives:
        b = min(int((of_negatives[r] - low) * per_width), BUCKETS - 1)
        ordered[ends[b + 1]] = of_negatives[r]
        ends[b + 1] += 1
    return most <= FULL


@njit(**PART)
def _count_sorted(of_negatives, of_positives, or_equal, room):
    """The same number as `_count`, where many ends are in one bucket or some are infinite."""
    _, _, negatives, positives, _, _, _ = room
    ordered = of_negatives[negatives]
    sort(ordered)
    count = 0
    for r in positives:
        count += count_below(ordered, of_positives[r], or_equal)
    return count
