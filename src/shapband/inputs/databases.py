"""Providers from one table of a database, by the values of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_changes
from typing import Any

from shapband.checks import concerning, written
from shapband.errors import InvalidInput, SourceError
from shapband.providers import Group, Provider, grouped
from shapband.sources.sql.keys import MOST_KEYS, Keys, check_counts, known_keys, sizes_by
from shapband.sources.sql.source import (
    CONCURRENT,
    TIMEOUT,
    SQLSource,
    layout_of,
    opened,
)
from shapband.sources.sql.statements import Relation


def providers_from_sql(
    url: Any,
    table: str | None = None,
    *,
    by: str,
    key: str,
    target: str,
    group: str | None = None,
    query: str | None = None,
    features: Sequence[str] | None = None,
    version_column: str | None = None,
    replace: bool = False,
    concurrent: int = CONCURRENT,
    timeout: float = TIMEOUT,
) -> list[Provider] | list[Provider | Group]:
    """Make one provider for each value of a column of a table.

    Every provider has a `SQLSource` of the rows with its value; their keys are read together, and
    they share their connections.

    Parameters
    ----------
    url, table, query, key, target, version_column, replace, concurrent, timeout : as of `SQLSource`
    by : the column that names the provider of each row; it is not a feature. Strings that differ,
        if only in case or in blanks at the end, are two providers, whatever the collation of the
        column. Values that are written alike, such as 1 and "1", are an error
    group : the column that names the group of each provider, such as the region of a hospital; it
        is not a feature. A provider with NULL in it is in no group
    features : the columns with the features; by default all but `by`, `group`, `key`, `target` and
        `version_column`

    Returns
    -------
    The providers, sorted by name. With `group`, the groups and the providers in no group, sorted by
    name.

    Examples
    --------
    >>> import sqlite3, tempfile, pathlib, shapband as sb
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "clinic.db"
    >>> with sqlite3.connect(path) as clinic:
    ...     _ = clinic.execute("CREATE TABLE visits (id INTEGER, site TEXT, age REAL, cost REAL)")
    ...     rows = [(1, "b", 31, 2), (2, "a", 64, 9), (3, "b", 57, 1)]
    ...     _ = clinic.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", rows)
    >>> clinic.close()
    >>> providers = sb.providers_from_sql(
    ...     f"sqlite:///{path}", "visits", by="site", key="id", target="cost"
    ... )
    >>> [(provider.name, provider.source.size) for provider in providers]
    [('a', 1), ('b', 2)]
    """
    roles = {
        "by": by, "group": group, "key": key, "target": target, "version_column": version_column,
    }  # fmt: skip
    whole, columns = opened(url, timeout, table, query, roles, features)
    owners = _owners_of(whole, key, by)
    layout = layout_of(whole, key, target, columns)
    keys = _keys_of(whole, key, by, owners)
    strings = any(isinstance(owner, str) for owner, _ in owners.values())
    own = with_changes(whole, by=by, strings=strings)
    sources = {}
    for name, (owner, _) in sorted(owners.items()):
        with concerning(f"provider {name!r}"):
            sources[name] = SQLSource.part(
                own, owner, key, layout, keys.get(owner), version_column,
                replace=replace, concurrent=concurrent,
            )  # fmt: skip
    _check_sum(whole, key, by, sum(source.size for source in sources.values()))
    providers = [Provider(name, source) for name, source in sources.items()]
    if group is None:
        return providers
    labels = _groups_of(whole, key, by, group)
    return grouped(providers, [labels[owner] for _, (owner, _) in sorted(owners.items())])


def _groups_of(relation: Relation, key: str, by: str, group: str) -> dict[Any, str]:
    """The name of the group of each provider, by its value of the column; empty if it has none."""
    labels: dict[Any, str] = {}
    known: dict[str, Any] = {}
    for owner, value in sizes_by(relation, key, by, group):
        label = "" if value is None else str(value)
        if value is not None and not label:
            raise InvalidInput(
                f"SQLSource: group={group!r} is an empty string in rows of provider "
                f"{str(owner)!r}: fill them, or use NULL for no group"
            )
        if known.setdefault(label, value) != value or type(known[label]) is not type(value):
            raise InvalidInput(
                f"SQLSource: group={group!r} holds {written(known[label])} and {written(value)}, "
                "which may be the same or two: convert the column to one type with query="
            )
        if labels.setdefault(owner, label) != label:
            both = [repr(one) if one else "NULL" for one in sorted((labels[owner], label))]
            raise InvalidInput(
                f"SQLSource: all rows of provider {str(owner)!r} must have the same value in the "
                f"column group={group!r}, because a provider is in one group; received "
                f"{' and '.join(both)}"
            )
    return labels


def _owners_of(relation: Relation, key: str, by: str) -> dict[str, tuple[Any, int]]:
    """The value of the column and the number of rows of each provider, by its name."""
    owners: dict[str, tuple[Any, int]] = {}
    for (owner,), (size, known) in sizes_by(relation, key, by).items():
        if owner is None:
            raise InvalidInput(f"SQLSource: by={by!r} is NULL in {size:,} rows: fill them")
        name = str(owner)
        if not name:
            raise InvalidInput(
                f"SQLSource: by={by!r} is an empty string in {size:,} rows: fill them"
            )
        if name in owners:
            other = owners[name][0]
            raise InvalidInput(
                f"SQLSource: by={by!r} holds {written(other)} and {written(owner)}, which may be "
                "the same or two: convert the column to one type with query="
            )
        with concerning(f"provider {name!r}"):
            check_counts(key, size, known)
        owners[name] = owner, size
    check_counts(key, len(owners), len(owners))
    return owners


def _check_sum(relation: Relation, key: str, by: str, found: int) -> None:
    """Check that every row has a provider, and no row has two."""
    ((size, _),) = relation.database.run(relation.counts(key)).rows
    if found != size:
        raise SourceError(
            f"SQLSource: the providers of by={by!r} have {found:,} records together, and there are "
            f"{size:,} rows: if the table is being changed, read a copy; else convert the column "
            "to strings with query="
        )


def _keys_of(
    relation: Relation, key: str, by: str, owners: dict[str, tuple[Any, int]]
) -> dict[Any, Keys]:
    """Read the keys of all providers with one statement, unless there are too many of them."""
    many = sum(size for _, size in owners.values()) > MOST_KEYS
    if many and relation.database.names_quoted:
        return {}
    found: dict[Any, list[Any]] = {}
    for owner, one in relation.database.run(relation.keys_by(key, by)).rows:
        found.setdefault(owner, []).append(one)
    keys = {}
    for name, (owner, _) in owners.items():
        with concerning(f"provider {name!r}"):
            if owner in found:
                keys[owner] = known_keys(found[owner], key)
    return keys
