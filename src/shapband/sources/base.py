"""The two doors a source can have.

A finite source knows how many records it has and gives those it is asked for; which ones is
decided by the caller, so that the same seed picks the same records wherever they live. A
generative source draws for itself and is handed the random generator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from shapband._typing import AnyArray, IntArray
from shapband.errors import InvalidInput
from shapband.records import Batch, Schema


class Source(ABC):
    """Where one provider's records are drawn from: a `FiniteSource` or a `GenerativeSource`."""

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


class GenerativeSource(Source):
    """A source that draws its own records."""

    @abstractmethod
    def draw(self, size: int, rng: np.random.Generator) -> Batch:
        """Give `size` records, all randomness taken from `rng`."""


def check_array_batch(X: Any, y: Any, owner: str) -> Batch:
    """Turn arrays into a Batch, or say what is wrong with them."""
    try:
        features = np.ascontiguousarray(X, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InvalidInput(
            f"{owner}: X must be numeric; pass a data frame for mixed types ({cause})"
        ) from cause
    if features.ndim == 1:
        features = features.reshape(-1, 1)
    if features.ndim != 2 or features.shape[1] == 0:
        raise InvalidInput(
            f"{owner}: X must have the shape (n_records, n_features) with at least one feature; "
            f"received {np.shape(X)}"
        )
    if not np.isfinite(features).all():
        raise InvalidInput(f"{owner}: X holds NaN or infinite values: remove or impute them")
    return Batch(features, check_targets(y, len(features), owner))


def check_targets(y: Any, n_records: int, owner: str) -> AnyArray:
    """Check the targets of `n_records` records."""
    targets = np.asarray(y)
    if targets.ndim != 1 or len(targets) != n_records:
        raise InvalidInput(
            f"{owner}: y must be one target for each of the {n_records} records of X; "
            f"received the shape {targets.shape}"
        )
    if n_records == 0:
        raise InvalidInput(f"{owner}: there are no records; at least one is needed")
    if targets.dtype.kind in "iub":
        targets = targets.astype(np.float64)
    if targets.dtype.kind == "f":
        targets = targets.astype(np.float64)
        if not np.isfinite(targets).all():
            raise InvalidInput(f"{owner}: y holds NaN or infinite values: remove those records")
    elif targets.dtype.kind in "OUST" and any(_is_missing(label) for label in targets):
        raise InvalidInput(f"{owner}: y holds missing labels: remove those records")
    elif targets.dtype.kind not in "OUST":
        raise InvalidInput(
            f"{owner}: y must hold numbers or labels; received the dtype {targets.dtype}"
        )
    return targets


def _is_missing(label: Any) -> bool:
    return label is None or (isinstance(label, float) and label != label)
