"""Rows that set the paper beside us and theory, made from `claims.toml` and measured facts."""

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
# Where the paper has no number, the verdict compares with the paper's own method.
BETTER, WORSE, ALIKE = "better", "worse", "no clear difference"
_TEMPLATES = ("where", "what", "paper", "ours", "theory", "reason")
CLAIMS: dict[str, dict[str, list[dict[str, str]]]] = tomllib.loads(
    Path(__file__).with_name("claims.toml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Row:
    """One comparison: the paper's number, ours, what theory says for our utility, a verdict.

    `where` is the section or table of the paper, or "beyond" for what the paper does not have.
    """

    where: str
    what: str
    paper: str
    ours: str
    theory: str
    verdict: str
    reason: str


def evaluate(group: str, /, **facts: Any) -> list[Row]:
    """Judge a group of claims, and fill their templates, with the facts of an experiment.

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
    """Choose the verdict: the number itself, else the relation it stands for, else neither."""
    if "verdict" in claim:
        return str(_value(claim["verdict"], facts))
    if _value(claim["holds"], facts):
        return HOLDS
    return IN_RELATION if _value(claim.get("relation", "False"), facts) else DOES_NOT


def _value(rule: str, facts: Mapping[str, Any]) -> Any:
    """Give the value of a rule of claims.toml, which is as trusted as the code beside it."""
    known = (abs, all, len, max, min, set, better_if)
    names = {"__builtins__": {}, **{one.__name__: one for one in known}, **facts}
    return eval(rule, names)  # noqa: S307


def better_if(condition: Any) -> str:
    """Choose the verdict on an estimator that the paper does not have."""
    return BETTER if condition else WORSE


def scientific(x: float) -> str:
    """Write a number as 3.05e-4, and "-" if it is not known.

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
    """Write a share, or the range of several, in percent.

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
