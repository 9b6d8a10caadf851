"""Which coalitions of each size `Strata` evaluates."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from shapband import kernels
from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.coalitions import set_marks
from shapband.indices import Index

_FEWEST_PAIRS, _MOST_PAIRS = 2, 8  # pairs of complements in the pilot of each size
_SMOOTHED = 16  # a spread is estimated from about this many residuals
_LEAST_SPREAD = 1e-6  # smallest spread / largest spread: equal values in a pilot do not prove 0
# Least ratio of the variances of two sizes when evaluations are divided. With 0.01, errors with
# wine were up to 20 % larger; with 0.0001, errors were as much larger in games that two of ten
# providers decide.
_LEAST_RATIO = 1e-3
_ROUNDING = 1e-9  # a smaller spread, relative to the values, is only rounding
# Pairs are drawn if their error is smaller than the error of single coalitions by more than
# rounding. If the pilot never varied, both errors are equal, and single coalitions are drawn: the
# reported noise was then nearer to the squared error (1.19 instead of 1.30 times, in a game of 30
# providers where few coalitions count).
_CLEARLY = 1.0 - 1e-9
_COUNTED = 30  # a larger size counts as infinitely many coalitions: not all can be evaluated


@dataclass(frozen=True, eq=False)
class Sample:
    """Coalitions sampled in one game.

    Attributes
    ----------
    rows : (n_rows, n) the coalitions; the coalitions of the pilot come first
    sizes : (n_rows,) their sizes
    mates : (n_rows,) index of the complement's row if both were drawn as a pair, else its own index
    units : (n_rows,) running number of a draw within its size; both of a pair have the same
    """

    rows: MemberArray
    sizes: IntArray
    mates: IntArray
    units: IntArray

    @staticmethod
    def of(rows: MemberArray, mates: IntArray, units: IntArray) -> Sample:
        """Count the members of each coalition."""
        return Sample(rows, rows.sum(axis=1, dtype=np.int64), mates, units)


@dataclass(frozen=True, eq=False)
class Spreads:
    """How much values vary around the surrogate.

    Attributes
    ----------
    variances : (n + 1,) mean square of the residuals of each size; 1 for sizes 0 and n
    paired : (n // 2,) mean square of the contribution of pairs of complements of sizes 1, 2, .. to
        the values, relative to independent residuals with a variance of 1
    """

    variances: FloatArray
    paired: FloatArray


class Sizes:
    """The strata of games of n > 3 providers: sizes 1, n - 1 and n complete, the others sampled.

    Attributes
    ----------
    enumerated : (2n + 1, n) all coalitions of sizes 1 and n - 1, and of all providers
    joins, leaves : (n + 1,) number of coalitions of each size × the weight of v(S) in the value
        of a member, and × the weight of -v(S) in the value of a non-member
    capacities : (n + 1,) number of coalitions of each size
    few : whether the evaluations suffice only for the smallest pilot
    weights : (n + 1,) n × mean square, over the providers, of the weights of v(S) in their values
    """

    def __init__(self, n: int, n_evaluations: int, index: Index) -> None:
        self.n = n
        self._sampled = n_evaluations - (2 * n + 1)
        self._halves = np.arange(2, n // 2 + 1)  # each size stands for itself and its complements
        self.capacities = np.array([_capacity(n, s) for s in range(n + 1)])
        # The pilot takes half of the sampled coalitions.
        fair = self._sampled // (4 * len(self._halves))
        room = int(self.capacities[2]) // (2 if n == 4 else 1)
        self._pairs = min(max(_FEWEST_PAIRS, min(_MOST_PAIRS, fair)), room)
        self.few = self._pairs == _FEWEST_PAIRS
        self._beside = max(1, _SMOOTHED // (2 * self._pairs))  # neighbouring sizes on each side
        q, s = index.size_weights(n), np.arange(1, n + 1)
        self.joins = np.concatenate([[0.0], n * q / s])
        self.leaves = np.concatenate([n * q / s[::-1], [0.0]])
        sizes = np.arange(n + 1)
        self.weights = sizes * self.joins**2 + (n - sizes) * self.leaves**2
        self._marks = set_marks(n)
        single = np.eye(n, dtype=np.uint8)
        self.enumerated: MemberArray = np.concatenate(
            [single, 1 - single, np.ones((1, n), np.uint8)]
        )

    def pilot(self, seed: np.uint64) -> Sample:
        """Draw a few pairs of complements of every size."""
        rows = np.empty((len(self._halves), 2 * self._pairs, self.n), dtype=np.uint8)
        for block, size in zip(rows, self._halves.tolist(), strict=True):
            self._fill(block, 0, size, paired=True, seed=seed)
        mates = np.arange(rows.shape[0] * rows.shape[1]) ^ 1  # neighbours are complements
        units = np.tile(np.arange(2 * self._pairs) // 2, len(self._halves))
        return Sample.of(rows.reshape(-1, self.n), mates, units)

    def spreads(self, enumerated: FloatArray, pilot: FloatArray) -> Spreads:
        """Estimate from the residuals how much values vary around the surrogate.

        The spread of a sampled size comes from its neighbouring sizes only, because its own pilot
        may miss a rare value, which would then get too little weight. When each size had its own
        spread, values were biased: in 1,000 games that two of ten providers decide, with 200
        evaluations, the z score of the mean was 5.4 instead of 2.5.

        Parameters
        ----------
        enumerated : (2n,) residuals of all coalitions of one provider, then of all but one
        pilot : residuals of the pilot
        """
        n = self.n
        pilot = pilot.reshape(len(self._halves), self._pairs, 2)
        enumerated = enumerated.reshape(2, n).T[None]
        squares = np.concatenate([(one**2).mean(axis=1) for one in (enumerated, pilot)])
        if n % 2 == 0:
            squares[-1] = squares[-1].mean()  # both of a pair are of one size
        low, high = self._from_neighbours(squares).T
        variances = np.ones(n + 1)
        variances[1 : 1 + len(low)] = low
        variances[n - len(high) : n] = high[::-1]
        terms = [self._paired_terms(enumerated, np.ones(1, dtype=np.int64))]
        terms.append(self._paired_terms(pilot, self._halves))
        return Spreads(variances, self._from_neighbours(np.concatenate(terms)[:, None])[:, 0])

    def _paired_terms(self, pairs: FloatArray, sizes: IntArray) -> FloatArray:
        """Mean square of the contribution of pairs of complements to the values, for each size.

        It is relative to independent residuals with a variance of 1.

        Parameters
        ----------
        pairs : (n_sizes, n_pairs, 2) residuals of coalitions of each size and of their complements
        """
        rest, s = self.n - sizes, sizes[:, None]
        small, large = pairs[:, :, 0], pairs[:, :, 1]
        inside = self.joins[s] * small - self.leaves[self.n - s] * large
        outside = self.joins[self.n - s] * large - self.leaves[s] * small
        terms = (s * inside**2 + (self.n - s) * outside**2).mean(axis=1)
        weights = self.weights[sizes] + self.weights[rest]
        return np.asarray(np.where(weights > 0, terms / np.where(weights > 0, weights, 1.0), 0.0))

    def _from_neighbours(self, by_half: FloatArray) -> FloatArray:
        """Replace all but the first row by the geometric mean of the rows beside it."""
        logs = np.log(np.maximum(by_half, _LEAST_SPREAD * by_half.max() + 1e-300))
        found = np.exp(_mean_beside(logs, self._beside))
        found[0] = by_half[0]
        return np.asarray(found)

    def sample(
        self, pilot: Sample, spreads: Spreads, enumerated: FloatArray, seed: np.uint64
    ) -> Sample:
        """Spend the remaining evaluations on the sizes where they lower the error most.

        The number of coalitions of a size must not depend on the values of its pilot, or the mean
        of the size would be biased: a rare value in the pilot would cause more coalitions to be
        drawn, and so get less weight. So the numbers follow from the values of the enumerated
        sizes. The decision on pairs follows from the pilot, but it does not change the numbers.

        Parameters
        ----------
        enumerated : (2n,) values of all coalitions of one provider, then of all but one
        """
        there = np.bincount(pilot.sizes, minlength=self.n + 1)
        # With few evaluations all sizes get the same weight, which was better in voting games.
        variances = np.ones(self.n + 1) if self.few else self.expected_variances(enumerated)
        more = self._counts(variances, there) - there
        paired = self._pairs_help(spreads)
        parts, mates, units = [pilot.rows], [pilot.mates], [pilot.units]
        at = len(pilot.rows)
        blocks = pilot.rows.reshape(len(self._halves), -1, self.n)
        for block, size in zip(blocks, self._halves.tolist(), strict=True):
            rest = self.n - size
            fewer = more[size] // 2 if size == rest else min(more[size], more[rest])
            pairs = int(fewer) if paired else 0
            twos = self._more(block, 2 * pairs, size, paired=True, seed=seed)
            seen = np.concatenate([block, twos])
            counts = [(size, more[size] - 2 * pairs)]
            if size != rest:
                counts = [(size, more[size] - pairs), (rest, more[rest] - pairs)]
            parts.append(twos)
            mates.append(at + (np.arange(2 * pairs) ^ 1))
            units.append(self._pairs + np.arange(2 * pairs) // 2)
            at += 2 * pairs
            for of_size, count in counts:
                parts.append(self._more(seen, int(count), of_size, paired=False, seed=seed))
                mates.append(at + np.arange(count))
                units.append(self._pairs + pairs + np.arange(count))
                at += int(count)
        return Sample.of(np.concatenate(parts), np.concatenate(mates), np.concatenate(units))

    def expected_variances(self, enumerated: FloatArray) -> FloatArray:
        """Variance of the values of each size, up to a factor: (n + 1,).

        It is assumed to be a power of the size, as for learning curves, and fitted to the variances
        of the two enumerated sizes: one provider, and all but one.

        Parameters
        ----------
        enumerated : (2n,) values of all coalitions of one provider, then of all but one
        """
        variances = enumerated.reshape(2, self.n).var(axis=1)
        # Values that differ only by rounding say nothing about the other sizes.
        if variances.max() <= (_ROUNDING * np.abs(enumerated).max()) ** 2:
            return np.ones(self.n + 1)
        low, high = np.log(np.maximum(variances, _LEAST_RATIO * variances.max()))
        place = np.log(np.maximum(np.arange(self.n + 1), 1)) / np.log(self.n - 1)
        return np.asarray(np.exp(low + place * (high - low)))

    def _counts(self, variances: FloatArray, there: IntArray) -> IntArray:
        """Number of coalitions of each size: (n + 1,).

        A stratum adds the mean square of its terms, divided by its number of coalitions, to the
        squared error. So the best numbers are proportional to the root mean squares.
        """
        sizes = np.arange(2, self.n - 1)
        wanted = np.sqrt(variances * self.weights)[sizes]
        counts = np.zeros(self.n + 1, dtype=np.int64)
        counts[sizes] = allocate(wanted, there[sizes], self.capacities[sizes], self._sampled)
        return counts

    def _pairs_help(self, spreads: Spreads) -> bool:
        """Whether the residuals of complements cancel; one decision for all sizes."""
        n, h = self.n, self._halves
        alone = np.sqrt(spreads.variances * self.weights)[2 : n - 1]
        paired = np.sqrt(spreads.paired[1:] * (self.weights[h] + self.weights[n - h]))
        paired[2 * h == n] /= 2.0  # both of a pair are in one stratum
        # The factor √2 is there because a pair takes two evaluations.
        return bool(np.sqrt(2.0) * paired.sum() < _CLEARLY * alone.sum())

    def _more(
        self, block: MemberArray, count: int, size: int, *, paired: bool, seed: np.uint64
    ) -> MemberArray:
        """Draw `count` coalitions that are not in a block."""
        rows = np.empty((len(block) + count, self.n), dtype=np.uint8)
        rows[: len(block)] = block
        self._fill(rows, len(block), size, paired=paired, seed=seed)
        return rows[len(block) :]

    def _fill(
        self, rows: MemberArray, start: int, size: int, *, paired: bool, seed: np.uint64
    ) -> None:
        kernels.load("strata").draw_rows(rows, start, size, paired, seed, self._marks)


def _mean_beside(rows: FloatArray, width: int) -> FloatArray:
    """Mean of up to `width` neighbours on each side of every row, without the row itself.

    Examples
    --------
    >>> _mean_beside(np.array([[1.0], [2.0], [4.0]]), 1).tolist()
    [[2.0], [2.5], [2.0]]
    """
    sums, counts = np.zeros_like(rows), np.zeros((len(rows), 1))
    for apart in range(1, min(width, len(rows) - 1) + 1):
        sums[apart:] += rows[:-apart]
        sums[:-apart] += rows[apart:]
        counts[apart:] += 1
        counts[:-apart] += 1
    return np.asarray(sums / counts)


def _capacity(n: int, size: int) -> float:
    smaller = min(size, n - size)
    return float(comb(n, smaller)) if smaller <= _COUNTED else float("inf")


def allocate(wanted: FloatArray, least: IntArray, most: FloatArray, total: int) -> list[int]:
    """Divide `total` into integers in proportion to `wanted`, each between its bounds.

    Examples
    --------
    >>> allocate(np.array([1.0, 3.0, 6.0]), np.array([2, 2, 2]), np.array([9.0, 9.0, 4.0]), 12)
    [2, 6, 4]
    """
    shares = _shares(np.maximum(wanted, 1e-9 * wanted.max()) + 1e-300, least, most, total)
    counts = np.floor(shares).astype(np.int64)
    first = np.argsort(counts - shares, kind="stable")  # the largest remainders
    first = first[counts[first] < most[first]]
    counts[first[: max(0, total - int(counts.sum()))]] += 1
    return [int(count) for count in counts]


def _shares(wanted: FloatArray, least: IntArray, most: FloatArray, total: int) -> FloatArray:
    """Shares of `total` in proportion to `wanted`, each between its bounds.

    In every round, shares beyond a bound are set to the bound, and the rest is divided again.
    """
    shares = np.zeros(len(wanted))
    free = np.ones(len(wanted), dtype=bool)
    while free.any():
        shares[free] = wanted[free] * (total - shares[~free].sum()) / wanted[free].sum()
        bounded = np.clip(shares, least, most)
        over = (bounded - shares)[free].sum()
        # Fixing shares at both bounds at once could overshoot, so only one side is fixed: the
        # lower bounds if they add more than the upper bounds take away.
        fixed = free & ((bounded > shares) if over >= 0 else (bounded < shares))
        if not fixed.any():
            break
        shares[fixed] = bounded[fixed]
        free &= ~fixed
    return np.clip(shares, least, most)
