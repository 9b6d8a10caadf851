"""Helpers of the conformance checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cloudpickle
import numpy as np

from shapband.checks import error_line, one_line
from shapband.errors import ConformanceError, InvalidInput
from shapband.records.batch import Batch
from shapband.records.frames import as_frame
from shapband.utilities.base import CoalitionFailed


def require(kept: object, message: str) -> None:
    """Raise ConformanceError with the message unless `kept` is true."""
    if not kept:
        raise ConformanceError(message)


@contextmanager
def during(rule: str) -> Iterator[None]:
    """Convert any error in this context to a ConformanceError that begins with the rule."""
    try:
        yield
    except ConformanceError:
        raise
    except Exception as cause:
        told = cause.__cause__ if isinstance(cause, CoalitionFailed) else cause
        raise ConformanceError(f"{rule}; it raised {error_line(told)}") from cause


def accepts(owner: str, check: Callable[[Any], None], argument: Any) -> bool:
    """Whether a `check` method accepts its argument; it may raise InvalidInput only."""
    with during(f"{owner}.check must return None or raise InvalidInput"):
        try:
            check(argument)
        except InvalidInput:
            return False
    return True


def travelled(thing: Any, what: str) -> Any:
    """Pickle and unpickle an object, as when it is sent to another process."""
    with during(f"{what} must be picklable, without locks, connections and open files"):
        return cloudpickle.loads(cloudpickle.dumps(thing))


def check_repr(thing: object) -> None:
    """Check that runs can store the `repr` of an object and compare it when they are resumed."""
    require(
        " at 0x" not in repr(thing) and "\n" not in repr(thing),
        f"{type(thing).__name__} must have a repr of one line that shows its parameters, because "
        f"runs store it; received {one_line(repr(thing))}: make it a dataclass",
    )


def same(one: Batch, other: Batch) -> bool:
    """Whether two batches hold equal records in the same order."""
    if one.schema != other.schema or not np.array_equal(one.y, other.y):
        return False
    if not one.is_frame:
        return np.array_equal(one.X, other.X)
    # Compare as strings, because missing values are not equal to themselves.
    return repr(as_frame(one.X).rows()) == repr(as_frame(other.X).rows())
