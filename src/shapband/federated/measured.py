"""Errors of the methods as the study in `federated_study` measured them.

`measured.json` is written by ``python -m federated_study``, together with the page
docs/federated-errors.md, and is not edited by hand.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from shapband.codec import decode


@dataclass(frozen=True)
class Measured:
    """How far a method was from exact values in one family of the study.

    Attributes
    ----------
    method : "OR", "MR", "truncated MR" or "one-round"
    family : how the clients of the study differed
    rounds, participation : of the runs of the study
    low, high : smallest and largest error over learning rates and scores, as a share of the mean
        value: the sum of |mean value − exact mean value| over the clients, divided by the sum of
        |exact mean value|
    rank : lowest rank correlation between the mean values and the exact mean values
    """

    method: str
    family: str
    rounds: int
    participation: float
    low: float
    high: float
    rank: float

    def __str__(self) -> str:
        return (
            f"{self.family}: {100 * self.low:.0f} to {100 * self.high:.0f} %, rank correlation "
            f"from {self.rank:.2f} ({self.rounds} rounds)"
        )


@cache
def all_measured() -> tuple[Measured, ...]:
    """Everything that was measured."""
    text = (files("shapband.federated") / "measured.json").read_text("utf-8")
    return tuple(decode(Measured, row) for row in json.loads(text)["rows"])


def measured_for(
    method: str, n_rounds: int, participation: float, *, truncated: bool
) -> tuple[Measured, ...]:
    """Measurements of a method at the numbers of rounds and participation nearest to a run's.

    A one-round valuation has one round, whatever run it stands for: it gets all of them.
    """
    name = "truncated MR" if truncated else method
    rows = [row for row in all_measured() if row.method == name]
    if method != "one-round":
        rows = _nearest(rows, [abs(row.rounds - n_rounds) for row in rows])
    return tuple(_nearest(rows, [abs(row.participation - participation) for row in rows]))


def _nearest(rows: list[Measured], distances: list[float]) -> list[Measured]:
    least = min(distances, default=0.0)
    return [row for row, distance in zip(rows, distances, strict=True) if distance == least]
