"""Samplings, solvers, indices and participations: their tables follow from the dataclasses.

The keys of a table are the fields of the dataclass, with its defaults. A part of the user's own is
named by ``kind = "object"``, a recorded participation by its file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import Field, WrapValidator, create_model

from shapband.app.config.imports import load_object
from shapband.app.config.sources import read_rounds
from shapband.app.config.tables import (
    Above,
    Count,
    NumberByName,
    ObjectTable,
    Part,
    Table,
    Text,
    TraceTable,
    broken,
)
from shapband.checks import concerning
from shapband.errors import InvalidInput
from shapband.indices import Banzhaf, Beta, Shapley
from shapband.sampling.blocks import Blocks
from shapband.sampling.cohort import Cohort
from shapband.sampling.fresh import Fresh
from shapband.sampling.independent import Independent
from shapband.sampling.markov import MarkovChain
from shapband.sampling.participation import ByName, Participation
from shapband.sampling.pooled import Pooled
from shapband.sampling.sizes import DrawSize, check_draw_size
from shapband.sampling.stratified import Stratified
from shapband.sampling.trace import Trace
from shapband.solvers.balanced import BalancedPermutation
from shapband.solvers.exact import Exact
from shapband.solvers.permutation import Permutation
from shapband.solvers.strata import Strata

SAMPLINGS: dict[str, type] = {
    "fresh": Fresh,
    "pooled": Pooled,
    "stratified": Stratified,
    "blocks": Blocks,
}
SOLVERS: dict[str, type] = {
    "exact": Exact,
    "permutation": Permutation,
    "balanced": BalancedPermutation,
    "strata": Strata,
}
INDICES: dict[str, type] = {"shapley": Shapley, "banzhaf": Banzhaf, "beta": Beta}
PARTICIPATIONS: dict[str, type] = {
    "independent": Independent,
    "cohort": Cohort,
    "markov": MarkovChain,
}
_KINDS = {**SAMPLINGS, **SOLVERS, **INDICES, **PARTICIPATIONS}


def _check_draw_size(given: Any, _: object) -> DrawSize:
    """Check a draw size as the dataclasses do, with one sentence for its three forms."""
    try:
        return check_draw_size("draw", "size", given)
    except InvalidInput as cause:
        raise broken(str(cause).removeprefix("draw: size ")) from cause


_SIZE = Field(
    description="Records that a provider gives to a game: a number, a fraction of each stock, or a "
    "table of numbers by provider name."
)
_TYPES: dict[Any, Any] = {  # what the numbers of a dataclass may be
    int: Count,
    float: Above,
    ByName: NumberByName,
    DrawSize: Annotated[Count | Part | dict[Text, Count], WrapValidator(_check_draw_size), _SIZE],
}


class ObjectPart(ObjectTable):
    """A sampling, a solver or an index of your own."""


def _table_of(kind: str, made: type) -> type[Table]:
    """Make the table of a dataclass."""
    hints = get_type_hints(made)
    keys: dict[str, Any] = {"kind": (Literal[kind], ...)}
    for field in fields(made):
        default = ... if field.default is MISSING else field.default
        keys[field.name] = (_TYPES.get(hints[field.name], hints[field.name]), default)
    summary = (made.__doc__ or "").partition("\n")[0]
    name = f"{made.__name__}Table"
    return create_model(name, __base__=Table, __doc__=summary, **keys)


def _union_of(kinds: Mapping[str, type], other: type[Table]) -> Any:
    tables: list[Any] = [_table_of(kind, made) for kind, made in kinds.items()]
    return Annotated[reduce(or_, [*tables, other]), Field(discriminator="kind")]


if TYPE_CHECKING:
    SamplingTable = Table
    SolverTable = Table
    IndexTable = Table
    ParticipationTable = Table
else:
    SamplingTable = _union_of(SAMPLINGS, ObjectPart)
    SolverTable = _union_of(SOLVERS, ObjectPart)
    IndexTable = _union_of(INDICES, ObjectPart)
    ParticipationTable = _union_of(PARTICIPATIONS, TraceTable)


def check_part(table: Table | None, key: str) -> None:
    """Check the settings of a part of ours; one of the user's, or in a file, is not loaded yet."""
    if table is not None and not isinstance(table, ObjectTable | TraceTable):
        _make(table, key)


def make_participation(table: Table, base: Path) -> Participation:
    """Make the participation of a table; a recorded one is read from its file."""
    if isinstance(table, TraceTable):
        with concerning("participation.path"):
            return Trace(read_rounds(table, base, "participation"))
    made: Participation = _make(table, "participation")
    return made


def make_part(table: Table, wanted: type[Any], key: str, base: Path) -> Any:
    """Make the sampling, the solver or the index of a table."""
    if isinstance(table, ObjectTable):
        return make_object(table, wanted, key, base)
    return _make(table, key)


def make_object(table: ObjectTable, wanted: type[Any], key: str, base: Path) -> Any:
    """Import an object of the user's own, and check that it is what is wanted."""
    made = load_object(
        table.object, table.options, base, f"{key}.object", lambda kind: issubclass(kind, wanted)
    )
    if not isinstance(made, wanted):
        raise InvalidInput(
            f"{key}.object: {table.object} must be a {wanted.__name__}, so a class of your own "
            f"must inherit from shapband.{wanted.__name__}; received {type(made).__name__}"
        )
    return made


def _make(table: Table, key: str) -> Any:
    """Call the dataclass; its errors begin with its name, those of the file with the key."""
    settings = table.model_dump()
    made = _KINDS[settings.pop("kind")]
    try:
        return made(**settings)
    except InvalidInput as cause:
        message = str(cause).removeprefix(f"{made.__name__}: ")
        field, _, rule = message.partition(" ")
        place = f"{key}.{field}: {rule}" if field in settings else f"{key}: {message}"
        raise InvalidInput(place) from cause
