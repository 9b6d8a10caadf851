"""Labels as numbers."""

from __future__ import annotations

import numpy as np

from shapband._typing import AnyArray, FloatArray
from shapband.errors import InvalidInput
from shapband.records import numeric_targets


def labels_of(y_val: AnyArray) -> AnyArray | None:
    """Return the sorted labels, or None if the labels are numbers."""
    return None if y_val.dtype.kind == "f" else np.unique(y_val.astype(str))


def label_codes(y: AnyArray, labels: AnyArray | None) -> FloatArray:
    """Return targets as floats: the numbers, or the indices of labels in the sorted labels."""
    if labels is None:
        return numeric_targets(y)
    words = np.asarray(y).astype(str)
    codes = np.searchsorted(labels, words)
    known = labels[np.minimum(codes, len(labels) - 1)] == words
    if not known.all():
        raise InvalidInput(
            f"the label {str(words[np.argmin(known)])!r} does not occur in y_val: use numbers "
            "as labels, or validate on all labels"
        )
    return codes.astype(np.float64)


def most_frequent(codes: FloatArray) -> float:
    """Return the share of the most frequent label: the accuracy of a dummy model."""
    return float(np.unique(codes, return_counts=True)[1].max() / len(codes))
