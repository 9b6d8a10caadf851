"""What discriminant analysis needs of a provider's records, and how coalitions merge it.

A provider is summarised by an array (3 C + 2 d, 1 + d), for C classes and d features. Its blocks of
rows are, from the top:

- C rows: the number and the sum of the standardised records of each class;
- d rows: the lower triangle of the sums of products of all records;
- C rows: one record of each class;
- C rows: the provider's class means, relative to these records;
- d rows: the triangular factor L of the provider's scatter L L' about its class means.

The first column is zero in all blocks but the first. The first C + d rows of a coalition are the
sums of its members' rows. The others are merged without a loss of digits: with n_ci records of
member i in class c, and their mean m_ci,
L L' = sum_i L_i L_i' + sum_ci n_ci (m_ci - m_c) (m_ci - m_c)'.

Arrays are copied by loops, not by slices: numba takes a second to compile the error message of two
slices that differ in length.
"""

import math

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import OPTIONS
from shapband.kernels.compiled.parts import PART
from shapband.kernels.compiled.triangles import cholesky, reduce_to_triangle

CLEAR_OWN = 1e-2  # if all pivots are above this, a factor from products loses at most two digits


@njit(**OPTIONS)
def class_scatter(X, codes, rows, mean, inv_scale, summaries, provider):
    """Write a provider's summaries of the records rows (g, size) into (g, n, 3 C + 2 d, 1 + d)."""
    d = X.shape[1]
    classes = (summaries.shape[2] - 2 * d) // 3
    z = np.empty(d)
    about, shift = np.empty((rows.shape[1], d)), np.empty((classes, d))
    for g in range(rows.shape[0]):
        summary = summaries[g, provider]
        summary[:] = 0.0
        for row in rows[g]:
            sums = summary[codes[row]]
            sums[0] += 1.0
            for f in range(d):
                z[f] = (X[row, f] - mean[f]) * inv_scale[f]
                sums[1 + f] += z[f]
                products = summary[classes + f]
                for e in range(f + 1):
                    products[1 + e] += z[f] * z[e]
        last = _last_of_classes(codes, rows[g], classes)
        _centre(X, codes, rows[g], inv_scale, last, summary[:classes, 0], shift, about)
        for c in range(classes):
            for f in range(d):
                summary[2 * classes + d + c, 1 + f] = shift[c, f]
                if last[c] >= 0:
                    summary[classes + d + c, 1 + f] = (X[last[c], f] - mean[f]) * inv_scale[f]
        _own_factor(about, summary[3 * classes + d :, 1:])


@njit(**PART)
def _last_of_classes(codes, rows, classes):
    """The last record (classes,) of each class; -1 for none."""
    last = np.full(classes, -1)
    for row in rows:
        last[codes[row]] = row
    return last


@njit(**PART)
def _centre(X, codes, rows, inv_scale, last, counts, shift, about):
    """Write the records relative to their class means, and the means relative to the last records.

    Differences of close floats are exact, and differences of equal floats are 0.
    """
    shift[:] = 0.0
    for r in range(rows.size):
        c = codes[rows[r]]
        for f in range(inv_scale.size):
            about[r, f] = (X[rows[r], f] - X[last[c], f]) * inv_scale[f]
        own = shift[c]
        own += about[r]
    for c in range(counts.size):
        if counts[c] > 0.0:
            for f in range(inv_scale.size):
                shift[c, f] /= counts[c]
    for r in range(rows.size):
        for f in range(inv_scale.size):
            about[r, f] -= shift[codes[rows[r]], f]


@njit(**PART)
def _own_factor(about, factor):
    """Write the triangular factor (d, d) of the scatter of the records about their means."""
    d = about.shape[1]
    for row in about:
        for f in range(d):
            for e in range(f + 1):
                factor[f, e] += row[f] * row[e]
    if cholesky(factor) > CLEAR_OWN:
        return
    reduced = about.T.copy()
    reduce_to_triangle(reduced)
    factor[:] = 0.0
    for f in range(d):
        held = min(f + 1, reduced.shape[1])
        for k in range(held):
            factor[f, k] = reduced[f, k]


@njit(**PART)
def merged_means(members, counts, d):
    """Class means of a coalition, as a record of each class and the offsets of the means from it.

    A mean as a single number would be rounded too much where records are far from zero compared
    with the differences between them.
    """
    summaries, inside = members
    classes = counts.size
    seen = np.zeros(classes)
    origins, offsets = np.zeros((classes, d)), np.zeros((classes, d))
    for i in range(inside.shape[0]):
        for c in range(classes):
            held = summaries[i, c, 0] if inside[i] else 0.0
            if held > 0.0:
                if seen[c] == 0.0:
                    for f in range(d):
                        origins[c, f] = summaries[i, classes + d + c, 1 + f]
                own = offsets[c]
                own += held / counts[c] * _offset(summaries[i], origins[c], c)
                seen[c] += held
    return origins, offsets


@njit(**PART)
def _offset(summary, origin, c):
    """The mean of a provider's class c relative to a record."""
    d = summary.shape[1] - 1
    classes = (summary.shape[0] - 2 * d) // 3
    return (summary[classes + d + c, 1:] - origin) + summary[2 * classes + d + c, 1:]


@njit(**PART)
def stacked(members, origins, offsets):
    """The factors of all members, and the differences of their class means, side by side."""
    summaries, inside = members
    classes, d = origins.shape
    columns = 0
    for i in range(inside.shape[0]):
        columns += (d + classes) * inside[i]
    parts = np.zeros((d, columns))
    first = 0
    for i in range(inside.shape[0]):
        if not inside[i]:
            continue
        for f in range(d):
            for k in range(d):
                parts[f, first + k] = summaries[i, 3 * classes + d + f, 1 + k]
        for c in range(classes):
            held = summaries[i, c, 0]
            if held > 0.0:
                gap = _offset(summaries[i], origins[c], c) - offsets[c]
                for f in range(d):
                    parts[f, first + d + c] = math.sqrt(held) * gap[f]
        first += d + classes
    return parts
