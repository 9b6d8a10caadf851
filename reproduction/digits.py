"""Section IV-F-1: ten digit classes as providers, a neural network as the model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

import shapband as sb
from reproduction import paper
from reproduction.claims import Row, evaluate, percent, scientific
from reproduction.experiment import Cell, Experiment, Findings, Record, replication_seeds
from reproduction.figures import draw_digits
from reproduction.frames import against, facts_of, measured, relation_agrees, rows_of, select, stack
from reproduction.metrics import paper_agrees
from reproduction.paper import VAR_E
from reproduction.valuations import metrics_table, task_of, valued

_FRESH_GAMES = 5
_METHODS = ("baseline", "pooled", "stratified", "blocks")


@dataclass(frozen=True)
class Digits(Experiment):
    """Five fresh games against many local games from pools with the same number of records."""

    name = "digits"
    title = "Handwritten digits and a neural network"
    where = "Section IV-F, first part"

    replications: int = 5
    classes: int = 10
    local_games: int = 50
    n_iter: int | None = 20  # balanced permutations; None solves every game exactly
    n_jobs: int = 2
    n_pool: int = 300
    n_boot: int = 60
    alpha: float = 0.5

    def cells(self, seed: int) -> list[Cell]:
        """One cell for each method and replication, and the accuracy of the network."""
        common = {
            "kind": "valuation",
            "task": "digits",
            "classes": self.classes,
            "n_boot": self.n_boot,
            "n_pool": self.n_pool,
            "alpha": self.alpha,
            "solver": "exact" if self.n_iter is None else "balanced",
            "n_iter": self.n_iter,
        }
        games = dict.fromkeys(_METHODS, self.local_games) | {"baseline": _FRESH_GAMES}
        return [{"kind": "digits-accuracy"}] + [
            {**common, "method": method, "games": (games[method],), "seed": one}
            for one in replication_seeds(seed, self.replications)
            for method in _METHODS
        ]

    def measure(self, cell: Cell) -> list[Record]:
        if cell["kind"] == "digits-accuracy":
            return [{"accuracy": _accuracy()}]
        with warnings.catch_warnings():
            # Draws with replacement repeat the images of a class; the page says so.
            warnings.simplefilter("ignore", sb.errors.RepeatedRecords)
            return valued(cell, _providers(cell["classes"]), self.n_jobs)

    def conclude(self, frame: pd.DataFrame) -> Findings:
        valuations = select(frame, kind="valuation")
        table = metrics_table(valuations).assign(theory=np.nan)
        pairs = against(select(table, method="baseline"), table, on=["metric"])
        means = table.pivot(index="metric", columns="method", values="ours")
        records = valuations.groupby("method").records.first()
        counted = evaluate(
            "digits.claims",
            accuracy=select(frame, kind="digits-accuracy").accuracy.iloc[0],
            fresh=records.baseline,
            pooled=records.pooled,
            classes=self.classes,
            asked=self.classes * self.n_pool,
        )
        better = (means.stratified < means.pooled).sum()
        return Findings(
            claims=[
                *counted,
                *_reductions(self, pairs),
                *evaluate("digits.stratified", better=better),
            ],
            table=_table(self, table),
            beyond=_beyond(self, pairs, valuations),
            notes=[
                _size_note(self),
                "All draws are with replacement: a class has about 125 training images, fewer "
                "than the 300 draws of a pool.",
            ],
            data=table,
            figure=draw_digits(pairs),
            caption="Variance of each method over that of five fresh games, at as many source "
            "draws. Crosses are the paper's.",
        )


@cache
def _providers(classes: int) -> tuple[sb.Provider, ...]:
    """The first digit classes as sources with replacement."""
    return tuple(
        sb.Provider(provider.name, sb.ArraySource(records.X, records.y, replace=True))
        for provider, records in zip(task_of("digits").providers[:classes], _images(), strict=False)
    )


def _images() -> list[sb.Batch]:
    """The training images of every class."""
    sources = [provider.source for provider in task_of("digits").providers]
    return [source.records for source in sources if isinstance(source, sb.ArraySource)]


def _accuracy() -> float:
    """Test accuracy of the network trained on all training images."""
    utility = task_of("digits").utility
    summaries = [utility.summarise(batch) for batch in _images()]
    return float(utility.evaluate(summaries, [2 ** len(summaries) - 1])[0])


def _size_note(size: Digits) -> str:
    solved = "solved exactly" if size.n_iter is None else f"by {size.n_iter} balanced permutations"
    note = (
        f"{size.replications} replications, {size.local_games} local games, {solved}; the paper "
        "does not say how many permutations it takes."
    )
    if size.classes == 10:
        return note
    few = f"The first {size.classes} of the ten classes only"
    return f"{note} {few}: a game of ten takes hundreds of fits."


def _reductions(size: Digits, pairs: pd.DataFrame) -> list[Row]:
    rows = []
    for (method, metric), theirs in paper.DIGITS_REDUCTIONS.items():
        printed = {"theirs": 1 - theirs, "theirs_baseline": 1.0}
        found = select(pairs, method=method, metric=metric).assign(**printed)
        (pair,), (facts,) = rows_of(found), facts_of(found)
        agrees, clear = relation_agrees(pair), pair.saved > 2 * pair.saved_error
        judged = {"agrees": agrees, "clear": clear, "reason": _reason(pair.saved, agrees, clear)}
        facts |= {"theirs": theirs, "theory": _theory(size, metric), **judged}
        rows += evaluate("digits.reduction", **facts)
    return rows


def _reason(saved: float, agrees: bool, clear: bool) -> str:
    if clear and agrees:
        return "as the paper says, within the scatter"
    if clear:
        return "clearly lower, by another amount"
    unclear = "lower, but no clear difference at so few replications"
    return unclear if saved > 0 else "not lower here"


def _theory(size: Digits, metric: str) -> str:
    """Bounds: local games share all of the pool's error (linear utilities) or none of it."""
    games = size.local_games
    if metric == VAR_E:
        best = 1 - _FRESH_GAMES / games
        linear = 1 - _FRESH_GAMES * (size.n_boot / size.n_pool + 1 / games)
    else:
        best = 1 - (_FRESH_GAMES - 1) / (games - 1)
        linear = 1 - (_FRESH_GAMES - 1) / 2 * (2 / (games - 1) + 2 / (size.n_pool - 1))
    return f"{percent(linear)} if values were linear in the records, at most {percent(best)}"


def _table(size: Digits, table: pd.DataFrame) -> list[Row]:
    rows = []
    for metric, theirs in paper.DIGITS_BASELINE.items():
        ours = measured(table, method="baseline", metric=metric)
        rows += evaluate(
            "digits.table",
            metric=metric,
            theirs=theirs,
            ours=ours,
            agrees=paper_agrees(theirs, ours, size.replications),
            classes=size.classes,
            times=theirs / ours.value,
            fewer=f"; ours has {size.classes} classes" if size.classes < 10 else "",
        )
    return rows


def _beyond(size: Digits, pairs: pd.DataFrame, valuations: pd.DataFrame) -> list[Row]:
    rows = []
    for facts in facts_of(select(pairs, method="blocks")):
        rows += evaluate("digits.blocks", **facts)
    raw, corrected = (
        {m: scientific(stack(valuations, column, method=m).mean()) for m in _METHODS}
        for column in ("variance", "corrected_variance")
    )
    listed = "; ".join(f"{method} {raw[method]}, {corrected[method]}" for method in _METHODS)
    return [*rows, *evaluate("digits.means", listed=listed, exact=size.n_iter is None)]
