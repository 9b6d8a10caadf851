"""Records in NumPy arrays."""

from __future__ import annotations

from typing import Any

from shapband._typing import IntArray
from shapband.records import Batch, Schema
from shapband.sources.base import FiniteSource, check_array_batch


class ArraySource(FiniteSource):
    """A finite source in memory.

    Parameters
    ----------
    X : (n_records, n_features) numbers; one dimension is read as one feature
    y : (n_records,) targets: numbers or labels
    replace : draw with replacement, as from the empirical distribution of the records

    Examples
    --------
    >>> import shapband as sb
    >>> sb.ArraySource([[1.0], [2.0], [3.0]], [0.0, 1.0, 2.0]).size
    3
    """

    def __init__(self, X: Any, y: Any, *, replace: bool = False) -> None:
        self._records = check_array_batch(X, y, "ArraySource")
        self.replace = replace

    @property
    def size(self) -> int:
        """How many records there are."""
        return len(self._records)

    @property
    def schema(self) -> Schema:
        """The number of features."""
        return self._records.schema

    @property
    def records(self) -> Batch:
        """All records."""
        return self._records

    def take(self, rows: IntArray) -> Batch:
        """Give the records with these indices."""
        return self._records.take(rows)
