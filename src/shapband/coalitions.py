"""Coalitions as bitmasks: bit i of the number is provider i."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray, MemberArray

_EXACT_MASK_BITS = 63


def members(coalition: int) -> list[int]:
    """List the providers in a coalition.

    Examples
    --------
    >>> members(0b1101)
    [0, 2, 3]
    """
    found = []
    while coalition:
        lowest = coalition & -coalition
        found.append(lowest.bit_length() - 1)
        coalition ^= lowest
    return found


def describe(coalition: int, names: Sequence[str], at_most: int = 8) -> str:
    """List the names of a coalition's members, at most the first `at_most`."""
    named = [repr(names[i]) for i in members(coalition)]
    rest = f" and {len(named) - at_most} more" if len(named) > at_most else ""
    return "{" + ", ".join(named[:at_most]) + rest + "}"


def coalition_weights(size_weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights of v(S) in the values of an index, by the size of S: two arrays (n + 1,).

    `size_weights` (n,) are the probabilities q of the index. The first array, with entries
    q_{s-1} / C(n-1, s-1), has the weights for members of S. The second, with entries
    q_s / C(n-1, s), has the weights for providers outside S, and is subtracted.

    Examples
    --------
    >>> inside, outside = coalition_weights(np.array([0.25, 0.5, 0.25]))
    >>> inside.tolist(), outside.tolist()
    ([0.0, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.0])
    """
    n = len(size_weights)
    # Numerator and denominator are multiplied by n. For Shapley, n × q is then exactly 1, so that
    # each weight is rounded only once.
    each = [n * q / (n * comb(n - 1, s)) for s, q in enumerate(size_weights.tolist())]
    return np.array([0.0, *each]), np.array([*each, 0.0])


def prefix_masks(order: IntArray) -> list[int]:
    """Return the coalitions of the first 1, 2, .., n providers of a permutation.

    Examples
    --------
    >>> prefix_masks(np.array([2, 0, 1]))
    [4, 5, 7]
    """
    grown, masks = 0, []
    for provider in order.tolist():
        grown |= 1 << provider
        masks.append(grown)
    return masks


def arc_rows(circles: IntArray, sizes: IntArray) -> MemberArray:
    """Return the arcs that begin at each position of circles of all providers: (m, n, n).

    Parameters
    ----------
    circles : (m, n) the providers in their order on each circle
    sizes : (m,) of the arcs on each circle

    Examples
    --------
    >>> arc_rows(np.array([[2, 0, 1]]), np.array([2])).tolist()
    [[[1, 0, 1], [1, 1, 0], [0, 1, 1]]]
    """
    n = circles.shape[1]
    position = np.argsort(circles, axis=1).astype(np.int32)
    after = position[:, None, :] - np.arange(n, dtype=np.int32)[:, None]
    after[after < 0] += n
    return np.asarray(after < sizes[:, None, None]).view(np.uint8)


def arc_members(circles: IntArray, arcs: IntArray, starts: IntArray) -> MemberArray:
    """Return the members of single arcs: (m, n).

    Parameters
    ----------
    circles : (n_games, n_circles, n) the providers in their order on each circle
    arcs : (m, 3) game, circle and size of each arc
    starts : (m,) the position at which it begins

    Examples
    --------
    >>> arc_members(np.array([[[2, 0, 1]]]), np.array([[0, 0, 2]]), np.array([1])).tolist()
    [[1, 1, 0]]
    """
    position = np.argsort(circles[arcs[:, 0], arcs[:, 1]], axis=1)
    inside = (position - starts[:, None]) % circles.shape[2] < arcs[:, 2:]
    return np.asarray(inside).view(np.uint8)


def row_masks(inside: MemberArray) -> list[int]:
    """Return the bitmasks of coalitions given as rows (n_rows, n), 1 for members.

    Examples
    --------
    >>> row_masks(np.array([[1, 0, 1], [0, 0, 1]], dtype=np.uint8))
    [5, 4]
    """
    packed = np.packbits(inside, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def mask_rows(masks: Sequence[int], n: int) -> MemberArray:
    """Return coalitions given as bitmasks as rows (n_masks, n), 1 for members.

    Examples
    --------
    >>> mask_rows([5, 4], n=3).tolist()
    [[1, 0, 1], [0, 0, 1]]
    """
    width = -(-n // 8)
    packed = np.frombuffer(b"".join(m.to_bytes(width, "little") for m in masks), dtype=np.uint8)
    return np.unpackbits(packed.reshape(-1, width), axis=1, count=n, bitorder="little")


def set_marks(n: int) -> NDArray[np.uint64]:
    """Return a number for each provider, (n,), such that sets of one size have different sums.

    Up to 63 providers the sum is the bitmask itself. For more, the numbers are random 64-bit
    words: the probability that any two of a million different sets collide is below 1e-7.
    """
    if n <= _EXACT_MASK_BITS:
        return np.uint64(1) << np.arange(n, dtype=np.uint64)
    return np.asarray(np.random.Philox(key=n).random_raw(n))
