"""Faults in the records of all providers together, and the providers that cause them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from shapband._typing import AnyArray
from shapband.checks import written
from shapband.errors import LoneLabels
from shapband.providers import Provider
from shapband.records.batch import Batch
from shapband.utilities.kinds import differences, lone_labels, not_numbers

_MOST_LEFT_OUT = 32  # with more providers, they are not left out one by one: each takes a fit


def found_fault(
    cause_of: Callable[[Sequence[Batch]], str],
    names: Sequence[str],
    batches: Sequence[Batch],
    rows: Batch,
) -> str:
    """Say why the records of all providers cannot be evaluated, and which provider is the cause.

    Parameters
    ----------
    cause_of : says why records cannot be evaluated; empty if they can
    names, batches : the providers, and some records of each
    rows : the validation rows

    Returns
    -------
    Empty if the records can be evaluated.
    """
    cause = cause_of(batches)
    if not cause:
        return ""
    told = f"the records of all providers together cannot be evaluated: {cause}"
    own = dict(zip(names, batches, strict=True))
    for name, batch in own.items():
        for _, difference in differences(batch, rows):
            return f"{told}; provider {name!r}: {difference}: convert them to one kind"
    if 1 < len(own) <= _MOST_LEFT_OUT:
        for name in own:
            if not cause_of([batch for other, batch in own.items() if other != name]):
                return f"{told}; without provider {name!r} they can{_other_types(own[name], rows)}"
    others = not_numbers(rows)
    return f"{told}; {others}: does the model take them?" if others else told


def _other_types(batch: Batch, rows: Batch) -> str:
    """Name the first column whose type differs from its type in the validation rows."""
    if not (batch.is_frame and rows.is_frame):
        return ""
    types = dict(zip(*rows.layout, strict=True))
    for name, found in zip(*batch.layout, strict=True):
        if name in types and types[name] != found:
            expected = types[name]
            return f": its column {written(name)} has the type {found}, but {expected} in X_val"
    return ""


def warn_of_lone_labels(providers: Sequence[Provider], labels: AnyArray) -> None:
    """Warn about providers in memory whose labels nobody else has."""
    for name, label in lone_labels(providers, labels.tolist()).items():
        warnings.warn(
            f"provider {name!r}: neither y_val nor another provider has any of its labels, such as "
            f"{written(label)}: are they written differently?",
            LoneLabels,
            stacklevel=2,
        )
