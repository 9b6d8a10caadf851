"""The columns of a table in several files: found by name, with one type each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from shapband.checks import nearest, printable, written
from shapband.errors import InvalidInput
from shapband.records.arrays import own_targets
from shapband.records.batch import Batch
from shapband.records.cells import no_dates
from shapband.records.columns import plain_pandas
from shapband.sources.reading.addresses import FileAt
from shapband.sources.reading.stores import TableFacts

if TYPE_CHECKING:
    import pandas as pd

_PARTITION = re.compile(r"([^=/]+)=(.*)")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that a source needs.

    Attributes
    ----------
    features, target : the names
    types : the Arrow type of every column of the files, values instead of dictionaries
    categories : the columns that are dictionaries in all files, which pandas calls categories
    gaps : the columns that may hold missing values
    partitions : for every file, the values of the columns in the names of its directories
    owner : names the source in errors
    """

    features: tuple[str, ...]
    target: str
    types: Mapping[str, Any]
    categories: frozenset[str]
    gaps: frozenset[str]
    partitions: Sequence[Mapping[str, Any]]
    owner: str

    @property
    def needed(self) -> list[str]:
        """Features and target."""
        return [*self.features, self.target]

    def in_file(self, file: int, names: Sequence[str]) -> list[str]:
        """Those of some columns that the file itself holds."""
        return [name for name in names if name not in self.partitions[file]]

    def aligned(self, table: Any, file: int, names: Sequence[str], n_rows: int) -> Any:
        """Give a part of a file the columns `names`, in this order and with their common types."""
        import pyarrow as pa

        alike = table is not None and table.column_names == names
        if alike and all(one.type == self.types[one.name] for one in table.schema):
            return table  # the usual case, in which a table need not be made
        made = []
        for name in names:
            wanted = self.types[name]
            if name in self.partitions[file]:
                value = pa.scalar(self.partitions[file][name], wanted)
                made.append(pa.repeat(value, n_rows))
                continue
            column = table.column(name)
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            made.append(column if column.type == wanted else column.cast(wanted, safe=False))
        return pa.table(made, names=list(names))

    def batch(self, table: Any, levels: Mapping[str, Any]) -> Batch:
        """Make records of rows, with the types that the whole table has in pandas.

        A column of integers that has missing values somewhere consists of floats in pandas, also
        in rows without missing values. So a row of missing values is added, and dropped again.
        """
        import pandas as pd

        made = {name: self._cells(table, name, levels) for name in self.features}
        X = pd.DataFrame(made, copy=False)
        what = f"the target column {self.target!r}"
        y = own_targets(self._series(table, self.target, levels), len(X), self.owner, what)
        return Batch(X, y)

    def _cells(self, table: Any, name: str, levels: Mapping[str, Any]) -> Any:
        """The cells of a feature: an array if they are usual numbers, for speed, or a series."""
        kind = _kind(self.types[name])
        if kind not in ("int", "float") or name in self.gaps or name in levels:
            return self._series(table, name, levels)
        numbers = table.column(name).to_numpy()
        if kind == "float" and np.isfinite(numbers).all():
            return numbers.astype(np.float64)
        if kind == "int" and numbers.dtype != np.uint64:
            return numbers.astype(np.int64)
        return self._series(table, name, levels)

    def _series(self, table: Any, name: str, levels: Mapping[str, Any]) -> pd.Series[Any]:
        import pyarrow as pa

        column = table.column(name)
        if name in self.gaps and name != self.target:
            column = pa.chunked_array([*column.chunks, pa.nulls(1, column.type)])
        series: pd.Series[Any] = column.to_pandas()
        if name in levels:
            series = series.astype(levels[name])
        plain: pd.Series[Any] = plain_pandas(series, f"{self.owner}: column {written(name)}")
        return plain[: table.num_rows] if len(plain) > table.num_rows else plain


def join_columns(
    facts: Sequence[TableFacts],
    files: Sequence[FileAt],
    features: Sequence[str] | None,
    target: str,
    others: Sequence[str],
    owner: str,
    without: Sequence[str] = (),
) -> Columns:
    """Find the columns in all files.

    Parameters
    ----------
    facts : of every file
    files : the files; empty for a table in memory
    features, target : the names; without features all columns of the first file but the target
    others : names of columns for `where`
    owner : names the source in errors
    without : names of columns that are no features
    """
    partitions = _partitions(files, facts)
    known = [[*one.schema.names, *inside] for one, inside in zip(facts, partitions, strict=True)]
    chosen = features
    if chosen is None:
        chosen = [name for name in known[0] if name != target and name not in without]
    _check_names(chosen, target, known[0], owner)
    needed = dict.fromkeys([*chosen, target, *others])
    for name in needed:
        if name not in known[0]:
            raise InvalidInput(_absent(f"{owner}: where", name, known[0]))
    for place, names in enumerate(known[1:], 1):
        check_alike(known[0], names, needed, f"{owner}: {files[place]}", every=features is None)
    types, dictionaries = {}, set()
    for name in needed:
        found = [
            _partition_type(name, partitions)
            if name in partitions[place]
            else one.schema.field(name).type
            for place, one in enumerate(facts)
        ]
        types[name], is_dictionary = _one_type(name, found, files, owner)
        dictionaries |= {name} if is_dictionary else set()
    gaps = {name for one in facts for name in one.gaps}
    gaps |= {name for one in partitions for name, value in one.items() if value is None}
    return Columns(
        tuple(chosen), target, types, frozenset(dictionaries), frozenset(gaps), partitions, owner
    )


