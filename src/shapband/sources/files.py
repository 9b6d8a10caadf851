"""Whole CSV, Parquet and Arrow files as pandas frames.

The configuration and `value` read files by the same rules, so that the same file gives the same
records.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shapband.checks import one_line
from shapband.errors import InvalidInput
from shapband.sources.reading.addresses import FileAt, find_file
from shapband.sources.reading.csv_parts import read_whole

if TYPE_CHECKING:
    import pandas as pd

Address = str | os.PathLike[str]


def read_csv(
    path: Address, separator: str | None, where: str, names: Sequence[str] = ()
) -> pd.DataFrame:
    """Read a CSV file with a header; the cells of the columns `names` are kept as strings.

    A separator of None is found in the file. Errors begin with `where`.
    """
    file = find_file(path, where)
    with _reading(file, where):
        return read_whole(file, where, separator, names)


def read_parquet(path: Address, where: str) -> pd.DataFrame:
    """Read a Parquet file; without pyarrow the error at `where` names the extra to install."""
    import pandas as pd

    file = find_file(path, where)
    with _reading(file, where), file.opened() as opened:
        frame: pd.DataFrame = pd.read_parquet(opened, engine="pyarrow")
        return frame


def read_arrow(path: Address, where: str) -> pd.DataFrame:
    """Read an Arrow IPC file; without pyarrow the error at `where` names the extra to install."""
    file = find_file(path, where)
    with _reading(file, where), file.opened() as opened:
        from pyarrow import ipc

        table: Any = ipc.open_file(opened).read_all()
        frame: pd.DataFrame = table.to_pandas()
        return frame


@contextmanager
def _reading(file: FileAt, where: str) -> Iterator[None]:
    """Name the argument or key of a file that cannot be read."""
    try:
        yield
    except InvalidInput:
        raise
    except ImportError as cause:
        raise InvalidInput(
            f"{where}: Parquet and Arrow files need pyarrow: pip install 'shapband[files]'"
        ) from cause
    except Exception as cause:  # pandas raises many kinds for files that it cannot read
        raise InvalidInput(f"{where}: {file} cannot be read ({one_line(cause)})") from cause
