"""Arrow copies of tables, in memory or in the user's cache directory.

A draw of 60 rows out of 50 million takes some milliseconds from an Arrow file that is mapped into
memory, and up to some seconds from Parquet, where whole row groups are decoded. A copy costs about
as much as reading the whole table once.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from shapband.checks import file_error
from shapband.errors import LocalCopy, SourceError
from shapband.log import info
from shapband.sources.reading.addresses import find_file
from shapband.sources.reading.rows import Rows
from shapband.sources.reading.stores import ArrowStore, MemoryStore, Store

IN_MEMORY = 2**26  # a table of at most as many bytes is copied to memory instead of the disk
_BATCH = 2**25  # bytes of a batch; a draw touches most batches, and each takes some time
_ROOM = 1.1  # share of the size of a copy that the disk must have, because the size is estimated
_DAY = 24 * 3600.0
_UNUSED = 30 * _DAY  # a copy that was not used for this long is removed
_SUFFIX, _UNFINISHED = ".arrow", ".part"


def copies_directory() -> Path:
    """The directory of the copies: SHAPBAND_COPIES, or one in the user's cache directory."""
    chosen = os.environ.get("SHAPBAND_COPIES")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "shapband" / "copies"
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "shapband" / "copies"


def find_copy(what: str, version: str) -> Store | None:
    """Return the copy of a table that was made before, or None."""
    path = _path(what, version)
    try:
        _note_use(path)
    except OSError:
        return None
    return ArrowStore([find_file(path, "the copy")])


def make_copy(rows: Rows, what: str, version: str, *, announced: bool) -> Store:
    """Copy all rows, to memory if they are few.

    Parameters
    ----------
    rows : the rows
    what : names the table: its address, columns and conditions
    version : changes with the records
    announced : whether the user has asked for the copy, so that no warning is needed
    """
    size = max(1, int(rows.row_bytes() * rows.size))
    if size <= IN_MEMORY:
        import pyarrow as pa

        return MemoryStore(pa.concat_tables(list(rows.all())), rows.store.format)
    path = _path(what, version)
    _prepare(path.parent, size)
    told = f"{rows.columns.owner} writes an Arrow copy of {size / 1e6:,.0f} MB to {path}"
    info(told)
    if not announced:
        remedy = "pass copy=True to expect it, or copy=False to do without"
        warnings.warn(f"{told}: {remedy}", LocalCopy, stacklevel=2)
    _remove_stale(path)
    _write(rows, path, max(1, _BATCH * rows.size // size))
    return ArrowStore([find_file(path, "the copy")])


def _note_use(path: Path) -> None:
    """Set the time of access, and the same time of change for all copies.

    Another process that reads the copy must not take it for changed, also if two processes have
    written the same copy one after the other.
    """
    os.utime(path, (time.time(), 0))


def _path(what: str, version: str) -> Path:
    table = hashlib.sha256(what.encode()).hexdigest()[:16]
    content = hashlib.sha256(version.encode()).hexdigest()[:16]
    return copies_directory() / f"{table}-{content}{_SUFFIX}"


def _prepare(directory: Path, size: int) -> None:
    """Make the directory, which only the user may read, and check that it has room."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        free = shutil.disk_usage(directory).free
    except OSError as cause:
        raise SourceError(f"{directory} cannot be used ({file_error(cause)})") from cause
    if free < _ROOM * size:
        raise SourceError(
            f"{directory} has room for {free / 1e6:,.0f} MB, and an Arrow copy needs "
            f"{_ROOM * size / 1e6:,.0f} MB: make room, or set SHAPBAND_COPIES to a directory that "
            "has it"
        )


def _write(rows: Rows, path: Path, batch: int) -> None:
    """Write a copy in batches of so many rows under another name; rename it when it is complete."""
    import pyarrow as pa

    handle, name = tempfile.mkstemp(suffix=_UNFINISHED, dir=path.parent)
    os.close(handle)
    try:
        needed = rows.columns.needed
        schema = pa.schema([pa.field(one, rows.columns.types[one]) for one in needed])
        with pa.OSFile(name, "wb") as file, pa.ipc.new_file(file, schema) as writer:
            for table in _batches(rows, schema, batch):
                writer.write_table(table, max_chunksize=batch)
        _note_use(Path(name))
        os.replace(name, path)
    except OSError as cause:
        raise SourceError(f"{path} cannot be written ({file_error(cause)})") from cause
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def _batches(rows: Rows, schema: Any, batch: int) -> Iterator[Any]:
    """Join small parts to batches of at least so many rows."""
    import pyarrow as pa

    waiting: list[Any] = []
    for table in rows.all():
        waiting.append(table)
        if sum(one.num_rows for one in waiting) >= batch:
            yield pa.concat_tables(waiting).cast(schema).combine_chunks()
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting).cast(schema).combine_chunks()


def _remove_stale(path: Path) -> None:
    """Remove copies of other versions of the table, unused copies and what was left unfinished.

    A process that still reads a removed copy gets an error that names it.
    """
    table = path.name.partition("-")[0]
    now = time.time()
    for one in path.parent.iterdir():
        with suppress(OSError):
            age = now - one.stat().st_atime
            other = one.suffix == _SUFFIX and one.name.startswith(f"{table}-") and one != path
            old = one.suffix == _SUFFIX and age > _UNUSED
            if other or old or (one.suffix == _UNFINISHED and age > _DAY):
                one.unlink()
