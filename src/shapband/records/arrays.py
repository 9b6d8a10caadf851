"""Features as arrays of finite floats; targets as finite floats or strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from shapband._typing import AnyArray, FloatArray
from shapband.checks import error_line
from shapband.errors import InvalidInput
from shapband.records.cells import NOT_FINITE, check_exact, floats_of, no_dates, plain_cells
from shapband.records.columns import plain_series


def own_features(X: Any, owner: str, name: str) -> FloatArray:
    """Copy features to a finite float array (n_rows, n_features); one dimension is one feature."""
    where = f"{owner}: {name}"
    try:
        array = _as_array(X, where)
    except InvalidInput:
        raise
    except Exception as cause:
        raise InvalidInput(
            f"{where} must be a table of numbers; pass a data frame for mixed types "
            f"({error_line(cause)})"
        ) from cause
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidInput(
            f"{where} must have the shape (n_records, n_features), with at least one "
            f"record and one feature; received {array.shape}"
        )
    features = _as_floats(array, where)
    finite = np.isfinite(features)
    if not finite.all():
        column = int(np.argmin(finite.all(axis=0)))
        raise InvalidInput(
            f"{where} holds NaN or infinite values in column {column}: remove or impute them"
        )
    return features


def own_targets(y: Any, n_records: int, owner: str, name: str) -> AnyArray:
    """Copy the targets, and check that each record has one: a finite float or a string."""
    where = f"{owner}: {name}"
    try:
        targets = _as_array(plain_series(y, where), where)
    except InvalidInput:
        raise
    except Exception as cause:
        raise InvalidInput(f"{where} must be a row of targets ({error_line(cause)})") from cause
    if targets.ndim != 1 or len(targets) != n_records:
        raise InvalidInput(
            f"{where} must be one target for each of the {n_records} records; "
            f"received the shape {targets.shape}"
        )
    if n_records == 0:
        raise InvalidInput(f"{owner}: there are no records; at least one is needed")
    given = targets
    if given.dtype.kind in "OST":
        targets = plain_cells(given.tolist(), where)
    if given.dtype.kind in "iuO":
        check_exact(given, where)
    if targets.dtype.kind in "iubf":
        targets = targets.astype(np.float64)
        missing = not np.isfinite(targets).all()
    else:
        targets = targets.copy()
        missing = targets.dtype.kind == "O" and any(t is None or t != t for t in targets)
    if missing:
        raise InvalidInput(f"{where} {NOT_FINITE}: remove those records")
    return targets


def float_targets(y: AnyArray) -> FloatArray:
    """Convert targets that are floats, or strings that are written as numbers, to finite floats."""
    floats = y
    if y.dtype.kind != "f":
        try:
            floats = floats_of(plain_cells(y.tolist(), "the row of targets"), "the row of targets")
        except InvalidInput as cause:
            raise InvalidInput(
                "this utility needs numbers as targets, and received labels: use "
                f"NeighborUtility(task='classification') or EstimatorUtility ({cause})"
            ) from cause
        if not np.isfinite(floats).all():
            raise InvalidInput(
                f"the row of targets {NOT_FINITE}, written as strings: remove those records"
            )
    return np.ascontiguousarray(floats, dtype=np.float64)


def _as_array(values: Any, where: str) -> AnyArray:
    """Convert an argument to an array, and refuse values that NumPy would change silently."""
    if hasattr(values, "toarray"):
        raise InvalidInput(f"{where} must not be sparse: pass its toarray()")
    rows = values if isinstance(values, list | tuple) else [values]
    if type(values) is not np.ndarray and any(np.ma.is_masked(row) for row in rows):
        raise InvalidInput(f"{where} holds masked values: remove or impute them")
    array = np.asarray(values)
    if array.dtype.kind in "USV" and not isinstance(values, np.ndarray):
        # NumPy would convert numbers and missing values to strings if a list also holds strings.
        array = np.array(values, dtype=object)
    if array.dtype.kind in "Mm":
        raise no_dates(where)
    if array.dtype.kind in "cV":
        kind = "complex numbers" if array.dtype.kind == "c" else "structured records"
        raise InvalidInput(f"{where} must not hold {kind}: pass plain numbers, column by column")
    return array


def _as_floats(array: AnyArray, where: str) -> FloatArray:
    """Convert a table to a new array of floats; objects and strings are read column by column."""
    if array.dtype.kind in "fiub":
        with np.errstate(over="ignore"):  # long doubles may overflow, which is checked afterwards
            return np.array(array, dtype=np.float64, order="C")
    features = np.empty(array.shape)
    for place in range(array.shape[1]):
        column = f"{where} must be a table of numbers, and column {place}"
        cells = plain_cells(array[:, place].tolist(), column)
        features[:, place] = floats_of(cells, column)
    return features
