"""Records in pandas or polars data frames; the utility receives data frames too."""

from __future__ import annotations

from typing import Any

from shapband.checks import concerning, printable
from shapband.errors import InvalidInput
from shapband.records.batch import take_in
from shapband.records.frames import as_frame
from shapband.sources.base import MemorySource


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
        with concerning("FrameSource"):
            table = as_frame(frame)
        names = [printable(str(name)) for name in table.columns]
        if target not in table.columns:
            raise InvalidInput(
                f"FrameSource: target {target!r} is not a column; there are {', '.join(names)}"
            )
        features = table.drop(target)
        if not features.columns:
            raise InvalidInput(
                f"FrameSource: the frame has no column besides the target {target!r}: a feature "
                "is needed"
            )
        column = table.get_column(target).to_native()
        told = f"the target column {target!r}"
        records = take_in(features.to_native(), column, "FrameSource", targets=told)
        super().__init__(records, replace=replace)
