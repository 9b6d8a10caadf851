"""Records in pandas or polars data frames; the utility receives data frames too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shapband.checks import one_line, printable
from shapband.errors import InvalidInput
from shapband.records import Batch
from shapband.sources.base import MemorySource, check_targets

if TYPE_CHECKING:
    import narwhals as nw


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
        check_infinite(features, "FrameSource")
        column = f"the target column {target!r}"
        y = check_targets(table.get_column(target).to_numpy(), len(table), "FrameSource", column)
        super().__init__(Batch(features.clone().to_native(), y), replace=replace)


def as_frame(frame: Any) -> nw.DataFrame[Any]:
    """Wrap a pandas or polars data frame in the common interface of narwhals."""
    import narwhals as nw

    try:
        table: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
        names = table.columns
    except TypeError as cause:
        raise InvalidInput(
            f"frame must be a pandas or polars data frame; received {type(frame).__name__}"
        ) from cause
    except nw.exceptions.DuplicateError as cause:
        raise InvalidInput(
            f"the columns of a frame must have different names: rename some ({one_line(cause)})"
        ) from cause
    if getattr(getattr(frame, "columns", None), "nlevels", 1) > 1:
        raise InvalidInput("the columns of a frame must have one level of names: join the levels")
    if len(set(names)) < len(names):
        raise InvalidInput("the columns of a frame must have different names: rename some")
    return table


def check_infinite(features: nw.DataFrame[Any], owner: str) -> None:
    """Check that no numeric column holds infinite values; missing values are allowed."""
    for name in features.columns:
        column = features.get_column(name)  # features[name] would be a row if the name is a number
        if column.dtype.is_float() and np.isinf(column.drop_nulls().to_numpy()).any():
            raise InvalidInput(f"{owner}: column {name!r} holds infinite values: remove them")
