"""Values from arcs of circles: regression on known numbers, and the residuals of sampled sizes.

A joining is a provider that joins an arc of s others: the arc after it and the arc before it, on
average. It is explained by numbers of two kinds. How the arc's own value differs from the mean of
such values is 0 on average. What the provider adds to nobody and to all others is known, and so is
its sum over all sizes. So whatever the coefficients are, adding the known sums to the weighted
residuals of the sampled sizes leaves the mean as it is. The coefficients for a circle are fitted to
the other circles.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import OPTIONS
from shapband.kernels.compiled.parts import PART

_BASES = 3  # functions of the size: 1, 1 / (s + 1) and s / n
_CENTRED = 2  # the arc's own value, times the first two of them
_FEATURES = _CENTRED + 3 * _BASES
# Relative to the diagonal. It makes the coefficients unique if features depend on each other, and
# keeps them so small that no digits of the values are lost in what they predict.
_RIDGE = 1e-6


@njit(**PART)
def _base(at, size, n):
    """A function of the size that coefficients may depend on."""
    if at == 0:
        return 1.0
    return 1.0 / (size + 1) if at == 1 else size / n


@njit(**PART)
def _means_without(values, size, means):
    """Mean value of the arcs of a size that do not contain the provider at each position.

    values : (n,) by the position at which the arc starts
    """
    n = values.size
    total = 0.0
    for p in range(n):
        total += values[p]
    inside = 0.0  # sum over the arcs that contain the first position
    for back in range(size):
        inside += values[-back]
    for p in range(n):
        if p:
            inside += values[p] - values[(p - size) % n]
        means[p] = (total - inside) / (n - size)


@njit(**PART)
def _joinings(before, joined, size, response, centred, means):
    """What the provider at each position adds to the mean arc without it, and its arcs' excess.

    before, joined : (n,) values of the arcs of `size` and of `size` + 1, by their start
    """
    n = before.size
    _means_without(before, size, means)
    for p in range(n):
        back = (p - size) % n
        response[p] = 0.5 * (joined[p] + joined[back]) - means[p]
        centred[p] = 0.5 * (before[(p + 1) % n] + before[back]) - means[p]


@njit(**PART)
def _features(size, n, excess, first, last, out):
    """The numbers that explain a joining."""
    for k in range(_CENTRED):
        out[k] = _base(k, size, n) * excess
    for k in range(_BASES):
        base = _base(k, size, n)
        out[_CENTRED + k] = base
        out[_CENTRED + _BASES + k] = base * first
        out[_CENTRED + 2 * _BASES + k] = base * last


@njit(**PART)
def _add_equations(order, sizes, weights, response, centred, first, last, gram, right):
    """Normal equations of the joinings on one circle, weighted by what residuals count."""
    n = order.size
    row = np.empty(_FEATURES)
    for k in range(sizes.size):
        size = sizes[k]
        if size == 0:
            continue
        weight = weights[size] ** 2
        for p in range(n):
            i = order[p]
            _features(size, n, centred[k, p], first[i], last[i], row)
            for a in range(_FEATURES):
                scaled = weight * row[a]
                right[a] += scaled * response[k, p]
                for b in range(a + 1):
                    gram[a, b] += scaled * row[b]


@njit(**PART)
def _solve(gram, right, coefficients):
    """Solve the normal equations, scaled to a diagonal of ones, by Cholesky's method."""
    factor = np.empty((_FEATURES, _FEATURES))
    scale = np.empty(_FEATURES)
    for a in range(_FEATURES):
        scale[a] = 1.0 / np.sqrt(gram[a, a]) if gram[a, a] > 0 else 0.0
    for a in range(_FEATURES):
        for b in range(a + 1):
            total = gram[a, b] * scale[a] * scale[b]
            if a == b:
                total = 1.0 + _RIDGE
            for c in range(b):
                total -= factor[a, c] * factor[b, c]
            if a == b:
                factor[a, a] = np.sqrt(max(total, _RIDGE))
            else:
                factor[a, b] = total / factor[b, b]
    for a in range(_FEATURES):
        total = right[a] * scale[a]
        for c in range(a):
            total -= factor[a, c] * coefficients[c]
        coefficients[a] = total / factor[a, a]
    for a in range(_FEATURES - 1, -1, -1):
        total = coefficients[a]
        for c in range(a + 1, _FEATURES):
            total -= factor[c, a] * coefficients[c]
        coefficients[a] = total / factor[a, a]
    for a in range(_FEATURES):
        coefficients[a] *= scale[a]


