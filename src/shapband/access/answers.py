"""Checks of what a source gave."""

from __future__ import annotations

import numpy as np

from shapband.checks import described
from shapband.errors import SourceError
from shapband.records import Batch
from shapband.sources.base import check_array_batch, check_targets


def check_answer(answer: object, size: int) -> Batch:
    """Check that a source gave `size` records, as a `Batch` or as a tuple (X, y).

    Examples
    --------
    >>> check_answer(([1.0, 2.0], ["a", "b"]), size=2).X.tolist()
    [[1.0], [2.0]]
    """
    if isinstance(answer, tuple) and len(answer) == 2:
        X, y = answer
        if hasattr(X, "columns"):
            answer = Batch(X, check_targets(y, len(X), "the source", "y"))
        else:
            answer = check_array_batch(X, y, "the source")
    if not isinstance(answer, Batch):
        raise SourceError(
            f"the source gave {described(answer)}: return a Batch(X, y) or a tuple (X, y)"
        )
    _check_batch(answer, size)
    return answer


def _check_batch(batch: Batch, size: int) -> None:
    X, y = batch.X, batch.y
    numbers = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"
    if (
        not (numbers or hasattr(X, "columns"))
        or not isinstance(y, np.ndarray)
        or y.shape != (len(X),)
    ):
        raise SourceError(
            f"the source gave a Batch with X {described(X)} and y {described(y)}: X must be "
            "numbers (n_records, n_features) or a data frame, and y an array (n_records,)"
        )
    if len(batch) != size:
        raise SourceError(f"the source gave {len(batch)} records where {size} were asked")
    if not batch.is_frame and not np.isfinite(X).all():
        raise SourceError("the source gave features that are NaN or infinite")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise SourceError("the source gave targets that are NaN or infinite")
