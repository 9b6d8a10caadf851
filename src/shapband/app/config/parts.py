"""Parts of a run whose tables in the file are derived from public classes.

The keys of a table are the parameters of the class, with its types, defaults and documentation. A
part of the user is named by ``kind = "object"``, a recorded participation by its file.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial, reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from numpy.typing import ArrayLike
from pydantic import BeforeValidator, Field, WrapValidator, create_model

import shapband
from shapband.app.config.imports import load_object, make_object
from shapband.app.config.sources import make_rows
from shapband.app.config.tables import (
    Count,
    Kinds,
    ObjectName,
    ObjectTable,
    Options,
    RowsTable,
    Table,
    Text,
    TraceTable,
    broken,
)
from shapband.checks import MOST, concerning
from shapband.errors import InvalidInput
from shapband.records.batch import Batch
from shapband.sampling.participation import ByName
from shapband.sampling.sizes import DrawSize, check_draw_size
from shapband.utilities.base import Utility

if TYPE_CHECKING:
    from shapband.datasets.task import Task

# Names of public classes by kind. A class that is registered here gets its table in the file.
SAMPLINGS = {"fresh": "Fresh", "pooled": "Pooled", "stratified": "Stratified", "blocks": "Blocks"}
SOLVERS = {
    "exact": "Exact",
    "permutation": "Permutation",
    "balanced": "BalancedPermutation",
    "strata": "Strata",
    "arcs": "Arcs",
    "known": "Known",
}
INDICES = {"shapley": "Shapley", "banzhaf": "Banzhaf", "beta": "Beta"}
PARTICIPATIONS = {"independent": "Independent", "cohort": "Cohort", "markov": "MarkovChain"}
UTILITIES = {
    "additive": "AdditiveUtility",
    "linear": "LinearUtility",
    "naive_bayes": "GaussianNBUtility",
    "lda": "LDAUtility",
    "logistic": "LogisticUtility",
    "neighbors": "NeighborUtility",
    "network": "NetworkUtility",
    "federated": "FederatedUtility",
    "estimator": "EstimatorUtility",
    "table": "TableUtility",
}


class PartTable(Table):
    """A table whose keys are the parameters of a public class, `made`."""

    made: ClassVar[Any]

    @property
    def settings(self) -> dict[str, Any]:
        """The keys that the file gives; the class has the defaults of the others."""
        return {name: getattr(self, name) for name in self.model_fields_set - {"kind"}}


_ROWS = Field(
    None,
    description="The rows that models are scored on, or the fraction of every provider's records "
    "to hold out for them, such as 0.3, of records in memory; a task's own rows by default.",
)


@cache
def _table_of(kind: str, name: str) -> type[PartTable]:
    """Derive the table of a public class.

    Validation rows `X_val` and `y_val` are the key `validation`. A required object, such as an
    estimator, is named as `module:name` and has `options`; an optional one is for Python only.
    """
    made: Any = getattr(shapband, name)
    described = _descriptions(made)
    keys: dict[str, Any] = {"kind": (Literal[kind], ...)}
    objects = []
    for key, parameter in inspect.signature(made, eval_str=True).parameters.items():
        hint = parameter.annotation
        default = ... if parameter.default is parameter.empty else parameter.default
        field = Field(default, description=described.get(key))
        if key == "X_val":
            keys["validation"] = (RowsTable | None, _ROWS)
        elif key != "y_val" and hint is not Any:
            keys[key] = (_in_file(hint), field)
        elif key != "y_val" and default is ...:
            objects.append(key)
            keys |= {key: (ObjectName, field), "options": (Options | None, None)}
    summary = (made.__doc__ or "").partition("\n")[0]
    table = create_model(f"{made.__name__}Table", __base__=PartTable, __doc__=summary, **keys)
    # A function, such as the old name of a class, must not become a method of the table.
    table.made = made if isinstance(made, type) else staticmethod(made)
    table.object_keys = tuple(objects)
    return table


def _descriptions(made: Any) -> dict[str, str]:
    """Read the parameters of a class in its docstring, as sentences."""
    _, _, section = inspect.cleandoc(made.__doc__ or "").partition("Parameters\n----------\n")
    found = re.findall(r"^(\w.*?) : (.*(?:\n    .*)*)", section.partition("\n\n")[0], re.MULTILINE)
    sentences = {}
    for names, text in found:
        plain = re.sub(r"^\(.*?\) ", "", " ".join(text.split()))  # remove the shape of an array
        for name in names.split(", "):
            sentences[name] = f"{plain[0].upper()}{plain[1:]}."
    return sentences


def _check_draw_size(given: Any, _: object) -> DrawSize:
    """Check a draw size as the dataclasses do, with one sentence for its three forms."""
    try:
        return check_draw_size("draw", "size", given)
    except InvalidInput as cause:
        raise broken(str(cause).removeprefix("draw: size ")) from cause


def _check_number_by_name(given: Any) -> Any:
    """Refuse everything except a number and a table of numbers, with an error in terms of TOML."""
    numbers = given.values() if isinstance(given, dict) else [given]
    if any(isinstance(one, bool) or not isinstance(one, int | float) for one in numbers):
        raise broken("must be a number, or a table with a number for each provider")
    return given


_IN_FILE: list[tuple[Any, Any]] = [  # types of parameters, and of their keys in a file
    (int, Count),
    (str, Text),
    (ArrayLike, list[float]),
    (ByName, Annotated[float | dict[str, float], BeforeValidator(_check_number_by_name)]),
    (
        DrawSize,
        Annotated[
            Count | Annotated[float, Field(gt=0, lt=1)] | dict[Text, Count],
            WrapValidator(_check_draw_size),
        ],
    ),
]


def _in_file(hint: Any) -> Any:
    """Return the type of the key that stands for a parameter."""
    for known, form in _IN_FILE:
        if hint == known:
            return form
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        form = Annotated[int, Field(le=MOST)] if inside[0] is int else _in_file(inside[0])
        return Annotated[form, *hint.__metadata__]
    if origin in (Union, types.UnionType):  # without functions, which a file cannot hold
        return reduce(or_, [_in_file(one) for one in inside if get_origin(one) is not Callable])
    if origin is Sequence:
        return Annotated[types.GenericAlias(list, _in_file(inside[0])), Field(min_length=1)]
    return hint


class ObjectPart(ObjectTable):
    """A sampling, a solver or an index of your own."""


class ObjectUtility(ObjectTable):
    """A utility of your own."""


def _kinds(classes: Mapping[str, str], **others: type[Table]) -> Kinds:
    derived = {kind: partial(_table_of, kind, name) for kind, name in classes.items()}
    return Kinds({**derived, **others})


SamplingTable = Annotated[Table, _kinds(SAMPLINGS, object=ObjectPart)]
SolverTable = Annotated[Table, _kinds(SOLVERS, object=ObjectPart)]
IndexTable = Annotated[Table, _kinds(INDICES, object=ObjectPart)]
ParticipationTable = Annotated[Table, _kinds(PARTICIPATIONS, trace=TraceTable)]
UtilityTable = Annotated[Table, _kinds(UTILITIES, object=ObjectUtility)]


def make_part(table: Table | None, key: str) -> Any:
    """Make one of the library's own parts; None if the file has no such part or must import it.

    The errors of a class begin with its name; here they begin with the key of the file.
    """
    if not isinstance(table, PartTable):
        return None
    settings = table.settings
    try:
        return table.made(**settings)
    except InvalidInput as cause:
        message = str(cause).removeprefix(f"{table.made.__name__}: ")
        field, _, rule = message.partition(" ")
        known = field in type(table).model_fields
        raise InvalidInput(f"{key}.{field}: {rule}" if known else f"{key}: {message}") from cause


def make_utility(
    table: Table | None, tasks: Mapping[str, Task], base: Path, held: Batch | None = None
) -> Utility:
    """Make the utility of a table, or take the utility of the task among the sources.

    `held` are the rows that were held out of the providers' records, if any.
    """
    if table is None:
        return _only_task(tasks, "utility").utility
    with concerning("utility"):
        if isinstance(table, ObjectTable):
            own: Utility = make_object(table, Utility, "utility", base)
            return own
        if not isinstance(table, PartTable):
            raise TypeError(f"{type(table).__name__} is not the table of a utility")
        settings = table.settings
        if "validation" in type(table).model_fields:
            given = settings.pop("validation", None)
            rows = _validation(given, tasks, base) if held is None else held
            settings |= {"X_val": rows.X, "y_val": rows.y}
        for key in table.object_keys:
            options = settings.pop("options", None)
            settings[key] = load_object(
                settings[key], options, base, f"utility.{key}", _is_estimator
            )
        made: Utility = table.made(**settings)
        return made


def _is_estimator(kind: type) -> bool:
    return hasattr(kind, "get_params") and hasattr(kind, "fit")


def _validation(table: Table | None, tasks: Mapping[str, Task], base: Path) -> Batch:
    if table is None:
        task = _only_task(tasks, "utility.validation")
        return Batch(task.X_val, task.y_val)
    return make_rows(table, base, "utility.validation")


def _only_task(tasks: Mapping[str, Task], key: str) -> Task:
    if len(tasks) != 1:
        why = "no source is a task that brings its own" if not tasks else "there are several tasks"
        part = '[utility] with kind, such as "logistic", and ' if key == "utility" else ""
        raise InvalidInput(
            f'{key}: must be given, because {why}: add {part}validation = {{ kind = "csv", '
            'path = "rows.csv", target = "COLUMN" }'
        )
    return next(iter(tasks.values()))
