"""Tests whether equal records, within one provider or between two, are more than chance explains.

Records that are equal are of one kind. Honest providers draw their records independently, each from
its own population, so the counts of a kind are independent Poisson numbers.

*Between two providers.* If one of them has a kind a times on average and the other b times, then
each has it exactly once with probability a b e^(-a-b). One has it twice and the other never with
probability a²/2 e^(-a-b) or b²/2 e^(-a-b). Let n₂₀ and n₀₂ be the expected numbers of kinds of
these last two sorts. By the Cauchy-Schwarz inequality, the expected number of kinds that both have
once is at most 2 √(n₂₀ n₀₂), for all populations. A copied stock exceeds this bound by far, because
most of its records occur once in each of the two stocks.

*Within one provider.* Let N_k be the number of kinds that occur k times. On average
N_k² ≤ (k+1)/k N_(k-1) N_(k+1), because k! N_k are moments of one distribution. A stock that was
repeated five times violates this: many kinds occur five times, and none occurs four or six times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shapband._typing import BoolArray, FloatArray, IntArray
from shapband.sampling.columns import Hashes

# Copies are reported if they are more than this share of the records. In real data without copies,
# such as the wines, up to 30 % of the records repeat another.
REPORTED = 1 / 3
_ALL_PAIRS = 4  # if a kind has more owners, only the pairs with its first owner are counted
_SELDOM = 0.1  # a typical owner repeats at most this share of its records


_FIRST_BITS = 22  # bits of a hash that show most records without copies; the table takes 4 MB
_OTHER_BITS = np.uint64(64 - _FIRST_BITS)


class Kinds(NamedTuple):
    """Kinds of records that occur more than once, and how often each owner has them.

    Attributes
    ----------
    group : (k,) kinds of records, ascending
    owner : (k,) an owner of each kind, ascending within a kind
    times : (k,) how often this owner has a record of this kind
    sizes : (n,) records of every owner
    """

    group: IntArray
    owner: IntArray
    times: IntArray
    sizes: IntArray

    @staticmethod
    def of(hashes: Hashes, owners: IntArray, n_owners: int) -> Kinds:
        """Find the kinds of records from their hashes, which are equal for equal records.

        Owners must be ascending. The hashes are sorted once to see which of them repeat. In most
        comparisons few hashes repeat. Then only the records whose first bits equal the first bits
        of a repeated hash are sorted again, together with their owners.
        """
        sizes = np.bincount(owners, minlength=n_owners)
        ordered = np.sort(hashes)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        possible = np.zeros(1 << _FIRST_BITS, dtype=bool)
        possible[repeated >> _OTHER_BITS] = True
        among = np.flatnonzero(possible[hashes >> _OTHER_BITS])
        among = among[np.argsort(hashes[among], kind="stable")]
        kind, _ = _runs(hashes[among])
        several = np.bincount(kind)[kind] > 1 if len(kind) else np.empty(0, dtype=bool)
        kind, _ = _runs(kind[several])
        owner = owners[among][several]
        run, start = _runs(kind * n_owners + owner)
        return Kinds(kind[start], owner[start], np.bincount(run), sizes)

    def held(self, times: int) -> IntArray:
        """(n,) number of kinds of records that each owner has this many times."""
        n = len(self.sizes)
        several = self.times > 1
        if times == 1:
            others = np.bincount(self.owner[several], self.times[several], n)
            return np.asarray(self.sizes - others.astype(np.int64))
        return np.bincount(self.owner[self.times == times], minlength=n)

    def of_first(self, n_owners: int) -> Kinds:
        """The kinds of the first owners, as if there were no others."""
        if n_owners == len(self.sizes):
            return self
        kept = self.owner < n_owners
        sizes = self.sizes[:n_owners]
        return Kinds(self.group[kept], self.owner[kept], self.times[kept], sizes)

    @property
    def repeats(self) -> IntArray:
        """(n,) records of each owner that equal an earlier one of its own."""
        weights = np.bincount(self.owner, self.times - 1, len(self.sizes))
        return weights.astype(np.int64)

    def without_repeats(self, padded: BoolArray) -> Kinds:
        """The same kinds, as if the padded owners had each of their records once."""
        single = padded[self.owner]
        sizes = self.sizes - np.where(padded, self.repeats, 0)
        return self._replace(times=np.where(single, 1, self.times), sizes=sizes)


def _runs(values: IntArray | Hashes) -> tuple[IntArray, IntArray]:
    """Number the runs of equal values: the run of every value, and where each run begins.

    Examples
    --------
    >>> run, start = _runs(np.array([7, 7, 2, 5, 5]))
    >>> run.tolist(), start.tolist()
    ([0, 0, 1, 2, 2], [0, 2, 3])
    """
    first = np.ones(len(values), dtype=bool)
    first[1:] = values[1:] != values[:-1]
    return np.cumsum(first) - 1, np.flatnonzero(first)


class Pairs(NamedTuple):
    """Pairs of owners with more equal records than chance explains.

    Attributes
    ----------
    one, other : (k,) the owners
    records : (k,) kinds of records that both have exactly once
    chance : (k,) an upper bound of the expected number of such kinds, if owners are independent
    """

    one: IntArray
    other: IntArray
    records: IntArray
    chance: FloatArray


def upper(count: IntArray) -> FloatArray:
    """A cautious value for an expected number, given the count that was observed.

    It is the count plus its standard deviation √count, plus 1, because a count of 0 does not show
    that 0 is expected.
    """
    return np.asarray(count + 1 + np.sqrt(count))


def tail(count: IntArray, mean: FloatArray) -> FloatArray:
    """Probability that a Poisson number with this mean is at least `count`."""
    from scipy.special import gammainc

    return np.where(count > 0, gammainc(np.maximum(count, 1), mean), 1.0)


def padded_owners(kinds: Kinds, risk: float, share: float = REPORTED) -> BoolArray:
    """(n,) whether an owner repeats over this share of its records beyond what chance explains."""
    several = kinds.times > 1
    most = int(kinds.times.max(initial=1)) + 2
    keys, found = np.unique(kinds.owner[several] * most + kinds.times[several], return_counts=True)
    owner, k = keys // most, keys % most
    fewer = np.where(k == 2, kinds.held(1)[owner], _at(keys, found, keys - 1))
    more = _at(keys, found, keys + 1)
    chance = np.sqrt((k + 1) / k * upper(fewer) * upper(more))
    sure = (found > chance) & (tail(found, chance) <= risk)
    beyond = np.where(sure, (k - 1) * (found - chance), 0.0)
    return np.asarray(np.bincount(owner, beyond, len(kinds.sizes)) > share * kinds.sizes)


def lonely_repeaters(kinds: Kinds, risk: float) -> BoolArray:
    """(n,) whether an owner repeats records that nobody else has.

    All entries are False if a typical owner repeats more than a tenth of its records.
    """
    n = len(kinds.sizes)
    share = kinds.repeats / np.maximum(kinds.sizes, 1)
    if n < 3 or np.median(share) > _SELDOM:
        return np.zeros(n, dtype=bool)
    alone = np.bincount(kinds.group)[kinds.group] == 1 if len(kinds.group) else kinds.group > 0
    own = np.bincount(kinds.owner[alone], kinds.times[alone] - 1, n).astype(np.int64)
    sure = tail(own, np.asarray(_SELDOM * kinds.sizes)) <= risk
    return np.asarray(sure & (own > REPORTED * kinds.sizes))


def _at(keys: IntArray, values: IntArray, wanted: IntArray) -> IntArray:
    """Values at the wanted keys, 0 where a key is missing; `keys` are sorted."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0)


