"""Frames whose types are hostile, beside the same cells as floats of 64 bits and strings.

A `Case` holds the records of one provider, validation rows or both in odd types, and the clean
ones. Every odd column is either the same cells in another type, or cells that no number stands for,
in which case the clean column is None and the frame must be refused.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

Rng = np.random.Generator
Cells = list[Any]
N, N_VAL = 12, 9
WORDS = ("low", "mid", " high")


def _days(cells: Cells) -> list[datetime.datetime]:
    return [datetime.datetime(2020, 1, 1) + datetime.timedelta(days=float(x)) for x in cells]


def _spoilt(cells: Cells, value: Any) -> Cells:
    return [*cells[:-1], value]


def _holed(dtype: Any, value: Any = None) -> Callable[[Cells], Any]:
    return lambda cells: pd.Series(_spoilt(cells, value), dtype=dtype)


def _pandas(dtype: Any) -> Callable[[Cells], Any]:
    return lambda cells: pd.Series(cells).astype(dtype)


def _polars(dtype: Any) -> Callable[[Cells], Any]:
    return lambda cells: pl.Series(cells).cast(dtype)


def _objects(convert: Callable[[Any], Any]) -> Callable[[Cells], Any]:
    return lambda cells: pd.Series([convert(x) for x in cells], dtype=object)


def _arrow(kind: Any) -> Callable[[Cells], Any]:
    return lambda cells: pd.Series(cells, dtype=object).astype(pd.ArrowDtype(kind))


def _mixed(cells: Cells) -> Any:
    kinds = [int, float, np.float32, Decimal, Fraction, np.int8]
    return pd.Series([kinds[i % len(kinds)](x) for i, x in enumerate(cells)], dtype=object)


# Whole numbers from 0 to 100 in other types: the same numbers, which must keep their value.
SAME_NUMBERS: dict[str, Callable[[Cells], Any]] = {
    **{f"pandas {d}": _pandas(d) for d in ("f8", "f4", "f2", "i1", "u1", "i2", "u4", "i8", "u8")},
    "pandas longdouble": _pandas("longdouble"),
    **{f"pandas {d}": _pandas(d) for d in ("Int8", "UInt8", "Int64", "Float32", "Float64")},
    "sparse": _pandas("Sparse[float64]"),
    "sparse ints": lambda cells: pd.Series(cells).astype("Sparse[int8]"),
    "categories": _pandas("category"),
    "ordered": lambda cells: pd.Series(pd.Categorical(cells, ordered=True)),
    "objects": _objects(int),
    "mixed objects": _mixed,
    "Decimal": _objects(lambda x: Decimal(str(x))),
    "strings": _objects(str),
    "spaced": _objects(lambda x: f" {x} "),
    "string": lambda cells: pd.Series([str(x) for x in cells], dtype="string"),
    "arrow i1": _arrow(pa.int8()),
    "arrow f4": lambda cells: pd.Series(cells, dtype="float32").astype(pd.ArrowDtype(pa.float32())),
    "arrow u8": _arrow(pa.uint64()),
    "arrow decimal": lambda cells: pd.Series(
        pa.array([Decimal(int(x)) for x in cells], pa.decimal128(9, 2)).to_pandas(),
    ).astype(pd.ArrowDtype(pa.decimal128(9, 2))),
    "arrow strings": lambda cells: pd.Series([str(x) for x in cells]).astype(
        pd.ArrowDtype(pa.string())
    ),
}
# The last number is missing: the clean column ends in NaN.
HOLED_NUMBERS: dict[str, Callable[[Cells], Any]] = {
    "NaN": _holed("f8"),
    "None": _holed(object),
    "pd.NA": _holed(object, pd.NA),
    "NaN object": _holed(object, np.nan),
    "Decimal NaN": lambda cells: (
        _mixed(_spoilt(cells, 1))
        .iloc[:-1]
        .pipe(lambda s: pd.Series([*s, Decimal("NaN")], dtype=object))
    ),
    "Int8": _holed("Int8"),
    "Float32": _holed("Float32"),
    "holed category": lambda cells: pd.Series(pd.Categorical(_spoilt(cells, None))),
    "sparse NaN": lambda cells: pd.Series(_spoilt(cells, np.nan)).astype("Sparse[float64]"),
    "arrow null": lambda cells: pd.Series(
        pa.array(_spoilt([int(x) for x in cells], None), pa.int16()).to_pandas(
            types_mapper=pd.ArrowDtype
        )
    ),
}
# No number stands for these cells, or none that the user asked for.
NO_NUMBERS: dict[str, Callable[[Cells], Any]] = {
    "infinite": _holed("f8", np.inf),
    "infinite object": _holed(object, -np.inf),
    "Decimal infinite": _holed(object, Decimal("Infinity")),
    "mixed strings": _holed(object, "inf"),
    "dates": lambda cells: pd.Series(_days(cells)),
    "NaT": lambda cells: pd.Series(_spoilt(_days(cells), pd.NaT)),
    "NaT object": _holed(object, pd.NaT),
    "date objects": lambda cells: pd.Series([d.date() for d in _days(cells)], dtype=object),
    "zone": lambda cells: pd.Series(_days(cells)).dt.tz_localize("Europe/Berlin"),
    "lengths": lambda cells: pd.to_timedelta(pd.Series(cells), unit="D"),
    "period": lambda cells: pd.Series(pd.PeriodIndex(_days(cells), freq="D")),
    "interval": lambda cells: pd.Series(pd.cut(cells, 3)),
    "arrow date": lambda cells: pd.Series(_days(cells)).astype(pd.ArrowDtype(pa.timestamp("us"))),
    "complex": lambda cells: pd.Series(cells) + 1j,
    "lists": _objects(lambda x: [x]),
    "things": _objects(lambda x: object()),
    "categories of dates": lambda cells: pd.Series(_days(cells)).astype("category"),
}
POLARS_SAME: dict[str, Callable[[Cells], Any]] = {
    "Float64": _polars(pl.Float64),
    "Float32": _polars(pl.Float32),
    "Int8": _polars(pl.Int8),
    "UInt8": _polars(pl.UInt8),
    "Int16": _polars(pl.Int16),
    "Int64": _polars(pl.Int64),
    "UInt64": _polars(pl.UInt64),
    "decimal": lambda cells: pl.Series([Decimal(int(x)) for x in cells], dtype=pl.Decimal(9, 2)),
    "strings": lambda cells: pl.Series([str(x) for x in cells]),
    "categories": lambda cells: pl.Series([str(x) for x in cells], dtype=pl.Categorical),
    "objects": lambda cells: pl.Series(cells, dtype=pl.Object),
}
POLARS_HOLED: dict[str, Callable[[Cells], Any]] = {
    "null": lambda cells: pl.Series(_spoilt(cells, None)),
    "NaN": lambda cells: pl.Series([float(x) for x in _spoilt(cells, np.nan)]),
    "Int8 null": lambda cells: pl.Series(_spoilt([int(x) for x in cells], None), dtype=pl.Int8),
}
POLARS_NONE: dict[str, Callable[[Cells], Any]] = {
    "infinite": lambda cells: pl.Series([float(x) for x in _spoilt(cells, np.inf)]),
    "dates": lambda cells: pl.Series([d.date() for d in _days(cells)]),
    "null dates": lambda cells: pl.Series(_spoilt(_days(cells), None)),
    "zone": lambda cells: pl.Series(_days(cells)).dt.replace_time_zone("Europe/Berlin"),
    "lengths": lambda cells: pl.Series([datetime.timedelta(float(x)) for x in cells]),
    "lists": lambda cells: pl.Series([[x] for x in cells]),
    "bytes": lambda cells: pl.Series([b"\xff" for _ in cells]),
}
SAME_WORDS: dict[str, Callable[[Cells], Any]] = {
    "strings": pd.Series,
    "objects": _objects(str),
    "string": lambda cells: pd.Series(cells, dtype="string"),
    "arrow": lambda cells: pd.Series(cells).astype(pd.ArrowDtype(pa.large_string())),
    "dictionary": lambda cells: pd.Series(
        pa.array(cells).dictionary_encode().to_pandas(types_mapper=pd.ArrowDtype)
    ),
    "category": lambda cells: pd.Series(cells, dtype="category"),
    "levels": lambda cells: pd.Series(pd.Categorical(cells, ["zero", *WORDS[::-1], "top"])),
    "bytes": _objects(lambda word: word.encode()),
    "str_": _objects(np.str_),
}
NO_WORDS: dict[str, Callable[[Cells], Any]] = {
    "mixed": _holed(object, 3),
    "bad bytes": _holed(object, b"\xff"),
    "words of things": _holed(object, object()),
}
POLARS_WORDS: dict[str, Callable[[Cells], Any]] = {
    "strings": pl.Series,
    "categories": lambda cells: pl.Series(cells, dtype=pl.Categorical),
    "enum": lambda cells: pl.Series(cells, dtype=pl.Enum([*WORDS, "top"])),
}


@dataclass
class Records:
    """Features and targets, odd, and clean unless they must be refused."""

    X: Any
    y: Any
    clean: tuple[Any, Any] | None


@dataclass
class Case:
    """What the provider and the validation rows hold, in one library."""

    told: str
    provider: Records
    validation: Records
    words: bool  # whether there is a column of strings
    labels: bool  # whether targets are labels


def make_case(seed: int) -> Case:
    """Make the case of a seed."""
    rng = np.random.default_rng([20, seed])
    library = "polars" if rng.random() < 0.3 else "pandas"
    words, labels = bool(rng.random() < 0.4), bool(rng.random() < 0.4)
    where = ("provider", "validation", "both")[rng.integers(3)]
    told = [library, where]
    made = {
        side: _records(rng, library, n, (words, labels), where in (side, "both"), told)
        for side, n in (("provider", N), ("validation", N_VAL))
    }
    return Case(", ".join(told), made["provider"], made["validation"], words, labels)


def _records(
    rng: Rng, library: str, n: int, has: tuple[bool, bool], odd: bool, told: list[str]
) -> Records:
    cells: dict[str, Cells] = {name: rng.permutation(n * 8)[:n].tolist() for name in "ab"}
    if has[0]:
        cells["c"] = [WORDS[i] for i in (*range(3), *rng.integers(3, size=n - 3))]
    y: Cells = (rng.integers(0, 90, n) / 2).tolist()
    if has[1]:
        y = [WORDS[i % 2] for i in range(n)]
    clean: dict[str, Cells] | None = {k: v if k == "c" else [float(x) for x in v]
                                      for k, v in cells.items()}  # fmt: skip
    columns: dict[str, Any] = {name: _series(library, values) for name, values in clean.items()}
    target: Any = _series(library, y)
    right_y = True
    if odd:
        for name in cells:
            if rng.random() < 0.6:
                which, column, values = _odd_column(rng, library, cells[name], name == "c")
                told.append(f"{name}: {which}")
                columns[name] = column
                clean = None if clean is None or values is None else {**clean, name: values}
        if rng.random() < 0.4:
            which, target, right_y = _odd_target(rng, library, y, has[1])
            told.append(f"y: {which}")
    frame_of = pl.DataFrame if library == "polars" else pd.DataFrame
    X, right_X = frame_of(columns), True
    if odd and rng.random() < 0.3:
        which, X, right_X = _odd_frame(rng, X)
        told.append(f"X: {which}")
    if clean is None or not right_X or not right_y:
        return Records(X, target, None)
    plain = {name: _series(library, values) for name, values in clean.items()}
    return Records(X, target, (frame_of(plain), np.array(y)))


def _series(library: str, values: Cells) -> Any:
    return pl.Series(values) if library == "polars" else pd.Series(values)


def _odd_column(rng: Rng, library: str, cells: Cells, words: bool) -> tuple[str, Any, Any]:
    if words:
        same, holed, none = SAME_WORDS, {}, NO_WORDS
        if library == "polars":
            same, holed, none = POLARS_WORDS, {}, {}
    elif library == "polars":
        same, holed, none = POLARS_SAME, POLARS_HOLED, POLARS_NONE
    else:
        same, holed, none = SAME_NUMBERS, HOLED_NUMBERS, NO_NUMBERS
    part = rng.random()
    if none and part < 0.15:
        which = list(none)[rng.integers(len(none))]
        return which, none[which](cells), None
    if holed and part < 0.3:
        which = list(holed)[rng.integers(len(holed))]
        return which, holed[which](cells), [*map(float, cells[:-1]), np.nan]
    which = list(same)[rng.integers(len(same))]
    return which, same[which](cells), cells if words else [float(x) for x in cells]


def _odd_target(rng: Rng, library: str, y: Cells, labels: bool) -> tuple[str, Any, bool]:
    if labels:
        table = POLARS_WORDS if library == "polars" else SAME_WORDS
        which = list(table)[rng.integers(len(table))]
        return which, table[which](y), True
    odd: dict[str, tuple[Any, bool]] = {
        "strings": (np.array([str(x) for x in y]), True),
        "f4": (np.array(y, dtype="f4"), True),
        "Decimal": ([Decimal(str(x)) for x in y], True),
        "Float64": (pd.Series(y, dtype="Float64"), True),
        "arrow": (pa.array(y), True),
        "NaN": (np.array(_spoilt(y, np.nan)), False),
        "spaced NaN": (np.array([*map(str, y[:-1]), " NaN"]), False),
        "inf": (np.array([*map(str, y[:-1]), "inf"], dtype=object), False),
        "NA": (pd.Series(_spoilt(y, None), dtype="Float64"), False),
        "dates": (np.array(_days(y), dtype="M8[s]"), False),
        "NaT": (np.array([*[1] * (len(y) - 1), "NaT"], dtype="m8[D]"), False),
        "masked": (np.ma.masked_greater(np.array(y), sorted(y)[-2]), False),
        "long": ([*y, 1.0], False),
        "column": (np.array(y)[:, None], False),
    }
    which = list(odd)[rng.integers(len(odd))]
    return which, *odd[which]


def _odd_frame(rng: Rng, X: Any) -> tuple[str, Any, bool]:
    """A frame that is hostile as a whole, and whether its cells and their order are right."""
    names = list(X.columns)
    if isinstance(X, pl.DataFrame):
        return [("order", X[names[::-1]], False), ("empty", X[:0], False),
                ("lazy", X.lazy(), False)][rng.integers(3)]  # fmt: skip
    dates = pd.date_range("2020", periods=len(X), tz="UTC")
    levels = pd.MultiIndex.from_tuples([("x", name) for name in names])
    odd: dict[str, tuple[Any, bool]] = {
        "order": (X[names[::-1]], False),
        "twice": (X.set_axis(["a"] * len(names), axis=1), False),
        "levels": (X.set_axis(levels, axis=1), False),
        "numbers": (X.set_axis(list(range(len(names))), axis=1), False),
        "mixed names": (X.set_axis(["a", *range(len(names) - 1)], axis=1), False),
        "tuples": (X.set_axis(pd.Index([(n, 1) for n in names], tupleize_cols=False), axis=1),
                   False),
        "empty": (X.iloc[:0], False),
        "no columns": (X[[]], False),
        "index": (X.set_axis(dates, axis=0), True),
        "periods": (X.set_axis(dates.tz_localize(None).to_period("D"), axis=0), True),
        "repeated index": (X.set_axis([7] * len(X), axis=0), True),
        "arrow table": (pa.table({"a": [1.0] * len(X), "b": [1.0] * len(X)}), False),
        "sparse matrix": (sparse.csr_matrix(np.eye(len(X))[:, :2]), False),
        "fields": (np.zeros(len(X), dtype=[("a", float), ("b", float)]), False),
        "masked rows": ([np.ma.array([1.0, 2.0], mask=[0, 1]) for _ in range(len(X))], False),
        "matrix of dates": (np.full((len(X), 2), np.datetime64("2020-01-01")), False),
    }  # fmt: skip
    which = list(odd)[rng.integers(len(odd))]
    return which, *odd[which]
