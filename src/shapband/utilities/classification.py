"""Names of the scores of classifiers, and the score of a dummy model.

A model gives every validation row a logit for each class: the logarithm of its probability, up to
a constant of the row. The module `class_scores` in `shapband.kernels` turns logits into scores.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from shapband import kernels
from shapband._typing import AnyArray, IntArray
from shapband.errors import InvalidInput

ClassScore = Literal["accuracy", "neg_log_loss", "roc_auc", "neg_brier_score"]
CLASS_SCORES: tuple[str, ...] = get_args(ClassScore)  # kernels know a score by its position here


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


def check_rows(codes: IntArray, score: int, owner: str) -> None:
    """Check that a part of the validation rows can be scored: the AUC needs rows of both labels."""
    if CLASS_SCORES[score] == "roc_auc" and len(np.unique(codes)) < 2:
        raise InvalidInput(f"{owner}: score='roc_auc' is not defined for rows of one label")


def baseline_score(codes: IntArray, score: str, n_labels: int) -> float:
    """Return the score of a model that predicts the class frequencies of the validation rows.

    The model is scikit-learn's `DummyClassifier`.

    Parameters
    ----------
    n_labels : how many labels all validation rows have, of which a part of the rows may lack some

    Examples
    --------
    >>> baseline_score(np.array([0, 1, 1, 1]), "accuracy", 2)
    0.75
    """
    counts = np.bincount(codes, minlength=n_labels)
    with np.errstate(divide="ignore"):  # a part of the validation rows may lack a label
        shares = np.log(counts / counts.sum())
    logits = np.repeat(shares[:, None], len(codes), axis=1)
    scores = kernels.load("class_scores").class_scores
    return float(scores(logits[None], codes, n_labels, CLASS_SCORES.index(score))[0])