def copied_pairs(
    kinds: Kinds, risk: float, share: float = REPORTED, *, with_last: bool = False
) -> Pairs:
    """Pairs of owners that share more records than chance explains.

    By default these are pairs of any owners. With `with_last`, they are the pairs of each owner
    with the last one, however many owners have the same records.

    The excess must be more than this share of the records that the smaller owner has exactly once.
    Chance explains at least two equal records (`upper` is 1 or more), so pairs that have fewer than
    three are left out at once; without copies these are nearly all pairs.
    """
    n = len(kinds.sizes)
    first, second = _beside_last(kinds) if with_last else _side_by_side(kinds)
    keys = kinds.owner[first] * n + kinds.owner[second]
    often = _at_least_three(keys)
    first, second, keys = first[often], second[often], keys[often]
    pairs, which = np.unique(keys, return_inverse=True)
    one, other = pairs // n, pairs % n
    a, b = kinds.times[first], kinds.times[second]
    both = np.bincount(which[(a == 1) & (b == 1)], minlength=len(pairs))
    twice = kinds.held(2)
    only_one = twice[one] - np.bincount(which[a == 2], minlength=len(pairs))
    only_other = twice[other] - np.bincount(which[b == 2], minlength=len(pairs))
    chance = 2 * np.sqrt(upper(only_one) * upper(only_other))
    once = kinds.held(1)
    smaller = np.minimum(once[one], once[other])
    sure = (both - chance > share * smaller) & (tail(both, chance) <= risk)
    order = np.flatnonzero(sure)
    order = order[np.argsort(-both[order], kind="stable")]
    return Pairs(one[order], other[order], both[order], chance[order])


def _at_least_three(keys: IntArray) -> IntArray:
    """Places of keys that occur three times or more."""
    ordered = np.sort(keys)
    frequent = ordered[2:][ordered[2:] == ordered[:-2]]
    if not len(frequent):
        return np.empty(0, dtype=np.int64)
    place = np.minimum(np.searchsorted(frequent, keys), len(frequent) - 1)
    return np.flatnonzero(frequent[place] == keys)


def _beside_last(kinds: Kinds) -> tuple[IntArray, IntArray]:
    """Places of all pairs of an owner and the last owner that have the same kind."""
    last = kinds.owner == len(kinds.sizes) - 1
    place = np.full(int(kinds.group.max(initial=-1)) + 1, -1)
    place[kinds.group[last]] = np.flatnonzero(last)
    others = np.flatnonzero(~last & (place[kinds.group] >= 0))
    return others, place[kinds.group[others]]


def _side_by_side(kinds: Kinds) -> tuple[IntArray, IntArray]:
    """Places of pairs of owners of one kind.

    If the kind has at most `_ALL_PAIRS` owners, all pairs are included, else only the pairs of the
    first owner with each of the others. So the work is linear in the records, even if all owners
    have the same records.
    """
    sizes = np.bincount(kinds.group)
    size = sizes[kinds.group]
    places = np.arange(len(size))
    start = (np.cumsum(sizes) - sizes)[kinds.group]  # first place of each kind; kinds are ascending
    first, second = [], []
    for shift in range(1, _ALL_PAIRS):
        at = np.flatnonzero((size <= _ALL_PAIRS) & (places - start >= shift))
        first.append(at - shift)
        second.append(at)
    at = np.flatnonzero((size > _ALL_PAIRS) & (places > start))
    return np.concatenate([*first, start[at]]), np.concatenate([*second, at])
