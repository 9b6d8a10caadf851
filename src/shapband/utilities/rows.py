"""The validation rows of a utility: scores on a part of them, and folds that are left out in turn.

Validation rows are a sample, too. How much a value depends on their choice is seen by leaving out
one fold of the rows after the other and scoring the same models on the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapreplace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shapband._typing import AnyArray, FloatArray, IntArray
from shapband.checks import concerning
from shapband.records.arrays import float_targets
from shapband.records.batch import Batch, Schema, schema_of, take_in
from shapband.seeds import Seeds

if TYPE_CHECKING:
    from shapband.utilities.base import Utility

FOLDS = 10  # as many as give Student's quantile 9 degrees of freedom; more cost more evaluations


class Folded(NamedTuple):
    """A utility, and the same utility without each fold of its validation rows.

    Attributes
    ----------
    whole : the utility on all rows; it may remember scores of its fits for the parts
    parts : one for each fold
    forget : called when the coalitions of a game are not needed any more
    """

    whole: Utility
    parts: Sequence[Utility]
    forget: Callable[[], None]


def rows_kept(n_rows: int, groups: AnyArray | None = None) -> tuple[IntArray, ...]:
    """Rows that are left if each fold is left out in turn; at most 10 folds of similar sizes.

    Folds are random, because neighbouring rows may be alike, and the same for equal numbers of
    rows, so that the effects of a fold on two valuations can be compared.

    Parameters
    ----------
    n_rows : number of validation rows
    groups : (n_rows,) labels of rows; rows with the same label stay in one fold

    Examples
    --------
    >>> [rows.tolist() for rows in rows_kept(3)]
    [[0, 1], [0, 2], [1, 2]]
    """
    labels = np.arange(n_rows) if groups is None else np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(labels)
    n_folds = min(FOLDS, len(sizes))
    order = np.argsort(Seeds(0).words("validation", "", range(1), len(sizes))[0])
    fold_of = np.empty(len(sizes), dtype=np.int64)
    folds = [(0, fold) for fold in range(n_folds)]  # a heap of rows so far; equal ones in order
    for label, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        filled, fold_of[label] = folds[0]
        heapreplace(folds, (filled + size, folds[0][1]))
    return tuple(np.flatnonzero(fold_of[labels] != fold) for fold in range(n_folds))


def folds_of(kept: Sequence[IntArray], n_rows: int) -> IntArray | None:
    """Return the fold of each row, or None if not every row is left out exactly once.

    Parameters
    ----------
    kept : rows that are left without each fold

    Examples
    --------
    >>> folds_of([np.array([0, 2]), np.array([1])], 3).tolist()
    [1, 0, 1]
    """
    left_out = np.ones((len(kept), n_rows), dtype=bool)
    for out, rows in zip(left_out, kept, strict=True):
        out[rows] = False
    once = (left_out.sum(axis=0) == 1).all() and left_out.any(axis=1).all()
    return left_out.argmax(axis=0) if once else None


def validation_facts(rows: Batch) -> str:
    """Return the number of validation rows and features as a string, for a `repr`."""
    return f"{len(rows)} validation rows, {rows.schema.n_features} features"


class Checked(NamedTuple):
    """Validation rows that were checked.

    Attributes
    ----------
    given : the rows as they were given
    numbers : the rows with the features that models use, as floats
    schema : the features that records must have
    """

    given: Batch
    numbers: Batch
    schema: Schema


def check_validation(X_val: Any, y_val: Any, owner: str) -> Checked:
    """Take in validation rows, and convert them to floats."""
    rows = take_in(X_val, y_val, owner, "X_val", "y_val")
    with concerning(f"{owner}: X_val"):
        numbers = Batch(rows.numeric(), rows.y)
    schema = schema_of(X_val) if hasattr(X_val, "columns") else numbers.schema
    return Checked(rows, numbers, schema)


def check_numeric_targets(y_val: AnyArray, owner: str) -> FloatArray:
    """Check that validation targets are numbers."""
    with concerning(f"{owner}: y_val"):
        return float_targets(y_val)
