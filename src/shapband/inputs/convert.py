"""The arguments that describe data and a model, converted in one place for all functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shapband.checks import written
from shapband.errors import InvalidInput
from shapband.inputs.columns import check_columns
from shapband.inputs.models import check_model, model_utility
from shapband.inputs.named import Named, named_providers
from shapband.inputs.overlap import members_of, warn_of_near_copies
from shapband.inputs.tables import is_table
from shapband.inputs.validation import check_groups, given_rows, hold_out, is_fraction
from shapband.providers import Group, Provider
from shapband.records.batch import Batch, Schema
from shapband.seeds import seeds_of
from shapband.utilities.base import Utility


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the arguments of a valuation mean.

    Attributes
    ----------
    providers : the providers and groups, without the records that are held out
    utility : the utility, or the utility of the model
    seed : the seed that was given, or the one by which records were held out; None if there is
        neither
    held_out : the fraction of every provider's records that is held out, or None
    """

    providers: Sequence[Provider | Group]
    utility: Utility
    seed: int | None
    held_out: float | None = None


def convert(
    providers: Any,
    utility: Any,
    *,
    target: str | int | None = None,
    validation: Any = None,
    validation_groups: Any = None,
    score: Any = None,
    seed: int | None,
) -> Inputs:
    """Make providers of data, and a utility of a model.

    Providers and utilities are passed on as they are. The other arguments are the same as in
    `value`. If `validation` is a fraction, the seed chooses the rows, and None makes one up.
    """
    check_groups(validation, validation_groups)
    if isinstance(utility, Utility):
        _check_unused(utility, validation=validation, score=score)
    else:
        check_model(utility)
    _check_target(target)
    named = named_providers(providers, target)
    _check_target_used(target, named, validation, utility)
    _check_tables(named)
    players, held_out = named.players, None
    if not isinstance(utility, Utility):
        if is_fraction(validation):
            seed = seeds_of(seed).seed
            held_out = float(validation)
            warn_of_near_copies(players, held_out)
            players, rows = hold_out(players, validation, seed)
        else:
            rows = given_rows(validation, target, named)
            _check_rows(rows, named)
        utility = model_utility(utility, rows, score, members_of(players))
    return Inputs(players, utility, seed, held_out)


def _check_unused(utility: Utility, **arguments: Any) -> None:
    """Refuse arguments of a model beside a utility."""
    for name, argument in arguments.items():
        if argument is not None:
            said = written(argument) if isinstance(argument, str) else type(argument).__name__
            raise InvalidInput(
                f"{name} must be left out, because {type(utility).__name__} already holds its "
                f"validation rows and its score; received {said}: leave it out, or pass a "
                "scikit-learn model instead of the utility"
            )


def _check_target(target: Any) -> None:
    if target is None or (isinstance(target, str | int) and not isinstance(target, bool)):
        return
    raise InvalidInput(
        f"target must be the name of one column; received {type(target).__name__}: pass a single "
        "name, such as target='readmitted'"
    )


def _check_target_used(target: Any, named: Named, validation: Any, utility: Any) -> None:
    """Refuse a target that no table needs, because the user expects that it has an effect."""
    if target is None or named.tables or is_table(validation):
        return
    holders = "tuples (X, y) and sources"
    if isinstance(utility, Utility):
        holders = f"tuples (X, y), sources and {type(utility).__name__}"
    raise InvalidInput(
        f"target must be left out, because it names a column of tables, and {holders} hold "
        f"their targets already; received {target!r}: leave it out, or pass "
        "data frames"
    )


def _check_tables(named: Named) -> None:
    """Check that tables have the same columns, with an error that names both tables."""
    for name, schema in named.tables.items():
        check_columns(_place(name), schema, *_first(named))


def _check_rows(rows: Batch, named: Named) -> None:
    if named.tables:
        check_columns("validation", rows.schema, *_first(named))


def _first(named: Named) -> tuple[str, Schema]:
    """The first table, with which all others are compared."""
    name, schema = next(iter(named.tables.items()))
    return _place(name), schema


def _place(name: str) -> str:
    return f"providers[{name!r}]"