@njit(**PART)
def _circle_values(
    order, sizes, weights, sums, response, centred, first, last, coefficients, values
):
    """Values by provider that one circle gives for the sizes between one and all but one.

    sums : (3,) sums over these sizes of each function of the size times the size's probability
    """
    n = order.size
    row = np.empty(_FEATURES)
    known = np.zeros(3)
    for kind in range(3):
        for k in range(_BASES):
            known[kind] += coefficients[_CENTRED + kind * _BASES + k] * sums[k]
    for p in range(n):
        i = order[p]
        total = known[0] + known[1] * first[i] + known[2] * last[i]
        for k in range(sizes.size):
            if sizes[k] == 0:
                continue
            _features(sizes[k], n, centred[k, p], first[i], last[i], row)
            residual = response[k, p]
            for a in range(_FEATURES):
                residual -= coefficients[a] * row[a]
            total += weights[sizes[k]] * residual
        values[i] = total


@njit(**PART)
def _arc_values(values, row, order, size, single, without, out):
    """Values of the arcs of a size by the position at which they start."""
    n = order.size
    for p in range(n):
        if size == 1:
            out[p] = single[order[p]]
        elif size == n - 1:
            out[p] = without[order[p - 1]]  # the arc ends before the position before its start
        else:
            out[p] = values[row, p]


@njit(**PART)
def _circles(orders, sizes, values, rows, single, without, first, last, weights, sums, found):
    """Values that each circle of a game gives for the sizes between one and all but one: (R, n)."""
    circles, n = orders.shape
    n_sizes = sizes.shape[1]
    response, centred = np.empty((circles, n_sizes, n)), np.empty((circles, n_sizes, n))
    grams = np.zeros((circles, _FEATURES, _FEATURES))
    rights = np.zeros((circles, _FEATURES))
    before, joined, means = np.empty(n), np.empty(n), np.empty(n)
    for r in range(circles):
        for k in range(n_sizes):
            size = sizes[r, k]
            if size:
                _arc_values(values, rows[r, k], orders[r], size, single, without, before)
                _arc_values(
                    values, rows[r, n_sizes + k], orders[r], size + 1, single, without, joined
                )
                _joinings(before, joined, size, response[r, k], centred[r, k], means)
        _add_equations(
            orders[r], sizes[r], weights, response[r], centred[r], first, last, grams[r], rights[r]
        )
    coefficients = np.empty(_FEATURES)
    gram, right = np.empty((_FEATURES, _FEATURES)), np.empty(_FEATURES)
    for r in range(circles):
        gram[:] = 0.0
        right[:] = 0.0
        for other in range(circles):
            if other != r:
                gram += grams[other]
                right += rights[other]
        _solve(gram, right, coefficients)
        _circle_values(
            orders[r], sizes[r], weights, sums, response[r], centred[r], first, last, coefficients,
            found[r],
        )  # fmt: skip


@njit(**OPTIONS)
def solve_arcs(orders, sizes, values, rows, whole, empty, weights, sums, ends, efficient):
    """Values and noise of games: (2, g, n).

    Parameters
    ----------
    orders : (g, R, n) the providers on each circle
    sizes : (g, R, K) sizes of arcs that are joined, 0 where there is none
    values : (m, n) values of arcs, by the position at which they start
    rows : (g, R, 2K) rows of `values` with the arcs that are joined, and with those that include
        the provider; arcs of one and of all but one are not looked up there. The last two columns
        of the first circle are the rows with its arcs of one and of all but one
    whole, empty : (g,) values of all providers, and the value of nobody
    weights : (n,) probability of a size in the index, over the probability that a circle has it
    sums : (3,) sums over the drawn sizes of 1, 1 / (s + 1) and s / n, times their probability
    ends : probabilities of joining nobody and all others
    efficient : whether values sum to the difference between all and nobody
    """
    games, circles, n = orders.shape
    result = np.empty((2, games, n))
    single, without = np.empty(n), np.empty(n)
    first, last = np.empty(n), np.empty(n)
    found = np.empty((circles, n))
    for g in range(games):
        for p in range(n):
            single[orders[g, 0, p]] = values[rows[g, 0, -2], p]
            without[orders[g, 0, p - 1]] = values[rows[g, 0, -1], p]
        for i in range(n):
            first[i], last[i] = single[i] - empty, whole[g] - without[i]
        _circles(
            orders[g], sizes[g], values, rows[g], single, without, first, last, weights, sums, found
        )
        for r in range(circles):
            for i in range(n):
                found[r, i] += ends[0] * first[i] + ends[1] * last[i]
            if efficient:
                # In the order of the circle, so that the order of the providers does not matter.
                gap = whole[g] - empty
                for p in range(n):
                    gap -= found[r, orders[g, r, p]]
                for i in range(n):
                    found[r, i] += gap / n
        for i in range(n):
            mean, square = 0.0, 0.0
            for r in range(circles):
                mean += found[r, i] / circles
            for r in range(circles):
                square += (found[r, i] - mean) ** 2
            result[0, g, i] = mean
            result[1, g, i] = square / (circles * (circles - 1))
    return result
