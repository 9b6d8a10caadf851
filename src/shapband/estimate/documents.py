"""Moments as JSON documents; no digits are lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np

from shapband._typing import FloatArray
from shapband.errors import InvalidInput
from shapband.estimate.accumulate import Moments
from shapband.estimate.averaged import Averaged
from shapband.estimate.pools import PoolErrors
from shapband.estimate.presence import PresenceMoments


def moments_document(moments: Moments) -> dict[str, Any]:
    """Write moments as a document."""
    document = {field.name: _written(getattr(moments, field.name)) for field in fields(moments)}
    for name in ("presence", "averaged", "certain"):  # not in the documents of most valuations
        if not document[name]:
            del document[name]
    return document


def moments_of(document: Mapping[str, Any]) -> Moments:
    """Read moments from a document."""
    parts: dict[str, Any] = {"group_m2": [0.0] * len(document["mean"]), **document}
    parts |= {name: to_array(parts[name]) for name in _arrays()}
    if parts.get("products") is not None:
        parts["products"] = to_array(parts["products"])
    if parts.get("pools") is not None:
        pools = {name: to_array(part) for name, part in parts["pools"].items()}
        parts["pools"] = PoolErrors(**pools)
    if parts.get("presence") is not None:
        known = {name: part for name, part in parts["presence"].items() if part is not None}
        parts["presence"] = PresenceMoments(**{name: to_array(known[name]) for name in known})
    if parts.get("averaged") is not None:
        averaged = {name: to_array(part) for name, part in parts["averaged"].items()}
        parts["averaged"] = Averaged(**averaged)
    return Moments(**parts)


def to_numbers(values: FloatArray) -> Any:
    """Convert an array to nested lists, with NaN as None, because JSON has no NaN."""
    if np.isinf(values).any():
        raise InvalidInput("a valuation with infinite values cannot be written as JSON")
    listed = values.astype(object)
    listed[np.isnan(values)] = None
    return listed.tolist()


@cache
def _arrays() -> tuple[str, ...]:
    """Parts of moments that are arrays in all moments, known from those of no games."""
    empty = Moments.empty(1)
    parts = ((field.name, getattr(empty, field.name)) for field in fields(empty))
    return tuple(name for name, part in parts if isinstance(part, np.ndarray) and part.ndim == 1)


def to_array(listed: Any) -> FloatArray:
    """Convert nested lists to an array, with None as NaN."""
    return np.array(listed, dtype=np.float64)


def _written(part: int | FloatArray | PoolErrors | PresenceMoments | Averaged | None) -> Any:
    """A part of the moments as a value of JSON, by what it is and not by its annotation."""
    if part is None or isinstance(part, int):
        return part
    if isinstance(part, np.ndarray):
        return to_numbers(part)
    return {field.name: _written(getattr(part, field.name)) for field in fields(part)}
