"""CSV and Parquet files as pandas frames.

The configuration and `value` read files by the same rules, so that the same file gives the same
records.
"""

from __future__ import annotations

import csv
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapband.checks import one_line
from shapband.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

# Strings that pandas reads as missing values by default.
_MISSING = {
    *("", "NaN", "nan", "-NaN", "-nan", "NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "<NA>"),
    *("NULL", "null", "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
}


@contextmanager
def reading(path: Path, where: str) -> Iterator[None]:
    """Name the argument or key of a file that is missing or cannot be read."""
    if not path.is_file():
        raise InvalidInput(f"{where}: there is no file {path}")
    try:
        yield
    except InvalidInput:
        raise
    except Exception as cause:  # pandas raises many kinds for files that it cannot read
        raise InvalidInput(f"{where}: {path} cannot be read ({one_line(cause)})") from cause


def read_csv(path: Path, separator: str, where: str, names: Sequence[str] = ()) -> pd.DataFrame:
    """Read a CSV file with a header; the cells of the columns `names` are kept as strings."""
    import pandas as pd

    _check_header(path, separator, where)
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
                f"{where}: {path} has rows with more cells than its header: name every column"
            ) from cause
    kept = [name for name in names if name in frame.columns]
    if kept:
        # Names are kept as written: 01 is not 1, and NA is a name.
        frame[kept] = pd.read_csv(
            path, sep=separator, index_col=False, usecols=kept, dtype=str, keep_default_na=False
        )[kept]
    return frame


def read_parquet(path: Path, where: str) -> pd.DataFrame:
    """Read a Parquet file; without pyarrow the error at `where` names the extra to install."""
    import pandas as pd

    try:
        return pd.read_parquet(path, engine="pyarrow")
    except ImportError as cause:
        raise InvalidInput(
            f"{where}: Parquet files need pyarrow: pip install 'shapband[parquet]'"
        ) from cause


def _check_header(path: Path, separator: str, where: str) -> None:
    """Refuse a header with a name twice: pandas would read the second column as a feature."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        names = next(csv.reader(file, delimiter=separator), [])
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidInput(
            f"{where}: the header of {path} has the column {twice[0]!r} more than once: rename "
            "one of them"
        )


def _spaced_missing(frame: pd.DataFrame) -> list[str]:
    """Return the cells that pandas would read as missing if they had no spaces around them.

    One such cell, as in "1.5, NaN", would turn all numbers of its column into strings.
    """
    cells: set[str] = set()
    for name in frame.select_dtypes(exclude="number").columns:
        cells.update(cell for cell in frame[name].unique() if isinstance(cell, str))
    return sorted(cell for cell in cells if cell != cell.strip() and cell.strip() in _MISSING)
