"""Labels and scores that utilities of classifiers share.

A model gives every validation row a logit for each class: the logarithm of its probability, up to
a constant of the row. `shapband.kernels` has the module `class_scores`, which turns logits into
scores; this module checks the labels and turns them into codes.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Literal, get_args

import numpy as np

from shapband import kernels
from shapband._typing import AnyArray, FloatArray, IntArray
from shapband.errors import InvalidInput

ClassScore = Literal["accuracy", "neg_log_loss", "roc_auc", "neg_brier_score"]
CLASS_SCORES: tuple[str, ...] = get_args(ClassScore)  # kernels know a score by its place here


def check_labels(y_val: AnyArray, owner: str) -> AnyArray:
    """Return the sorted labels of the validation rows: whole numbers, or texts."""
    return np.unique(_plain_labels(y_val, f"{owner}: y_val"))


def check_class_score(score: str, labels: AnyArray, owner: str) -> int:
    """Check the name of a score, and return the number by which kernels know it."""
    if score not in CLASS_SCORES:
        raise InvalidInput(
            f"{owner}: score must be one of {', '.join(CLASS_SCORES)}; received {score!r}"
        )
    if score == "roc_auc" and len(labels) != 2:
        raise InvalidInput(
            f"{owner}: score='roc_auc' needs two labels in y_val; received {len(labels)}: use "
            "another score"
        )
    return CLASS_SCORES.index(score)


def label_codes(y: AnyArray, labels: AnyArray) -> FloatArray:
    """Return the places of labels in the sorted labels of the validation rows.

    A label that does not occur there gets a negative code that depends on the label only, so that
    providers that know nothing of each other agree on it.

    Examples
    --------
    >>> codes = label_codes(np.array([3.0, 1.0, 2.0]), np.array([1.0, 3.0]))
    >>> codes[:2].tolist(), bool(codes[2] < 0)
    ([1.0, 0.0], True)
    """
    words = labels.dtype.kind != "f"
    if words != (y.dtype.kind != "f"):
        kinds = ("numbers", "texts") if words else ("texts", "numbers")
        raise InvalidInput(f"the labels are {kinds[0]}, but those of y_val are {kinds[1]}")
    plain = _plain_labels(y, "the labels")
    codes = np.searchsorted(labels, plain).astype(np.float64)
    known = labels[np.minimum(codes, len(labels) - 1).astype(np.int64)] == plain
    if not known.all():
        others, places = np.unique(plain[~known], return_inverse=True)
        codes[~known] = np.array([_code_of_other(label) for label in others.tolist()])[places]
    return codes


def baseline_score(codes: IntArray, score: str) -> float:
    """Return the score of a model that predicts the class frequencies of the validation rows.

    It is that of scikit-learn's `DummyClassifier`.

    Examples
    --------
    >>> baseline_score(np.array([0, 1, 1, 1]), "accuracy")
    0.75
    """
    counts = np.bincount(codes)
    logits = np.repeat(np.log(counts / counts.sum())[:, None], len(codes), axis=1)
    scores = kernels.load("class_scores").class_scores
    return float(scores(logits[None], codes, len(counts), CLASS_SCORES.index(score))[0])


def _plain_labels(y: AnyArray, what: str) -> AnyArray:
    """Return numbers as they are, and other labels as texts."""
    if y.dtype.kind != "f":
        return y.astype(str)
    if (y != np.round(y)).any():
        raise InvalidInput(
            f"{what} must be whole numbers or texts; received {float(y[y != np.round(y)][0])!r}: "
            "a classifier does not predict quantities"
        )
    return y


def _code_of_other(label: float | str) -> float:
    """Negative number of 48 random bits; two of 1,000 labels share one with chance 2e-9."""
    return -1.0 - int.from_bytes(blake2b(repr(label).encode(), digest_size=6).digest(), "little")
