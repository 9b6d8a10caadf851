"""Batches of records, which sources give to utilities: rows and targets, arrays or data frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from shapband._typing import AnyArray, FloatArray, IntArray
from shapband.checks import printable
from shapband.errors import InvalidInput
from shapband.records.arrays import own_features, own_targets
from shapband.records.columns import library_of
from shapband.records.frames import NUMBERS, float_frame, is_frame, own_frame
from shapband.records.joins import join_frames


@dataclass(frozen=True)
class Schema:
    """The number of features of a batch, and their names if the batch is a data frame.

    Examples
    --------
    >>> import shapband as sb
    >>> str(sb.Schema(n_features=3))
    '3 features'
    """

    n_features: int
    columns: tuple[str, ...] | None = None
    library: str | None = None

    def fits(self, other: Schema) -> bool:
        """Whether both schemas describe the same features; names are compared if both have them."""
        named = self.columns is not None and other.columns is not None
        return self.n_features == other.n_features and not (named and self.columns != other.columns)

    def __str__(self) -> str:
        if self.columns is None:
            return f"{self.n_features} features"
        return f"the columns {printable(', '.join(self.columns))} of a {self.library} frame"


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows and their targets.

    Parameters
    ----------
    X : (n_rows, n_features) float array, or a pandas or polars data frame
    y : (n_rows,) array of targets

    Examples
    --------
    >>> import numpy as np
    >>> batch = Batch(np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0, 3.0]))
    >>> len(batch), batch.take(np.array([2, 2])).y.tolist()
    (3, [3.0, 3.0])
    """

    X: Any
    y: AnyArray

    def __len__(self) -> int:
        return len(self.y)

    @property
    def is_frame(self) -> bool:
        """Whether the rows are a data frame rather than an array."""
        return not isinstance(self.X, np.ndarray)

    @property
    def schema(self) -> Schema:
        """Number and names of the features."""
        return schema_of(self.X)

    @cached_property
    def layout(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Names and types of the columns of a data frame, found once for all coalitions."""
        return tuple(self.X.columns), tuple(self.X.dtypes)

    @cached_property
    def numbers(self) -> AnyArray | None:
        """The rows as the array that scikit-learn makes of them; None unless all are numbers."""
        if not self.is_frame:
            return np.asarray(self.X)
        known = NUMBERS.get(library_of(self.X), set())
        return np.asarray(self.X) if {str(kind) for kind in self.layout[1]} <= known else None

    def take(self, rows: IntArray) -> Batch:
        """Return the rows with these indices, in this order; an index may occur several times."""
        return Batch(_take(self.X, rows), self.y[rows])

    def copy(self) -> Batch:
        """Return a copy of the batch that shares no memory with it."""
        if not self.is_frame:
            return Batch(self.X.copy(order="K"), self.y.copy())
        X = self.X.clone() if library_of(self.X) == "polars" else self.X.copy()
        return Batch(X, self.y.copy())

    def numeric(self) -> FloatArray:
        """Return the rows as a float array (n_rows, n_features)."""
        if self.is_frame:
            return float_frame(self.X)
        return np.ascontiguousarray(self.X, dtype=np.float64)


def take_in(X: Any, y: Any, owner: str, features: str = "X", targets: str = "y") -> Batch:
    """Copy, convert and check records from outside: arrays or a data frame, and their targets.

    Parameters
    ----------
    X : (n_rows, n_features) numbers, or a pandas or polars data frame
    y : (n_rows,) targets: numbers or labels
    owner, features, targets : names in errors: who received the records, and the two arguments

    Examples
    --------
    >>> import pandas as pd
    >>> batch = take_in(pd.DataFrame({"a": pd.array([1, None], dtype="Int8")}), [True, False], "me")
    >>> batch.X["a"].tolist(), batch.y.tolist()
    ([1.0, nan], [1.0, 0.0])
    """
    if is_frame(X):
        own = own_frame(X, owner if features == "X" else f"{owner}: {features}")
    else:
        own = own_features(X, owner, features)
    return Batch(own, own_targets(y, len(own), owner, targets))


def concat(batches: Sequence[Batch]) -> Batch:
    """Concatenate batches of the same kind into a new batch; duplicate records are kept."""
    if len(batches) == 1:
        return batches[0].copy()
    y = _joined_targets([batch.y for batch in batches])
    kinds = {library_of(batch.X) for batch in batches}
    if len(kinds) > 1:
        raise InvalidInput(
            f"records of {' and of '.join(sorted(kinds))} cannot be joined: pass the same kind of "
            "array or data frame from all providers"
        )
    if not batches[0].is_frame:
        return Batch(np.concatenate([batch.X for batch in batches]), y)
    alike = all(batch.layout == batches[0].layout for batch in batches)
    return Batch(join_frames([batch.X for batch in batches], alike=alike), y)


def concat_numbers(batches: Sequence[Batch]) -> Batch | None:
    """Concatenate frames into an array, in the memory order of a converted data frame.

    Returns
    -------
    None if the columns differ, or are not all numbers.
    """
    found = [batch.numbers for batch in batches if batch.numbers is not None]
    alike = all(batch.layout == batches[0].layout for batch in batches)
    if not alike or len(found) < len(batches):
        return None
    y = _joined_targets([batch.y for batch in batches])
    X = np.empty((len(y), found[0].shape[1]), np.result_type(*found), order="F")
    return Batch(np.concatenate(found, out=X), y)


def _joined_targets(targets: Sequence[AnyArray]) -> AnyArray:
    """Join targets of one kind; NumPy would convert numbers to strings if others are labels."""
    if len({y.dtype.kind for y in targets}) > 1:
        raise InvalidInput(
            "the targets are numbers in some records and strings in others: pass one or the other "
            "from all providers"
        )
    return np.concatenate(targets)


def schema_of(X: Any) -> Schema:
    """Return the schema of an array or a data frame."""
    if isinstance(X, np.ndarray):
        return _array_schema(X.shape[1])
    names = tuple(str(name) for name in X.columns)
    return Schema(len(names), names, library_of(X))


@cache
def _array_schema(n_features: int) -> Schema:
    """The schema of arrays; the same object for all answers, so that comparing them is fast."""
    return Schema(n_features)


def _take(X: Any, rows: IntArray) -> Any:
    if isinstance(X, np.ndarray):
        # For few rows, `X.take(rows)` needs a quarter of the time of `X[rows]` and gives the same
        # array. A mask needs `X[rows]`, because `take` would read it as numbers.
        numbers = isinstance(rows, np.ndarray) and rows.dtype.kind == "i"
        return X.take(rows, axis=0) if numbers and X.flags.c_contiguous else X[rows]
    import narwhals as nw

    return nw.from_native(X, eager_only=True)[rows].to_native()
