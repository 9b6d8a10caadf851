"""The coalitions of a game in the form that surrogates are fitted to, and fits in lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shapband import kernels
from shapband._typing import BoolArray, FloatArray, IntArray, MemberArray

LANES = 8  # surrogates that a kernel fits at once


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of neighbouring sizes that share their slopes, which saves time and memory.

    Attributes
    ----------
    of_size : (n + 1,) block of each size
    middles : (n_blocks,) mean size of each block
    """

    of_size: IntArray
    middles: FloatArray

    @staticmethod
    def of(n: int, of_size: int, most: int) -> Blocks:
        """Blocks of the sizes from 0 to n.

        Parameters
        ----------
        of_size : a block that begins at size s has s / of_size sizes
        most : largest number of sizes in a block

        Examples
        --------
        >>> Blocks.of(9, of_size=4, most=10).of_size.tolist()
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 8]
        """
        firsts = [0]
        while firsts[-1] <= n:
            firsts.append(firsts[-1] + max(1, min(firsts[-1] // of_size, most)))
        found = np.searchsorted(np.array(firsts), np.arange(n + 1), side="right") - 1
        sums = np.bincount(found, weights=np.arange(n + 1.0))
        return Blocks(found, np.asarray(sums / np.bincount(found)))


@dataclass(frozen=True, eq=False)
class Listed:
    """Coalitions of one game, sorted by size, as lists of members or of non-members.

    Attributes
    ----------
    n : number of providers
    order : (n_rows,) the rows in ascending order of their sizes
    sizes : (n_rows,) sizes in that order
    starts, members : the list of each row in that order; see `kernels/compiled/listed.py`
    """

    n: int
    order: IntArray
    sizes: IntArray
    starts: IntArray
    members: NDArray[np.int32]

    @staticmethod
    def of(parts: Sequence[MemberArray], sizes: IntArray) -> Listed:
        """List coalitions that are given in several parts, since joining them would copy them.

        Parameters
        ----------
        parts : (n_rows of the part, n) each
        sizes : (n_rows,) sizes of the coalitions of all parts
        """
        n = parts[0].shape[1]
        order = np.argsort(sizes, kind="stable")
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        ordered = sizes[order]
        starts = np.concatenate([[0], np.cumsum(np.minimum(ordered, n - ordered))])
        members = np.empty(starts[-1], dtype=np.int32)
        ends = np.cumsum([len(part) for part in parts])[:-1]
        for part, of_part in zip(parts, np.split(places, ends), strict=True):
            kernels.load("strata").list_members(part, of_part, starts, members)
        return Listed(n, order, ordered, starts, members)

    def edges(self, blocks: Blocks) -> IntArray:
        """First row of each block, and the number of rows: (n_blocks + 1,)."""
        places = np.arange(len(blocks.middles) + 1)
        return np.asarray(np.searchsorted(blocks.of_size[self.sizes], places))

    def lanes(self, trained: BoolArray) -> Iterator[tuple[slice, FloatArray]]:
        """Cut surrogates into groups that are fitted at once.

        Parameters
        ----------
        trained : (n_rows, n_surrogates) whether each row is in the fit of each surrogate

        Yields
        ------
        The surrogates of a group, and (n_rows, LANES) 1 for rows in their fits, else 0, in
        ascending order of size; lanes without a surrogate are 0.
        """
        count = trained.shape[1]
        for first in range(0, count, LANES):
            part = slice(first, min(first + LANES, count))
            lanes = np.zeros((len(trained), LANES))
            lanes[:, : part.stop - first] = trained[self.order, part]
            yield part, lanes

    def restored(self, numbers: FloatArray, count: int) -> FloatArray:
        """Return the first `count` lanes in the original order of the rows: (n_rows, count)."""
        found = np.empty((len(self.order), count))
        found[self.order] = numbers.reshape(-1, LANES)[:, :count]
        return found
