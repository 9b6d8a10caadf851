"""Records in Parquet, Arrow and CSV files of any size, of which only the drawn rows are kept."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shapband._typing import IntArray
from shapband.checks import check_kind, one_line, written
from shapband.errors import InvalidInput, SourceError, TemporaryFailure
from shapband.log import info, warning
from shapband.records.batch import Batch, Schema
from shapband.sources.base import FiniteSource
from shapband.sources.reading.addresses import FileAt, find_files
from shapband.sources.reading.columns import Columns, join_columns
from shapband.sources.reading.copies import find_copy, make_copy
from shapband.sources.reading.rows import Rows, check_conditions
from shapband.sources.reading.stores import CsvStore, Store, open_store

_OWNER = "FileSource"
_TOGETHER = 1_000  # a row group is read once for so many draws; with more, little is gained
_CONCURRENT = 4  # requests at the same time to files that are not on this machine


@dataclass(frozen=True)
class FileOptions:
    """The arguments of `FileSource` but its path; columns in `without` are no features."""

    target: str
    features: Sequence[str] | None = None
    where: Sequence[tuple[str, str, Any]] | None = None
    replace: bool = False
    copy: bool | None = None
    without: Sequence[str] = ()


class FileSource(FiniteSource):
    """A finite source in Parquet, Arrow IPC or CSV files of any size.

    The rows have the order of the files, sorted by name, and of the rows in them, so the same seed
    draws the same records as from a data frame of the whole table. The records are pandas frames.
    Many draws are answered together: their rows are sorted, and every row group is read once.

    Parameters
    ----------
    path : a file; a directory, whose files are found at any depth; a pattern such as
        ``"lake/*.parquet"``; or an address of fsspec, such as ``"s3://bucket/lake"``. Names of
        directories such as ``year=2024`` are columns. A CSV file may be compressed (.gz, .bz2, .xz,
        .zst); its separator, encoding and decimal mark are found in it
    target : the name of the column with the targets
    features : the names of the columns to use; by default all but the target
    where : use the rows that fulfil all these conditions (column, operator, value), such as
        ``[("year", ">=", 2020), ("ward", "in", ["a", "b"])]``
    replace : draw with replacement
    copy : whether to draw from an Arrow copy of the table, in memory if it is small, else in the
        user's cache directory. By default a copy is made of CSV files, and of other files as soon
        as as many rows were read for draws as the table has

    Attributes
    ----------
    format : what the files are, such as ``"CSV, separator ';', decimal comma"``

    Examples
    --------
    >>> import pandas as pd, shapband as sb
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     frame = pd.DataFrame({"age": [31, 64, 50], "ward": ["a", "b", "a"], "stay": [2, 9, 4]})
    ...     frame.to_parquet(f"{folder}/north.parquet")
    ...     source = sb.FileSource(f"{folder}/*.parquet", target="stay", where=[("age", "<", 60)])
    ...     print(source)
    FileSource(2 records, 2 features)
    """

    schema: Schema
    version: str
    waits = True
    together = _TOGETHER

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        target: str,
        features: Sequence[str] | None = None,
        where: Sequence[tuple[str, str, Any]] | None = None,
        replace: bool = False,
        copy: bool | None = None,
    ) -> None:
        asked = FileOptions(target, features, where, replace, copy)
        self._open(find_files(path, f"{_OWNER}: path"), str(path), asked)

    @classmethod
    def of_files(cls, files: Sequence[FileAt], path: str, asked: FileOptions) -> FileSource:
        """Make a source of some of the files at a path."""
        source = cls.__new__(cls)
        source._open(files, path, asked)
        return source

    def _open(self, files: Sequence[FileAt], path: str, asked: FileOptions) -> None:
        check_kind(f"{_OWNER}: target", asked.target, str, "the name of a column")
        _check_features(asked.features)
        conditions = check_conditions(asked.where, _OWNER)
        features, target = asked.features, asked.target
        self.replace, self.target = asked.replace, asked.target
        self._copy = asked.copy
        self._lock = threading.Lock()
        with _before_requests():
            store = open_store(files, f"{_OWNER}: path")
            others = [name for name, *_ in conditions]
            columns, rows = _rows_of(store, features, target, others, asked.without)
            if conditions:
                rows.keep(conditions)
        if not rows.size:
            why = "no row fulfils where" if conditions else "there are no rows"
            raise InvalidInput(f"{_OWNER}: {one_line(path)} has no records: {why}")
        self.format = store.format
        self.size = rows.size
        self.schema = Schema(len(columns.features), columns.features, "pandas")
        self.concurrent = 1 if all(file.is_local for file in files) else _CONCURRENT
        self.version = _version(store.files, columns, conditions)
        inside = [file.inside for file in store.files]
        self._what = json.dumps([os.path.abspath(path), inside, columns.needed, str(conditions)])
        self._columns = columns
        self._original = rows  # categories are found in the files, also if there is a copy
        self._rows = rows
        if asked.copy or isinstance(store, CsvStore):
            with _before_requests():
                self._rows = self._copied(rows)

    def take(self, rows: IntArray) -> Batch:
        return self.take_many([rows])[0]

    def take_many(self, draws: Sequence[IntArray]) -> Sequence[Batch]:
        """Return the records of several draws; every row group is read once for all of them."""
        wanted, places = np.unique(np.concatenate(draws), return_inverse=True)
        records = self._columns.batch(self._current().take(wanted), self._levels)
        ends = np.cumsum([len(rows) for rows in draws])[:-1]
        return [records.take(some) for some in np.split(places.reshape(-1), ends)]

    def _current(self) -> Rows:
        """The rows to draw from: a copy, as soon as it pays."""
        with self._lock:
            rows = self._rows
            if self._copy is None and rows is self._original and rows.decoded >= rows.size:
                try:
                    self._rows = self._copied(rows)
                except SourceError as cause:
                    warning(f"{_OWNER} goes on without a copy: {one_line(cause)}")
                    self._copy = False
            return self._rows

    def _copied(self, rows: Rows) -> Rows:
        store = find_copy(self._what, self.version)
        if store is None:
            store = make_copy(rows, self._what, self.version, announced=bool(self._copy))
        else:
            info(f"{_OWNER} reads the copy {store.files[0]}")
        _, copied = _rows_of(store, self._columns.features, self._columns.target)
        if copied.size != rows.size:
            raise SourceError(f"{store.files[0]} is incomplete: remove it")
        return copied

    @cached_property
    def _levels(self) -> dict[str, Any]:
        """The pandas types of the columns of categories, which are read once."""
        return {name: self._original.levels(name) for name in self._columns.categories}


@contextmanager
def _before_requests() -> Iterator[None]:
    """Make an error of a file an error of the argument, because no records were requested yet."""
    try:
        yield
    except TemporaryFailure:
        raise
    except SourceError as cause:
        raise InvalidInput(f"{_OWNER}: {cause}") from cause


def _rows_of(
    store: Store,
    features: Sequence[str] | None,
    target: str,
    others: Sequence[str] = (),
    without: Sequence[str] = (),
) -> tuple[Columns, Rows]:
    """Find the columns and rows of a store."""
    count = len(store.files) or 1
    found = [store.facts(place) for place in range(count)]
    columns = join_columns(found, store.files, features, target, others, _OWNER, without)
    return columns, Rows(store, columns, [one.sizes for one in found])


def _check_features(features: object) -> None:
    if features is None:
        return
    names = isinstance(features, Sequence) and not isinstance(features, str)
    if not names or not all(isinstance(name, str) for name in features):  # type: ignore[attr-defined]
        raise InvalidInput(
            f"{_OWNER}: features must be a list of names of columns; received {written(features)}"
        )


def _version(files: Sequence[FileAt], columns: Columns, conditions: Any) -> str:
    """A digest of the names, sizes and stamps of all files, and of what is read from them."""
    listed = [[file.inside, file.size, file.stamp] for file in files]
    asked = [columns.needed, written(conditions)]
    return f"files:{hashlib.sha256(json.dumps([listed, asked]).encode()).hexdigest()}"
