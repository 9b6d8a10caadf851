"""Providers and validation rows, made from the tables of the file."""

from __future__ import annotations

import csv
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapband.app.config import tables
from shapband.app.config.imports import load_object
from shapband.checks import check_kind, concerning, one_line
from shapband.errors import InvalidInput
from shapband.providers import Group, Provider, providers_from_frame
from shapband.records.batch import Batch
from shapband.sources.base import Source
from shapband.sources.frames import FrameSource

if TYPE_CHECKING:
    import pandas as pd

    from shapband.sampling.participation import Participation

# Strings that pandas reads as missing values by default.
_MISSING = {
    *("", "NaN", "nan", "-NaN", "-nan", "NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "<NA>"),
    *("NULL", "null", "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
}


def make_providers(table: tables.ProviderTable, base: Path, key: str) -> list[Provider | Group]:
    """Make the provider, or the providers, of one `[[providers]]` table that is no task."""
    source = table.source
    with concerning(f"{key}.source"):
        if isinstance(source, tables.ObjectSource):
            return _from_object(table.name, source, base, key)
        if isinstance(source, tables.TaskSource):
            raise TypeError("a task has providers of its own, which Config takes from it")
        frame = read_frame(source, base, f"{key}.source")
        if source.by is not None:
            return providers_from_frame(frame, source.by, source.target, source.group)
        return [Provider(str(table.name), FrameSource(frame, source.target))]


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


def make_rows(table: tables.FileTable, base: Path, key: str) -> Batch:
    """Read validation rows."""
    with concerning(key):
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
    path = base / table.path
    with _reading(path, key):
        if isinstance(table, tables.CsvTable):
            frame = _read_csv(path, table.separator, list(owners.values()), key)
        else:
            frame = _read_parquet(path, key)
    if frame.empty:
        raise InvalidInput(f"{key}.path: {path} holds no records: at least one is needed")
    return frame[_columns(frame, table, path, key, owners)]


def make_trace(table: tables.TraceTable, base: Path, key: str) -> Participation:
    """Make a recorded participation from its file."""
    from shapband.sampling.trace import Trace

    path = base / table.path
    with _reading(path, key):
        rounds = _read_csv(path, table.separator, (), key)
    with concerning(f"{key}.path"):
        return Trace(rounds)


@contextmanager
def _reading(path: Path, key: str) -> Iterator[None]:
    """Name the key of a file that is missing or cannot be read."""
    if not path.is_file():
        raise InvalidInput(f"{key}.path: there is no file {path}")
    try:
        yield
    except InvalidInput:
        raise
    except Exception as cause:  # pandas raises many kinds for files that it cannot read
        raise InvalidInput(f"{key}.path: {path} cannot be read ({one_line(cause)})") from cause


def _columns(
    frame: pd.DataFrame, table: tables.FileTable, path: Path, key: str, owners: Mapping[str, str]
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


def _check_header(path: Path, separator: str, key: str) -> None:
    """Refuse a header with a name twice: pandas would read the second column as a feature."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        names = next(csv.reader(file, delimiter=separator), [])
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidInput(
            f"{key}.path: the header of {path} has the column {twice[0]!r} more than once: rename "
            "one of them"
        )


def _read_csv(path: Path, separator: str, owners: Sequence[str], key: str) -> pd.DataFrame:
    import pandas as pd

    _check_header(path, separator, key)
    # Without index_col=False, rows longer than the header would shift the columns.
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            # low_memory=False reads every column at once, so that its type does not depend on the
            # length of the file.
            options: Any = {"sep": separator, "index_col": False, "low_memory": False}
            frame: pd.DataFrame = pd.read_csv(path, **options)
            if missing := _spaced_missing(frame):
                frame = pd.read_csv(path, na_values=missing, **options)
        except pd.errors.ParserWarning as cause:
            raise InvalidInput(
                f"{key}.path: {path} has rows with more cells than its header: name every column"
            ) from cause
    names = [name for name in owners if name in frame.columns]
    if names:
        # Names are kept as written: 01 is not 1, and NA is a name.
        frame[names] = pd.read_csv(
            path, sep=separator, index_col=False, usecols=names, dtype=str, keep_default_na=False
        )[names]
    return frame


def _spaced_missing(frame: pd.DataFrame) -> list[str]:
    """Return the cells that pandas would read as missing if they had no spaces around them.

    One such cell, as in "1.5, NaN", would turn all numbers of its column into strings.
    """
    cells: set[str] = set()
    for name in frame.select_dtypes(exclude="number").columns:
        cells.update(cell for cell in frame[name].unique() if isinstance(cell, str))
    return sorted(cell for cell in cells if cell != cell.strip() and cell.strip() in _MISSING)


def _read_parquet(path: Path, key: str) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(path, engine="pyarrow")
    except ImportError as cause:
        raise InvalidInput(
            f"{key}.kind: Parquet files need pyarrow: pip install 'shapband[parquet]'"
        ) from cause


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
