"""Conversion of bought records to bytes and back, without pickle.

The bytes are the length of a header, the header in JSON, and the arrays one after the other.
Columns of objects (strings, possibly with missing values) are lists in the header. A polars frame
is stored in the IPC format of polars, which needs no other package; a pandas frame is stored column
by column, with its index.
"""

from __future__ import annotations

import io
import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from shapband._typing import AnyArray
from shapband.errors import RunDamaged, RunError
from shapband.records.batch import Batch

_Header = dict[str, Any]
_LENGTH = struct.Struct("<Q")
_PLAIN = (str, int, float, bool, type(None))


def to_bytes(batch: Batch) -> bytes:
    """Write records."""
    arrays: dict[str, AnyArray] = {}
    header = {"y": _put(batch.y, "y", arrays), "library": batch.schema.library or "numpy"}
    if header["library"] == "numpy":
        header["X"] = _put(batch.X, "X", arrays)
    elif header["library"] == "polars":
        stream = io.BytesIO()
        batch.X.write_ipc(stream)
        arrays["X"] = np.frombuffer(stream.getvalue(), dtype=np.uint8)
    elif header["library"] == "pandas":
        header["X"] = _put_pandas(batch.X, arrays)
    else:
        raise RunError(f"a run cannot store frames of {header['library']}: use pandas or polars")
    return _packed(header, arrays)


def from_bytes(data: bytes) -> Batch:
    """Read what `to_bytes` wrote."""
    try:
        header, arrays = _unpacked(data)
        return Batch(_read_rows(header, arrays), _get(header["y"], arrays))
    except (KeyError, IndexError, TypeError, ValueError, struct.error) as cause:
        raise RunDamaged(f"stored records cannot be read ({cause})") from cause


def _packed(header: _Header, arrays: Mapping[str, AnyArray]) -> bytes:
    """Write a header and arrays of plain numbers, times or fixed-width strings."""
    plain = {key: np.ascontiguousarray(array) for key, array in arrays.items()}
    header["arrays"] = {key: (array.dtype.str, array.shape) for key, array in plain.items()}
    text = json.dumps(header).encode()
    parts = (array.tobytes() for array in plain.values())
    return b"".join([_LENGTH.pack(len(text)), text, *parts])


def _unpacked(data: bytes) -> tuple[_Header, dict[str, AnyArray]]:
    (length,) = _LENGTH.unpack_from(data)
    at = _LENGTH.size + length
    header: _Header = json.loads(data[_LENGTH.size : at])
    arrays = {}
    for key, (kind, shape) in header["arrays"].items():
        dtype, count = np.dtype(kind), math.prod(shape)
        if dtype.hasobject:
            raise ValueError(f"the array {key!r} holds objects")
        # Copy, because arrays that share memory with bytes are read-only.
        arrays[key] = np.frombuffer(data, dtype, count, at).reshape(shape).copy()
        at += dtype.itemsize * count
    return header, arrays


def _read_rows(header: _Header, arrays: Mapping[str, AnyArray]) -> Any:
    if header["library"] == "numpy":
        return _get(header["X"], arrays)
    if header["library"] == "pandas":
        return _get_pandas(header["X"], arrays)
    import polars as pl

    return pl.read_ipc(io.BytesIO(arrays["X"].tobytes()), use_pyarrow=False)


def _put(values: AnyArray, key: str, arrays: dict[str, AnyArray]) -> _Header:
    """Put an array into the archive, or its objects into the header."""
    if values.dtype.kind in "OT":
        return {"objects": [_plain(value) for value in values.tolist()], "kind": values.dtype.kind}
    arrays[key] = values
    return {"array": key}


def _get(header: _Header, arrays: Mapping[str, AnyArray]) -> AnyArray:
    if "array" in header:
        return arrays[header["array"]]
    if header["kind"] == "T":
        return np.array(header["objects"], dtype=np.dtypes.StringDType())
    objects = np.empty(len(header["objects"]), dtype=object)
    objects[:] = header["objects"]
    return objects


