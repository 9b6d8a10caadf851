"""Checks of the records that a source returned."""

from __future__ import annotations

from typing import Any

import numpy as np

from shapband.checks import described
from shapband.errors import InvalidInput, SourceError
from shapband.records.batch import Batch, take_in

_FLOATS = np.dtype(np.float64)


def check_answer(answer: object, size: int) -> Batch:
    """Check that a source returned `size` records, as a `Batch` or a tuple (X, y); copy them.

    The records are copied because a source may use its buffers again.

    Examples
    --------
    >>> check_answer(([1.0, 2.0], ["a", "b"]), size=2).X.tolist()
    [[1.0], [2.0]]
    """
    if isinstance(answer, Batch):
        X, y = answer.X, answer.y
    elif isinstance(answer, tuple) and len(answer) == 2:
        X, y = answer
    else:
        raise SourceError(
            f"the source gave {described(answer)}: return a Batch(X, y) or a tuple (X, y)"
        )
    if (plain := _plain_batch(X, y, size)) is not None:
        return plain
    try:
        batch = take_in(X, y, "the source")
    except InvalidInput as cause:
        raise SourceError(str(cause)) from cause
    if len(batch) != size:
        raise SourceError(f"the source gave {len(batch)} records where {size} were asked")
    return batch


def _plain_batch(X: Any, y: Any, size: int) -> Batch | None:
    """Copy the usual answer, finite floats of the right shape; return None for any other answer.

    The checks of other answers take three times as long, which slows down many small requests.
    """
    if not (type(X) is type(y) is np.ndarray and X.dtype is y.dtype is _FLOATS):
        return None
    if X.ndim != 2 or len(X) != size or not X.size or y.shape != (size,):
        return None
    X, y = X.copy(), y.copy()
    return Batch(X, y) if np.isfinite(X).all() and np.isfinite(y).all() else None
