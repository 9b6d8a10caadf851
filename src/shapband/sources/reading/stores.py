"""Tables in files, read in parts: Parquet row groups, Arrow batches, and parts of CSV files."""

from __future__ import annotations

import mmap
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from shapband.checks import one_line
from shapband.errors import InvalidInput, SourceError
from shapband.sources.reading.addresses import FileAt, naming
from shapband.sources.reading.csv_parts import CsvTable, survey
from shapband.sources.reading.dialects import csv_suffix

PARQUET_SUFFIXES = (".parquet", ".pq", ".parq")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
_FOOTERS = 256  # footers of Parquet files that are kept, so that they are not parsed at every draw
_MAPS = 64  # Arrow files that stay mapped into memory
_SPAN = 2**26  # pages of a map count as memory of the process, and are released after so many bytes
_NEEDED = "pyarrow, which reads Parquet and Arrow files: pip install 'shapband[files]'"


@dataclass(frozen=True)
class TableFacts:
    """What is known about a file without reading its rows.

    Attributes
    ----------
    schema : names and Arrow types of the columns
    sizes : the rows of each part
    gaps : the columns that may hold missing values
    format : how the file is written
    """

    schema: Any
    sizes: tuple[int, ...]
    gaps: frozenset[str]
    format: str


class Store(ABC):
    """Files of one format."""

    format: str

    def __init__(self, files: Sequence[FileAt]) -> None:
        self.files = files

    @abstractmethod
    def facts(self, file: int) -> TableFacts:
        """Columns and parts of one file."""

    @abstractmethod
    def read(
        self, file: int, parts: Sequence[int], columns: Sequence[str]
    ) -> Iterator[tuple[int, Any]]:
        """Read some columns of some parts, in this order: pairs of the part and an Arrow table.

        A table may be a view of a mapped file. Keep it no longer than needed, because its pages
        count as memory of the process.
        """


class ParquetStore(Store):
    """Parquet files; a part is a row group."""

    format = "Parquet"

    def __init__(self, files: Sequence[FileAt]) -> None:
        super().__init__(files)
        self._footer = lru_cache(maxsize=_FOOTERS)(self._read_footer)

    def facts(self, file: int) -> TableFacts:
        footer = self._footer(file)
        schema = _without_index(footer.schema.to_arrow_schema())
        groups = [footer.row_group(place) for place in range(footer.num_row_groups)]
        unknown = {name for name in schema.names if schema.field(name).nullable}
        # Statistics are by leaf column; nested columns, which have several, stay unknown.
        leaves = {footer.schema.column(at).path: at for at in range(footer.num_columns)}
        gaps = set()
        for name in unknown:
            known = [_null_count(group, leaves.get(name)) for group in groups]
            if any(count != 0 for count in known):
                gaps.add(name)
        sizes = tuple(group.num_rows for group in groups)
        return TableFacts(schema, sizes, frozenset(gaps), self.format)

    def read(
        self, file: int, parts: Sequence[int], columns: Sequence[str]
    ) -> Iterator[tuple[int, Any]]:
        from pyarrow.parquet import ParquetFile

        with naming(self.files[file]), self.files[file].opened() as opened:
            table = ParquetFile(opened, metadata=self._footer(file))
            for part in parts:
                yield part, table.read_row_group(part, columns=list(columns))

    def _read_footer(self, file: int) -> Any:
        from pyarrow.parquet import ParquetFile

        with naming(self.files[file]), self.files[file].opened() as opened:
            return ParquetFile(opened).metadata


class ArrowStore(Store):
    """Arrow IPC files; a part is a record batch. Files of this machine are mapped into memory."""

    format = "Arrow IPC"

    def __init__(self, files: Sequence[FileAt]) -> None:
        super().__init__(files)
        self._lock = threading.Lock()  # readers are not safe to use from several threads at once
        self._names: dict[int, list[str]] = {}  # of all columns of a file
        self._packed: set[int] = set()  # files with compressed columns
        self._mapped = lru_cache(maxsize=_MAPS)(self._map)

    def facts(self, file: int) -> TableFacts:
        with self._reader(file) as (reader, _):
            self._names[file] = reader.schema.names
            schema = _without_index(reader.schema)
            sizes, gaps, unpacked = [], set(), 0
            for part in range(reader.num_record_batches):
                batch = reader.get_batch(part)
                unpacked += batch.nbytes
                sizes.append(batch.num_rows)
                gaps |= {name for name in schema.names if batch.column(name).null_count}
        if unpacked > self.files[file].size:
            self._packed.add(file)
        return TableFacts(schema, tuple(sizes), frozenset(gaps), self.format)

    def read(
        self, file: int, parts: Sequence[int], columns: Sequence[str]
    ) -> Iterator[tuple[int, Any]]:
        import pyarrow as pa

        # Arrow copies the columns that it is asked for. In a map it need not be asked: columns that
        # nobody looks at are not read, unless they must be unpacked.
        places = None
        if file in self._packed or not self.files[file].is_local:
            places = tuple(sorted(self._names[file].index(name) for name in columns))
        read = 0
        with self._reader(file, places) as (reader, release):
            for part in parts:
                with self._lock:
                    batch = reader.get_batch(part)
                yield part, pa.Table.from_batches([batch]).select(list(columns))
                read += batch.nbytes
                if read >= _SPAN:
                    release()
                    read = 0

    @contextmanager
    def _reader(
        self, file: int, places: tuple[int, ...] | None = None
    ) -> Iterator[tuple[Any, Callable[[], None]]]:
        """A reader for the columns at some places, and a function that releases mapped pages."""
        import pyarrow as pa

        found = self.files[file]
        with naming(found):
            if not found.is_local:
                with found.opened() as opened:
                    yield _arrow_reader(pa.PythonFile(opened, "r"), found, places), _nothing
                return
            found.check_unchanged()
            reader, mapped = self._mapped(file, places)
            try:
                yield reader, partial(_release, mapped)
            finally:
                _release(mapped)

    def _map(self, file: int, places: tuple[int, ...] | None) -> tuple[Any, mmap.mmap]:
        import pyarrow as pa

        with Path(self.files[file].address).open("rb") as opened:
            mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        buffer = pa.BufferReader(pa.py_buffer(mapped))
        return _arrow_reader(buffer, self.files[file], places), mapped


