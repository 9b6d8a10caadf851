"""Records in NumPy arrays."""

from __future__ import annotations

from typing import Any

from shapband.records.batch import take_in
from shapband.sources.base import MemorySource


class ArraySource(MemorySource):
    """A finite source in memory.

    Parameters
    ----------
    X : (n_records, n_features) numbers; one dimension is read as one feature. A data frame is kept
        as one, with the names of its columns
    y : (n_records,) targets: numbers or labels
    replace : draw with replacement, as from the empirical distribution of the records

    Examples
    --------
    >>> import shapband as sb
    >>> sb.ArraySource([[1.0], [2.0], [3.0]], [0.0, 1.0, 2.0]).size
    3
    """

    def __init__(self, X: Any, y: Any, *, replace: bool = False) -> None:
        super().__init__(take_in(X, y, "ArraySource"), replace=replace)
