"""The area under the ROC curve: pairs of a positive and a negative row in the right order.

The log odds of each row become an interval, with half a margin on both sides; two rows are tied if
their intervals overlap. The upper ends of the negative rows' intervals are sorted into buckets of
equal width, and so are the lower ends. A positive row is above all ends in lower buckets, so it is
compared with the ends in its own bucket only.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.parts import PART
from shapband.kernels.compiled.sorting import count_below, sort

BUCKETS = 2048
FULL = 128  # if a bucket holds more ends, all ends are sorted instead


def pair_room(codes, kept, folds):
    """Working arrays of the AUC.

    They are: the negative rows and the positive ones, of each part one after the other; the fold of
    each row; the sorted ends of the negatives, and their rows; the buckets; the first positive row
    of each bucket, and the next one after each row.

    Parameters
    ----------
    kept : rows of the parts: all rows, and those without each fold
    folds : (n_rows,) the fold of each row; None if there are no folds
    """
    negatives = np.concatenate([part[codes[part] == 0] for part in kept])
    positives = np.concatenate([part[codes[part] == 1] for part in kept])
    fold_of = np.zeros(len(codes), np.int64) if folds is None else folds
    ordered, placed = np.empty(len(codes)), np.empty(len(codes), np.int64)
    buckets, heads = np.empty((2, BUCKETS + 2), np.int64)
    nexts = np.empty(len(codes), np.int64)
    return negatives, positives, fold_of, ordered, placed, buckets, heads, nexts


@njit(**PART)
def area_under_curve(odds, margins, begins, room, parts):
    """Share of pairs of a positive and a negative row in the right order; ties count half.

    The shares without each fold are written to `parts`.

    Parameters
    ----------
    margins : (n_rows,) rows whose odds differ by less are tied
    begins : (n_folds + 2, 4) in the last two columns, where the negative and the positive rows
        without each fold begin
    room : see `pair_room`
    """
    # A positive row beats the negatives whose upper ends are below its lower end. It beats or ties
    # with the negatives whose lower ends are at most its upper end.
    rows = begins[1, 0]
    lower, upper = np.empty(rows), np.empty(rows)
    for r in range(rows):
        half = 0.5 * margins[r]
        lower[r], upper[r] = odds[r] - half, odds[r] + half
    twice = np.zeros(parts.shape[0] + 1, np.int64)
    # One call in a loop, where two calls would take twice as long to compile.
    for or_equal in (False, True):
        of_negatives, of_positives = (lower, upper) if or_equal else (upper, lower)
        _count(of_negatives, of_positives, or_equal, begins, room, twice)
    whole = 0.0
    for part in range(twice.shape[0]):
        negatives = begins[part + 1, 2] - begins[part, 2]
        positives = begins[part + 1, 3] - begins[part, 3]
        found = twice[part] / (2.0 * negatives * positives)
        if part == 0:
            whole = found
        else:
            parts[part - 1] = found
    return whole


@njit(**PART)
def _count(of_negatives, of_positives, or_equal, begins, room, counts):
    """Add the numbers of pairs, all and without each fold, whose negative end is below the other.

    Parameters
    ----------
    of_negatives, of_positives : (n_rows,) the ends of the rows that are compared
    or_equal : whether equal ends count, too
    counts : (1 + n_folds,)
    """
    negatives, positives, _, ordered, _, ends, _, _ = room
    last_negative, last_positive = begins[1, 2], begins[1, 3]
    low, high = of_negatives[negatives[0]], of_negatives[negatives[0]]
    for r in negatives[:last_negative]:
        low, high = min(low, of_negatives[r]), max(high, of_negatives[r])
    per_width = BUCKETS / (high - low)
    if not 0.0 < per_width < np.inf or not _fill_buckets(
        of_negatives, low, per_width, last_negative, room
    ):
        for part in range(counts.shape[0]):
            counts[part] += _count_sorted(
                of_negatives[negatives[begins[part, 2] : begins[part + 1, 2]]],
                of_positives, positives[begins[part, 3] : begins[part + 1, 3]], or_equal,
            )  # fmt: skip
        return
    if counts.shape[0] > 1:
        _count_by_folds(of_positives, or_equal, low, high, per_width, last_positive, room, counts)
        return
    # Bucket b holds ordered[ends[b] : ends[b + 1]].
    for r in positives[:last_positive]:
        own = of_positives[r]
        if own < low:
            continue
        b = BUCKETS - 1 if own > high else min(int((own - low) * per_width), BUCKETS - 1)
        counts[0] += ends[b]
        for s in range(ends[b], ends[b + 1]):
            counts[0] += (ordered[s] <= own) if or_equal else (ordered[s] < own)


@njit(**PART)
def _fill_buckets(of_negatives, low, per_width, last, room):
    """Sort the ends of the negatives into buckets; False if one of them holds too many."""
    negatives, _, _, ordered, placed, ends, _, _ = room
    ends[:] = 0
    for r in negatives[:last]:
        ends[min(int((of_negatives[r] - low) * per_width), BUCKETS - 1) + 2] += 1
    most = 0
    for b in range(2, BUCKETS + 2):
        most = max(most, ends[b])
        ends[b] += ends[b - 1]
    for r in negatives[:last]:
        b = min(int((of_negatives[r] - low) * per_width), BUCKETS - 1)
        ordered[ends[b + 1]], placed[ends[b + 1]] = of_negatives[r], r
        ends[b + 1] += 1
    return most <= FULL


@njit(**PART)
def _count_by_folds(of_positives, or_equal, low, high, per_width, last, room, counts):
    """Count pairs of rows in buckets: all, and those without each fold.

    The pairs without a fold are all pairs, minus those whose positive row is in the fold, minus
    those whose negative row is, plus those with both.
    """
    _, positives, fold_of, ordered, placed, ends, heads, nexts = room
    folds = counts.shape[0] - 1
    of_positive, of_negative = np.zeros(folds, np.int64), np.zeros(folds, np.int64)
    of_both, below = np.zeros(folds, np.int64), np.zeros(folds, np.int64)
    heads[:] = -1
    above = 0  # positive rows in buckets that are still to come
    for r in positives[:last]:
        own = of_positives[r]
        if own < low:
            continue
        b = BUCKETS - 1 if own > high else min(int((own - low) * per_width), BUCKETS - 1)
        nexts[r] = heads[b]
        heads[b] = r
        above += 1
    for b in range(BUCKETS):
        r = heads[b]
        while r >= 0:
            own, fold = of_positives[r], fold_of[r]
            of_positive[fold] += ends[b]
            of_both[fold] += below[fold]
            for s in range(ends[b], ends[b + 1]):
                if ordered[s] < own or (or_equal and ordered[s] == own):
                    of_positive[fold] += 1
                    of_negative[fold_of[placed[s]]] += 1
                    of_both[fold] += fold_of[placed[s]] == fold
            above -= 1
            r = nexts[r]
        for s in range(ends[b], ends[b + 1]):
            below[fold_of[placed[s]]] += 1
            of_negative[fold_of[placed[s]]] += above
    for fold in range(folds):
        counts[0] += of_positive[fold]
        counts[1 + fold] -= of_positive[fold] + of_negative[fold] - of_both[fold]
        for other in range(folds):
            counts[1 + fold] += of_positive[other]


@njit(**PART)
def _count_sorted(ordered, of_positives, positives, or_equal):
    """Count pairs of the ends of negatives, which are sorted here, and positive rows."""
    sort(ordered)
    count = 0
    for r in positives:
        count += count_below(ordered, of_positives[r], or_equal)
    return count
