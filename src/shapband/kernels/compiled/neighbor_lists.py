"""The nearest records of one provider's draws, for every validation point.

The list of a draw is an array (2, k, m) of squared distances and targets, nearest first, padded
with (inf, 0.0). Neighbours are ordered by (squared distance, target), so nothing depends on the
order of records when distances tie. With one feature the draw is sorted (buckets, then Shell sort
in each bucket) and walked outwards from every validation point; otherwise all distances of a
validation point are computed at once and scanned. Short lists are made by `neighbor_scans`.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.neighbor_scans import scan_points

SHORT = 20  # lists of up to this length are found faster at several validation points at once
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


def fill_lists(X, y, rows, X_val, out):
    """Write the k nearest records of each draw to out (g, 2, k, m)."""
    k = out.shape[2]
    # Chosen outside the compiled functions, so that only the variant in use is compiled.
    if X.shape[1] > 1 and k <= SHORT and rows.size:
        by_target = np.take_along_axis(rows, np.argsort(y[rows], axis=1), axis=1)
        scan_points(X, y, by_target, X_val, out)
        return
    out[:, 0] = np.inf
    out[:, 1] = 0.0
    if rows.size and X.shape[1] == 1:
        _walk_lines(X[:, 0].copy(), y, rows, X_val[:, 0].copy(), out)
    elif rows.size:
        _scan_spaces(X, y, rows, X_val, out)


@njit(**_OPTIONS)
def _walk_lines(x, y, rows, x_val, out):
    """Fill the lists of draws with one feature."""
    places_as_floats = np.arange(x_val.size) * 1.0
    points, order = _sorted_pairs(x_val, places_as_floats)
    places = order.astype(np.int64)
    values, targets = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    for g in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            values[j] = x[rows[g, j]]
            targets[j] = y[rows[g, j]]
        sorted_values, sorted_targets = _sorted_pairs(values, targets)
        if out.shape[2] == 1:
            _walk_nearest(sorted_values, sorted_targets, points, places, out[g])
        else:
            _walk_line(sorted_values, sorted_targets, points, places, out[g])


@njit(**_OPTIONS)
def _scan_spaces(X, y, rows, X_val, out):
    """Fill the lists of draws with several features."""
    for g in range(rows.shape[0]):
        _scan_space(X, y, rows[g], X_val, out[g])


@njit(**_OPTIONS)
def _sorted_pairs(first, second):
    """Return both arrays sorted by (first, second)."""
    size = first.size
    low, high = first.min(), first.max()
    scale = size / (high - low)
    if not scale < np.inf:
        scale = 0.0
    bucket = np.empty(size, np.int64)
    ends = np.zeros(size + 1, np.int64)
    for j in range(size):
        bucket[j] = min(np.int64((first[j] - low) * scale), size - 1)
        ends[bucket[j] + 1] += 1
    for b in range(size):
        ends[b + 1] += ends[b]
    a, b = np.empty(size), np.empty(size)
    for j in range(size):
        place = ends[bucket[j]]
        ends[bucket[j]] = place + 1
        a[place], b[place] = first[j], second[j]
    start = 0
    for j in range(size):
        if ends[j] - start > 1:
            _shell_sort(a, b, start, ends[j])
        start = ends[j]
    return a, b


@njit(**_OPTIONS)
def _shell_sort(a, b, start, stop):
    """Sort both arrays by (a, b) between start and stop, in place."""
    gap = 1
    while 3 * gap + 1 < stop - start:
        gap = 3 * gap + 1
    while gap > 0:
        for j in range(start + gap, stop):
            x, z = a[j], b[j]
            i = j
            while i >= start + gap and (x < a[i - gap] or (x == a[i - gap] and z < b[i - gap])):
                a[i], b[i] = a[i - gap], b[i - gap]
                i -= gap
            a[i], b[i] = x, z
        gap //= 3


@njit(**_OPTIONS)
def _runs(values):
    """Return where runs of equal values start, and their values.

    Run 0 and the last are sentinels at infinity, so that a walk needs no check for the line's ends.
    """
    starts = np.empty(values.size + 2, np.int64)
    heads = np.empty(values.size + 2)
    heads[0], starts[0] = -np.inf, 0
    heads[1], starts[1] = values[0], 0
    count = 2
    for j in range(1, values.size):
        heads[count], starts[count] = values[j], j
        count += values[j] != values[j - 1]
    heads[count], starts[count] = np.inf, values.size
    return starts[: count + 1], heads[: count + 1]


@njit(**_OPTIONS)
def _walk_nearest(values, targets, points, places, out):
    """Fill out (2, 1, m) from a sorted draw and sorted validation points."""
    starts, heads = _runs(values)
    near, label = out[0, 0], out[1, 0]
    right = 1
    for p in range(points.size):
        point = points[p]
        while heads[right] < point:
            right += 1
        below, above = (heads[right - 1] - point) ** 2, (heads[right] - point) ** 2
        best = min(below, above)
        target = np.inf
        # Rounding can make several values equally distant.
        run = right - 1
        while run > 0 and (heads[run] - point) ** 2 == best:
            target = min(target, targets[starts[run]])
            run -= 1
        run = right
        while run < heads.size - 1 and (heads[run] - point) ** 2 == best:
            target = min(target, targets[starts[run]])
            run += 1
        if best < np.inf:
            near[places[p]], label[places[p]] = best, target


@njit(**_OPTIONS)
def _walk_line(values, targets, points, places, out):
    """Fill out (2, k, m) from a sorted draw and sorted validation points."""
    k = out.shape[1]
    starts, heads = _runs(values)
    near, label = np.empty(k), np.empty(k)
    right = 1
    for p in range(points.size):
        point = points[p]
        while heads[right] < point:
            right += 1
        near[:] = np.inf
        lo, hi = right - 1, right
        below, above = (heads[lo] - point) ** 2, (heads[hi] - point) ** 2
        # Rounding can make different values equally distant, so a tie with the
        # k-th distance does not end the walk.
        while True:
            distance = min(below, above)
            if distance > near[k - 1] or distance == np.inf:
                break
            if below < above:
                run = lo
                lo -= 1
                below = (heads[lo] - point) ** 2
            else:
                run = hi
                hi += 1
                above = (heads[hi] - point) ** 2
            # Targets ascend in a run: after one that is too large, all are.
            for j in range(starts[run], starts[run + 1]):
                if not _insert(near, label, distance, targets[j]):
                    break
        for r in range(k):
            if near[r] < np.inf:
                out[0, r, places[p]], out[1, r, places[p]] = near[r], label[r]


@njit(inline="always")
def _insert(near, label, distance, target):
    """Insert a record into a sorted list, cut at its length; return whether there was room."""
    r = near.size - 1
    if distance > near[r] or (distance == near[r] and target >= label[r]):
        return False
    while r > 0 and (distance < near[r - 1] or (distance == near[r - 1] and target < label[r - 1])):
        near[r], label[r] = near[r - 1], label[r - 1]
        r -= 1
    near[r], label[r] = distance, target
    return True


@njit(**_OPTIONS)
def _scan_space(X, y, rows, X_val, out):
    """Fill out (2, k, m) by computing every distance."""
    k, size, d = out.shape[1], rows.size, X.shape[1]
    # Features come first, so that the inner loop runs over records. Features that are zero
    # everywhere fill the last group of four and change no bit.
    columns = np.zeros(((d + 3) // 4 * 4, size))
    points = np.zeros((X_val.shape[0], columns.shape[0]))
    for p in range(X_val.shape[0]):
        for f in range(d):
            points[p, f] = X_val[p, f]
    targets = np.empty(size)
    for j in range(size):
        targets[j] = y[rows[j]]
        for f in range(d):
            columns[f, j] = X[rows[j], f]
    distances = np.empty(size)
    near, label = np.empty(k), np.empty(k)
    for p in range(X_val.shape[0]):
        _measure(columns, points, p, distances)
        near[:] = np.inf
        for j in range(size):
            if distances[j] <= near[k - 1] and distances[j] < np.inf:
                _insert(near, label, distances[j], targets[j])
        for r in range(k):
            if near[r] < np.inf:
                out[0, r, p], out[1, r, p] = near[r], label[r]


@njit(**_OPTIONS)
def _measure(columns, points, p, distances):
    """Set the squared distances of all records to one validation point."""
    for f in range(0, columns.shape[0], 4):
        a, b, c, d = points[p, f], points[p, f + 1], points[p, f + 2], points[p, f + 3]
        for j in range(distances.size):
            total = distances[j] if f else 0.0
            total += (columns[f, j] - a) ** 2
            total += (columns[f + 1, j] - b) ** 2
            total += (columns[f + 2, j] - c) ** 2
            distances[j] = total + (columns[f + 3, j] - d) ** 2
