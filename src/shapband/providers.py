"""Providers: the named owners of data, who are the players of the games, alone or in groups."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from shapband._typing import AnyArray
from shapband.checks import (
    check_kind,
    check_whole,
    concerning,
    described,
    error_line,
    printable,
    written,
)
from shapband.errors import InvalidInput, SourceError
from shapband.grouping import Grouping
from shapband.records.batch import Batch, Schema, take_in
from shapband.records.frames import as_frame
from shapband.secrets import learn
from shapband.sources.base import FiniteSource, MemorySource, Source
from shapband.sources.frames import FrameSource
from shapband.sources.retry import Retry

if TYPE_CHECKING:
    import narwhals as nw


@dataclass(frozen=True, eq=False)
class Provider:
    """A named owner of data.

    Parameters
    ----------
    name : unique among the providers of a valuation; the provider's random draws depend on it
    source : where its records are drawn from
    retry : how often requests that failed are repeated; None is ``Retry()`` for a source with
        ``waits = True``, and ``Retry(attempts=1)`` for any other source

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Provider("north", sb.ArraySource([[1.0], [2.0]], [0.0, 1.0])).name
    'north'
    """

    name: str
    source: Source
    retry: Retry | None = None

    def __post_init__(self) -> None:
        _check_name("a provider's name", self.name)
        wanted = "a shapband source, such as ArraySource(X, y)"
        check_kind(f"provider {self.name!r}: source", self.source, Source, wanted)
        about = f"provider {self.name!r}: retry"
        check_kind(about, self.retry, Retry | None, "a Retry(attempts=...) or None")


@dataclass(frozen=True, eq=False)
class Group:
    """Providers that take part as one player, such as the hospitals of one operator.

    The group joins a coalition as a whole, so it is valued like one player. The members share
    it by Owen values (Owen 1977): the mean of their marginal contributions over all orders in
    which the members of every group stand together.

    Parameters
    ----------
    name : unique among the groups and providers of a valuation; random orders depend on it
    providers : the members, at least one; a group cannot hold another group

    Examples
    --------
    >>> import shapband as sb
    >>> members = [sb.Provider(name, sb.ArraySource([[1.0]], [2.0])) for name in ("east", "west")]
    >>> alone = sb.Provider("north", sb.ArraySource([[1.0]], [4.0]))
    >>> valuation = sb.value([sb.Group("coast", members), alone], sb.AdditiveUtility(),
    ...                      sampling=sb.Fresh(1), n_games=2, seed=0)
    >>> valuation.names, valuation.groups.expectation.tolist()
    (('east', 'west', 'north'), [4.0])
    """

    name: str
    providers: Sequence[Provider]

    def __post_init__(self) -> None:
        _check_name("a group's name", self.name)
        owner = f"group {self.name!r}"
        try:
            members = tuple(self.providers)
        except TypeError as cause:
            raise InvalidInput(
                f"{owner}: providers must be a list of Provider(name, source); received "
                f"{type(self.providers).__name__}"
            ) from cause
        if not members:
            raise InvalidInput(f"{owner}: providers is empty: pass at least one Provider")
        for position, member in enumerate(members):
            if isinstance(member, Group):
                raise InvalidInput(
                    f"{owner}: providers[{position}] is the group {member.name!r}, and groups "
                    "cannot be nested: pass the providers of both as one group, or side by side "
                    "as two"
                )
            where = f"{owner}: providers[{position}]"
            check_kind(where, member, Provider, "a Provider(name, source)")
        object.__setattr__(self, "providers", members)  # a list could change later


@overload
def providers_from_frame(frame: Any, by: str, target: str) -> list[Provider]: ...


@overload
def providers_from_frame(
    frame: Any, by: str, target: str, group: str | None
) -> list[Provider | Group]: ...


def providers_from_frame(
    frame: Any, by: str, target: str, group: str | None = None
) -> list[Provider] | list[Provider | Group]:
    """Split a data frame into providers by the values of one column.

    Parameters
    ----------
    frame : a pandas or polars data frame
    by : the column that names the provider of each record; it is not a feature. Values that may be
        meant alike, such as 1 and "1" or 1 and 1.0, are an error
    target : the column with the targets
    group : the column that names the group of each provider, such as the region of a hospital; it
        is not a feature. A provider whose records have no value in it is in no group

    Returns
    -------
    One provider for each value of `by`, in sorted order. With `group`, the groups and the
    providers in no group, sorted by name.

    Examples
    --------
    >>> import pandas as pd, shapband as sb
    >>> frame = pd.DataFrame({"site": ["b", "a", "b"], "x": [1.0, 2.0, 3.0], "y": [0, 1, 0]})
    >>> [(p.name, p.source.size) for p in sb.providers_from_frame(frame, by="site", target="y")]
    [('a', 1), ('b', 2)]
    """
    table = as_frame(frame)
    _check_columns(table, by, target, group)
    owner_column = table.get_column(by)
    if _missing(owner_column).any():
        raise InvalidInput(f"providers_from_frame: column {by!r} holds missing values: fill them")
    owners = _names_in(owner_column)
    names: list[str] = sorted(set(owners.tolist()))
    features = table.drop(by) if group is None else table.drop(by, group)
    providers = [_provider_of(features, target, owners == name, name) for name in names]
    if group is None:
        return providers
    group_column = table.get_column(group)
    missing = _missing(group_column)
    written_groups = _names_in(group_column.filter((~missing).tolist()))
    groups = np.full(len(owners), "", dtype=object)
    groups[~missing] = written_groups
    labels = [_label_of(set(groups[owners == name].tolist()), name, group) for name in names]
    return grouped(providers, labels)


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"{what} must be a non-empty string; received {name!r}")


def _check_columns(table: nw.DataFrame[Any], by: str, target: str, group: str | None) -> None:
    roles = {"by": by} if group is None else {"by": by, "group": group}
    for role, name in roles.items():
        if name not in table.columns:
            raise InvalidInput(
                f"providers_from_frame: {role}={name!r} is not a column; there are "
                f"{printable(', '.join(str(name) for name in table.columns))}"
            )
    roles["target"] = target
    for one, other in combinations(roles, 2):
        if roles[one] == roles[other]:
            raise InvalidInput(
                f"providers_from_frame: {one} and {other} are both {roles[one]!r}; they must differ"
            )


def _missing(column: nw.Series[Any]) -> AnyArray:
    """Whether each value is missing: null, or NaN in a column of floats."""
    missing = column.is_null()
    if column.dtype.is_float():
        missing = missing | column.is_nan()
    return np.asarray(missing.to_numpy())


def _provider_of(table: nw.DataFrame[Any], target: str, mask: AnyArray, name: str) -> Provider:
    rows = table[np.flatnonzero(mask)].to_native()
    with concerning(f"provider {name!r}"):
        return Provider(name, FrameSource(rows, target))


def _names_in(column: nw.Series[Any]) -> AnyArray:
    """Write the values of a column as names, and refuse values that may mean the same provider.

    The integer 1 and the string "1" have the same name, and 1 and 1.0 are equal but have two
    names. The library cannot know whether they are one provider or two.
    """
    values = np.asarray(column.to_numpy())
    if values.dtype.kind != "O":
        return values.astype(str).astype(object)
    alike: dict[Any, Any] = {}  # the first value seen with each name, and for each value
    names = np.empty(len(values), dtype=object)
    for place, value in enumerate(values.tolist()):
        if not isinstance(value, Hashable):
            raise InvalidInput(
                f"providers_from_frame: column {column.name!r} holds objects of the type "
                f"{type(value).__name__}: pass strings or numbers"
            )
        names[place] = str(value)
        for key in (("name", names[place]), ("value", value)):
            other = alike.setdefault(key, value)
            if type(other) is not type(value):
                raise InvalidInput(
                    f"providers_from_frame: column {column.name!r} holds {other!r} of the type "
                    f"{type(other).__name__} and {value!r} of the type {type(value).__name__}, "
                    "which may be the same or two: convert the column to one type, such as str"
                )
    return names


def _label_of(found: set[str], provider: str, group: str) -> str:
    """The group of one provider, from the values in its records; empty if all are missing."""
    if len(found) > 1:
        listed = ", ".join(repr(label) if label else "no value" for label in sorted(found)[:5])
        raise InvalidInput(
            f"providers_from_frame: all records of provider {provider!r} must have the same value "
            f"in column {group!r}, because a provider is in one group; received {listed}"
        )
    return found.pop()


def grouped(providers: Sequence[Provider], labels: Sequence[str]) -> list[Provider | Group]:
    """Join providers with the same label to groups, sorted by name; an empty label is none."""
    members: dict[str, list[Provider]] = {}
    players: list[Provider | Group] = []
    for provider, label in zip(providers, labels, strict=True):
        if label:
            members.setdefault(label, []).append(provider)
        else:
            players.append(provider)
    players += [Group(name, inside) for name, inside in members.items()]
    return sorted(players, key=lambda player: player.name)


def check_providers(
    providers: Sequence[Provider | Group],
) -> tuple[tuple[Provider, ...], Grouping | None]:
    """Check that there are providers, with unique names and matching features.

    Returns
    -------
    All providers, with the members of a group in its place, and the groups if there are any.
    """
    try:
        players = tuple(providers)
    except TypeError as cause:
        raise InvalidInput(
            "providers must be a list of Provider(name, source) or Group(name, providers); "
            f"received {type(providers).__name__}"
        ) from cause
    if not players:
        raise InvalidInput("providers is empty: pass at least one Provider(name, source)")
    for position, player in enumerate(players):
        wanted = "a Provider(name, source) or a Group(name, providers)"
        check_kind(f"providers[{position}]", player, Provider | Group, wanted)
    checked: list[Provider] = []
    labels: list[str] = []
    for player in players:
        members = player.providers if isinstance(player, Group) else (player,)
        checked.extend(members)
        labels.extend(player.name if isinstance(player, Group) else "" for _ in members)
    _check_names(players, checked)
    for provider in checked:
        learn(provider.source)  # first, because errors of its other attributes may show secrets
        _check_answers(provider)
    checked = [_with_own_records(provider) for provider in checked]
    _check_features(checked)
    return tuple(checked), Grouping.of_labels(labels)


def _check_names(players: Sequence[Provider | Group], providers: Sequence[Provider]) -> None:
    """Check that the names of all groups and providers differ."""
    kinds: dict[str, str] = {}
    named: list[Provider | Group] = [*providers]
    named += [player for player in players if isinstance(player, Group)]
    for one in named:
        kind = type(one).__name__.lower()
        if one.name in kinds:
            both = f"two {kind}s are" if kinds[one.name] == kind else "a provider and a group are"
            raise InvalidInput(
                f"{both} named {one.name!r}: names must differ, because they address the random "
                "draws"
            )
        kinds[one.name] = kind


def _check_answers(provider: Provider) -> None:
    """Check the attributes of a source before any records are requested from it."""
    source, whose = provider.source, f"provider {provider.name!r}: the"
    finite = ("size", "replace", "records") if isinstance(source, FiniteSource) else ()
    for question in ("schema", "waits", "concurrent", "together", *finite):
        try:
            getattr(source, question)
        except Exception as cause:
            raise SourceError(
                f"{whose} source cannot give its {question} ({error_line(cause)})"
            ) from cause
    if not (source.schema is None or isinstance(source.schema, Schema)):
        raise InvalidInput(
            f"{whose} schema of its source must be a Schema(n_features) or None; "
            f"received {written(source.schema)}"
        )
    check_whole(f"{whose} attribute concurrent of its source", source.concurrent, 1)
    check_whole(f"{whose} attribute together of its source", source.together, 1)
    if isinstance(source, FiniteSource):
        check_whole(f"{whose} size of its source", source.size, 1)


def _with_own_records(provider: Provider) -> Provider:
    """Copy the `records` of a custom source once, so that games need not ask the source."""
    source = provider.source
    if not isinstance(source, FiniteSource) or isinstance(source, MemorySource):
        return provider
    shown, which = source.records, f"provider {provider.name!r}: the records of its source"
    if shown is None:
        return provider
    if not isinstance(shown, Batch):
        raise InvalidInput(f"{which} must be a Batch(X, y) or None; received {described(shown)}")
    records = take_in(shown.X, shown.y, which)
    if len(records) != source.size:
        raise InvalidInput(
            f"{which} must be as many as its size, {source.size}; received {len(records)}"
        )
    held = MemorySource(records, replace=source.replace, target=source.target)
    return replace(provider, source=held)


def _check_features(providers: Sequence[Provider]) -> None:
    known = [provider for provider in providers if provider.source.schema is not None]
    for provider in known[1:]:
        if provider.source.schema != known[0].source.schema:
            raise InvalidInput(
                f"provider {provider.name!r} has {provider.source.schema}, but provider "
                f"{known[0].name!r} has {known[0].source.schema}: all must have the same "
                "features, in the same kind of array or frame"
            )
