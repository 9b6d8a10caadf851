"""How the errors of a valuation treat the validation rows.

Rows that are copies of each other are one choice and not several, so they stay in one fold. With
few discrete columns, honest rows are often equal by chance, and these are different choices. Rows
are taken for copies if more of them are equal than chance explains, by the test that finds a
provider that repeats its own records (see `coincidences`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shapband._typing import IntArray
from shapband.records.batch import Batch
from shapband.sampling.coincidences import Kinds, padded_owners
from shapband.sampling.distinct import all_hashes

_RISK = 1e-4  # accepted probability of taking rows for copies that are equal by chance
# 95 % intervals of a linear model's negative mean squared error hold in 92 % of cases with 20 rows,
# and in 80 to 89 % with 3 to 12 rows (docs/statistics.md).
ENOUGH = 20
NOT_DEFINED = "the score is not defined without some of the rows"


class Validation(NamedTuple):
    """The validation rows, and whether the errors cover their choice.

    Attributes
    ----------
    rows : number of validation rows; 0 if it is not known
    folds : folds of the rows that are left out in turn; 0 if the errors do not cover their choice
    games : number of games, from the first on, that are solved again without each fold
    reason : why the errors do not cover the choice of the rows; empty if they do
    different : number of different rows if some are copies, which stay in one fold; 0 if none are
    groups : number of groups of rows that stay in one fold because of `validation_groups`; 0
        without such groups
    effective : number of groups of equal size that would vary as little, n² / Σ nᵢ² with nᵢ of n
        rows in group i; a row without a group is a group of its own. 0 if it is not known
    """

    rows: int
    folds: int = 0
    games: int = 0
    reason: str = ""
    different: int = 0
    groups: int = 0
    effective: float = 0.0

    @property
    def few(self) -> bool:
        """Whether intervals hold less often than their level, because few rows vary."""
        return self.folds > 0 and 0 < self.effective < ENOUGH


class Together(NamedTuple):
    """Validation rows that stay in one fold.

    Attributes
    ----------
    labels : (n_rows,) the same for rows that stay together; None if every row is alone
    different : number of different rows if some are copies; 0 if none are
    parts : number of groups of rows that stay together; a row alone is a group
    effective : see `Validation`
    """

    labels: IntArray | None
    different: int
    parts: int
    effective: float


def rows_together(n_rows: int, groups: IntArray | None, rows: Batch | None) -> Together:
    """Find the validation rows that belong together: by their labels, and as copies.

    Rows that are linked by a chain of labels and copies stay together.

    Parameters
    ----------
    groups : (n_rows,) numbers from 0, the same for rows with the same label; None without labels
    rows : the rows, in which copies are looked for; None if they are not known

    Examples
    --------
    >>> X = np.arange(40.0).repeat(2)[:, None]
    >>> together = rows_together(80, None, Batch(X, X[:, 0]))
    >>> together.labels[:6].tolist(), together.different, together.effective
    ([0, 0, 2, 2, 4, 4], 40, 40.0)
    """
    copies = None if rows is None or len(rows) != n_rows else _copies(rows, groups)
    labels = groups if copies is None else copies if groups is None else _linked(groups, copies)
    different = 0 if copies is None else len(np.unique(copies))
    sizes = np.ones(n_rows) if labels is None else np.bincount(labels)
    effective = n_rows**2 / float(np.square(sizes).sum())
    return Together(labels, different, int(np.count_nonzero(sizes)), effective)


def _copies(rows: Batch, groups: IntArray | None) -> IntArray | None:
    """The first row that equals each row, or None if chance explains all equal rows.

    Equal rows of one group stay together anyway, so the test counts them once.
    """
    hashes = all_hashes(rows)
    ordered = np.sort(hashes)
    if not (ordered[1:] == ordered[:-1]).any():
        return None
    _, first, kinds = np.unique(hashes, return_index=True, return_inverse=True)
    counted = kinds
    if groups is not None:
        counted = np.unique(groups * len(first) + kinds) % len(first)
    times = np.bincount(counted)
    several = np.flatnonzero(times > 1)
    found = Kinds(several, np.zeros_like(several), times[several], np.array([len(counted)]))
    return first[kinds] if padded_owners(found, _RISK, share=0.0)[0] else None


def _linked(groups: IntArray, copies: IntArray) -> IntArray:
    """Numbers of the groups that are left when groups with copies of the same row are joined."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # A graph of groups and different rows; every row is an edge.
    size = int(groups.max()) + 1
    edges = (groups, size + copies)
    nodes = size + len(copies)
    graph = coo_array((np.ones(len(groups)), edges), shape=(nodes, nodes))
    _, component = connected_components(graph, directed=False)
    return component[groups].astype(np.int64)
