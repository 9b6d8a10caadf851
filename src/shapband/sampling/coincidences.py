"""Which equal records are more than chance: within one provider, and between two.

Honest providers draw their records independently, each from its own population. A kind of record
that they hold a and b times on average is once in both with probability a b e^(-a-b), and twice in
one of them and never in the other with a²/2 e^(-a-b) and b²/2 e^(-a-b). By the inequality of Cauchy
and Schwarz the number of kinds that are once in both is at most 2 √(n₂₀ n₀₂) on average, whatever
the populations are. A copy has many more, because its records are alone in each stock.

Within one provider the numbers N_k of kinds that occur k times obey N_k² ≤ (k+1)/k N_(k-1) N_(k+1)
on average, because k! N_k are moments of one distribution. A stock that was repeated five times has
many kinds that occur five times, and none that occurs four or six times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shapband._typing import BoolArray, FloatArray, IntArray
from shapband.sampling.columns import Hashes

REPORTED = 1 / 3  # copied records beyond this share are reported; the wines repeat up to 30 %
_ALL_PAIRS = 4  # if a kind of record has more owners, not all pairs of them are counted
_SELDOM = 0.1  # records with at most this share of repeats count as seldom repeated by nature


class Kinds(NamedTuple):
    """Kinds of records that occur more than once, and how often each owner has them.

    Attributes
    ----------
    group : (k,) which kind, ascending
    owner : (k,) who has it, ascending within a kind
    times : (k,) how often
    sizes : (n,) records of every owner
    """

    group: IntArray
    owner: IntArray
    times: IntArray
    sizes: IntArray

    @staticmethod
    def of(hashes: Hashes, owners: IntArray, n_owners: int) -> Kinds:
        """Count equal hashes."""
        sizes = np.bincount(owners, minlength=n_owners)
        ordered = np.sort(hashes)
        repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        if not len(repeated):
            nothing = np.empty(0, dtype=np.int64)
            return Kinds(nothing, nothing, nothing, sizes)
        place = np.minimum(np.searchsorted(repeated, hashes), len(repeated) - 1)
        among = np.flatnonzero(repeated[place] == hashes)
        keys, counts = np.unique(place[among] * n_owners + owners[among], return_counts=True)
        return Kinds(keys // n_owners, keys % n_owners, counts, sizes)

    def held(self, times: int) -> IntArray:
        """(n,) number of kinds of records that each owner has this many times."""
        n = len(self.sizes)
        several = self.times > 1
        if times == 1:
            others = np.bincount(self.owner[several], self.times[several], n)
            return np.asarray(self.sizes - others.astype(np.int64))
        return np.bincount(self.owner[self.times == times], minlength=n)

    @property
    def repeats(self) -> IntArray:
        """(n,) records of each owner that equal an earlier one of its own."""
        weights = np.bincount(self.owner, self.times - 1, len(self.sizes))
        return weights.astype(np.int64)

    def without_repeats(self, padded: BoolArray) -> Kinds:
        """The same, as if some owners had every record once."""
        single = padded[self.owner]
        sizes = self.sizes - np.where(padded, self.repeats, 0)
        return self._replace(times=np.where(single, 1, self.times), sizes=sizes)


class Pairs(NamedTuple):
    """Pairs of owners with more equal records than chance explains.

    Attributes
    ----------
    one, other : (k,) the owners
    records : (k,) kinds of records that are once in both
    chance : (k,) a bound of their expected number for independent owners
    """

    one: IntArray
    other: IntArray
    records: IntArray
    chance: FloatArray


def upper(count: IntArray) -> FloatArray:
    """About one standard deviation above a count, and one for what was not seen."""
    return np.asarray(count + 1 + np.sqrt(count))


def tail(count: IntArray, mean: FloatArray) -> FloatArray:
    """Probability that a Poisson number with this mean is at least `count`."""
    from scipy.special import gammainc

    return np.where(count > 0, gammainc(np.maximum(count, 1), mean), 1.0)


def padded_owners(kinds: Kinds, risk: float) -> BoolArray:
    """(n,) owners that repeat more than a third of their records, more than chance explains."""
    several = kinds.times > 1
    most = int(kinds.times.max(initial=1)) + 2
    keys, found = np.unique(kinds.owner[several] * most + kinds.times[several], return_counts=True)
    owner, k = keys // most, keys % most
    fewer = np.where(k == 2, kinds.held(1)[owner], _at(keys, found, keys - 1))
    more = _at(keys, found, keys + 1)
    chance = np.sqrt((k + 1) / k * upper(fewer) * upper(more))
    sure = (found > chance) & (tail(found, chance) <= risk)
    beyond = np.where(sure, (k - 1) * (found - chance), 0.0)
    return np.asarray(np.bincount(owner, beyond, len(kinds.sizes)) > REPORTED * kinds.sizes)


def lonely_repeaters(kinds: Kinds, risk: float) -> BoolArray:
    """(n,) owners that repeat records which nobody else has, while most others repeat seldom."""
    n = len(kinds.sizes)
    share = kinds.repeats / np.maximum(kinds.sizes, 1)
    if n < 3 or np.median(share) > _SELDOM:
        return np.zeros(n, dtype=bool)
    alone = np.bincount(kinds.group)[kinds.group] == 1 if len(kinds.group) else kinds.group > 0
    own = np.bincount(kinds.owner[alone], kinds.times[alone] - 1, n).astype(np.int64)
    sure = tail(own, np.asarray(_SELDOM * kinds.sizes)) <= risk
    return np.asarray(sure & (own > REPORTED * kinds.sizes))


def _at(keys: IntArray, values: IntArray, wanted: IntArray) -> IntArray:
    """Values at some keys, which are sorted; 0 where there is none."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0)


def copied_pairs(kinds: Kinds, risk: float) -> Pairs:
    """Pairs that share more than a third of the records that the smaller one has once."""
    n = len(kinds.sizes)
    first, second = _side_by_side(kinds)
    pairs, which = np.unique(kinds.owner[first] * n + kinds.owner[second], return_inverse=True)
    one, other = pairs // n, pairs % n
    a, b = kinds.times[first], kinds.times[second]
    both = np.bincount(which[(a == 1) & (b == 1)], minlength=len(pairs))
    twice = kinds.held(2)
    only_one = twice[one] - np.bincount(which[a == 2], minlength=len(pairs))
    only_other = twice[other] - np.bincount(which[b == 2], minlength=len(pairs))
    chance = 2 * np.sqrt(upper(only_one) * upper(only_other))
    once = kinds.held(1)
    smaller = np.minimum(once[one], once[other])
    sure = (both - chance > REPORTED * smaller) & (tail(both, chance) <= risk)
    order = np.flatnonzero(sure)
    order = order[np.argsort(-both[order], kind="stable")]
    return Pairs(one[order], other[order], both[order], chance[order])


def _side_by_side(kinds: Kinds) -> tuple[IntArray, IntArray]:
    """Places of two owners of one kind: all pairs of a few owners, the first one and each of many.

    So the work is linear in the records, also if everybody has the same ones.
    """
    size = np.bincount(kinds.group)[kinds.group] if len(kinds.group) else kinds.group
    places = np.arange(len(size))
    start = np.searchsorted(kinds.group, kinds.group)
    first, second = [], []
    for shift in range(1, _ALL_PAIRS):
        at = np.flatnonzero((size <= _ALL_PAIRS) & (places - start >= shift))
        first.append(at - shift)
        second.append(at)
    at = np.flatnonzero((size > _ALL_PAIRS) & (places > start))
    return np.concatenate([*first, start[at]]), np.concatenate([*second, at])
