"""Providers made of names and data: of a mapping, of pairs, or a list of providers as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shapband.checks import described, printable, written
from shapband.errors import InvalidInput
from shapband.inputs.tables import KNOWN, is_table, source_of
from shapband.providers import Group, Provider
from shapband.records.batch import Schema
from shapband.sources.base import Source

_WANTED = (
    "providers must be a mapping of names to data, such as {'north': frame}, or a list of "
    "Provider(name, source) or Group(name, providers)"
)


@dataclass(frozen=True)
class Named:
    """The providers of a valuation.

    Attributes
    ----------
    players : the providers and groups, in the order given
    tables : the features of the providers that were made of a data frame or a file, by name
    data : the data of the named providers as they were given, by name
    """

    players: Sequence[Provider | Group]
    tables: Mapping[str, Schema]
    data: Mapping[str, Any]


def named_providers(given: Any, target: str | int | None) -> Named:
    """Make providers of a mapping, of pairs (name, data), or of a list of providers."""
    _check_single(given)
    if isinstance(given, Mapping):
        items: list[Any] = list(given.items())
    else:
        try:
            items = list(given)
        except TypeError as cause:
            raise InvalidInput(f"{_WANTED}; received {type(given).__name__}") from cause
    players: list[Provider | Group] = []
    tables: dict[str, Schema] = {}
    data: dict[str, Any] = {}
    for position, item in enumerate(items):
        if isinstance(item, Provider | Group):
            players.append(item)
            continue
        name, thing = _pair(item, position)
        where = f"providers[{printable(repr(name))}]"
        _check_unwrapped(thing, where)
        source = source_of(thing, target, where)
        players.append(Provider(name, source))
        data[name] = thing
        if source.schema is not None and is_table(thing):
            tables[name] = source.schema
    return Named(players, tables, data)


def _check_single(given: Any) -> None:
    """Refuse one table instead of several: its providers must be told apart by a column."""
    grouped = type(given).__name__ in ("DataFrameGroupBy", "GroupBy", "DynamicGroupBy")
    if grouped or is_table(given):
        raise InvalidInput(
            f"{_WANTED}; received one {type(given).__name__}: pass "
            "sb.providers_from_frame(frame, by=..., target=...), where by= names the column that "
            "tells providers apart"
        )
    if isinstance(given, Provider | Group | Source):
        raise InvalidInput(f"{_WANTED}; received one {type(given).__name__}: pass it in a list")


def _pair(item: Any, position: int) -> tuple[str, Any]:
    """Split a pair (name, data)."""
    where = f"providers[{position}]"
    named = isinstance(item, tuple) and len(item) == 2
    if named and isinstance(item[0], str):
        return item[0], item[1]
    if named and _is_label(item[0]):
        raise InvalidInput(
            f"providers: a provider's name must be a non-empty string; received "
            f"{written(item[0])}: use {str(item[0])!r}"
        )
    received = f"received {described(item)}"
    if not isinstance(item, str) and isinstance(item, Iterable):
        received += ": pass it with a name, as {'north': ...}"
    raise InvalidInput(
        f"{where} must be a Provider(name, source), a Group(name, providers), or a pair of a name "
        f"and its data; {received}"
    )


def _is_label(thing: Any) -> bool:
    """Whether a thing is meant as a name, rather than as the features of a tuple (X, y)."""
    return thing is None or isinstance(thing, int | float | bytes)


def _check_unwrapped(thing: Any, where: str) -> None:
    if isinstance(thing, Provider | Group):
        raise InvalidInput(
            f"{where} must be {KNOWN}; received a {type(thing).__name__}, which has a name "
            "already: pass a list of them instead of a mapping"
        )