def _plain(value: Any) -> Any:
    """Check that a cell stays the same when it is written to JSON and read back."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, _PLAIN):
        raise RunError(
            f"a run cannot store cells of the type {type(value).__name__}: convert them to "
            "numbers, strings or a date column first"
        )
    return value


def _put_pandas(frame: Any, arrays: dict[str, AnyArray]) -> _Header:
    """Put a pandas frame into the archive; columns and index levels are numbered."""
    index = frame.index
    levels = [index.get_level_values(place) for place in range(index.nlevels)]
    return {
        "columns": [_plain(name) for name in frame.columns],
        "cells": [
            _put_series(frame.iloc[:, place].array, f"column {place}", arrays)
            for place in range(frame.shape[1])
        ],
        "names": [_plain(name) for name in index.names],
        "levels": [
            _put_series(level.array, f"level {place}", arrays) for place, level in enumerate(levels)
        ],
    }


def _get_pandas(header: _Header, arrays: Mapping[str, AnyArray]) -> Any:
    import pandas as pd

    # Types are given wherever pandas would otherwise guess them from the objects.
    parts = [_get_series(level, arrays) for level in header["levels"]]
    levels = [pd.Index(part, dtype=part.dtype) for part in parts]
    if len(levels) == 1:
        index = levels[0].rename(header["names"][0])
    else:
        index = pd.MultiIndex.from_arrays(levels, names=header["names"])
    cells = [_get_series(column, arrays) for column in header["cells"]]
    columns = [pd.Series(column, index=index, dtype=column.dtype) for column in cells]
    frame = pd.DataFrame(dict(enumerate(columns)), index=index)
    frame.columns = pd.Index(header["columns"])
    return frame


def _put_series(cells: Any, key: str, arrays: dict[str, AnyArray]) -> _Header:
    """Put one pandas array into the archive, with the name of its type."""
    import pandas as pd

    dtype = cells.dtype
    if isinstance(dtype, pd.StringDtype):
        texts = [None if gap else text for text, gap in zip(cells, cells.isna(), strict=True)]
        missing = "nan" if dtype.na_value is np.nan else "NA"
        return {"type": "text", "texts": texts, "storage": dtype.storage, "missing": missing}
    if isinstance(cells, pd.arrays.NumpyExtensionArray) or isinstance(dtype, np.dtype):
        return {"type": "numpy", "values": _put(cells.to_numpy(), key, arrays)}
    if isinstance(dtype, pd.CategoricalDtype):
        categories = _put_series(dtype.categories.array, f"{key} categories", arrays)
        codes = _put(cells.codes, key, arrays)
        return {"type": "category", "of": categories, "codes": codes, "ordered": dtype.ordered}
    if isinstance(dtype, pd.DatetimeTZDtype):
        instants = _put(cells.to_numpy(dtype=f"M8[{dtype.unit}]"), key, arrays)
        return {"type": "zoned", "name": str(dtype), "values": instants}
    if str(dtype) in _NULLABLE:
        known = cells.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
        return {
            "type": "nullable",
            "name": str(dtype),
            "values": _put(known, key, arrays),
            "missing": _put(cells.isna(), f"{key} missing", arrays),
        }
    raise RunError(f"a run cannot store columns of the type {dtype}: convert them first")


_NULLABLE = {
    "boolean",
    *(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)),
    "Float32",
    "Float64",
}


def _get_series(header: _Header, arrays: Mapping[str, AnyArray]) -> Any:
    import pandas as pd

    if header["type"] == "category":
        categories = _get_series(header["of"], arrays)
        dtype = pd.CategoricalDtype(pd.Index(categories, dtype=categories.dtype), header["ordered"])
        return pd.Categorical.from_codes(_get(header["codes"], arrays), dtype=dtype)
    if header["type"] == "text":
        missing = np.nan if header["missing"] == "nan" else pd.NA
        return pd.array(header["texts"], dtype=pd.StringDtype(header["storage"], missing))
    values = _get(header["values"], arrays)
    if header["type"] == "zoned":
        zone = pd.api.types.pandas_dtype(header["name"])
        return pd.DatetimeIndex(values).tz_localize("UTC").astype(zone).array
    if header["type"] == "nullable":
        cells = pd.array(values, dtype=header["name"])
        cells[_get(header["missing"], arrays)] = pd.NA
        return cells
    return values
