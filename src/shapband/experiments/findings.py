"""What an experiment found: rows that set the paper beside us and theory, each with a verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Verdict = Literal["holds", "holds in relation", "does not"]
HOLDS: Verdict = "holds"
IN_RELATION: Verdict = "holds in relation"
DOES_NOT: Verdict = "does not"
# Where the paper has no number, the verdict compares with the paper's own method.
BETTER, WORSE, ALIKE = "better", "worse", "no clear difference"


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


@dataclass(frozen=True)
class Findings:
    """All that an experiment leaves behind.

    Attributes
    ----------
    claims : sentences of the paper, one by one
    table : the numbers of its tables, one by one
    beyond : what the same budget buys with other estimators, which the paper does not have
    notes : what a reader must know of the settings
    data : every measured number, tidy
    figure : the picture
    caption : what the picture shows, in a sentence
    """

    claims: Sequence[Row]
    table: Sequence[Row]
    beyond: Sequence[Row]
    notes: Sequence[str]
    data: pd.DataFrame
    figure: Figure
    caption: str


@dataclass(frozen=True)
class Written:
    """Findings as they are kept on disk, with the circumstances of the run."""

    name: str
    title: str
    where: str
    profile: str
    sizes: str
    seed: int
    date: str
    machine: str
    versions: str
    seconds: float
    caption: str
    claims: list[Row] = field(default_factory=list)
    table: list[Row] = field(default_factory=list)
    beyond: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> str:
        """Write everything."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Written:
        """Read what `to_json` wrote."""
        document: dict[str, Any] = json.loads(text)
        for kind in ("claims", "table", "beyond"):
            document[kind] = [Row(**row) for row in document[kind]]
        return Written(**document)


def judge(*, exact: bool, relation: bool = False) -> Verdict:
    """Choose the verdict: the number itself, else the relation it stands for, else neither."""
    if exact:
        return HOLDS
    return IN_RELATION if relation else DOES_NOT


def scientific(x: float) -> str:
    """Write a number as 3.05e-4.

    Examples
    --------
    >>> scientific(0.000305), scientific(0.0)
    ('3.05e-4', '0')
    """
    if x == 0 or not np.isfinite(x):
        return f"{x:g}"
    digits, power = f"{x:.2e}".split("e")
    return f"{digits}e{int(power)}"


def percent(x: float) -> str:
    """Write a share as 91.2 %.

    Examples
    --------
    >>> percent(0.9123)
    '91.2 %'
    """
    return f"{100 * x:.1f} %"


def percent_range(shares: Sequence[float]) -> str:
    """Write the range of shares.

    Examples
    --------
    >>> percent_range([0.84, 0.9, 0.87])
    '84.0 to 90.0 %'
    """
    low, high = f"{100 * min(shares):.1f}", f"{100 * max(shares):.1f}"
    return f"{low} %" if low == high else f"{low} to {high} %"
