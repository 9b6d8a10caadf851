"""Providers whose records are in files: one for each file, or for each directory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from shapband.checks import concerning, nearest, one_line, printable
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.records.batch import Schema
from shapband.sources.file_source import FileOptions, FileSource
from shapband.sources.reading.addresses import FileAt, find_files
from shapband.sources.reading.columns import check_alike
from shapband.sources.reading.stores import format_of

_OWNER = "providers_from_files"


def providers_from_files(
    path: str | os.PathLike[str],
    *,
    target: str,
    by: str | None = None,
    features: Sequence[str] | None = None,
    where: Sequence[tuple[str, str, Any]] | None = None,
    replace: bool = False,
    copy: bool | None = None,
) -> list[Provider]:
    """Make one provider of each file, or of each directory, with a `FileSource` each.

    Files in directories belong to the provider that the first directory below `path` names; in
    ``lake/north/2024.parquet`` this is north if `path` is ``lake`` or ``lake/*/*.parquet``. A
    directory ``site=north`` names north too.

    Parameters
    ----------
    path : a directory, a pattern such as ``"hospitals/*.parquet"``, or an address of fsspec
    target : the name of the column with the targets
    by : the key of the directories that name the providers, such as ``"site"`` for ``site=north``,
        at any depth; it is not a feature. By default the first directory, or the name of the file
    features : the names of the columns to use; by default all of the first provider but the target
    where, replace, copy : as in `FileSource`

    Returns
    -------
    One provider for each name, in sorted order.

    Examples
    --------
    >>> import pandas as pd, shapband as sb
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("south", "north"):
    ...         pd.DataFrame({"x": [1.0, 2.0], "y": [0, 1]}).to_parquet(f"{folder}/{name}.parquet")
    ...     providers = sb.providers_from_files(f"{folder}/*.parquet", target="y")
    >>> [(one.name, one.source.size) for one in providers]
    [('north', 2), ('south', 2)]
    """
    files = [one for one in find_files(path, f"{_OWNER}: path") if format_of(one.address)]
    if not files:
        raise InvalidInput(
            f"{_OWNER}: path {one_line(path)} has no Parquet, Arrow or CSV file: pass another one"
        )
    groups = group_files(files, by)
    asked = FileOptions(target, features, where, replace, copy, _keys(files, by))
    providers: list[Provider] = []
    for name in sorted(groups):
        with concerning(f"{_OWNER}: provider {printable(repr(name))}"):
            source = FileSource.of_files(groups[name], str(path), asked)
            if providers:
                _check_like_first(providers[0].source.schema, source.schema, name)
            providers.append(Provider(name, source))
    return providers


def group_files(files: Sequence[FileAt], by: str | None) -> Mapping[str, Sequence[FileAt]]:
    """The files of each provider, by its name."""
    inside = ["/" in file.inside for file in files]
    if by is None and any(inside) and not all(inside):
        alone = files[inside.index(False)]
        raise InvalidInput(
            f"{_OWNER}: path must have files or directories, one for each provider; received both, "
            f"such as {alone}: pass a pattern, such as '*/*.parquet'"
        )
    groups: dict[str, list[FileAt]] = {}
    for file in files:
        groups.setdefault(_name(file, by), []).append(file)
    if by is None and not any(inside):
        for name, found in groups.items():
            if len(found) > 1:
                raise InvalidInput(
                    f"{_OWNER}: two files are named {printable(repr(name))}: {found[0]} and "
                    f"{found[1]}: rename one of them, because names of providers must differ"
                )
    return groups


def _name(file: FileAt, by: str | None) -> str:
    *directories, last = file.inside.split("/")
    if by is None:
        if not directories:
            return stem(last)
        return unquote(directories[0].partition("=")[2]) or directories[0]
    keys = dict(one.split("=", 1) for one in directories if "=" in one)
    if by not in keys:
        raise InvalidInput(
            f"{_OWNER}: by={by!r} is not a key of the directories of {file}, such as {by}=north; "
            + (nearest(by, list(keys)) if keys else "there are no keys: leave by out")
        )
    return unquote(keys[by])


def _keys(files: Sequence[FileAt], by: str | None) -> list[str]:
    """The key that names the providers, which is no feature."""
    if by is not None:
        return [by]
    first, _, _ = files[0].inside.partition("/")
    return [unquote(first.partition("=")[0])] if "/" in files[0].inside and "=" in first else []


def stem(name: str) -> str:
    """The name of a file without the suffixes of its format: north for north.csv.gz."""
    while format_of(name):
        name = name.rpartition(".")[0]
    return name


def _check_like_first(first: Schema | None, other: Schema | None, name: str) -> None:
    """Report the column that differs between two providers, alone."""
    if first is None or other is None or first.columns is None or other.columns is None:
        return
    where = f"{_OWNER}: provider {printable(repr(name))}"
    check_alike(first.columns, other.columns, first.columns, where, every=True)