class CsvStore(Store):
    """CSV files; a part is some of their rows. Rows can be reached only by reading from the top."""

    def __init__(self, files: Sequence[FileAt], where: str) -> None:
        super().__init__(files)
        self._tables: dict[int, CsvTable] = {}
        self._where = where
        with naming(files[0]):
            self._tables[0] = survey(files[0], where)
        self.format = str(self._tables[0].dialect)

    def facts(self, file: int) -> TableFacts:
        import pyarrow as pa

        if file not in self._tables:
            with naming(self.files[file]):
                self._tables[file] = survey(self.files[file], self._where)
        table = self._tables[file]
        fields = [pa.field(name, _arrow_type(kind)) for name, kind in table.kinds.items()]
        return TableFacts(pa.schema(fields), table.sizes, table.gaps, str(table.dialect))

    def read(
        self, file: int, parts: Sequence[int], columns: Sequence[str]
    ) -> Iterator[tuple[int, Any]]:
        import pyarrow as pa

        table = self._tables[file]
        schema = pa.schema([pa.field(name, _arrow_type(table.kinds[name])) for name in columns])
        wanted = set(parts)
        with naming(self.files[file]):
            for part, frame in enumerate(table.parts(columns)):
                if part in wanted:
                    for name in columns:
                        if table.kinds[name] == "bool":
                            frame[name] = frame[name].astype("boolean")
                    yield part, pa.Table.from_pandas(frame, schema, preserve_index=False)


class MemoryStore(Store):
    """A table in memory."""

    def __init__(self, table: Any, origin: str) -> None:
        super().__init__([])
        self._tables = [table]
        self.format = origin

    def facts(self, file: int) -> TableFacts:
        table = self._tables[file]
        gaps = frozenset(name for name in table.column_names if table.column(name).null_count)
        return TableFacts(table.schema, (table.num_rows,), gaps, self.format)

    def read(
        self, file: int, parts: Sequence[int], columns: Sequence[str]
    ) -> Iterator[tuple[int, Any]]:
        for part in parts:
            yield part, self._tables[file].select(list(columns))


def open_store(files: Sequence[FileAt], where: str) -> Store:
    """Choose the store by the names of the files; files of other formats are left out."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as cause:
        raise InvalidInput(f"{where} needs {_NEEDED}") from cause
    formats: dict[str, list[FileAt]] = {}
    for file in files:
        formats.setdefault(format_of(file.address), []).append(file)
    others = formats.pop("", [])
    if not formats:
        raise InvalidInput(
            f"{where} must be Parquet ({', '.join(PARQUET_SUFFIXES)}), Arrow "
            f"({', '.join(ARROW_SUFFIXES)}) or CSV files (.csv, .csv.gz, .tsv); received "
            f"{others[0]}: rename it, or read it with pandas"
        )
    if len(formats) > 1:
        first, second, *_ = (found[0] for found in formats.values())
        raise InvalidInput(
            f"{where} must hold files of one format; received {first} and {second}: pass a "
            "pattern, such as 'lake/*.parquet'"
        )
    ((kind, chosen),) = formats.items()
    if kind == "csv":
        return CsvStore(chosen, where)
    stores: Mapping[str, type[Store]] = {"parquet": ParquetStore, "arrow": ArrowStore}
    return stores[kind](chosen)


def format_of(address: str) -> str:
    """The format that the name of a file tells: "parquet", "arrow", "csv", or "" if unknown."""
    suffix = Path(address.lower()).suffix
    if suffix in PARQUET_SUFFIXES:
        return "parquet"
    if suffix in ARROW_SUFFIXES:
        return "arrow"
    return "csv" if csv_suffix(address) else ""


def _null_count(group: Any, leaf: int | None) -> int | None:
    """The number of missing values in a column of a row group; None if it is not stated."""
    if leaf is None:
        return None
    statistics = group.column(leaf).statistics
    return statistics.null_count if statistics and statistics.has_null_count else None


def _arrow_reader(opened: Any, file: FileAt, places: Sequence[int] | None) -> Any:
    import pyarrow as pa
    from pyarrow import ipc

    fields = None if places is None else list(places)
    try:
        return ipc.open_file(opened, options=ipc.IpcReadOptions(included_fields=fields))
    except pa.ArrowInvalid as cause:
        raise SourceError(
            f"{file} is no Arrow file that can be read by row ({one_line(cause)}): write it with "
            "pyarrow.feather.write_feather, or as Parquet"
        ) from cause


def _release(mapped: mmap.mmap) -> None:
    """Give the pages of a map back; they are read again if they are needed."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def _nothing() -> None: ...


def _without_index(schema: Any) -> Any:
    """The schema without the index of a pandas frame, which is no column of it."""
    import pyarrow as pa

    described = schema.pandas_metadata or {}
    index = {name for name in described.get("index_columns", ()) if isinstance(name, str)}
    return pa.schema([field for field in schema if field.name not in index])


def _arrow_type(kind: str) -> Any:
    import pyarrow as pa

    types = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
    return types.get(kind) or pa.large_string()
