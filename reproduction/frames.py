"""Frames of measurements: select rows, stack arrays, and compare rows with a baseline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims import DOES_NOT, HOLDS, IN_RELATION, Row, scientific
from reproduction.metrics import FloatArray, Measured, Reduction, paper_agrees, paper_ratio_agrees


def select(frame: pd.DataFrame, **settings: Any) -> pd.DataFrame:
    """Return the rows with these settings."""
    for name, value in settings.items():
        frame = frame[frame[name] == value]
    return frame


def stack(frame: pd.DataFrame, column: str, **settings: Any) -> FloatArray:
    """Stack a column of lists over the rows with these settings: (n_rows, ...)."""
    return np.array(select(frame, **settings)[column].tolist(), dtype=np.float64)


def rows_of(frame: pd.DataFrame) -> Iterable[Any]:
    """Return the rows as named tuples with a field for each column."""
    return frame.itertuples()


def groups_of(frame: pd.DataFrame, by: list[str]) -> Iterable[tuple[Any, pd.DataFrame]]:
    """Return the groups of rows with equal settings, each with its settings."""
    return frame.groupby(by)


def measured(table: pd.DataFrame, **settings: Any) -> Measured:
    """Return the number of the only row with these settings."""
    (row,) = rows_of(select(table, **settings))
    return Measured(row.ours, row.error)


def against(baseline: pd.DataFrame, others: pd.DataFrame, *, on: list[str]) -> pd.DataFrame:
    """Join every row with the baseline's row that has the same `on`.

    Adds `ratio`, `saved` (1 - ratio, the reduction as a fraction of the baseline) with its
    `saved_error`, and the predictions of theory for both.
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
    """The columns, number and reduction of every row of a table made by `against`."""
    columns_of: list[dict[Any, Any]] = pairs.to_dict("records")
    return [
        {**columns, "found": Measured(columns["ours"], columns["error"]), "reduction": saved}
        for columns, saved in zip(columns_of, reductions(pairs), strict=True)
    ]


def relation_agrees(pair: Any) -> bool:
    """Whether the paper's ratio of a number to its baseline agrees with our ratio."""
    ours = Measured(pair.ours, pair.error), Measured(pair.ours_baseline, pair.error_baseline)
    return paper_ratio_agrees((pair.theirs, pair.theirs_baseline), ours, pair.replications)


def table_rows(
    where: str, what: str, pairs: pd.DataFrame, same: str, smaller: str = ""
) -> list[Row]:
    """Compare every number of a table made by `against` with the paper's printed number.

    `what` is a template that names a number by its settings. `same` is the remark if only
    the ratio agrees; `smaller` is the remark if our ratio is smaller and this supports the claim.
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
