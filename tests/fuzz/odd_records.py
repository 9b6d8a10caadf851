"""Features and targets of all kinds, right and wrong, and their cells as a reference reads them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

Rng = np.random.Generator
Maker = Callable[[int, Rng], Any]


def _with(array: np.ndarray, value: Any) -> np.ndarray:
    if array.size:
        array.flat[-1] = value
    return array


def _table(n: int, rng: Rng) -> np.ndarray:
    return rng.integers(-4, 5, (n, 2)).astype(float)


def _frame(n: int, rng: Rng) -> pd.DataFrame:
    return pd.DataFrame(_table(n, rng), columns=["a", "b"])


def _words(n: int, rng: Rng) -> list[str]:
    return [["x", "yy", "zzz"][i] for i in rng.integers(0, 3, n)]


FEATURES: dict[str, Maker] = {
    "floats": _table,
    "ints": lambda n, rng: rng.integers(-4, 5, (n, 2)),
    "float32": lambda n, rng: _table(n, rng).astype(np.float32),
    "column": lambda n, rng: _table(n, rng)[:, :1],
    "flat": lambda n, rng: _table(n, rng)[:, 0],
    "flat list": lambda n, rng: _table(n, rng)[:, 0].tolist(),
    "cube": lambda n, rng: rng.normal(size=(n, 2, 2)),
    "scalar": lambda n, rng: 3.0,
    "lists": lambda n, rng: _table(n, rng).tolist(),
    "ragged": lambda n, rng: [[1.0] * (1 + i % 2) for i in range(n)],
    "digits": lambda n, rng: _table(n, rng).astype(str),
    "words": lambda n, rng: [[word, word] for word in _words(n, rng)],
    "NaN": lambda n, rng: _with(_table(n, rng), np.nan),
    "infinite": lambda n, rng: _with(_table(n, rng), -np.inf),
    "large": lambda n, rng: _with(_table(n, rng), 1e300),
    "huge ints": lambda n, rng: [[10**400, 1]] * n,
    "None": lambda n, rng: None,
    "Nones": lambda n, rng: [[None, 1.0]] * n,
    "complex": lambda n, rng: _table(n, rng) + 1j,
    "objects": lambda n, rng: _table(n, rng).astype(object),
    "odd objects": lambda n, rng: np.full((n, 2), object(), dtype=object),
    "flags": lambda n, rng: _table(n, rng) > 0,
    "dates": lambda n, rng: np.full((n, 2), np.datetime64("2020-01-01")),
    "Fortran": lambda n, rng: np.asfortranarray(_table(n, rng)),
    "strided": lambda n, rng: np.repeat(_table(n, rng), 2, axis=0)[::2],
    "masked": lambda n, rng: np.ma.masked_greater(_table(n, rng), 3),
    "sparse": lambda n, rng: sparse.csr_matrix(_table(n, rng)),
    "no columns": lambda n, rng: np.empty((n, 0)),
    "iterator": lambda n, rng: iter(_table(n, rng)),
    "dict": lambda n, rng: {"a": _table(n, rng)[:, 0]},
    "text": lambda n, rng: "abc",
    "pandas": _frame,
    "pandas again": _frame,
    "pandas ints": lambda n, rng: _frame(n, rng).astype(int),
    "pandas index": lambda n, rng: _frame(n, rng).set_axis([7] * n, axis=0),
    "pandas missing": lambda n, rng: _frame(n, rng).where(lambda f: f < 3),
    "pandas infinite": lambda n, rng: _frame(n, rng).replace(0.0, np.inf),
    "pandas words": lambda n, rng: _frame(n, rng).assign(b=_words(n, rng)),
    "pandas objects": lambda n, rng: _frame(n, rng).astype(object),
    "pandas categories": lambda n, rng: _frame(n, rng).assign(b=pd.Categorical(_words(n, rng))),
    "pandas nullable": lambda n, rng: _frame(n, rng).astype("Int64"),
    "pandas dates": lambda n, rng: _frame(n, rng).assign(b=pd.Timestamp("2020-01-01")),
    "pandas one column": lambda n, rng: _frame(n, rng)[["a"]],
    "pandas reordered": lambda n, rng: _frame(n, rng)[["b", "a"]],
    "pandas twice": lambda n, rng: _frame(n, rng).set_axis(["a", "a"], axis=1),
    "pandas numbers": lambda n, rng: _frame(n, rng).set_axis([0, 1], axis=1),
    "pandas mixed names": lambda n, rng: _frame(n, rng).set_axis(["a", 1], axis=1),
    "pandas control": lambda n, rng: _frame(n, rng).set_axis(["a\n\x1b", "b"], axis=1),
    "pandas levels": lambda n, rng: _frame(n, rng).set_axis([["a", "a"], ["b", "c"]], axis=1),
    "pandas series": lambda n, rng: _frame(n, rng)["a"],
    "pandas no columns": lambda n, rng: _frame(n, rng)[[]],
    "polars": lambda n, rng: pl.from_pandas(_frame(n, rng)),
    "polars ints": lambda n, rng: pl.DataFrame(_frame(n, rng).astype(int).to_dict("list")),
    "polars nulls": lambda n, rng: pl.DataFrame({"a": [None] * n, "b": [1.0] * n}),
    "polars words": lambda n, rng: pl.DataFrame({"a": [1.0] * n, "b": _words(n, rng)}),
    "polars lists": lambda n, rng: pl.DataFrame({"a": [1.0] * n, "b": [[1, 2]] * n}),
    "polars lazy": lambda n, rng: pl.DataFrame({"a": [1.0] * n, "b": [2.0] * n}).lazy(),
    "polars series": lambda n, rng: pl.Series("a", [1.0] * n),
}

TARGETS: dict[str, Maker] = {
    "floats": lambda n, rng: rng.normal(size=n).round(2),
    "ints": lambda n, rng: rng.integers(0, 3, n),
    "flags": lambda n, rng: rng.integers(0, 2, n) > 0,
    "list": lambda n, rng: rng.normal(size=n).round(2).tolist(),
    "tuple": lambda n, rng: tuple(rng.normal(size=n).round(2).tolist()),
    "words": _words,
    "word array": lambda n, rng: np.array(_words(n, rng)),
    "word objects": lambda n, rng: np.array(_words(n, rng), dtype=object),
    "bytes": lambda n, rng: np.array(_words(n, rng)).astype(bytes),
    "mixed": lambda n, rng: np.array([*_words(n, rng)[1:], 1.5][:n], dtype=object),
    "objects": lambda n, rng: rng.integers(0, 3, n).astype(object),
    "odd objects": lambda n, rng: np.array([object()] * n),
    "Nones": lambda n, rng: [None] * n,
    "NaN": lambda n, rng: _with(rng.normal(size=n), np.nan),
    "infinite": lambda n, rng: _with(rng.normal(size=n), np.inf),
    "large": lambda n, rng: _with(rng.normal(size=n), 1e300),
    "column": lambda n, rng: rng.normal(size=(n, 1)),
    "scalar": lambda n, rng: 1.0,
    "text": lambda n, rng: "a" * n,
    "None": lambda n, rng: None,
    "set": lambda n, rng: set(range(n)),
    "huge ints": lambda n, rng: [10**400] * n,
    "very huge ints": lambda n, rng: [10**5000] * n,
    "complex": lambda n, rng: rng.normal(size=n) + 1j,
    "dates": lambda n, rng: np.full(n, np.datetime64("2020-01-01")),
    "ragged": lambda n, rng: [[1.0] * (i % 2) for i in range(n)],
    "records": lambda n, rng: np.zeros(n, dtype=[("a", float)]),
    "masked": lambda n, rng: np.ma.masked_greater(rng.integers(0, 3, n), 1),
    "pandas": lambda n, rng: pd.Series(rng.normal(size=n).round(2), index=range(5, 5 + n)),
    "pandas words": lambda n, rng: pd.Series(_words(n, rng)),
    "pandas nullable": lambda n, rng: pd.Series([1, pd.NA, 3] * n, dtype="Int64")[:n],
    "pandas categories": lambda n, rng: pd.Categorical(_words(n, rng)),
    "pandas frame": lambda n, rng: _frame(n, rng)[["a"]],
    "polars": lambda n, rng: pl.Series(rng.normal(size=n).round(2)),
    "polars words": lambda n, rng: pl.Series(_words(n, rng)),
    "polars nulls": lambda n, rng: pl.Series([1.0, None] * n)[:n],
    "iterator": lambda n, rng: iter([1.0] * n),
}


def copied(thing: Any) -> Any:
    """A copy in memory of its own; what cannot be copied is no valid answer anyway."""
    try:
        return copy.deepcopy(thing)
    except TypeError:
        return None


def rows_of(X: Any) -> list[list[float]]:
    """Cells of features as numbers, by plain Python."""
    if isinstance(X, pl.DataFrame):
        return [[cell(one) for one in row] for row in X.rows()]
    if isinstance(X, pd.DataFrame):
        return [[cell(one) for one in row] for row in X.astype(object).to_numpy().tolist()]
    array = np.asarray(X)
    # Dates become the numbers that NumPy makes of them.
    rows = (array.astype(float) if array.dtype.kind == "M" else array).tolist()
    return [[float(one) for one in row] if isinstance(row, list) else [float(row)] for row in rows]


def targets_of(y: Any) -> list[float]:
    """Targets as numbers, by plain Python: labels count their characters, negated."""
    return [cell(one) for one in np.asarray(y).tolist()]


def cell(one: Any) -> float:
    """A number for any cell, so that a change of type or value shows."""
    if isinstance(one, (str, bytes)):
        return -10.0 - len(one)
    if one is None or one is pd.NA or one is pd.NaT or one != one:
        return 0.25
    try:
        return float(one)
    except (TypeError, ValueError):
        return -99.0 - len(str(one))


def worth(rows: list[list[float]], targets: list[float]) -> float:
    """A game that is not additive, and in which every cell and the pairing of rows count."""
    sums = [sum((j + 1) * x for j, x in enumerate(row)) for row in rows]
    pairs = [(a + 1.5) * (b + 0.5) for a, b in zip(sums, targets, strict=True)]
    return max(pairs) + sum(targets) / len(targets) + len(rows) ** 0.5
