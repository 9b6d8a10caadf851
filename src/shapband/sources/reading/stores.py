"""Tables in files, read in parts: Parquet row groups, Arrow batches, and parts of CSV files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
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
# Pages of a mapped file count as memory of the process until the map is closed, so it is closed
# and opened again after as many bytes.
_SPAN = 2**26
_NEEDED = "pyarrow, which reads Parquet and Arrow files: pip install 'shapband[files]'"


@dataclass(frozen=True)
class TableFacts:
    """What is known about a file without reading its rows.

    Attributes
    ----------
    schema : names and Arrow types of the columns
    sizes : the rows of each part
    gaps : the columns that may hold missing values
    """

    schema: Any
    sizes: tuple[int, ...]
    gaps: frozenset[str]


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
        return TableFacts(schema, tuple(group.num_rows for group in groups), frozenset(gaps))

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
    """Arrow IPC files; a part is a record batch."""

    format = "Arrow IPC"

    def __init__(self, files: Sequence[FileAt]) -> None:
        super().__init__(files)
        self._names: dict[int, list[str]] = {}  # of all columns of a file

    def facts(self, file: int) -> TableFacts:
        with naming(self.files[file]), _arrow_reader(self.files[file]) as reader:
            self._names[file] = reader.schema.names
            schema = _without_index(reader.schema)
            sizes, gaps = [], set()
            for part in range(reader.num_record_batches):
                batch = reader.get_batch(part)
                sizes.append(batch.num_rows)
                gaps |= {name for name in schema.names if batch.column(name).null_count}
                del batch
        return TableFacts(schema, tuple(sizes), frozenset(gaps))

    def read(
        self, file: int, parts: Sequence[int], columns: Sequence[str]
    ) -> Iterator[tuple[int, Any]]:
        import pyarrow as pa

        places = sorted(self._names[file].index(name) for name in columns)
        with naming(self.files[file]):
            left = list(parts)
            while left:
                read = 0
                with _arrow_reader(self.files[file], places) as reader:
                    while left and read < _SPAN:
                        batch = reader.get_batch(left[0])
                        read += batch.nbytes
                        table = pa.Table.from_batches([batch]).select(list(columns))
                        yield left.pop(0), table
                        del batch, table


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
        return TableFacts(pa.schema(fields), table.sizes, table.gaps)

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
        return TableFacts(table.schema, (table.num_rows,), gaps)

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


@contextmanager
def _arrow_reader(file: FileAt, places: Sequence[int] | None = None) -> Iterator[Any]:
    """Open an Arrow file for the columns at some places, mapped into memory if it is local."""
    import pyarrow as pa
    from pyarrow import ipc

    file.check_unchanged()
    with ExitStack() as stack:
        if file.is_local:
            opened = stack.enter_context(pa.memory_map(file.address))
        else:
            opened = pa.PythonFile(stack.enter_context(file.opened()), "r")
        try:
            reader = ipc.open_file(opened, options=ipc.IpcReadOptions(included_fields=places))
        except pa.ArrowInvalid as cause:
            raise SourceError(
                f"{file} is no Arrow file that can be read by row ({one_line(cause)}): write it "
                "with pyarrow.feather.write_feather, or as Parquet"
            ) from cause
        yield reader


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
