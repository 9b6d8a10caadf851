"""CSV files read by pandas, whole or in parts; both give the same cells.

pandas finds the type of a column from all its cells. To find the same types in parts, a file is
read twice: first the types that each part would have are noted, then every part is read with the
types of the whole. Integers and floats make floats, and everything else makes strings, as written.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband.errors import InvalidInput
from shapband.log import info
from shapband.sources.reading.addresses import FileAt
from shapband.sources.reading.dialects import WESTERN, Dialect, decompressed, find_dialect

if TYPE_CHECKING:
    import pandas as pd

PART = 100_000  # rows that are read at once; of a hundred columns they take 80 MB
# Strings that pandas reads as missing values by default.
_MISSING = {
    *("", "NaN", "nan", "-NaN", "-nan", "NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "<NA>"),
    *("NULL", "null", "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
}
_WITH_COMMA = re.compile(r"\s*[+-]?\d+,\d+(?:[eE][+-]?\d+)?\s*")
_WHOLE_NUMBER = re.compile(r"\s*[+-]?\d+\s*")


@dataclass
class _Seen:
    """What the parts of one column hold."""

    kinds: set[str] = field(default_factory=set)  # of "int", "float", "empty", "bool", "string"
    gaps: bool = False  # whether a cell is missing
    points: bool = False  # whether a number has a decimal point
    commas: bool = False  # whether a cell is a number with a decimal comma
    others: bool = False  # whether a string is neither that nor a whole number

    @property
    def kind(self) -> str:
        """The type of the whole column."""
        known = self.kinds - {"empty"}
        if not known:
            return "float"
        if len(known) == 1:
            only = next(iter(known))
            return "float" if only == "int" and self.gaps else only
        return "float" if known == {"int", "float"} else "string"


@dataclass(frozen=True)
class CsvTable:
    """A CSV file after the first reading.

    Attributes
    ----------
    file, dialect : the file, and how it is written
    kinds : "int", "float", "bool" or "string" for every column
    gaps : the columns with missing cells
    sizes : the rows of each part
    """

    file: FileAt
    dialect: Dialect
    kinds: dict[str, str]
    gaps: frozenset[str]
    sizes: tuple[int, ...]

    def parts(self, columns: Sequence[str], size: int = PART) -> Iterator[pd.DataFrame]:
        """Read some columns again, in parts, with the types of the whole file."""
        types: dict[str, Any] = {"int": np.int64, "float": np.float64, "string": str}
        dtypes = {name: types[self.kinds[name]] for name in columns if self.kinds[name] in types}
        options = {"usecols": list(columns), "dtype": dtypes}
        for part in _parts(self.file, self.dialect, size, options):
            yield part[list(columns)]


def survey(file: FileAt, where: str, size: int = PART) -> CsvTable:
    """Read a file for the first time, in parts of `size` rows."""
    dialect = _steady(find_dialect(file, where), lambda one: _survey(file, one, where, size)[0])
    seen, sizes = _survey(file, dialect, where, size)[1:]
    kinds = {name: one.kind for name, one in seen.items()}
    gaps = frozenset(name for name, one in seen.items() if one.gaps)
    info(f"{file}: {dialect}")
    return CsvTable(file, dialect, kinds, gaps, sizes)


def read_whole(
    file: FileAt, where: str, separator: str | None = None, names: Sequence[str] = ()
) -> pd.DataFrame:
    """Read a file; the cells of the columns `names` are kept as strings, as written."""
    dialect = find_dialect(file, where, separator)
    frame: Any = None

    def attempt(one: Dialect) -> Dialect:
        nonlocal frame
        (frame,) = _parts(file, one, None, {})
        return _revised(one, {str(name): _look(frame[name]) for name in frame.columns}, [frame])

    with _long_rows(file, where):
        dialect = _steady(dialect, attempt)
        info(f"{file}: {dialect}")
        kept = [name for name in names if name in frame.columns]
        if kept:
            # Names are kept as written: 01 is not 1, and NA is a name.
            options = {"usecols": kept, "dtype": str, "keep_default_na": False}
            (written,) = _parts(file, replace(dialect, missing=()), None, options)
            frame[kept] = written[kept]
    whole: pd.DataFrame = frame
    return whole


def _steady(dialect: Dialect, attempt: Callable[[Dialect], Dialect]) -> Dialect:
    """Read with a dialect until reading does not revise it; at most every revision once."""
    for _ in range(4):
        try:
            revised = attempt(dialect)
        except UnicodeDecodeError:
            if dialect.encoding != "utf-8":
                raise
            revised = replace(dialect, encoding=WESTERN)  # beyond the part that was looked at
        if revised == dialect:
            break
        dialect = revised
    return dialect


def _survey(
    file: FileAt, dialect: Dialect, where: str, size: int
) -> tuple[Dialect, dict[str, _Seen], tuple[int, ...]]:
    seen: dict[str, _Seen] = {}
    sizes = []
    spaced: set[str] = set()
    with _long_rows(file, where):
        for part in _parts(file, dialect, size, {}):
            for name in part.columns:
                _join(seen.setdefault(str(name), _Seen()), _look(part[name]))
            sizes.append(len(part))
            spaced.update(_spaced_missing(part))
    return _revised(dialect, seen, (), spaced), seen, tuple(sizes)


def _parts(
    file: FileAt, dialect: Dialect, size: int | None, options: dict[str, Any]
) -> Iterator[pd.DataFrame]:
    """Parse a file in parts of `size` rows, or whole."""
    import pandas as pd

    with file.opened() as raw, decompressed(raw, file, dialect.compression) as stream:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            made: Any = pd.read_csv(stream, chunksize=size, **dialect.options, **options)
        parts = iter([made] if size is None else made)
        while True:
            # Not around `yield`, because the filters belong to whoever runs in between as well.
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)
                part = next(parts, None)
            if part is None:
                return
            yield part


@contextmanager
def _long_rows(file: FileAt, where: str) -> Iterator[None]:
    import pandas as pd

    try:
        yield
    except pd.errors.ParserWarning as cause:
        raise InvalidInput(
            f"{where}: {file} has rows with more cells than its header: name every column"
        ) from cause


def _look(column: pd.Series[Any]) -> _Seen:
    """Note what one part of a column holds."""
    import pandas as pd

    gaps = bool(column.isna().any())
    if len(column) == 0 or bool(column.isna().all()):
        return _Seen({"empty"}, gaps)
    kind = column.dtype.kind
    if kind in "iuf" and isinstance(column.dtype, np.dtype):
        points = kind == "f" and bool((column.dropna() % 1 != 0).any())
        return _Seen({"float" if kind == "f" else "int"}, gaps, points)
    if kind == "b":
        return _Seen({"bool"}, gaps)
    cells: list[Any] = pd.unique(column.dropna()).tolist()
    if all(isinstance(cell, bool) for cell in cells):
        return _Seen({"bool"}, gaps)
    if all(isinstance(cell, int) for cell in cells):  # beyond 64 bits
        return _Seen({"float"}, gaps)
    numbers = [bool(_WITH_COMMA.fullmatch(str(cell))) for cell in cells]
    plain = all(
        number or _WHOLE_NUMBER.fullmatch(str(cell))
        for number, cell in zip(numbers, cells, strict=True)
    )
    return _Seen({"string"}, gaps, commas=any(numbers), others=not plain)


def _join(whole: _Seen, part: _Seen) -> None:
    whole.kinds |= part.kinds
    whole.gaps |= part.gaps
    whole.points |= part.points
    whole.commas |= part.commas
    whole.others |= part.others


def _revised(
    dialect: Dialect,
    seen: dict[str, _Seen],
    frames: Sequence[pd.DataFrame],
    spaced: set[str] | None = None,
) -> Dialect:
    """The dialect after reading: spaced words for missing values, and a decimal comma.

    Commas are decimal if some column holds nothing but numbers with them, and no column has a
    decimal point.
    """
    missing = {*dialect.missing, *(spaced or ())}
    for frame in frames:
        missing.update(_spaced_missing(frame))
    points = any(one.points for one in seen.values())
    commas = any(one.commas and not one.others for one in seen.values())
    comma = dialect.separator != "," and commas and not points
    decimal = "," if comma else dialect.decimal
    return replace(dialect, decimal=decimal, missing=tuple(sorted(missing)))


def _spaced_missing(frame: pd.DataFrame) -> list[str]:
    """Return the cells that pandas would read as missing if they had no spaces around them.

    One such cell, as in "1.5, NaN", would turn all numbers of its column into strings.
    """
    cells: set[str] = set()
    for name in frame.select_dtypes(exclude="number").columns:
        cells.update(cell for cell in frame[name].unique() if isinstance(cell, str))
    return sorted(cell for cell in cells if cell != cell.strip() and cell.strip() in _MISSING)
