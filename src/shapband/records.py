"""Records on their way from a source to a utility.

A `Batch` is some rows with their targets. `Draws` are what one provider gives to a run of
consecutive games: one batch that holds the records, and for each game the rows that it uses.
Fresh rows of an array, bootstrap rows of a pool and blocks of a shuffled pool all have this
shape, so nothing is copied before a utility needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapband._typing import AnyArray, FloatArray, IntArray
from shapband.errors import InvalidInput


@dataclass(frozen=True)
class Schema:
    """What is known of a batch's features: their number, and their names in a data frame."""

    n_features: int
    columns: tuple[str, ...] | None = None

    def fits(self, other: Schema) -> bool:
        """Whether both mean the same features, as far as they are named."""
        named = self.columns is not None and other.columns is not None
        return self.n_features == other.n_features and not (named and self.columns != other.columns)

    def __str__(self) -> str:
        if self.columns is None:
            return f"{self.n_features} features"
        return f"the columns {', '.join(self.columns)}"


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

    def take(self, rows: IntArray) -> Batch:
        """Give the chosen rows, in the given order, repeated as often as they are named."""
        return Batch(_take(self.X, rows), self.y[rows])

    def numeric(self) -> FloatArray:
        """Give the rows as a float array (n_rows, n_features)."""
        return numeric_features(self.X)


@dataclass(frozen=True, eq=False)
class Draws:
    """One provider's draws for consecutive games: game ``g`` uses ``batch`` at ``rows[g]``.

    Parameters
    ----------
    batch : the records
    rows : (n_games, draw_size) indices into the batch
    """

    batch: Batch
    rows: IntArray

    def game(self, index: int) -> Batch:
        """Give the records of one game."""
        return self.batch.take(self.rows[index])


def concat(batches: Sequence[Batch]) -> Batch:
    """Join batches of one kind, duplicates kept."""
    if len(batches) == 1:
        return batches[0]
    y = np.concatenate([batch.y for batch in batches])
    if not batches[0].is_frame:
        return Batch(np.concatenate([batch.X for batch in batches]), y)
    import narwhals as nw

    frames = [nw.from_native(batch.X, eager_only=True) for batch in batches]
    return Batch(nw.concat(frames, how="vertical").to_native(), y)


def schema_of(X: Any) -> Schema:
    """Read the schema off an array or a data frame."""
    if isinstance(X, np.ndarray):
        return Schema(X.shape[1])
    names = tuple(str(name) for name in X.columns)
    return Schema(len(names), names)


def numeric_features(X: Any) -> FloatArray:
    """Turn an array or an all-numeric data frame into a contiguous float array."""
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X, dtype=np.float64)
    try:
        return np.ascontiguousarray(X.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InvalidInput(
            f"this utility needs numeric features, and {schema_of(X)} hold others: encode them "
            f"first, or use EstimatorUtility with a pipeline that does ({cause})"
        ) from cause


def numeric_targets(y: AnyArray) -> FloatArray:
    """Turn targets into contiguous floats."""
    try:
        return np.ascontiguousarray(y, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InvalidInput(
            f"this utility needs numeric targets; received labels ({cause})"
        ) from cause


def _take(X: Any, rows: IntArray) -> Any:
    if isinstance(X, np.ndarray):
        return X[rows]
    import narwhals as nw

    return nw.from_native(X, eager_only=True)[rows].to_native()
