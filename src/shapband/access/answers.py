"""Checks of the records that a source returned."""

from __future__ import annotations

from typing import Any

from shapband.checks import described
from shapband.errors import InvalidInput, SourceError
from shapband.records import Batch
from shapband.sources.base import check_array_batch, check_targets
from shapband.sources.frames import as_frame, check_infinite


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
    try:
        batch = _own_batch(X, y)
    except InvalidInput as cause:
        raise SourceError(str(cause)) from cause
    if len(batch) != size:
        raise SourceError(f"the source gave {len(batch)} records where {size} were asked")
    return batch


def _own_batch(X: Any, y: Any) -> Batch:
    if not hasattr(X, "columns"):
        return check_array_batch(X, y, "the source")
    frame = as_frame(X)
    check_infinite(frame, "the source")
    return Batch(frame.clone().to_native(), check_targets(y, len(frame), "the source", "y"))
