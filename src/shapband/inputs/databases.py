"""Providers from one table of a database, by the values of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shapband.checks import check_number, concerning, written
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.sources.sql.databases import database_at
from shapband.sources.sql.keys import MOST_KEYS, Keys, check_counts, known_keys
from shapband.sources.sql.source import SQLSource, check_columns, layout_of, relation_of
from shapband.sources.sql.statements import Relation


def providers_from_sql(
    url: Any,
    table: str | None = None,
    *,
    by: str,
    key: str,
    target: str,
    query: str | None = None,
    features: Sequence[str] | None = None,
    version_column: str | None = None,
    replace: bool = False,
    concurrent: int = 4,
    timeout: float = 60.0,
) -> list[Provider]:
    """Make one provider for each value of a column of a table.

    Every provider has a `SQLSource` of the rows with its value; their keys are read together, and
    they share their connections.

    Parameters
    ----------
    url, table, query, key, target, version_column, replace, concurrent, timeout : as of `SQLSource`
    by : the column that names the provider of each row; it is not a feature. Values that are
        written alike, such as 1 and "1", are an error
    features : the columns with the features; by default all but `by`, `key`, `target` and
        `version_column`

    Returns
    -------
    The providers, sorted by name.

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
    check_number("SQLSource: timeout", timeout, above=0)
    database = database_at(url, timeout)
    whole = relation_of(database, table, query)
    roles = {"by": by, "key": key, "target": target, "version_column": version_column}
    columns = check_columns(whole, roles, features)
    owners = _owners_of(whole, key, by)
    layout = layout_of(whole, key, target, columns)
    keys = _keys_of(whole, key, by, owners)
    own = relation_of(database, table, query, by)
    providers = []
    for name, (owner, _) in sorted(owners.items()):
        with concerning(f"provider {name!r}"):
            source = SQLSource.part(
                own, owner, key, layout, keys.get(owner), version_column,
                replace=replace, concurrent=concurrent,
            )  # fmt: skip
        providers.append(Provider(name, source))
    return providers


def _owners_of(relation: Relation, key: str, by: str) -> dict[str, tuple[Any, int]]:
    """The value of the column and the number of rows of each provider, by its name."""
    owners: dict[str, tuple[Any, int]] = {}
    rows = relation.database.run(relation.counts_by(key, by)).rows
    for owner, size, known in rows:
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
    check_counts(key, len(rows), len(rows))
    return owners


def _keys_of(
    relation: Relation, key: str, by: str, owners: dict[str, tuple[Any, int]]
) -> dict[Any, Keys]:
    """Read the keys of all providers with one statement, unless there are too many of them."""
    if sum(size for _, size in owners.values()) > MOST_KEYS:
        return {}
    found: dict[Any, list[Any]] = {}
    for owner, one in relation.database.run(relation.keys_by(key, by)).rows:
        found.setdefault(owner, []).append(one)
    keys = {}
    for name, (owner, _) in owners.items():
        with concerning(f"provider {name!r}"):
            keys[owner] = known_keys(found[owner], key)
    return keys
