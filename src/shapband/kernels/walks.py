"""Lists of coalitions in which each coalition is an earlier one plus one provider."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from shapband._typing import IntArray, MemberArray
from shapband.coalitions import set_marks
from shapband.kernels import load


def first_occurrences(orders: IntArray) -> IntArray:
    """Find where each growing coalition of each permutation appears first in its game.

    Parameters
    ----------
    orders : (n_games, n_iter, n) permutations

    Returns
    -------
    (n_games, n_iter, n): entry [g, t, k] is the smallest t' such that the first k + 1 providers of
    the permutations t' and t are the same set.

    Examples
    --------
    >>> import numpy as np
    >>> first_occurrences(np.array([[[0, 1, 2], [1, 0, 2]]])).tolist()
    [[[0, 0, 0], [1, 0, 0]]]
    """
    found: IntArray = load("walks").first_occurrences(orders, set_marks(orders.shape[2]))
    return found


class Walk(NamedTuple):
    """Coalitions of one game in an order in which a kernel can merge one provider per step.

    Attributes
    ----------
    sizes : (n_steps,) members before the step: the provider joins the latest coalition of this size
    joins : (n_steps,) the provider that joins
    rows : (n_steps,) where the value of the new coalition is written; -1 if it is not wanted
    """

    sizes: IntArray
    joins: IntArray
    rows: IntArray


@lru_cache(maxsize=1)
def walk_of_table(n: int) -> Walk:
    """Walk through all coalitions of n providers but the empty one, by ascending bitmasks.

    Each coalition is made by adding its lowest provider to the coalition of its other members.

    Examples
    --------
    >>> [part.tolist() for part in walk_of_table(2)]
    [[0, 0, 1], [0, 1, 0], [1, 2, 3]]
    """
    sizes, lowest = np.zeros(1 << n, np.int64), np.zeros(1 << n, np.int64)
    for i in range(n):
        half = 1 << i
        sizes[half : 2 * half] = sizes[:half] + 1
        lowest[half : 2 * half] = lowest[:half]
        lowest[half] = i
    return Walk(sizes[1:] - 1, lowest[1:], np.arange(1, 1 << n))


def walk_of_rows(inside: MemberArray) -> Walk:
    """Walk through coalitions given as rows (n_rows, n), 1 for members; members join in order.

    Rows are sorted, so that coalitions with the same first members follow each other and share
    the steps that add these members.

    Examples
    --------
    >>> [part.tolist() for part in walk_of_rows(np.array([[1, 1, 0], [0, 0, 1], [1, 0, 1]]))]
    [[0, 0, 1, 1], [2, 0, 2, 1], [1, -1, 2, 0]]
    """
    order = np.lexsort(inside.T[::-1])
    member = inside[order] != 0
    new = member.copy()
    # A row that equals the row before has no change. Its argmax is 0, so all its members join
    # again.
    changed = np.argmax(member[1:] != member[:-1], axis=1)
    new[1:] &= np.arange(inside.shape[1]) >= changed[:, None]
    counts = np.cumsum(member, axis=1)
    place, joins = np.nonzero(new)
    sizes = counts[place, joins]
    complete = sizes == counts[place, -1]
    return Walk(sizes - 1, joins, np.where(complete, order[place], -1))


def walk_of_orders(orders: IntArray, first: IntArray) -> Walk:
    """Walk along the permutations (n_iter, n) of a game; only first occurrences are wanted.

    Examples
    --------
    >>> orders = np.array([[0, 1], [1, 0]])
    >>> [part.tolist() for part in walk_of_orders(orders, first_occurrences(orders[None])[0])]
    [[0, 1, 0, 1], [0, 1, 1, 0], [0, 1, 2, -1]]
    """
    n_iter, n = orders.shape
    new = first == np.arange(n_iter)[:, None]
    places = np.arange(orders.size).reshape(orders.shape)
    sizes = np.tile(np.arange(n), n_iter)
    return Walk(sizes, orders.ravel(), np.where(new, places, -1).ravel())
