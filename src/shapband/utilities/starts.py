"""The order of the logistic regressions of coalitions, and the earlier fits that each starts from.

Every function returns coalitions of one game as rows of members, and for each row the earlier rows
(n_rows, 7) with the larger coalitions S+i, S+j, S+i+j, S+k, S+i+k, S+j+k and S+i+j+k that its fit
starts from; -1 for none.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from shapband._typing import IntArray, MemberArray

_PARTS = 7


@lru_cache(maxsize=1)
def starts_in_table(n: int) -> tuple[MemberArray, IntArray]:
    """All coalitions but the empty one, by descending masks.

    A fit starts from the fits of larger coalitions, to which one to three of the lowest absent
    providers were added.

    Examples
    --------
    >>> inside, starts = starts_in_table(2)
    >>> inside.tolist(), starts[:, :3].tolist()
    ([[1, 1], [0, 1], [1, 0]], [[-1, -1, -1], [0, -1, -1], [0, -1, -1]])
    """
    masks = np.arange((1 << n) - 1, 0, -1)
    starts = np.full((len(masks), _PARTS), -1)
    larger = [masks]  # S with every subset of the lowest absent providers of the loop so far
    free = ~masks & ((1 << n) - 1)
    for _ in range(3):
        lowest = free & -free
        added = [np.where((lowest > 0) & (one > 0), one | lowest, 0) for one in larger]
        larger += added
        free ^= lowest
    for part, one in enumerate(larger[1:]):
        starts[one > 0, part] = len(masks) - one[one > 0]
    return (masks[:, None] >> np.arange(n) & 1).astype(np.uint8), starts


def starts_of_rows(inside: MemberArray) -> tuple[MemberArray, IntArray]:
    """The coalition of all providers, then chosen coalitions (n_rows, n), which start from it.

    Examples
    --------
    >>> rows, starts = starts_of_rows(np.array([[1, 0], [0, 1]], dtype=np.uint8))
    >>> rows.tolist(), starts[:, 0].tolist()
    ([[1, 1], [1, 0], [0, 1]], [-1, 0, 0])
    """
    rows = np.concatenate([np.ones((1, inside.shape[1]), np.uint8), inside])
    starts = np.full((len(rows), _PARTS), -1)
    starts[1:, 0] = 0
    return rows, starts


def starts_along_orders(
    orders: IntArray, first: IntArray
) -> tuple[MemberArray, IntArray, tuple[IntArray, IntArray]]:
    """The first occurrences of coalitions along permutations (n_iter, n), from long to short.

    A coalition starts from the next longer one of its permutation. The last two arrays are the
    permutation of each row and its place in that permutation.

    Examples
    --------
    >>> orders = np.array([[0, 1], [1, 0]])
    >>> rows, starts, (t, k) = starts_along_orders(orders, np.array([[0, 0], [1, 0]]))
    >>> rows.tolist(), starts[:, 0].tolist(), t.tolist(), k.tolist()
    ([[1, 1], [1, 0], [0, 1]], [-1, 0, 0], [0, 0, 1], [1, 0, 0])
    """
    n_iter, n = orders.shape
    t, k = np.nonzero(first == np.arange(n_iter)[:, None])
    descending = np.lexsort((-k, t))
    t, k = t[descending], k[descending]
    row_of = np.empty(orders.shape, np.int64)
    row_of[t, k] = np.arange(len(t))
    starts = np.full((len(t), _PARTS), -1)
    short = k < n - 1
    starts[short, 0] = row_of[first[t[short], k[short] + 1], k[short] + 1]
    position = np.argsort(orders, axis=1)  # place of each provider in the permutation
    return (position[t] <= k[:, None]).astype(np.uint8), starts, (t, k)
