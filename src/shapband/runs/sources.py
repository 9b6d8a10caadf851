"""From the tables of a file to providers, and to validation rows."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapband import datasets
from shapband.checks import one_line
from shapband.errors import InvalidInput
from shapband.providers import Provider, providers_from_frame
from shapband.records import Batch
from shapband.runs.objects import load_object
from shapband.runs.tables import (
    CsvTable,
    FileTable,
    ObjectSource,
    ParquetTable,
    ProviderTable,
    Split,
    TaskSource,
)
from shapband.sources.base import Source
from shapband.sources.frames import FrameSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from shapband.datasets.task import Task

_TASKS = {"wine": datasets.wine, "digits": datasets.digits, "synthetic": datasets.synthetic}


def make_task(table: TaskSource) -> Task:
    """Load a ready-made task."""
    return _TASKS[table.task]()


def make_providers(table: ProviderTable, base: Path, key: str) -> list[Provider]:
    """Make the provider, or the providers, of one `[[providers]]` table that is no task."""
    source = table.source
    with at_key(f"{key}.source"):
        if isinstance(source, ObjectSource):
            return _from_object(table.name, source, base, key)
        if not isinstance(source, FileTable) or not isinstance(source, Split):
            raise TypeError(f"{type(source).__name__} is not a source of providers")
        frame = read_frame(source, base, f"{key}.source", also=source.by)
        if source.by is not None:
            return providers_from_frame(frame, by=source.by, target=source.target)
        return [Provider(str(table.name), FrameSource(frame, source.target))]


def make_rows(table: CsvTable | ParquetTable, base: Path, key: str) -> Batch:
    """Read validation rows."""
    with at_key(key):
        return FrameSource(read_frame(table, base, key), table.target).records


def read_frame(table: FileTable, base: Path, key: str, also: str | None = None) -> pd.DataFrame:
    """Read a file, and keep the columns that are asked for."""
    path = base / table.path
    if not path.is_file():
        raise InvalidInput(f"{key}.path: there is no file {path}")
    try:
        frame = _read_csv(path, table) if isinstance(table, CsvTable) else _read_parquet(path, key)
    except (OSError, ValueError) as cause:
        if isinstance(cause, InvalidInput):
            raise
        raise InvalidInput(f"{key}.path: {path} cannot be read ({one_line(cause)})") from cause
    if table.features is None:
        return frame
    wanted = [*table.features, table.target, *([] if also is None else [also])]
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise InvalidInput(
            f"{key}: {path.name} has no column {missing[0]!r}; there are "
            f"{', '.join(map(str, frame.columns))}"
        )
    return frame[list(dict.fromkeys(wanted))]


def _read_csv(path: Path, table: CsvTable) -> pd.DataFrame:
    import pandas as pd

    # Every column is read as a whole, so that its type does not depend on the length of the file.
    return pd.read_csv(path, sep=table.separator, low_memory=False)


def _read_parquet(path: Path, key: str) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(path, engine="pyarrow")
    except ImportError as cause:
        raise InvalidInput(
            f"{key}.kind: Parquet files need pyarrow: pip install 'shapband[parquet]'"
        ) from cause


def _from_object(name: str | None, table: ObjectSource, base: Path, key: str) -> list[Provider]:
    where = f"{key}.source.object"
    made: Any = load_object(table.object, table.options, base, where)
    if name is not None:
        if not isinstance(made, Source):
            raise InvalidInput(
                f"{where}: {table.object} must be a source, because the provider has a name; "
                f"received {type(made).__name__}"
            )
        return [Provider(name, made)]
    listed = list(made) if isinstance(made, Iterable) else [made]
    if not listed or not all(isinstance(one, Provider) for one in listed):
        raise InvalidInput(
            f"{where}: {table.object} must be a list of providers, or a source if the provider "
            f"is given a name; received {type(made).__name__}"
        )
    return listed


@contextmanager
def at_key(key: str) -> Iterator[None]:
    """Let errors begin with the key they are about."""
    try:
        yield
    except InvalidInput as cause:
        if str(cause).startswith(key):
            raise
        raise InvalidInput(f"{key}: {cause}") from cause
