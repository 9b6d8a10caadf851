"""Rows that compare the paper, our results and theory, made from `claims.toml` and facts."""

from __future__ import annotations

import string
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HOLDS, IN_RELATION, DOES_NOT = "holds", "holds in relation", "does not"
# If the paper has no number, the verdict compares with the paper's method.
BETTER, WORSE, ALIKE = "better", "worse", "no clear difference"
_TEMPLATES = ("where", "what", "paper", "ours", "theory", "reason")
CLAIMS: dict[str, dict[str, list[dict[str, str]]]] = tomllib.loads(
    Path(__file__).with_name("claims.toml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Row:
    """One comparison: the paper's number, ours, the prediction of theory, and a verdict.

    `where` is the section or table of the paper, or "beyond" for results that are not in the paper.
    """

    where: str
    what: str
    paper: str
    ours: str
    theory: str
    verdict: str
    reason: str


def evaluate(group: str, /, **facts: Any) -> list[Row]:
    """Evaluate a group of claims, and fill in their templates, with the facts of an experiment.

    Examples
    --------
    >>> evaluate("example.abstract", agree=4, laws=5)[0].verdict
    'does not'
    """
    experiment, name = group.split(".")
    rows = []
    for claim in CLAIMS[experiment][name]:
        texts = {name: _Words().vformat(claim[name], (), facts) for name in _TEMPLATES}
        rows.append(Row(**texts, verdict=_verdict(claim, facts)))
    return rows


def _verdict(claim: Mapping[str, str], facts: Mapping[str, Any]) -> str:
    """Choose the verdict: the number holds, or only the relation holds, or neither."""
    if "verdict" in claim:
        return str(_value(claim["verdict"], facts))
    if _value(claim["holds"], facts):
        return HOLDS
    return IN_RELATION if _value(claim.get("relation", "False"), facts) else DOES_NOT


def _value(rule: str, facts: Mapping[str, Any]) -> Any:
    """Return the value of a rule in claims.toml, a file that is trusted like code."""
    known = (abs, all, len, max, min, set, better_if)
    names = {"__builtins__": {}, **{one.__name__: one for one in known}, **facts}
    return eval(rule, names)  # noqa: S307


def better_if(condition: Any) -> str:
    """Choose the verdict on an estimator that the paper does not have."""
    return BETTER if condition else WORSE


def scientific(x: float) -> str:
    """Format a number as 3.05e-4, or as "-" if it is NaN.

    Examples
    --------
    >>> scientific(0.000305), scientific(0.0), scientific(float("nan"))
    ('3.05e-4', '0', '-')
    """
    if x == 0 or not np.isfinite(x):
        return "-" if np.isnan(x) else f"{x:g}"
    digits, power = f"{x:.2e}".split("e")
    return f"{digits}e{int(power)}"


def percent(shares: float | Iterable[float]) -> str:
    """Format a fraction, or the range of several fractions, in percent.

    Examples
    --------
    >>> percent(0.9123), percent([0.84, 0.9, 0.87])
    ('91.2 %', '84.0 to 90.0 %')
    """
    several = np.atleast_1d(np.asarray(shares, dtype=float))
    low, high = f"{100 * several.min():.1f}", f"{100 * several.max():.1f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


class _Words(string.Formatter):
    """`str.format` with the formats `p` and `e`, for single numbers, sequences and mappings."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Mapping):
            items = value.items()
            return ", ".join(f"{self.format_field(one, format_spec)} {name}" for name, one in items)
        if format_spec == "p":
            return percent(value)
        if format_spec and isinstance(value, list | tuple | np.ndarray | pd.Series):
            ends = (self.format_field(end(value), format_spec) for end in (min, max))
            return " to ".join(ends)
        return scientific(value) if format_spec == "e" else format(value, format_spec)
