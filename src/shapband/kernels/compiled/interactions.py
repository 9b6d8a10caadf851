"""Sums over the coalitions that contain one provider, or two, which interactions are made of."""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import OPTIONS
from shapband.kernels.compiled.parts import PART


@njit(**PART)
def _place(n, i, j):
    """Place of the pair i < j among all pairs, in the order (0, 1), (0, 2), .., (1, 2), .."""
    return i * (2 * n - i - 1) // 2 + j - i - 1


@njit(**PART)
def _fold(folded, half):
    """Add the upper half to the lower half; return the sum of the upper half."""
    total = 0.0
    for at in range(half):
        total += folded[half + at]
        folded[at] += folded[half + at]
    return total


@njit(**PART)
def _add(sums, term, spread, square):
    sums[0] += term
    sums[1] += spread
    sums[2] += square


@njit(**PART)
def _weighed(total, each, pair, both, one, none, at):
    """Sum over all coalitions, weighted by how many of a pair are in each."""
    weighed = none * total[at] + (one - none) * each[at]
    return weighed + (none - 2 * one + both) * pair[at]


@njit(**OPTIONS)
def table_sums(table, of_one, of_two):
    """Weighted sums over the coalitions that contain a provider, or a pair of providers.

    The highest provider that is left is removed from the table again and again: the upper half of
    the table has the coalitions that contain it. All pairs take about twice the 2**n additions of
    the single providers.

    Parameters
    ----------
    table : (n_games, 2**n) values of all coalitions, by bitmask
    of_one, of_two : (2**n,) weights of the coalitions in the sums of one provider and of pairs

    Returns
    -------
    (n_games, n) and (n_games, n (n - 1) / 2)
    """
    games, count = table.shape
    n = 0
    while 1 << n < count:
        n += 1
    single, pairs = np.empty((games, n)), np.empty((games, n * (n - 1) // 2))
    folded, inner = np.empty(count), np.empty(count // 2)
    for g in range(games):
        folded[:] = table[g] * of_one
        for i in range(n - 1, -1, -1):
            single[g, i] = _fold(folded, 1 << i)
        folded[:] = table[g] * of_two
        for j in range(n - 1, 0, -1):
            half = 1 << j
            inner[:half] = folded[half : 2 * half]
            for at in range(half):
                folded[at] += folded[half + at]
            for i in range(j - 1, -1, -1):
                pairs[g, _place(n, i, j)] = _fold(inner, 1 << i)
    return single, pairs


@njit(**OPTIONS)
def additive_values(rows, sizes, fixed, fading):
    """Σ (fixed_k + fading_k / size) over the members k of each coalition: (n_rows,)."""
    found = np.zeros(len(rows))
    for at in range(len(rows)):
        for k in range(rows.shape[1]):
            if rows[at, k]:
                found[at] += fixed[k] + fading[k] / sizes[at]
    return found


@njit(**OPTIONS)
def sampled(rows, terms, spreads, starts, inside, alone, outside, known):
    """Interactions and their noise from sampled coalitions, one stratum after the other.

    Parameters
    ----------
    rows : (n_rows, n) coalitions, 1 for members, by stratum
    terms : (n_rows,) what each adds, before it is multiplied by the weight of a pair
    spreads : (n_rows,) terms, reduced for the share of the coalitions that was sampled
    starts : (n_strata + 1,) the first row of each stratum
    inside, alone, outside : (n_strata,) weights of a pair that has both, one or none in a coalition
    known : (n_strata,) share of the squared interaction in the sum of squared spreads

    Returns
    -------
    Interactions and noise: (n (n - 1) / 2,) each
    """
    n = rows.shape[1]
    count = n * (n - 1) // 2
    values, noise = np.zeros(count), np.zeros(count)
    single, pairs = np.empty((n, 3)), np.empty((count, 3))
    members = np.empty(n, dtype=np.int64)
    for stratum in range(len(starts) - 1):
        total = np.zeros(3)
        single[:], pairs[:] = 0.0, 0.0
        for at in range(starts[stratum], starts[stratum + 1]):
            term, spread = terms[at], spreads[at]
            square = spread * spread
            _add(total, term, spread, square)
            size = 0
            for k in range(n):
                if rows[at, k]:
                    members[size] = k
                    size += 1
            for a in range(size):
                i = members[a]
                _add(single[i], term, spread, square)
                for b in range(a + 1, size):
                    _add(pairs[_place(n, i, members[b])], term, spread, square)
        both, one, none = inside[stratum], alone[stratum], outside[stratum]
        share = known[stratum]
        for i in range(n):
            for j in range(i + 1, n):
                place = _place(n, i, j)
                each = single[i] + single[j]
                values[place] += _weighed(total, each, pairs[place], both, one, none, 0)
                found = _weighed(total, each, pairs[place], both, one, none, 1)
                squares = _weighed(total, each, pairs[place], both**2, one**2, none**2, 2)
                noise[place] += (squares - share * found**2) / (1 - share)
    return values, np.maximum(noise, 0.0)
