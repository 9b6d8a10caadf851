"""Providers and validation rows, made from the tables of the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapband.app.config import tables
from shapband.app.config.http import HttpSource
from shapband.app.config.imports import load_object
from shapband.app.config.sql import SqlSource, make_sql_providers
from shapband.checks import check_kind, concerning
from shapband.errors import InvalidInput, SourceError
from shapband.inputs.file_providers import providers_from_files
from shapband.providers import Group, Provider, providers_from_frame
from shapband.records.batch import Batch
from shapband.sources.base import Source
from shapband.sources.file_source import FileSource
from shapband.sources.files import read_csv, read_parquet
from shapband.sources.frames import FrameSource
from shapband.sources.reading.addresses import address_in

if TYPE_CHECKING:
    import pandas as pd

    from shapband.sampling.participation import Participation


def make_providers(table: tables.ProviderTable, base: Path, key: str) -> list[Provider | Group]:
    """Make the provider, or the providers, of one `[[providers]]` table that is no task."""
    source = table.source
    with concerning(f"{key}.source"):
        if isinstance(source, tables.ObjectSource):
            return _from_object(table.name, source, base, key)
        if isinstance(source, SqlSource):
            return make_sql_providers(table.name, source, base, f"{key}.source")
        if isinstance(source, HttpSource):
            return [_from_http(str(table.name), source, base)]
        if isinstance(source, tables.FilesSource):
            return _from_files(table.name, source, base)
        if not isinstance(source, tables.CsvSource | tables.ParquetSource):
            raise TypeError("a task has providers of its own, which Config takes from it")
        frame = read_frame(source, base, f"{key}.source")
        if source.by is not None:
            return providers_from_frame(frame, source.by, source.target, source.group)
        return [Provider(str(table.name), FrameSource(frame, source.target))]


def with_retry(
    table: tables.ProviderTable, players: Sequence[Provider | Group]
) -> list[Provider | Group]:
    """Give all providers of a table its rule for repeating requests."""
    if table.retry is None:
        return list(players)
    retry = table.retry.make()
    return [
        Group(one.name, [replace(member, retry=retry) for member in one.providers])
        if isinstance(one, Group)
        else replace(one, retry=retry)
        for one in players
    ]


def _from_files(name: str | None, table: tables.FilesSource, base: Path) -> list[Provider | Group]:
    where = None if table.where is None else [tuple(one) for one in table.where]
    options: Any = {"target": table.target, "features": table.features, "where": where}
    path = address_in(base, table.path)
    if name is not None:
        return [Provider(name, FileSource(path, **options))]
    return [*providers_from_files(path, by=table.by, **options)]


def join_groups(
    made: Sequence[tuple[str | None, Sequence[Provider | Group]]],
) -> list[Provider | Group]:
    """Join the providers of tables with the same group, at the place of the first of them."""
    members: dict[str, list[Any]] = {}
    for group, providers in made:
        if group is not None:
            members.setdefault(group, []).extend(providers)
    players: list[Provider | Group] = []
    for group, providers in made:
        if group is None:
            players.extend(providers)
        elif group in members:
            with concerning("providers"):
                players.append(Group(group, members.pop(group)))
    return players


def make_rows(table: tables.Table, base: Path, key: str) -> Batch:
    """Read validation rows."""
    with concerning(key):
        if not isinstance(table, tables.FileTable):
            from shapband.app.config.sql import SqlSource, make_sql_rows

            if not isinstance(table, SqlSource):
                raise TypeError(f"{type(table).__name__} has no rows")
            return make_sql_rows(table, base, key)
        return FrameSource(read_frame(table, base, key), table.target).records


def read_frame(table: tables.FileTable, base: Path, key: str) -> pd.DataFrame:
    """Read a file, and keep the columns that are asked for."""
    roles = [(role, getattr(table, role, None)) for role in ("by", "group")]
    owners = {role: name for role, name in roles if name is not None}
    if len(owners) > len(set(owners.values())):
        raise InvalidInput(
            f"{key}.group: must be another column than by, {owners['by']!r}, which names the "
            "providers"
        )
    path = address_in(base, table.path)
    if isinstance(table, tables.CsvTable):
        frame = read_csv(path, table.separator, f"{key}.path", list(owners.values()))
    else:
        frame = read_parquet(path, f"{key}.path")
    if frame.empty:
        raise InvalidInput(f"{key}.path: {path} holds no records: at least one is needed")
    return frame[_columns(frame, table, path, key, owners)]


def make_trace(table: tables.TraceTable, base: Path, key: str) -> Participation:
    """Make a recorded participation from its file."""
    from shapband.sampling.trace import Trace

    rounds = read_csv(address_in(base, table.path), table.separator, f"{key}.path")
    with concerning(f"{key}.path"):
        return Trace(rounds, table.per)


def _columns(
    frame: pd.DataFrame, table: tables.FileTable, path: str, key: str, owners: Mapping[str, str]
) -> list[str]:
    """The columns to keep, after checking that they exist and that `by` has no empty cells."""
    features = [("features", name) for name in table.features or ()]
    for which, name in (*owners.items(), ("target", table.target), *features):
        if name not in frame.columns:
            raise InvalidInput(
                f"{key}.{which}: {path} has no column {name!r}; there are "
                f"{', '.join(map(str, frame.columns))}"
            )
    for which, name in owners.items():
        if name == table.target:
            raise InvalidInput(f"{key}.{which}: must not be the column of the targets, {name!r}")
    by = owners.get("by")
    if by is not None and (frame[by].isna() | (frame[by] == "")).any():
        raise InvalidInput(f"{key}.by: the column {by!r} of {path} has empty cells: fill them")
    if table.features is None:
        return list(frame.columns)
    return list(dict.fromkeys([*table.features, table.target, *owners.values()]))


def _from_object(
    name: str | None, table: tables.ObjectSource, base: Path, key: str
) -> list[Provider | Group]:
    where = f"{key}.source.object"
    made: Any = load_object(
        table.object, table.options, base, where, lambda kind: issubclass(kind, Source)
    )
    if name is not None:
        rule = "a source, because the provider has a name"
        return [Provider(name, check_kind(f"{where}: {table.object}", made, Source, rule))]
    listed = list(made) if isinstance(made, Iterable) else [made]
    if not listed or not all(isinstance(one, Provider | Group) for one in listed):
        raise InvalidInput(
            f"{where}: {table.object} must be a list of providers, or a source if the provider "
            f"is given a name; received {type(made).__name__}"
        )
    return listed


def _from_http(name: str, table: HttpSource, base: Path) -> Provider:
    from shapband.sources.http.source import HTTPSource

    try:
        source = HTTPSource(
            table.url,
            token=None if table.token is None else {"env": table.token.env},
            ca_file=None if table.ca_file is None else base / table.ca_file,
            timeout=table.timeout,
            concurrent=table.concurrent,
            max_bytes=table.max_bytes,
        )
    except SourceError as cause:
        raise SourceError(f"provider {name!r}: {cause}") from cause
    return Provider(name, source)
