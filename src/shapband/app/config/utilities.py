"""Make a utility from the table of the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shapband.app.config import tables
from shapband.app.config.imports import load_object
from shapband.app.config.parts import make_object
from shapband.app.config.sources import make_rows
from shapband.checks import concerning
from shapband.datasets.task import Task
from shapband.errors import InvalidInput
from shapband.records.batch import Batch
from shapband.utilities.additive import AdditiveUtility
from shapband.utilities.base import Utility
from shapband.utilities.bayes import GaussianNBUtility
from shapband.utilities.discriminant import LDAUtility
from shapband.utilities.estimator import EstimatorUtility
from shapband.utilities.linear import LinearUtility
from shapband.utilities.logistic import LogisticUtility
from shapband.utilities.neighbors import NeighborUtility
from shapband.utilities.networks.network import NetworkUtility
from shapband.utilities.table import TableUtility


def make_utility(
    table: tables.UtilityTable | None, tasks: Mapping[str, Task], base: Path
) -> Utility:
    """Make the utility of a table, or take that of the task among the sources."""
    if table is None:
        return _only_task(tasks, "utility").utility
    with concerning("utility"):
        if isinstance(table, tables.ValidatedTable):
            return _validated(table, _validation(table, tasks, base), base)
        if isinstance(table, tables.AdditiveTable):
            return AdditiveUtility(table.weights, empty=table.empty)
        if isinstance(table, tables.ValuesTable):
            return TableUtility(table.values)
        own: Utility = make_object(table, Utility, "utility", base)
        return own


def _validated(table: tables.ValidatedTable, rows: Batch, base: Path) -> Utility:
    X, y, empty = rows.X, rows.y, table.empty
    if isinstance(table, tables.LinearTable):
        return LinearUtility(X, y, table.score, alpha=table.alpha, empty=empty)
    if isinstance(table, tables.LogisticTable):
        return LogisticUtility(X, y, table.C, table.score, empty=empty)
    if isinstance(table, tables.NetworkTable):
        return NetworkUtility(
            X,
            y,
            table.hidden,
            alpha=table.alpha,
            max_iter=table.max_iter,
            seed=table.seed,
            empty=empty,
        )
    if isinstance(table, tables.BayesTable):
        smoothing = table.var_smoothing
        return GaussianNBUtility(X, y, table.score, var_smoothing=smoothing, empty=empty)
    if isinstance(table, tables.DiscriminantTable):
        return LDAUtility(X, y, table.score, empty=empty)
    if isinstance(table, tables.NeighborsTable):
        weights = table.weights
        return NeighborUtility(X, y, table.k, table.task, table.score, weights=weights, empty=empty)
    if not isinstance(table, tables.EstimatorTable):
        raise TypeError(f"{type(table).__name__} is not a utility with validation rows")
    estimator = load_object(
        table.estimator, table.options, base, "utility.estimator", _is_estimator
    )
    return EstimatorUtility(
        estimator,
        X,
        y,
        table.score,
        empty="baseline" if empty is None else empty,
        failed=table.failed,
    )


def _is_estimator(kind: type) -> bool:
    return hasattr(kind, "get_params") and hasattr(kind, "fit")


def _validation(table: tables.ValidatedTable, tasks: Mapping[str, Task], base: Path) -> Batch:
    if table.validation is None:
        task = _only_task(tasks, "utility.validation")
        return Batch(task.X_val, task.y_val)
    return make_rows(table.validation, base, "utility.validation")


def _only_task(tasks: Mapping[str, Task], key: str) -> Task:
    if len(tasks) != 1:
        why = "no source is a task that brings its own" if not tasks else "there are several tasks"
        raise InvalidInput(f"{key}: must be given, because {why}")
    return next(iter(tasks.values()))
