"""Moments as JSON documents; no digits are lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from shapband._typing import FloatArray
from shapband.errors import InvalidInput
from shapband.moments.accumulate import Moments
from shapband.moments.averaged import Averaged
from shapband.moments.pools import PoolErrors
from shapband.moments.presence import PresenceMoments

_ARRAYS = tuple(field.name for field in fields(Moments) if field.type == "FloatArray")


def moments_document(moments: Moments) -> dict[str, Any]:
    """Write moments as a document."""
    products, pools = moments.products, moments.pools
    document = {
        "n_games": moments.n_games,
        "group": moments.group,
        "n_groups": moments.n_groups,
        **{name: to_numbers(getattr(moments, name)) for name in _ARRAYS},
        "products": None if products is None else to_numbers(products),
        "pools": None if pools is None else _lists_of(pools),
    }
    if moments.presence is not None:
        document["presence"] = _lists_of(moments.presence)
    if moments.averaged is not None:
        document["averaged"] = _lists_of(moments.averaged)
    return document


def moments_of(document: Mapping[str, Any]) -> Moments:
    """Read moments from a document."""
    parts: dict[str, Any] = {"group_m2": [0.0] * len(document["mean"]), **document}
    parts.update({name: to_array(parts[name]) for name in _ARRAYS})
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


def to_array(listed: Any) -> FloatArray:
    """Convert nested lists to an array, with None as NaN."""
    return np.array(listed, dtype=np.float64)


def _lists_of(record: PoolErrors | PresenceMoments | Averaged) -> dict[str, Any]:
    parts = {field.name: getattr(record, field.name) for field in fields(record)}
    return {name: None if part is None else to_numbers(part) for name, part in parts.items()}
