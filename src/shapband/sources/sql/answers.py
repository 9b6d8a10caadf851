"""Rows of a database as records: a pandas frame of floats and strings, and the targets."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

import numpy as np

from shapband._typing import AnyArray
from shapband.checks import written
from shapband.errors import InvalidInput
from shapband.records.batch import Batch, Schema
from shapband.records.cells import check_exact, plain_cells
from shapband.sources.base import UnusableAnswer

_NUMBERS = {int, float, bool, Decimal, type(None)}
_LARGEST_EXACT = 2.0**53  # integers beyond this are not exact as floats


class Layout:
    """The columns of a source, and which of them hold numbers.

    Numbers, booleans and decimals become floats, NULL becomes NaN. A column whose first rows hold
    strings must hold strings in every draw, so that all draws have the same types.

    Parameters
    ----------
    features, target : the names of the columns
    strings : the columns that hold strings; the others hold numbers
    """

    def __init__(self, features: Sequence[str], target: str, strings: set[str]) -> None:
        import pandas as pd

        self.features = tuple(features)
        self.target = target
        self.schema = Schema(len(self.features), self.features, "pandas")
        self._strings = strings
        self._names = (*self.features, target)
        self._index = pd.Index(self.features)
        self._string_type = pd.Series(["a"]).dtype  # `str` from pandas 3 on, `object` before

    def batch(self, keys: Sequence[Any], rows: Sequence[tuple[Any, ...]]) -> Batch:
        """Make a batch of rows, each of which begins with its key."""
        import pandas as pd

        kinds = set(map(type, chain.from_iterable(rows)))
        if not self._strings and kinds <= _NUMBERS:
            table = np.array(rows, dtype=np.float64)
            y = table[:, -1].copy()
            X = pd.DataFrame(table[:, 1:-1], columns=self._index, copy=True)
        else:
            columns = list(zip(*rows, strict=True))[1:]
            cells = {
                name: self._column(name, column, keys)
                for name, column in zip(self._names, columns, strict=True)
            }
            y = cells.pop(self.target)
            X = pd.DataFrame(
                {
                    name: pd.Series(cells[name], dtype=self._string_type)
                    if name in self._strings
                    else cells[name]
                    for name in self.features
                }
            )
        self._check_targets(y, keys, rows)
        return Batch(X, y)

    def _column(self, name: str, column: tuple[Any, ...], keys: Sequence[Any]) -> AnyArray:
        """Convert one column, and check that its type is the one that the first rows have."""
        try:
            cells = plain_cells(column, f"column {name!r}")
        except InvalidInput as cause:
            self._check_kind(name, column, keys)
            raise UnusableAnswer(str(cause), None) from cause
        if name in self._strings:
            if cells.dtype.kind == "f":
                self._check_kind(name, column, keys)
            return cells
        if cells.dtype.kind == "f":
            return cells
        self._check_kind(name, column, keys)
        return np.full(len(cells), np.nan)  # every cell is NULL

    def _check_kind(self, name: str, column: tuple[Any, ...], keys: Sequence[Any]) -> None:
        """Name the first cell that is a string among numbers, or a number among strings."""
        text = name in self._strings
        for key, cell in zip(keys, column, strict=True):
            if cell is not None and isinstance(cell, str | bytes) is not text:
                first, other = ("strings", "no string") if text else ("numbers", "no number")
                raise UnusableAnswer(
                    f"column {name!r} holds {first} in its first rows, but {written(cell)[:60]}, "
                    f"which is {other}, in the row with key {written(key)}: correct the row, or "
                    "convert the column with query=",
                    None,
                )

    def _check_targets(
        self, y: AnyArray, keys: Sequence[Any], rows: Sequence[tuple[Any, ...]]
    ) -> None:
        numbers = y.dtype.kind == "f"
        missing = np.isnan(y) if numbers else np.array([cell is None for cell in y])
        if missing.any():
            key = keys[int(np.argmax(missing))]
            raise UnusableAnswer(
                f"target={self.target!r} is NULL or NaN in the row with key {written(key)}: leave "
                "such rows out with query=",
                None,
            )
        if numbers and (np.abs(y) >= _LARGEST_EXACT).any():
            cells = np.empty(len(rows), dtype=object)
            cells[:] = [row[-1] for row in rows]
            check_exact(cells, f"target={self.target!r}")