def check_alike(
    first: Sequence[str], names: Sequence[str], needed: Iterable[str], where: str, *, every: bool
) -> None:
    """Check that a file has the columns of the first file; a misspelt name is reported alone.

    Parameters
    ----------
    first, names : the columns of the first file and of this one
    needed : the columns that must be there
    where : names the file in errors
    every : whether all columns of the file must be among those of the first one
    """
    absent = [name for name in needed if name not in names]
    further = [name for name in names if name not in first]
    for name in absent:
        alike = get_close_matches(name, further, n=1)
        if alike:
            raise InvalidInput(
                f"{where} has the column {printable(alike[0])}: did you mean {printable(name)}?"
            )
        raise InvalidInput(_absent(where, name, names))
    if every and further:
        raise InvalidInput(
            f"{where} has the column {printable(further[0])}, which the first file does not have: "
            "pass features= with the columns to use"
        )


def _check_names(features: Sequence[str], target: str, known: Sequence[str], owner: str) -> None:
    if target not in known:
        raise InvalidInput(f"{owner}: target={target!r} is not a column; {nearest(target, known)}")
    if not features:
        raise InvalidInput(
            f"{owner}: the files have no column besides the target {target!r}: a feature is needed"
        )
    for name in features:
        if name not in known:
            raise InvalidInput(_absent(f"{owner}: features", name, known))
    if target in features:
        raise InvalidInput(
            f"{owner}: features must not hold the target {target!r}, which models would see: "
            "leave it out"
        )
    if len(set(features)) < len(features):
        raise InvalidInput(f"{owner}: features must have different names; received {features}")


def _absent(where: str, name: str, known: Sequence[str]) -> str:
    return f"{where}: there is no column {printable(name)}: {nearest(name, known)}"


def _partitions(files: Sequence[FileAt], facts: Sequence[TableFacts]) -> list[dict[str, Any]]:
    """The values that the directories of each file are named after, as ``year=2024``.

    A column that a file itself holds is read from the file.
    """
    found: list[dict[str, str | None]] = []
    for file, one in zip(files, facts, strict=False):
        names = (_PARTITION.fullmatch(name) for name in file.inside.split("/")[:-1])
        values = {unquote(match[1]): unquote(match[2]) for match in names if match}
        found.append(
            {
                name: None if value == _NO_VALUE else value
                for name, value in values.items()
                if name not in one.schema.names
            }
        )
    if not files:
        return [{} for _ in facts]
    numbers = {name for one in found for name in one}
    numbers -= {
        name
        for one in found
        for name, value in one.items()
        if value is not None and not re.fullmatch(r"0|-?[1-9]\d{0,17}", value)
    }
    return [
        {
            name: int(value) if name in numbers and value is not None else value
            for name, value in one.items()
        }
        for one in found
    ]


def _partition_type(name: str, partitions: Sequence[Mapping[str, Any]]) -> Any:
    import pyarrow as pa

    values = [one[name] for one in partitions if one.get(name) is not None]
    if not values:
        return pa.null()
    return pa.int64() if isinstance(values[0], int) else pa.large_string()


def _one_type(
    name: str, types: Sequence[Any], files: Sequence[FileAt], owner: str
) -> tuple[Any, bool]:
    """The common type of a column, and whether it is a dictionary in all files."""
    import pyarrow as pa

    known = [one for one in types if not pa.types.is_null(one)]
    dictionary = bool(known) and all(pa.types.is_dictionary(one) for one in known)
    plain = [one.value_type if pa.types.is_dictionary(one) else one for one in known]
    for one in plain:
        _check_type(name, one, owner)
    different = list(dict.fromkeys(plain))
    if not different:
        return pa.null(), False
    if len(different) == 1:
        return different[0], dictionary
    kinds = {_kind(one) for one in different}
    if kinds == {"int"}:
        return pa.int64(), dictionary
    if kinds <= {"int", "float", "bool", "decimal"}:
        return pa.float64(), dictionary
    if kinds == {"string"}:
        return pa.large_string(), dictionary
    places = [types.index(next(t for t in types if _kind(_value(t)) == kind)) for kind in kinds]
    one, other = (f"{_kind(_value(types[at]))}s in {files[at]}" for at in sorted(places)[:2])
    raise InvalidInput(
        f"{owner}: column {written(name)} has {one}, and {other}: write one type to all files"
    )


def _value(one: Any) -> Any:
    import pyarrow as pa

    return one.value_type if pa.types.is_dictionary(one) else one


def _check_type(name: str, one: Any, owner: str) -> None:
    import pyarrow as pa

    where = f"{owner}: column {written(name)}"
    if pa.types.is_temporal(one):
        raise InvalidInput(f"{no_dates(where)}, or leave the column out of features")
    if not _kind(one):
        raise InvalidInput(
            f"{where} has the type {printable(str(one))}, but must hold numbers or strings: leave "
            "it out of features"
        )


def _kind(one: Any) -> str:
    import pyarrow as pa

    kinds = {
        "int": pa.types.is_integer(one),
        "float": pa.types.is_floating(one),
        "bool": pa.types.is_boolean(one),
        "decimal": pa.types.is_decimal(one),
        "string": pa.types.is_string(one)
        or pa.types.is_large_string(one)
        or pa.types.is_binary(one)
        or pa.types.is_large_binary(one)
        or str(one) in ("string_view", "binary_view"),
    }
    return next((kind for kind, fits in kinds.items() if fits), "")
