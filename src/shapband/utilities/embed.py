"""Fixed transformations of features, such as random features or a frozen network."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import concerning, described, error_line
from shapband.errors import InvalidInput
from shapband.records.batch import Batch, take_in
from shapband.utilities.rows import Checked, check_validation


class BatchCache(WeakKeyDictionary[Batch, FloatArray]):
    """Numbers computed from batches, kept while the batch is in use and left out of pickles."""

    def __reduce__(self) -> tuple[type[BatchCache], tuple[()]]:
        return BatchCache, ()


class Embedding:
    """The numeric features of batches: the original ones, or the output of a fitted transformer.

    Parameters
    ----------
    transformer : has a method ``transform(X)`` that turns each row into a row of numbers,
        independently of the other rows; None for the features themselves
    owner : name of the utility, with which error messages begin
    """

    _counters = ("_known",)  # attributes that fingerprints leave out

    def __init__(self, transformer: Any, owner: str) -> None:
        if transformer is not None and (
            isinstance(transformer, type) or not callable(getattr(transformer, "transform", None))
        ):
            raise InvalidInput(
                f"{owner}: embed must be a fitted transformer, such as "
                f"StandardScaler().fit(X); received {transformer!r}"
            )
        self.transformer: Any = transformer
        # Draws from one source share its batch, so its records are converted once.
        self._known = BatchCache()

    def validation(self, X_val: Any, y_val: Any, owner: str) -> Checked:
        """Take in validation rows, and compute the features that models use."""
        if self.transformer is None:
            return check_validation(X_val, y_val, owner)
        rows = take_in(X_val, y_val, owner, "X_val", "y_val")
        with concerning(f"{owner}: X_val"):
            features = self._transformed(rows)
            self._check_alone(rows, features)
            self._known[rows] = features  # the search for copies asks for them again
            return Checked(rows, Batch(features, rows.y), rows.schema)

    def features(self, batch: Batch) -> FloatArray:
        """Return the features of a batch: (n_rows, n_features), floats."""
        if self.transformer is None and not batch.is_frame:
            return batch.numeric()
        known = self._known.get(batch)
        if known is None:
            known = batch.numeric() if self.transformer is None else self._transformed(batch)
            self._known[batch] = known
        return known

    def _check_alone(self, rows: Batch, features: FloatArray) -> None:
        """Refuse a transformer whose output for a row depends on the other rows."""
        alone = self._transformed(rows.take(np.array([0])))
        rounding = 1e-3 * np.abs(features).max()  # generous, for networks of low precision
        if alone.shape[1] != features.shape[1] or np.abs(alone - features[:1]).max() > rounding:
            raise InvalidInput(
                "embed must treat every row alone, but the numbers of the first row change without "
                "the other rows"
            )

    def _transformed(self, batch: Batch) -> FloatArray:
        # A transformer may change its input in place.
        copy = batch.copy()
        try:
            found = self.transformer.transform(copy.X)
            found = found.toarray() if hasattr(found, "toarray") else found
            features = np.ascontiguousarray(found, dtype=np.float64)
        except Exception as cause:
            raise InvalidInput(f"embed cannot transform the rows ({error_line(cause)})") from cause
        if features.ndim != 2 or len(features) != len(batch) or not np.isfinite(features).all():
            raise InvalidInput(
                "embed must give each row finite numbers, and all rows the same number of them; "
                f"received {described(features)} for {len(batch)} rows"
            )
        return features
