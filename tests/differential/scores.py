"""Scores by their definitions, for floats and for numbers of any precision.

A classifier is described by a logit of every class for every row: `logits[row][class]`, -inf for
a class that the model has not seen. Functions take the module that has `exp` and `log`, which is
`math` for floats and `mpmath` for 60 digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

# Documented: logits a and b are tied if |a - b| <= TIE max(1, |a|, |b|). Of tied classes the
# smaller label is predicted, and pairs of rows whose log odds are tied count half in the AUC.
TIE = 1e-10
EPS = 2.0**-52  # documented: probabilities are clipped to [EPS, 1 - EPS] for the log loss

CLASS_SCORES = ("accuracy", "neg_log_loss", "neg_brier_score", "roc_auc")
MSE_SCORES = ("inverse_mse", "r2", "neg_mse")

Logits = Sequence[Sequence[Any]]


def class_score(
    logits: Logits, true: Sequence[int], n_labels: int, score: str, of: Any = math
) -> Any:
    """Score of a classifier; `true` has the class of every row, of which the first are labels."""
    if score == "roc_auc":
        return _auc([_log_odds(row, of) for row in logits], true)
    by_row = {"accuracy": _hit, "neg_log_loss": _log_probability, "neg_brier_score": _square}
    half = 2 if score == "neg_brier_score" and n_labels <= 2 else 1
    return sum(by_row[score](row, t, of) for row, t in zip(logits, true, strict=True)) / (
        len(true) * half * (of.mpf(1) if hasattr(of, "mpf") else 1.0)
    )


def mse_score(mse: Any, variance: Any, score: str) -> Any:
    """Score of a regression from its mean squared error."""
    if score == "neg_mse":
        return -mse
    return 1 / (1 + mse) if score == "inverse_mse" else 1 - mse / variance


def _hit(row: Sequence[Any], true: int, of: Any) -> int:
    top = max(row)
    least = top - _margin(abs(top))
    return int(next(k for k, logit in enumerate(row) if logit >= least) == true)


def _margin(size: Any) -> Any:
    return TIE * max(1, size) if size < math.inf else 0


def _probabilities(row: Sequence[Any], of: Any) -> list[Any]:
    top = max(row)
    parts = [of.exp(logit - top) for logit in row]
    total = sum(parts)
    return [part / total for part in parts]


def _log_probability(row: Sequence[Any], true: int, of: Any) -> Any:
    if row[true] == -math.inf:
        return of.log(EPS)
    top = max(row)
    value = row[true] - top - of.log(sum(of.exp(logit - top) for logit in row))
    # 1 - EPS as a float is exact; its logarithm is about -EPS.
    return min(max(value, of.log(EPS)), of.log(1 - EPS))


def _square(row: Sequence[Any], true: int, of: Any) -> Any:
    return -sum((p - (k == true)) ** 2 for k, p in enumerate(_probabilities(row, of)))


def _log_odds(row: Sequence[Any], of: Any) -> tuple[Any, Any]:
    """Log odds of class 1, and the size of the logits that they are a difference of."""
    others = [logit for k, logit in enumerate(row) if k != 1]
    top = max(others)
    if top == -math.inf:
        return math.inf, math.inf
    rest = top + of.log(sum(of.exp(logit - top) for logit in others))
    return row[1] - rest, max(abs(row[1]), abs(rest))


def _auc(odds: Sequence[tuple[Any, Any]], true: Sequence[int]) -> float:
    """Share of pairs in which the positive row has the higher odds; ties count half."""
    ends = [(o - _margin(size) / 2, o + _margin(size) / 2) for o, size in odds]
    positive = [end for end, t in zip(ends, true, strict=True) if t == 1]
    negative = [end for end, t in zip(ends, true, strict=True) if t == 0]
    twice = sum((n[1] < p[0]) + (n[0] <= p[1]) for p in positive for n in negative)
    return twice / (2 * len(positive) * len(negative))
