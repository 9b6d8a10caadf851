"""Sources that count how often they were asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from shapband.records.batch import Batch
from shapband.sources.base import FiniteSource, GenerativeSource


class Counted(FiniteSource):
    """Another source, whose records cannot be looked at for free."""

    def __init__(self, inner: FiniteSource) -> None:
        self._inner = inner
        self.asked = 0

    @property
    def size(self) -> int:
        return self._inner.size

    @property
    def schema(self) -> Any:
        return self._inner.schema

    def take(self, rows: Any) -> Batch:
        self.asked += 1
        return self._inner.take(rows)


class CountedDraws(GenerativeSource):
    """Normal features, drawn by the source itself, and their sum."""

    def __init__(self, n_features: int) -> None:
        self._n_features = n_features
        self.asked = 0

    @property
    def schema(self) -> None:
        return None

    def draw(self, size: int, rng: np.random.Generator) -> Batch:
        self.asked += 1
        X = rng.normal(size=(size, self._n_features))
        return Batch(X, X.sum(axis=1))
