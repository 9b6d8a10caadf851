"""Frames of measurements: select rows, stack arrays, and set rows beside those of a baseline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims import DOES_NOT, HOLDS, IN_RELATION, Row, scientific
from reproduction.metrics import FloatArray, Measured, Reduction, paper_agrees, paper_ratio_agrees


def select(frame: pd.DataFrame, **settings: Any) -> pd.DataFrame:
    """Give the rows with these settings."""
    for name, value in settings.items():
        frame = frame[frame[name] == value]
    return frame


def stack(frame: pd.DataFrame, column: str, **settings: Any) -> FloatArray:
    """Stack a column of lists over the rows with these settings: (n_rows, ...)."""
    return np.array(select(frame, **settings)[column].tolist(), dtype=np.float64)


def rows_of(frame: pd.DataFrame) -> Iterable[Any]:
    """Give the rows as records with a field for each column."""
    return frame.itertuples()


def groups_of(frame: pd.DataFrame, by: list[str]) -> Iterable[tuple[Any, pd.DataFrame]]:
    """Give the groups of rows that have the same settings, with these settings."""
    return frame.groupby(by)


def measured(table: pd.DataFrame, **settings: Any) -> Measured:
    """Give the only number of a table with these settings."""
    (row,) = rows_of(select(table, **settings))
    return Measured(row.ours, row.error)


def against(baseline: pd.DataFrame, others: pd.DataFrame, *, on: list[str]) -> pd.DataFrame:
    """Set every row beside the baseline's row with the same `on`.

    Adds `ratio` and `saved`, how much lower the row is than the baseline as a share, with
    `saved_error` and what theory says of both.
    """
    pairs = others.merge(baseline, on=on, suffixes=("", "_baseline"))
    ratio, ratio_theory = pairs.ours / pairs.ours_baseline, pairs.theory / pairs.theory_baseline
    relative = np.hypot(pairs.error_baseline / pairs.ours_baseline, pairs.error / pairs.ours)
    return pairs.assign(
        ratio=ratio,
        ratio_theory=ratio_theory,
        saved=1 - ratio,
        saved_theory=1 - ratio_theory,
        saved_error=ratio * relative,
    )


def reductions(pairs: pd.DataFrame) -> list[Reduction]:
    """The reductions of a table made by `against`."""
    return [Reduction(*one) for one in zip(pairs.saved, pairs.saved_error, strict=True)]


def facts_of(pairs: pd.DataFrame) -> list[dict[str, Any]]:
    """The columns of every row of a table made by `against`, its number and its reduction."""
    columns_of: list[dict[Any, Any]] = pairs.to_dict("records")
    return [
        {**columns, "found": Measured(columns["ours"], columns["error"]), "reduction": saved}
        for columns, saved in zip(columns_of, reductions(pairs), strict=True)
    ]


def relation_agrees(pair: Any) -> bool:
    """Whether the paper's number and ours are the same part of what they are related to."""
    ours = Measured(pair.ours, pair.error), Measured(pair.ours_baseline, pair.error_baseline)
    return paper_ratio_agrees((pair.theirs, pair.theirs_baseline), ours, pair.replications)


def table_rows(
    where: str, what: str, pairs: pd.DataFrame, same: str, smaller: str = ""
) -> list[Row]:
    """Judge every printed number of a table made by `against` and merged with the paper's.

    `what` is a template that names a number by its settings. `same` is the reason if only the
    relation agrees, and `smaller` if ours is the smaller part, where that supports the claim.
    """
    rows = []
    for pair in rows_of(pairs):
        ours = Measured(pair.ours, pair.error)
        related = pair.ours != pair.ours_baseline
        times = f"{pair.theirs / pair.ours:.2g} × ours"
        if paper_agrees(pair.theirs, ours, pair.replications):
            judged = HOLDS, f"{times}: within the scatter of five replications"
        elif related and relation_agrees(pair):
            judged = IN_RELATION, f"{times}, but {same}"
        elif related and smaller and pair.ratio < pair.theirs / pair.theirs_baseline:
            judged = IN_RELATION, f"{times}; {smaller}"
        else:
            judged = DOES_NOT, f"{times}, beyond the scatter of five replications"
        numbers = scientific(pair.theirs), str(ours), scientific(pair.theory)
        rows.append(Row(where, what.format(**pair._asdict()), *numbers, *judged))
    return rows
