"""Records in pandas or polars data frames; the utility receives data frames too."""

from __future__ import annotations

from typing import Any

from shapband.checks import concerning, nearest, printable
from shapband.errors import InvalidInput
from shapband.records.batch import Batch, take_in
from shapband.records.frames import as_frame
from shapband.sources.base import MemorySource


def records_of_frame(frame: Any, target: Any, where: str) -> Batch:
    """Split a data frame into features and the target column.

    Parameters
    ----------
    frame : a pandas or polars data frame
    target : the name of the column with the targets
    where : names the frame in errors
    """
    with concerning(where):
        table = as_frame(frame)
    names = [str(name) for name in table.columns]
    if not names:
        raise InvalidInput(f"{where} must have columns; received an empty table: leave it out")
    if target is None:
        raise InvalidInput(
            f"{where} is a table, and target= must name its column of outcomes; received None: "
            f"pass one of {printable(', '.join(names[-5:]))}, such as target={names[-1]!r}"
        )
    if target not in table.columns:
        raise InvalidInput(
            f"{where}: target={target!r} is not a column; {nearest(str(target), names)}"
        )
    if not len(table):
        raise InvalidInput(
            f"{where} must have records; received a table of {len(names)} columns without rows: "
            "leave it out"
        )
    features = table.drop(target)
    if not features.columns:
        raise InvalidInput(
            f"{where} must have a column besides the target {target!r}; received no other: add "
            "the features"
        )
    column = table.get_column(target).to_native()
    outcomes = f"the target column {target!r}"
    return take_in(features.to_native(), column, where, targets=outcomes)


class FrameSource(MemorySource):
    """A finite source in a data frame of mixed types.

    Feature columns may hold missing values, for pipelines that impute them. Utilities that need
    numbers raise an error for missing values.

    Parameters
    ----------
    frame : a pandas or polars data frame
    target : the name of the column with the targets
    replace : draw with replacement

    Examples
    --------
    >>> import pandas as pd, shapband as sb
    >>> frame = pd.DataFrame({"age": [31, 64], "ward": ["a", "b"], "stay": [2.0, 9.0]})
    >>> sb.FrameSource(frame, target="stay").schema.columns
    ('age', 'ward')
    """

    def __init__(self, frame: Any, target: str, *, replace: bool = False) -> None:
        records = records_of_frame(frame, target, "FrameSource")
        super().__init__(records, replace=replace, target=str(target))
