"""The two kinds of source, `FiniteSource` and `GenerativeSource`.

A finite source knows how many records it has and returns the rows that the caller chooses, so the
same seed selects the same records wherever they are stored. A generative source draws its own
records with the random generator that the caller passes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from functools import cached_property
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np

from shapband._facts import WithFacts, facts
from shapband._typing import AnyArray, FloatArray, IntArray
from shapband.checks import one_line
from shapband.errors import InvalidInput
from shapband.records import Batch, Schema

# What a source may return: a batch, or a tuple (X, y), which the library checks.
Records: TypeAlias = Batch | tuple[Any, Any]

_LARGEST_EXACT = 2**53  # floats hold all integers up to it


class UnusableAnswer(InvalidInput):
    """What a source of the library was given by a function or distribution cannot be used.

    Attributes
    ----------
    answer : what was given
    """

    def __init__(self, message: str, answer: object) -> None:
        super().__init__(message)
        self.answer = answer


class Source(WithFacts, ABC):
    """Where one provider's records are drawn from: a `FiniteSource` or a `GenerativeSource`.

    Attributes
    ----------
    schema : the features of the records, or None while no record has been seen; an attribute or
        a property
    waits : whether a request waits for something outside this process, such as a network.
        Sources that wait are asked from threads, so they must be safe to call from any thread.
        The others are asked from the thread that called `value`
    concurrent : requests that a source that waits answers at the same time; by default it is
        asked for one game after the other. With more it must be safe to call from several
        threads at once
    version : a string that changes with the records, such as the name of a snapshot, an ETag or a
        digest; an attribute or a property. Runs store it and compare it when they are resumed.
        None if it is not known: then runs do not notice that records changed

    Examples
    --------
    >>> import shapband as sb
    >>> isinstance(sb.ArraySource([[1.0]], [0.0]), sb.Source)
    True
    """

    schema: Schema | None = None
    waits: bool = False
    concurrent: int = 1
    version: str | None = None


class FiniteSource(Source):
    """A source with a known number of records, addressed by their index.

    Attributes
    ----------
    size : how many records there are, at least 1; an attribute or a property
    replace : whether one draw may hold a record more than once
    records : all records if they are in memory and can be read at no cost, else None

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> class Squares(sb.FiniteSource):
    ...     def __init__(self, size):
    ...         self.size = size
    ...     def take(self, rows):
    ...         return rows.astype(float), rows**2
    >>> Squares(10)
    Squares(10 records)
    >>> sb.testing.check_source(Squares(10))
    """

    size: int
    replace: bool = False
    records: Batch | None = None

    @abstractmethod
    def take(self, rows: IntArray) -> Records:
        """Return the records with these indices, in this order: a `Batch` or a tuple (X, y)."""

    def __repr__(self) -> str:
        told = []
        with suppress(Exception):  # `size` may raise an error if the source cannot be reached
            told.append(f"{self.size} records")
            told.append(f"{self.schema.n_features} features" if self.schema else "")
        return f"{type(self).__name__}({facts(*filter(None, told), replace=self.replace)})"


class MemorySource(FiniteSource):
    """A finite source whose records are all in memory and can be read at no cost."""

    schema: Schema
    records: Batch

    def __init__(self, records: Batch, *, replace: bool) -> None:
        self.records = records
        self.size = len(records)
        self.schema = records.schema
        self.replace = replace

    @cached_property
    def version(self) -> str:  # type: ignore[override]  # computed when a run needs it
        """The digest of the records."""
        from shapband.sources.digests import digest_of

        return digest_of(self.records)

    def take(self, rows: IntArray) -> Batch:
        return self.records.take(rows)


class GenerativeSource(Source):
    """A source that draws its own records.

    Examples
    --------
    >>> import shapband as sb
    >>> class Dice(sb.GenerativeSource):
    ...     def draw(self, size, rng):
    ...         eyes = rng.integers(1, 7, size)
    ...         return eyes, eyes
    >>> sb.testing.check_source(Dice())
    """

    @abstractmethod
    def draw(self, size: int, rng: np.random.Generator) -> Records:
        """Return `size` records, with all randomness from `rng`: a `Batch` or a tuple (X, y)."""


def check_array_batch(X: Any, y: Any, owner: str) -> Batch:
    """Make a `Batch` of arrays, or raise an error that says what is wrong with them."""
    features = check_features(X, owner, "X")
    return Batch(features, check_targets(y, len(features), owner, "y"))


def check_features(X: Any, owner: str, name: str) -> FloatArray:
    """Copy features to a finite float array (n_rows, n_features); one dimension is one feature."""
    _check_plain(X, owner, name)
    try:
        features = np.array(X, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as cause:
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
    """Copy the targets, and check that each record has one: a finite number or a label."""
    _check_plain(y, owner, name)
    try:
        targets = np.array(y)
    except (TypeError, ValueError) as cause:
        raise InvalidInput(
            f"{owner}: {name} must be a row of targets ({one_line(cause)})"
        ) from cause
    if targets.ndim != 1 or len(targets) != n_records:
        raise InvalidInput(
            f"{owner}: {name} must be one target for each of the {n_records} records; "
            f"received the shape {targets.shape}"
        )
    if n_records == 0:
        raise InvalidInput(f"{owner}: there are no records; at least one is needed")
    if targets.dtype.kind == "O":
        targets = _plain_targets(targets, owner, name)
    if targets.dtype.kind in "iu":
        _check_exact(targets, owner, name)
    if targets.dtype.kind in "iubf":
        targets = targets.astype(np.float64, copy=False)
        if not np.isfinite(targets).all():
            raise _missing_targets(owner, name)
    elif targets.dtype.kind not in "OUST":
        raise InvalidInput(
            f"{owner}: {name} must hold numbers or labels; received the dtype {targets.dtype}"
        )
    return targets


def _plain_targets(targets: AnyArray, owner: str, name: str) -> AnyArray:
    """Convert an object array: numbers become floats, labels stay unchanged."""
    if any(target is None or type(target).__name__ == "NAType" for target in targets):
        raise _missing_targets(owner, name)
    numbers = [target for target in targets if isinstance(target, Real)]
    try:
        finite = all(np.isfinite(float(number)) for number in numbers)
    except OverflowError as cause:
        raise InvalidInput(
            f"{owner}: {name} holds a number that is too large ({one_line(cause)}): rescale it"
        ) from cause
    if not finite:
        raise _missing_targets(owner, name)
    if len(numbers) < len(targets):
        return targets
    _check_exact(np.array([t for t in targets if isinstance(t, Integral)]), owner, name)
    return targets.astype(np.float64)


def _check_exact(integers: AnyArray, owner: str, name: str) -> None:
    """Refuse integers that floats cannot tell apart: two labels would become one."""
    if ((integers > _LARGEST_EXACT) | (integers < -_LARGEST_EXACT)).any():
        raise InvalidInput(
            f"{owner}: {name} holds integers beyond 2**53, which are not exact as floats: pass "
            "labels as texts, and quantities as floats"
        )


def _check_plain(array: Any, owner: str, name: str) -> None:
    """Refuse sparse arrays, and complex numbers and masked cells, which NumPy would change."""
    if type(array) is np.ndarray and array.dtype.kind != "c":
        return
    if hasattr(array, "toarray"):
        raise InvalidInput(f"{owner}: {name} must not be sparse: pass its toarray()")
    if isinstance(array, np.ndarray) and array.dtype.kind == "c":
        raise InvalidInput(f"{owner}: {name} must not hold complex numbers: pass real ones")
    if np.ma.is_masked(array):
        raise InvalidInput(f"{owner}: {name} holds masked values: remove or impute them")


def _missing_targets(owner: str, name: str) -> InvalidInput:
    return InvalidInput(
        f"{owner}: {name} holds missing, NaN or infinite values: remove those records"
    )
