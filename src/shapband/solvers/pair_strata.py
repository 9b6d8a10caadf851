"""Interactions of pairs from the coalitions that `Strata` evaluates.

The interaction of i and j is a sum over sizes. What the N coalitions S of a size s from 2 to n - 2
add to it is the mean of x(S) v(S) over them, where x(S) is

- n / (s (s - 1)) if both are in S,
- -n / (s (n - s)) if one is in S,
- n / ((n - s)(n - s - 1)) if none is in S.

The mean of x over a size is 0, and so is the mean of x times any sum over the members of S. So what
a size adds is the covariance of x and v, and also the covariance of x and r, where r is v minus
Σ (a_k + b_k / s) over the members k of S, with a and b from the coalitions of one provider and of
all but one. The sample covariance of a random sample without replacement is unbiased for it, up to
the known factor (N - 1) / N. Nothing else is fitted to the sample, so the interactions are unbiased
however poor that sum is.

A coalition and its complement have the same x. They are one unit of the sample, because `Strata`
may draw both together. In the size n / 2 the sample is a sample of such pairs.
"""

from __future__ import annotations

import numpy as np

from shapband import kernels
from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.solvers.pairs import pair_places
from shapband.solvers.sizes import Sample, Sizes


def sampled_interactions(
    sizes: Sizes, sample: Sample, enumerated: FloatArray, values: FloatArray, empty: float
) -> tuple[FloatArray, FloatArray]:
    """Interactions and their noise in one game: (n_pairs,) each.

    Parameters
    ----------
    sizes : the strata
    sample : the coalitions of sizes 2 to n - 2 that were evaluated
    enumerated : (2n + 1,) values of the coalitions of one, of all but one, and of all providers
    values : values of the sample
    empty : value of the empty coalition
    """
    kernel = kernels.load("interactions")
    residuals = values - kernel.additive_values(
        sample.rows, sample.sizes, *_slopes(enumerated, sizes.n)
    )
    units = _Units.of(sizes, sample, residuals)
    s, n = units.sizes, sizes.n
    found: tuple[FloatArray, FloatArray] = kernel.sampled(
        units.rows,
        units.terms,
        units.spreads,
        units.starts,
        n / (s * (s - 1.0)),
        -n / (s * (n - s + 0.0)),
        n / ((n - s) * (n - s - 1.0)),
        # Of k terms with the sum I, the squares add up to the variance of I plus this share of I²,
        # if terms are alike. (The variance of a sample covariance; Kendall and Stuart, 10.24.)
        (units.counts - 2.0) / (units.counts * (units.counts - 1.0)),
    )
    return found[0] + _enumerated(enumerated, empty, n), found[1]


def _slopes(enumerated: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """The sum Σ (a_k + b_k / s) that fits coalitions of one provider and of all but one."""
    single, without = enumerated[:n], enumerated[n : 2 * n]
    alone, last = single - single.mean(), without.mean() - without
    fading = (alone - last) * ((n - 1) / (n - 2))
    return alone - fading, fading


def _enumerated(enumerated: FloatArray, empty: float, n: int) -> FloatArray:
    """What the coalitions of nobody, one, all but one and all add to the interactions."""
    single, without, whole = enumerated[:n], enumerated[n : 2 * n], enumerated[2 * n]
    first, second = pair_places(n)
    ends = single + without
    both = ends[first] + ends[second]
    others = (ends.sum() - both) / (n - 2)
    return np.asarray((empty + whole + others - both) / (n - 1))


class _Units:
    """The sample, with every coalition and its complement as one unit, by size.

    Attributes
    ----------
    rows : (n_units, n) the smaller one of the two coalitions
    terms : (n_units,) residuals minus their mean, divided by the degrees of freedom
    spreads : (n_units,) terms, times the root of the share of coalitions that was not sampled
    sizes : (n_sizes,) size of the smaller one, ascending
    starts : (n_sizes + 1,) first unit of each size
    counts : (n_sizes,) number of units
    """

    def __init__(
        self,
        sizes: IntArray,
        rows: list[MemberArray],
        terms: list[FloatArray],
        spreads: list[FloatArray],
    ) -> None:
        self.sizes = sizes
        self.rows = np.concatenate(rows)
        self.terms, self.spreads = np.concatenate(terms), np.concatenate(spreads)
        self.counts = np.array([len(part) for part in terms])
        self.starts = np.concatenate([[0], np.cumsum(self.counts)])

    @staticmethod
    def of(strata: Sizes, sample: Sample, residuals: FloatArray) -> _Units:
        """Join complements."""
        n = strata.n
        halves = np.arange(2, n // 2 + 1)
        smaller = np.minimum(sample.sizes, n - sample.sizes)
        rows: list[MemberArray] = []
        terms: list[FloatArray] = []
        spreads: list[FloatArray] = []
        for half in halves.tolist():
            at = np.flatnonzero(smaller == half)
            own, unit = _joined(sample.rows[at], sample.sizes[at], n)
            found, capacity = residuals[at], strata.capacities[half]
            larger = (sample.sizes[at] != half).astype(np.int64)  # which of the two sizes
            unseen = 1 - np.bincount(larger) / capacity
            if 2 * half == n:  # the mean residual of each pair of complements that was sampled
                found = np.bincount(unit, weights=found) / np.bincount(unit)
                unit, larger, capacity = (
                    np.arange(len(found)),
                    0 * np.arange(len(found)),
                    capacity / 2,
                )
            seen = np.bincount(larger).astype(np.float64)
            mean = np.bincount(larger, weights=found) / seen
            term = (found - mean[larger]) * ((1 - 1 / capacity) / (seen - 1))[larger]
            spread = term * np.sqrt(np.maximum(unseen, 0.0))[larger]
            rows.append(own)
            terms.append(_sums(unit, term))
            spreads.append(_sums(unit, spread))
        return _Units(halves, rows, terms, spreads)


def _sums(place: IntArray, values: FloatArray) -> FloatArray:
    return np.bincount(place, weights=values).astype(np.float64)


def _joined(rows: MemberArray, sizes: IntArray, n: int) -> tuple[MemberArray, IntArray]:
    """The smaller one of each coalition and its complement, each once, and the place of each row.

    Of two halves, the one with the first provider is kept.
    """
    turned = (2 * sizes > n) | ((2 * sizes == n) & (rows[:, 0] == 0))
    smaller = np.ascontiguousarray(rows ^ turned.astype(np.uint8)[:, None])
    packed = np.packbits(smaller, axis=1)
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1])))[:, 0]
    _, first, unit = np.unique(keys, return_index=True, return_inverse=True)
    return smaller[first], unit
