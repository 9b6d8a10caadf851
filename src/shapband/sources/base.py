"""The two doors a source can have.

A finite source knows how many records it has and gives those it is asked for; which ones is
decided by the caller, so that the same seed picks the same records wherever they live. A
generative source draws for itself and is handed the random generator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any

import numpy as np

from shapband._typing import AnyArray, FloatArray, IntArray
from shapband.checks import one_line
from shapband.errors import InvalidInput
from shapband.records import Batch, Schema


class Source(ABC):
    """Where one provider's records are drawn from: a `FiniteSource` or a `GenerativeSource`.

    Attributes
    ----------
    waits : whether a request waits for something outside this process, such as a network;
        sources that wait are asked side by side
    """

    waits: bool = True

    @property
    @abstractmethod
    def schema(self) -> Schema | None:
        """The features of the records, or None while no record has been seen."""


class FiniteSource(Source):
    """A source with a known number of records, addressed by their index.

    Attributes
    ----------
    replace : whether one draw may hold a record more than once
    """

    replace: bool = False

    @property
    @abstractmethod
    def size(self) -> int:
        """How many records there are."""

    @abstractmethod
    def take(self, rows: IntArray) -> Batch:
        """Give the records with these indices, in this order."""

    @property
    def records(self) -> Batch | None:
        """All records if they are in memory and free to look at, else None."""
        return None


class MemorySource(FiniteSource):
    """A finite source whose records are all in memory, free to look at."""

    waits = False

    def __init__(self, records: Batch, *, replace: bool) -> None:
        self._records = records
        self.replace = replace

    @property
    def size(self) -> int:
        """How many records there are."""
        return len(self._records)

    @property
    def schema(self) -> Schema:
        """The features of the records."""
        return self._records.schema

    @property
    def records(self) -> Batch:
        """All records."""
        return self._records

    def take(self, rows: IntArray) -> Batch:
        """Give the records with these indices."""
        return self._records.take(rows)


class GenerativeSource(Source):
    """A source that draws its own records."""

    @abstractmethod
    def draw(self, size: int, rng: np.random.Generator) -> Batch:
        """Give `size` records, all randomness taken from `rng`."""


def check_array_batch(X: Any, y: Any, owner: str) -> Batch:
    """Turn arrays into a Batch, or say what is wrong with them."""
    features = check_features(X, owner, "X")
    return Batch(features, check_targets(y, len(features), owner, "y"))


def check_features(X: Any, owner: str, name: str) -> FloatArray:
    """Turn numbers into a finite array (n_rows, n_features); one dimension is one feature."""
    try:
        features = np.ascontiguousarray(X, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InvalidInput(
            f"{owner}: {name} must be a table of numbers; pass a data frame for mixed types "
            f"({one_line(cause)})"
        ) from cause
    if features.ndim == 1:
        features = features.reshape(-1, 1)
    if features.ndim != 2 or 0 in features.shape:
        raise InvalidInput(
            f"{owner}: {name} must have the shape (n_records, n_features), with at least one "
            f"record and one feature; received {np.shape(X)}"
        )
    if not np.isfinite(features).all():
        raise InvalidInput(f"{owner}: {name} holds NaN or infinite values: remove or impute them")
    return features


def check_targets(y: Any, n_records: int, owner: str, name: str) -> AnyArray:
    """Check that there is one target a record: a finite number, or a label."""
    targets = np.asarray(y)
    if targets.ndim != 1 or len(targets) != n_records:
        raise InvalidInput(
            f"{owner}: {name} must be one target for each of the {n_records} records; "
            f"received the shape {targets.shape}"
        )
    if n_records == 0:
        raise InvalidInput(f"{owner}: there are no records; at least one is needed")
    if targets.dtype.kind == "O":
        targets = _plain_targets(targets, owner, name)
    if targets.dtype.kind in "iubf":
        targets = targets.astype(np.float64)
        if not np.isfinite(targets).all():
            raise _missing_targets(owner, name)
    elif targets.dtype.kind not in "OUST":
        raise InvalidInput(
            f"{owner}: {name} must hold numbers or labels; received the dtype {targets.dtype}"
        )
    return targets


def _plain_targets(targets: AnyArray, owner: str, name: str) -> AnyArray:
    """Unpack an array of objects: numbers become floats, labels stay as they are."""
    if any(target is None or type(target).__name__ == "NAType" for target in targets):
        raise _missing_targets(owner, name)
    numbers = [target for target in targets if isinstance(target, Real)]
    if not all(np.isfinite(float(number)) for number in numbers):
        raise _missing_targets(owner, name)
    return targets.astype(np.float64) if len(numbers) == len(targets) else targets


def _missing_targets(owner: str, name: str) -> InvalidInput:
    return InvalidInput(
        f"{owner}: {name} holds missing, NaN or infinite values: remove those records"
    )
