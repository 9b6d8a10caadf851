"""Answers of sources: checked and copied, or refused with the reason and what they held.

A source that answered has to be paid, whether or not its answer can be used. So a refused answer
is counted and kept like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shapband.checks import described, error_line, one_line
from shapband.errors import InvalidInput, ShapbandError, SourceError
from shapband.records.batch import Batch, take_in
from shapband.records.frames import as_frame

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


@dataclass(frozen=True, eq=False)
class Refusal:
    """An answer that cannot be used.

    Attributes
    ----------
    reason : why not
    records : how many it held; if they cannot be counted, how many were asked for
    batch : a copy of them, or None if they are neither arrays nor a data frame
    """

    reason: str
    records: int
    batch: Batch | None = None

    @staticmethod
    def of(answer: object, size: int, cause: Exception) -> Refusal:
        """Refuse an answer to a request for `size` records.

        Examples
        --------
        >>> Refusal.of(([[1.0], [2.0]], [0.0, 1.0]), 3, ValueError("too few")).records
        2
        """
        reason = one_line(cause) if isinstance(cause, ShapbandError) else error_line(cause)
        batch = _copied(answer)
        return Refusal(reason, size if batch is None else len(batch.X), batch)


def received(answer: object, size: int) -> Batch | Refusal:
    """Copy and check the answer to a request for `size` records."""
    try:
        return check_answer(answer, size)
    except Exception as cause:  # noqa: BLE001  objects of others may raise anything
        return Refusal.of(answer, size, cause)


def _copied(answer: object) -> Batch | None:
    """Copy the tables of an answer as they are, or return None if it has none."""
    try:
        X, y = (answer.X, answer.y) if isinstance(answer, Batch) else _pair(answer)
        if hasattr(X, "columns"):
            return Batch(as_frame(X).clone().to_native(), np.array(y))
        rows: Any = np.array(X)
        return Batch(rows.reshape(len(rows), -1) if rows.ndim < 2 else rows, np.array(y))
    except Exception:  # noqa: BLE001  objects of others may raise anything
        return None


def _pair(answer: Any) -> tuple[Any, Any]:
    X, y = answer
    return X, y
