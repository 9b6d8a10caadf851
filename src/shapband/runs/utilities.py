"""From the table of a file to a utility."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shapband.datasets.task import Task
from shapband.errors import InvalidInput
from shapband.records import Batch
from shapband.runs.objects import load_object
from shapband.runs.sources import at_key, make_rows
from shapband.runs.tables import (
    AdditiveTable,
    EstimatorTable,
    LinearTable,
    NeighborsTable,
    ObjectUtility,
    UtilityTable,
    ValidatedTable,
    ValuesTable,
)
from shapband.utilities.additive import AdditiveUtility
from shapband.utilities.base import Utility
from shapband.utilities.estimator import EstimatorUtility
from shapband.utilities.linear import LinearUtility
from shapband.utilities.neighbors import NeighborUtility
from shapband.utilities.table import TableUtility


def make_utility(
    table: UtilityTable | None, tasks: Mapping[str, Task], base: Path
) -> tuple[Utility, Batch | None]:
    """Make the utility, and give the validation rows that were read from a file for it.

    Parameters
    ----------
    table : the file's `[utility]`, or None for that of the task
    tasks : the tasks among the sources
    base : where relative paths start
    """
    if table is None:
        return _only_task(tasks, "utility", "must be given").utility, None
    with at_key("utility"):
        if isinstance(table, ValidatedTable):
            rows, read = _validation(table, tasks, base)
            return _validated(table, rows, base), read
        if isinstance(table, AdditiveTable):
            return AdditiveUtility(table.weights, empty=table.empty), None
        if isinstance(table, ValuesTable):
            return TableUtility(table.values), None
        return _own(table, base), None


def _validated(table: ValidatedTable, rows: Batch, base: Path) -> Utility:
    X, y, empty = rows.X, rows.y, table.empty
    if isinstance(table, LinearTable):
        return LinearUtility(X, y, table.score, empty=empty)
    if isinstance(table, NeighborsTable):
        return NeighborUtility(X, y, table.k, table.task, table.score, empty=empty)
    if not isinstance(table, EstimatorTable):
        raise TypeError(f"{type(table).__name__} is not a utility with validation rows")
    estimator = load_object(table.estimator, table.options, base, "utility.estimator")
    return EstimatorUtility(estimator, X, y, table.score, empty=empty, failed=table.failed)


def _validation(
    table: ValidatedTable, tasks: Mapping[str, Task], base: Path
) -> tuple[Batch, Batch | None]:
    if table.validation is None:
        task = _only_task(tasks, "utility.validation", "must be given")
        return Batch(task.X_val, task.y_val), None
    rows = make_rows(table.validation, base, "utility.validation")
    return rows, rows


def _only_task(tasks: Mapping[str, Task], key: str, rule: str) -> Task:
    if len(tasks) != 1:
        why = "no source is a task that brings its own" if not tasks else "there are several tasks"
        raise InvalidInput(f"{key}: {rule}, because {why}")
    return next(iter(tasks.values()))


def _own(table: ObjectUtility, base: Path) -> Utility:
    made = load_object(table.object, table.options, base, "utility.object")
    if not isinstance(made, Utility):
        raise InvalidInput(
            f"utility.object: {table.object} must be a utility, such as "
            f"FunctionUtility(v); received {type(made).__name__}"
        )
    return made
