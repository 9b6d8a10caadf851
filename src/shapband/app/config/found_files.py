"""What `shapband init --from` finds in files: providers, columns and validation rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shapband.app.config.found import OWNERS, VALIDATION, Column, Found, guess_target
from shapband.checks import one_line
from shapband.errors import InvalidInput, SourceError
from shapband.inputs.file_providers import group_files, stem
from shapband.sources.reading.addresses import FileAt, find_files, is_url
from shapband.sources.reading.dialects import EmptyFile, find_dialect
from shapband.sources.reading.stores import Store, TableFacts, format_of, open_store

_IN_MEMORY = 2 * 10**8  # so many bytes are read whole, so that validation rows can be held out
_HELD_OUT = 0.3  # the fraction of them
_MOST_LABELS = 20  # integers with at most so many values may be classes


@dataclass(frozen=True)
class _Provider:
    """The files of one provider."""

    name: str
    store: Store
    facts: Sequence[TableFacts]

    @property
    def size(self) -> int:
        return sum(sum(one.sizes) for one in self.facts)

    @property
    def tables(self) -> list[tuple[FileAt, TableFacts]]:
        return list(zip(self.store.files, self.facts, strict=True))

    def values(self, column: str, *, all_parts: bool) -> Any:
        """Read a column, or its first part."""
        import pyarrow as pa

        read: list[Any] = []
        for file, one in enumerate(self.facts):
            parts = range(len(one.sizes) if all_parts else 1)
            read += [table.column(column) for _, table in self.store.read(file, parts, [column])]
            if not all_parts:
                break
        return pa.chunked_array([chunk for column in read for chunk in column.chunks])


def find(address: str, target: str | None, folder: Path) -> Found:
    """Look at the files of an address; paths in the result start from `folder`."""
    files = [one for one in find_files(address, "--from") if format_of(one.address)]
    if not files:
        raise InvalidInput(f"--from {one_line(address)}: there is no Parquet, Arrow or CSV file")
    try:
        return _found(address, files, target, folder)
    except SourceError as cause:
        raise InvalidInput(f"--from {one_line(address)}: {cause}") from cause


def _found(address: str, files: Sequence[FileAt], target: str | None, folder: Path) -> Found:
    empty = [one for one in files if _is_empty(one)]
    files = [one for one in files if one not in empty]
    rows = [one for one in files if stem(one.inside.rpartition("/")[2]).lower() in VALIDATION]
    providers = _providers([one for one in files if one not in rows] or files)
    empty += [file for one in providers if not one.size for file in one.store.files]
    providers = [one for one in providers if one.size]
    if not providers:
        raise InvalidInput(f"--from {one_line(address)}: no file has rows")
    first = providers[0]
    data = [file for one in providers for file in one.store.files]
    # Rows of Arrow files cannot be read whole.
    known = [one for one in rows if one not in data and format_of(one.address) != "arrow"][:1]
    tables = [pair for one in [*providers, *_providers(known)] for pair in one.tables]
    columns = _columns(tables)
    chosen = _target(columns, target)
    columns = [_with_labels(one, first) if one.name == chosen else one for one in columns]
    formats = dict.fromkeys(facts.format for one in providers for facts in one.facts)
    about = f"{_count(len(data), 'file')} ({'; '.join(formats)})"
    left = ", ".join(sorted(one_line(one.inside) for one in empty))
    without = f" (left out, without rows: {left})" if empty else ""
    validation: Any = _file(known[0], folder) if known else None
    if not _are_small(providers):
        about += f", {_count(len(providers), 'provider')}{without}"
        smallest = min(one.size for one in providers)
        table = _table(address, folder, providers)
        needs = [f"remove {left}, without rows"] if empty else []
        return Found(about, columns, [table], smallest, chosen, validation, needs)
    names = [one.name for one in columns if not one.lacking]
    by = next((one for word in OWNERS for one in names if one.lower() == word), None)
    by = None if by == chosen else by
    smallest = min(one.size if by is None else _smallest_of(one, by) for one in providers)
    if validation is None:
        validation = _HELD_OUT
        smallest -= max(1, int(_HELD_OUT * smallest))
    about += f", {_count(len(providers), 'provider')}" if by is None else f", providers by {by}"
    whole = [_whole_table(one, folder, by) for one in providers]
    return Found(about + without, columns, whole, smallest, chosen, validation)


def _is_empty(file: FileAt) -> bool:
    """Whether a CSV file has not even a header."""
    if format_of(file.address) == "csv":
        try:
            find_dialect(file, "--from")
        except EmptyFile:
            return True
    return False


def _providers(data: Sequence[FileAt]) -> list[_Provider]:
    groups: Mapping[str, Sequence[FileAt]] = group_files(data, None)
    stores = {name: open_store(groups[name], "--from") for name in sorted(groups)}
    return [
        _Provider(name, store, [store.facts(place) for place in range(len(store.files))])
        for name, store in stores.items()
    ]


def _columns(tables: Sequence[tuple[FileAt, TableFacts]]) -> list[Column]:
    """The columns of all tables, in the order in which they are first found."""
    fields: dict[str, list[Any]] = {}
    for _, facts in tables:
        for field in facts.schema:
            fields.setdefault(field.name, []).append(field.type)
    columns = []
    for name, types in fields.items():
        kinds = dict.fromkeys(map(_kind, types))
        gaps = any(name in facts.gaps for _, facts in tables)
        lacking = next((file.inside for file, one in tables if name not in one.schema.names), "")
        columns.append(Column(name, " or ".join(kinds), gaps, lacking))
    return columns


def _target(columns: Sequence[Column], target: str | None) -> str | None:
    """The column with the targets, which all tables must have."""
    lacking = {one.name: one.lacking for one in columns if one.lacking}
    if target in lacking:
        raise InvalidInput(
            f"--target {target} is not a column of {one_line(lacking[target])}: move this file "
            "elsewhere, or name another target"
        )
    return guess_target([one.name for one in columns if one.name not in lacking], target)


def _are_small(providers: Sequence[_Provider]) -> bool:
    """Whether all can be read whole: one CSV or Parquet file each, and not too large."""
    files = [file for one in providers for file in one.store.files]
    readable = all(format_of(file.address) in ("csv", "parquet") for file in files)
    small = sum(file.size for file in files) <= _IN_MEMORY
    return small and readable and len(files) == len(providers)


def _whole_table(provider: _Provider, folder: Path, by: str | None) -> tuple[dict[str, Any], str]:
    """The table of one file that is read whole; the column `by` may name the providers in it."""
    source = _file(provider.store.files[0], folder)
    if by is not None:
        return {"source": {**source, "by": by}}, f"one provider for each value of {by}"
    return {"name": provider.name, "source": source}, f"{provider.size:,} records"


def _table(
    address: str, folder: Path, providers: Sequence[_Provider]
) -> tuple[dict[str, Any], str]:
    """The table of files that are read row by row."""
    path = address if is_url(address) else _relative(address, folder)
    source = {"kind": "files", "path": path}
    listed = ", ".join(one.name for one in providers[:5])
    more = f" and {len(providers) - 5} more" if len(providers) > 5 else ""
    if len(providers) == 1:
        return {"name": providers[0].name, "source": source}, f"{providers[0].size:,} records"
    return {"source": source}, f"{listed}{more}"


def _smallest_of(provider: _Provider, by: str) -> int:
    """The records of the smallest provider in a file with several."""
    counts = provider.values(by, all_parts=True).value_counts().field("counts")
    return int(min(counts.to_pylist()))


def _kind(kind: Any) -> str:
    """The word for an Arrow type."""
    import pyarrow as pa

    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if number or pa.types.is_decimal(kind):
        return "number"
    strings = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return "string" if strings else str(kind).partition("<")[0].partition("[")[0]


def _with_labels(column: Column, provider: _Provider) -> Column:
    """Count the different targets in the first part of the first file, if they may be classes."""
    import pyarrow as pa

    values = provider.values(column.name, all_parts=False)
    count = len(values.unique())
    whole = pa.types.is_integer(values.type) or pa.types.is_boolean(values.type) or count <= 2
    if column.kind == "number" and not (whole and count <= _MOST_LABELS):
        return column
    return replace(column, labels=count)


def _file(file: FileAt, folder: Path) -> dict[str, Any]:
    if file.is_local:
        path = _relative(file.address, folder)
    else:
        path = str(file.filesystem.unstrip_protocol(file.address))
    return {"kind": format_of(file.address), "path": path}


def _relative(path: str, folder: Path) -> str:
    """A path as the configuration has it: from its folder, if the path is inside it."""
    absolute, base = os.path.abspath(path), os.path.abspath(folder)
    inside = os.path.relpath(absolute, base)
    return absolute if inside.startswith("..") else inside


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
