"""Kinds of values in records (numbers, strings, dates), which must be the same for all providers.

If providers write the same thing in different kinds, such as the labels 1 and "yes", a model cannot
be fitted to their joined records, or it silently treats them as different labels. Different types
of one kind, such as integers and floats, and missing values are accepted.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from numbers import Number
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from shapband._typing import AnyArray
from shapband.checks import written
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.records.batch import Batch
from shapband.records.frames import as_frame
from shapband.sources.base import FiniteSource

_TARGETS = "the targets"
# `take_in` refuses dates and decodes bytes, but runs of version 0.1.0 may have stored them. NumPy
# converts dates in nanoseconds to integers, so without their own kind they would count as numbers.
_KIND_OF_DTYPE = {"i": "numbers", "u": "numbers", "b": "numbers", "f": "numbers", "U": "strings",
                  "T": "strings", "S": "bytes", "M": "dates", "m": "durations"}  # fmt: skip
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (str, "strings"),
    (bytes, "bytes"),
    ((bool, Number, np.number, np.bool_), "numbers"),
    (datetime.time, "dates"),
)

# The kinds in a column or in the targets, each with one example.
Found = dict[str, Any]
_found: WeakKeyDictionary[Batch, dict[str, Found]] = WeakKeyDictionary()


def kinds_of(batch: Batch) -> dict[str, Found]:
    """Kinds of values in the targets and in each column, found once for every batch.

    Examples
    --------
    >>> kinds_of(Batch(np.zeros((2, 1)), np.array(["no", "yes"])))
    {'the targets': {'strings': 'no'}}
    """
    found = _found.get(batch)
    if found is None:
        found = {_TARGETS: _kinds_of_array(batch.y)}
        if batch.is_frame:
            table = as_frame(batch.X)
            for name in table.columns:
                values = table[name].to_numpy()
                found[f"column {written(name)}"] = _kinds_of_array(values)
        _found[batch] = found
    return found


def check_kinds(batch: Batch, rows: Batch, *, columns: bool) -> None:
    """Refuse records with a kind of values that the validation rows do not have.

    Parameters
    ----------
    batch : records of a provider
    rows : the validation rows
    columns : whether columns are compared too, besides targets
    """
    for where, told in differences(batch, rows):
        if columns or where == _TARGETS:
            raise InvalidInput(f"{told}: convert them to one kind")


def differences(batch: Batch, rows: Batch) -> Iterator[tuple[str, str]]:
    """Places where records have a kind of values that the validation rows lack, and a message."""
    expected = kinds_of(rows)
    for where, found in kinds_of(batch).items():
        known = expected.get(where, {})
        other = [kind for kind in found if kind not in known]
        if known and other:
            told, own = _described({kind: found[kind] for kind in other}), _described(known)
            yield where, f"{where} hold{_s(where)} {told}, but in the validation rows {own}"


def not_numbers(rows: Batch) -> str:
    """Name the columns that do not hold numbers alone, with their kinds."""
    told = [
        f"{where} holds {_described(found)}"
        for where, found in kinds_of(rows).items()
        if where != _TARGETS and set(found) - {"numbers"}
    ]
    return ", ".join(told)


def lone_labels(providers: Sequence[Provider], labels: Iterable[Any]) -> dict[str, Any]:
    """Find the providers in memory that share no label with the others and the validation rows.

    The result maps each such provider to one of its labels. A provider that has common labels
    besides labels of its own is not included.
    """
    own = {
        provider.name: set(np.asarray(provider.source.records.y).tolist())
        for provider in providers
        if isinstance(provider.source, FiniteSource) and provider.source.records is not None
    }
    validated = set(labels)
    return {
        name: min(mine, key=str)
        for name, mine in own.items()
        if not mine & validated
        and not any(mine & others for other, others in own.items() if other != name)
    }


def _described(found: Found) -> str:
    return " and ".join(f"{kind} such as {written(value)}" for kind, value in found.items())


def _s(where: str) -> str:
    return "" if where == _TARGETS else "s"


def _kinds_of_array(values: AnyArray) -> Found:
    """Kinds of the values that are not missing, each with an example."""
    kind = _KIND_OF_DTYPE.get(values.dtype.kind)
    if kind is not None:
        there = values[~np.isnat(values)] if kind in ("dates", "durations") else values
        there = there[~np.isnan(there)] if values.dtype.kind == "f" else there
        if not len(there):
            return {}
        # `tolist` would convert a date in nanoseconds to an integer.
        return {kind: str(there[0]) if kind in ("dates", "durations") else there[:1].tolist()[0]}
    found: Found = {}
    types: dict[type, str] = {}
    for value in values.tolist():
        own = types.setdefault(type(value), _kind_of_value(value))
        if own not in found and not _is_missing(value):
            found[own] = value
    return found


def _kind_of_value(value: Any) -> str:
    return next((kind for types, kind in _KINDS if isinstance(value, types)), type(value).__name__)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value
