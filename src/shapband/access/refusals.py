"""Answers of sources that cannot be used: the reason, and the records in them.

A source that answered must be paid, whether or not its answer can be used. So a refused answer is
counted and kept like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shapband.access.answers import check_answer
from shapband.checks import error_line, one_line
from shapband.errors import ShapbandError
from shapband.records.batch import Batch
from shapband.records.frames import as_frame


@dataclass(frozen=True, eq=False)
class Refusal:
    """An answer that cannot be used.

    Attributes
    ----------
    reason : why the answer cannot be used
    records : number of records in it; if they cannot be counted, the number that was requested
    batch : a copy of the records, or None if they are neither arrays nor a data frame
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
