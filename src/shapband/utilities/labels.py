"""Labels of records, which are integers or strings, as numbers."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from shapband._typing import AnyArray, FloatArray
from shapband.errors import InvalidInput


def check_labels(y_val: AnyArray, owner: str) -> AnyArray:
    """Return the sorted labels of the validation rows: integers, or strings."""
    return np.unique(_plain_labels(y_val, f"{owner}: y_val"))


def label_codes(y: AnyArray, labels: AnyArray) -> FloatArray:
    """Return the places of labels in the sorted labels of the validation rows.

    A label that does not occur there gets a negative code that depends only on the label, so that
    it is the same for all providers.

    Examples
    --------
    >>> codes = label_codes(np.array([3.0, 1.0, 2.0]), np.array([1.0, 3.0]))
    >>> codes[:2].tolist(), bool(codes[2] < 0)
    ([1.0, 0.0], True)
    """
    plain = _of_one_kind(y, labels)
    codes, known = _places(plain, labels)
    if not known.all():
        others, places = np.unique(plain[~known], return_inverse=True)
        codes[~known] = np.array([_code_of_other(label) for label in others.tolist()])[places]
    return codes


def ordered_codes(y: AnyArray, labels: AnyArray) -> FloatArray:
    """Return codes in the order of the labels, for models that depend on this order.

    Numbers are their own codes, whether they occur in the validation rows or not. The code of a
    string is its place in the sorted labels of the validation rows, where it must occur.

    Examples
    --------
    >>> ordered_codes(np.array([3.0, 2.0]), np.array([1.0, 3.0])).tolist()
    [3.0, 2.0]
    >>> ordered_codes(np.array(["c", "a"]), np.array(["a", "b", "c"])).tolist()
    [2.0, 0.0]
    """
    plain = _of_one_kind(y, labels)
    if plain.dtype.kind == "f":
        return np.ascontiguousarray(plain)
    codes, known = _places(plain, labels)
    if not known.all():
        raise InvalidInput(
            f"the label {str(plain[np.argmin(known)])!r} does not occur in y_val: use numbers "
            "as labels, or validate on all labels"
        )
    return codes


def most_frequent(codes: FloatArray) -> float:
    """Return the share of the most frequent label: the accuracy of a dummy model."""
    return float(np.unique(codes, return_counts=True)[1].max() / len(codes))


def _places(plain: AnyArray, labels: AnyArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """The places at which labels would stand in the sorted labels, and whether they are there."""
    places = np.searchsorted(labels, plain)
    known: NDArray[np.bool_] = labels[np.minimum(places, len(labels) - 1)] == plain
    return places.astype(np.float64), known


def _of_one_kind(y: AnyArray, labels: AnyArray) -> AnyArray:
    """Check that labels are numbers, or strings, like the labels of the validation rows."""
    plain = _plain_labels(y, "the labels")
    if plain.dtype.kind != labels.dtype.kind:
        kinds = ("strings", "numbers") if labels.dtype.kind == "f" else ("numbers", "strings")
        raise InvalidInput(f"the labels are {kinds[0]}, but the labels in y_val are {kinds[1]}")
    return plain


def _plain_labels(y: AnyArray, what: str) -> AnyArray:
    """Return numbers as floats, and other labels as strings; 0.0 and -0.0 are one label, 0.0."""
    if y.dtype.kind not in "iubf":
        return y.astype(str)
    numbers: FloatArray = y.astype(np.float64, copy=False)
    if (numbers != np.round(numbers)).any():
        raise InvalidInput(
            f"{what} must be integers or strings; received "
            f"{float(numbers[numbers != np.round(numbers)][0])!r}: a classifier does not predict "
            "quantities"
        )
    return numbers + 0.0  # turns -0.0 into 0.0, and leaves all other numbers as they are


def _code_of_other(label: float | str) -> float:
    """Negative number of 48 random bits.

    The probability that any two of 1,000 labels have the same number is 2e-9.
    """
    return -1.0 - int.from_bytes(blake2b(repr(label).encode(), digest_size=6).digest(), "little")
