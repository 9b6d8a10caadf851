"""Keys of a table in ascending order: row 0 of a source is the row with the smallest key.

Integers are sorted as numbers, and strings by their code points, whatever the collation of the
database, so that the same table has the same rows in every database.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

import numpy as np

from shapband._typing import AnyArray, IntArray
from shapband.checks import written
from shapband.errors import InvalidInput
from shapband.sources.sql.statements import MARKED, Relation

MOST_KEYS = 10_000_000  # above this many rows only every 1,024th key is kept: 80 MB of integers
_LONGEST_UNION = 400  # SQLite joins at most 500 statements
_KINDS = {int: "integer", str: "string", UUID: "uuid"}


class Keys(ABC):
    """The keys of a source in ascending order.

    Attributes
    ----------
    kind : "integer", "string" or "uuid"
    size : their number
    version : describes them; it differs if a key was added or removed
    """

    kind: str
    size: int
    version: str

    @abstractmethod
    def at(self, rows: IntArray) -> list[Any]:
        """Return the keys of some rows."""


class DenseKeys(Keys):
    """Integers without gaps, which need no list.

    Examples
    --------
    >>> DenseKeys(10, 5).at(np.array([0, 4]))
    [10, 14]
    """

    kind = "integer"

    def __init__(self, first: int, size: int) -> None:
        self._first = first
        self.size = size
        self.version = f"{size} keys from {first} to {first + size - 1}"

    def at(self, rows: IntArray) -> list[Any]:
        keys: list[Any] = (rows + self._first).tolist()
        return keys


class ListedKeys(Keys):
    """Keys that are held in memory.

    Examples
    --------
    >>> ListedKeys(["b", "a"], "key").at(np.array([0, 1, 1]))
    ['a', 'b', 'b']
    """

    def __init__(self, keys: Sequence[Any], name: str) -> None:
        self.kind = kind_of({type(key) for key in keys}, name)
        if self.kind == "integer":
            self._keys: AnyArray = np.sort(np.fromiter(keys, np.int64, len(keys)))
            content = self._keys.tobytes()
        else:
            self._keys = np.empty(len(keys), dtype=object)
            self._keys[:] = sorted(keys)
            content = json.dumps([str(key) for key in self._keys]).encode()
        twice = np.flatnonzero(self._keys[1:] == self._keys[:-1])
        if len(twice):
            raise not_unique(name, self.at(twice[:1])[0], len(twice))
        self.size = len(keys)
        self.version = f"{self.size} keys, sha256:{hashlib.sha256(content).hexdigest()}"

    def at(self, rows: IntArray) -> list[Any]:
        keys: list[Any] = self._keys[rows].tolist()
        return keys


class MarkedKeys(Keys):
    """Integers with gaps in a table with very many rows; every 1,024th of them is in memory."""

    kind = "integer"

    def __init__(self, relation: Relation, key: str, size: int, owner: dict[str, Any]) -> None:
        self._database = relation.database
        self._owner = owner
        self._after = lru_cache(partial(relation.keys_after, key))
        found = relation.database.run(relation.marks(key), **owner).rows
        self._marks = np.fromiter((mark for (mark,) in found), np.int64, len(found))
        self.size = size
        digest = hashlib.sha256(self._marks.tobytes()).hexdigest()
        self.version = f"{size} keys, every {MARKED}th sha256:{digest}"

    def at(self, rows: IntArray) -> list[Any]:
        keys: list[Any] = []
        for start in range(0, len(rows), _LONGEST_UNION):
            keys += self._some(rows[start : start + _LONGEST_UNION])
        return keys

    def _some(self, rows: IntArray) -> list[Any]:
        marks, steps = self._marks[rows // MARKED].tolist(), (rows % MARKED).tolist()
        given = {f"mark{place}": mark for place, mark in enumerate(marks)}
        given |= {f"step{place}": step for place, step in enumerate(steps)}
        found = self._database.run(self._after(len(rows)), **given, **self._owner).rows
        return [key for _, key in sorted(found)]


def keys_of(relation: Relation, key: str, owner: dict[str, Any]) -> Keys:
    """Read the keys of a relation, as few of them as possible.

    Parameters
    ----------
    relation : the table or query
    key : its column of keys
    owner : the value of the parameter `owner` of the relation, if it has one
    """
    database = relation.database
    size, known = database.run(relation.counts(key), **owner).rows[0]
    check_counts(key, size, known)
    first = database.run(relation.first_known(key), **owner).rows[0][0]
    if kind_of({type(first)}, key) != "integer":  # PostgreSQL has no smallest UUID
        return _read_keys(relation, key, owner)
    least, most = database.run(relation.extent(key), **owner).rows[0]
    kind = kind_of({type(least), type(most)}, key)
    many = kind == "integer" and size > MOST_KEYS and database.kind in ("sqlite", "postgresql")
    dense = kind == "integer" and size == most - least + 1
    if dense or many:
        different = database.run(relation.different_integers(key), **owner).rows[0][0]
        if different == size:
            return DenseKeys(least, size) if dense else MarkedKeys(relation, key, size, owner)
    return _read_keys(relation, key, owner)


def sizes_by(relation: Relation, key: str, *columns: str) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Count the rows and the keys with each combination of values of some columns."""
    sizes: dict[tuple[Any, ...], tuple[int, int]] = {}
    for *values, size, known in relation.database.run(relation.counts_by(key, *columns)).rows:
        before = sizes.get(tuple(values), (0, 0))
        sizes[tuple(values)] = before[0] + size, before[1] + known
    return sizes


def _read_keys(relation: Relation, key: str, owner: dict[str, Any]) -> Keys:
    rows = relation.database.run(relation.keys(key), **owner).rows
    return ListedKeys([one for (one,) in rows], key)


def known_keys(keys: Sequence[Any], name: str) -> Keys:
    """Make the keys of a list; integers without gaps need no list."""
    made = ListedKeys(keys, name)
    least, most = made.at(np.array([0, made.size - 1]))
    if made.kind == "integer" and most - least + 1 == made.size:
        return DenseKeys(least, made.size)
    return made


def listed(kind: str, values: list[Any]) -> Any:
    """Return values in the form in which a database takes a list."""
    return json.dumps(values) if kind == "sqlite" else values


def check_counts(key: str, size: int, known: int) -> None:
    """Check that there are rows, and that each has a key."""
    if size == 0:
        raise InvalidInput("SQLSource: there are no rows; at least one is needed")
    if known < size:
        raise InvalidInput(
            f"SQLSource: key={key!r} is NULL in {size - known:,} of {size:,} rows: name a column "
            "with a value in every row"
        )


def kind_of(types: set[type], name: str) -> str:
    """Return the kind of keys of some types."""
    if len(types) == 1 and (kind := _KINDS.get(next(iter(types)))):
        return kind
    found = " and ".join(sorted(one.__name__ for one in types))
    raise InvalidInput(
        f"SQLSource: key={name!r} must hold integers or strings, and not both; received {found}: "
        "name another column, or convert it with query="
    )


def not_unique(name: str, key: Any, count: int) -> InvalidInput:
    """Return the error for keys that occur more than once."""
    return InvalidInput(
        f"SQLSource: key={name!r} must have a different value in every row; {written(key)} occurs "
        f"more than once, and {count:,} rows repeat a key: name a column that is unique"
    )
