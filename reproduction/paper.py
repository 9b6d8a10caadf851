"""The paper's numbers: its tables, as printed in `tables/`, and those in its text."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

VAR_E, VAR_VAR, MAE_E, MAE_VAR = "Var(E)", "Var(Var)", "MAE of E", "MAE of Var"


def _read(table: str) -> pd.DataFrame:
    path = Path(__file__).with_name("tables") / f"{table}.csv"
    return pd.read_csv(path)


def _tidy(table: str, settings: list[str], column: str) -> pd.DataFrame:
    """Return a table with one number, `theirs`, per row, in reading order."""
    wide = _read(table).set_index(settings).rename_axis(columns=column)
    return pd.DataFrame({"theirs": wide.stack()}).reset_index()


def _beside(table: pd.DataFrame, anchors: pd.DataFrame, on: list[str]) -> pd.DataFrame:
    """Add to every number its baseline in the paper, `theirs_baseline`."""
    return table.merge(anchors[[*on, "theirs"]], on=on, suffixes=("", "_baseline"))


def _grid(table: str) -> pd.DataFrame:
    """Return Table I or II; the baselines are the numbers of 10 games."""
    grid = _tidy(table, ["task", "metric", "n_games"], "n_iter").astype({"n_iter": int})
    return _beside(grid, grid[grid.n_games == 10], ["task", "metric", "n_iter"])


BASELINE, POOLED = _grid("table_1"), _grid("table_2")
SOURCE_BUDGET = _read("table_3")
SOURCE_BUDGET = _beside(
    SOURCE_BUDGET, SOURCE_BUDGET[SOURCE_BUDGET.method == "baseline"], ["metric", "n_iter"]
)
SCALABILITY = _tidy("table_4", ["n", "method"], "metric")
LATENCY = _read("table_5").set_index(["delay", "method"])

# Section IV-E: (metric, n_games) -> range of the reductions in percent.
SOURCE_BUDGET_REDUCTIONS = {
    (VAR_E, 50): (80.7, 90.9),
    (VAR_E, 200): (86.6, 95.8),
    (VAR_VAR, 50): (92.0, 93.3),
    (VAR_VAR, 200): (97.0, 98.2),
}
# Section IV-F, digits: the baseline's numbers, and reductions against it.
DIGITS_BASELINE = {VAR_E: 4.220e-7, VAR_VAR: 4.510e-12}
DIGITS_REDUCTIONS = {
    ("pooled", VAR_E): 0.531,
    ("pooled", VAR_VAR): 0.745,
    ("stratified", VAR_E): 0.567,
    ("stratified", VAR_VAR): 0.779,
}
# Section IV-F, sensitivity: ranges of the reductions over all settings, in percent.
SENSITIVITY_REDUCTIONS = {VAR_E: (54.9, 92.6), VAR_VAR: (74.6, 96.6)}
# Section IV-F, scalability: ranges over all n of the reductions against the baseline, in percent.
SCALABILITY_REDUCTIONS = {
    ("pooled", MAE_VAR): (69.0, 75.4),
    ("pooled", VAR_VAR): (88.5, 94.4),
    ("stratified", MAE_VAR): (64.6, 77.9),
    ("stratified", VAR_VAR): (81.0, 96.8),
}
