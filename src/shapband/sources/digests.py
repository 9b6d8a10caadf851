"""Digests of records: the same for equal records, even from different files."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband._typing import AnyArray
from shapband.records.batch import Batch

if TYPE_CHECKING:
    from hashlib import _Hash


def digest_of(batch: Batch) -> str:
    """Return the SHA-256 of a batch: targets, then features, frames column by column."""
    digest = hashlib.sha256()
    add_array(digest, "targets", batch.y)
    if isinstance(batch.X, np.ndarray):
        add_array(digest, "features", batch.X)
    else:
        add_frame(digest, batch.X)
    return f"sha256:{digest.hexdigest()}"


def add_frame(digest: _Hash, frame: Any) -> None:
    """Add a data frame to a digest, column by column."""
    from shapband.records.frames import as_frame

    table = as_frame(frame)
    for name in table.columns:
        add_array(digest, f"column {name}", table[name].to_numpy())


def add_array(digest: _Hash, name: str, values: AnyArray) -> None:
    """Add an array: first its name, type and shape, then its cells.

    So tables of different shapes have different digests, even if their cells have the same bytes.
    """
    header: Any = (name, values.dtype.str, values.shape)
    digest.update(repr(header).encode())
    if values.dtype.kind in "biuf":
        digest.update(np.ascontiguousarray(values).data)
    else:
        for value in values.ravel().tolist():
            digest.update(repr(value).encode() + b"\0")
