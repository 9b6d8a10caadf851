"""Fingerprints of data: the same for the same records, whatever file they came from."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband._typing import AnyArray
from shapband.records import Batch
from shapband.sources.base import FiniteSource, Source
from shapband.sources.frames import as_frame

if TYPE_CHECKING:
    from hashlib import _Hash


def fingerprint(source: Source) -> str:
    """Give the SHA-256 of records in memory, or what there is to say of other sources.

    Examples
    --------
    >>> import shapband as sb
    >>> fingerprint(sb.ArraySource([[1.0], [2.0]], [0.0, 1.0]))[:23]
    'sha256:6605acf56c2d31cf'
    >>> fingerprint(sb.FunctionSource(lambda size, rng: None))
    'FunctionSource, not in memory'
    """
    if isinstance(source, FiniteSource):
        records = source.records
        if records is not None:
            return fingerprint_of(records)
        return f"{type(source).__name__}, {source.size} records, not in memory"
    return f"{type(source).__name__}, not in memory"


def fingerprint_of(batch: Batch) -> str:
    """Give the SHA-256 of a batch: targets, then features, frames column by column."""
    digest = hashlib.sha256()
    _add(digest, "targets", batch.y)
    if isinstance(batch.X, np.ndarray):
        _add(digest, "features", batch.X)
    else:
        table = as_frame(batch.X)
        for name in table.columns:
            _add(digest, f"column {name}", table[name].to_numpy())
    return f"sha256:{digest.hexdigest()}"


def _add(digest: _Hash, name: str, values: AnyArray) -> None:
    """Add an array: its name, type and shape first, so that no two tables read alike."""
    header: Any = (name, values.dtype.str, values.shape)
    digest.update(repr(header).encode())
    if values.dtype.kind in "biuf":
        digest.update(np.ascontiguousarray(values).data)
    else:
        for value in values.ravel().tolist():
            digest.update(repr(value).encode() + b"\0")
