"""Errors of the methods over populations and learning rates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from federated_study.measure import relative_error
from federated_study.settings import Setting
from federated_study.training import SCORES
from shapband.federated.measured import Measured


class Cell(NamedTuple):
    """What was measured for one setting, score and method.

    Attributes
    ----------
    error : mean over populations of the error of the mean values
    spread : standard error of `error`, from the populations
    rank : mean over populations of the rank correlation with the exact mean values
    """

    error: float
    spread: float
    rank: float


Records = Sequence[Mapping[str, Any]]  # of the populations


def cell(records: Records, score: str, method: str) -> Cell:
    """Reduce the populations of one setting."""
    pairs = [(np.array(one[score][method]), np.array(one[score]["exact"])) for one in records]
    errors = [relative_error(*pair) for pair in pairs]
    ranks = [float(spearmanr(*pair).statistic) for pair in pairs]
    return Cell(*mean_and_error(errors), float(np.mean(ranks)))


def mean_and_error(numbers: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    row = np.asarray(numbers, dtype=float)
    return float(row.mean()), float(row.std(ddof=1) / np.sqrt(len(row)))


def chosen(
    found: Mapping[Setting, Records], *, family: str, rounds: int, participation: float
) -> list[Records]:
    """Records of all learning rates of one kind of run."""
    return [
        records
        for one, records in found.items()
        if (one.family, one.rounds, one.participation) == (family, rounds, participation)
    ]


def over_rates(runs: Iterable[Records], scores: Iterable[str], method: str) -> list[Cell]:
    """Cells of a method for all learning rates and some scores."""
    listed = list(scores)
    return [cell(records, score, method) for records in runs for score in listed]


def measured_rows(found: Mapping[Setting, Records], methods: Sequence[str]) -> list[Measured]:
    """What results of the library state: ranges over learning rates and both scores."""
    kinds = dict.fromkeys((one.rounds, one.participation, one.family) for one in found)
    rows = []
    for method in methods:
        for rounds, participation, family in kinds:
            runs = chosen(found, family=family, rounds=rounds, participation=participation)
            cells = over_rates(runs, SCORES, method)
            low, high = (float(end([one.error for one in cells])) for end in (min, max))
            rank = min(one.rank for one in cells)
            shown = (round(number, 4) for number in (low, high, rank))
            rows.append(Measured(method, family, rounds, participation, *shown))
    return rows
