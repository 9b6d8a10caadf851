"""Suspicious targets: providers with a single class, and providers with differently named labels.

A model learns little from a single class. If one provider has the labels -1 and 1 and all others
have 0 and 1, no fit fails, but every model is fitted to three classes instead of two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from shapband._typing import AnyArray
from shapband.checks import written
from shapband.records.batch import Batch


class OddLabel(NamedTuple):
    """A label that only one provider has; it may be another name for a label of the others.

    Attributes
    ----------
    name : the provider
    own : a label that neither another provider nor a validation row has, as a string
    others : a label that all others and the validation rows have, but not this provider
    """

    name: str
    own: str
    others: str


def one_label(names: Sequence[str], stocks: Sequence[Batch | None]) -> tuple[str, ...]:
    """Name the providers whose records all have the same target, unless all records have it.

    A stock that is not known is None. A provider with a single record is not named.

    Examples
    --------
    >>> X = np.zeros((3, 1))
    >>> one_label(["a", "b"], [Batch(X, np.array([1, 1, 1])), Batch(X, np.array([0, 1, 1]))])
    ('a',)
    """
    known = {
        name: np.asarray(stock.y)
        for name, stock in zip(names, stocks, strict=True)
        if stock is not None and len(stock.y) > 1
    }
    same = [name for name, y in known.items() if _all_equal(y)]
    if len(same) == len(known) and _all_equal(np.array([known[name][0] for name in same])):
        return ()
    return tuple(same)


def _all_equal(y: AnyArray) -> bool:
    return bool(np.all(y == y[:1]))


def odd_labels(
    names: Sequence[str], stocks: Sequence[Batch | None], validated: Iterable[Any] | None
) -> tuple[OddLabel, ...]:
    """Name the providers that use their own label instead of one that all others use.

    Parameters
    ----------
    names : the providers
    stocks : their records, or None where they are not known
    validated : labels of the validation rows, or None if targets are no labels

    Examples
    --------
    >>> X = np.zeros((2, 1))
    >>> stocks = [Batch(X, np.array([-1, 1])), Batch(X, np.array([0, 1]))]
    >>> odd_labels(["east", "west"], stocks, [0, 1])
    (OddLabel(name='east', own='-1', others='0'),)
    """
    if validated is None:
        return ()
    known = {
        name: set(np.asarray(stock.y).tolist())
        for name, stock in zip(names, stocks, strict=True)
        if stock is not None and len(stock.y)
    }
    usual = set(validated)
    found = []
    for name, mine in known.items():
        for own in sorted(mine - usual, key=label_order):
            # `own` replaces a label that all providers without `own` have, and no other has.
            without = [labels for labels in known.values() if own not in labels]
            holders = [labels for labels in known.values() if own in labels]
            replaced = usual.intersection(*without).difference(*holders)
            if without and replaced:
                found.append(OddLabel(name, spelled(own), spelled(min(replaced, key=label_order))))
                break
    return tuple(found)


def format_odd_labels(odd: Sequence[OddLabel]) -> str:
    """Say which providers have labels of their own in place of others; empty if none has."""
    told = [f"{written(one.name)} has {one.own} where the others have {one.others}" for one in odd]
    return f"labels: {', '.join(told)}" if told else ""


def label_order(label: Any) -> tuple[bool, Any]:
    """Sort key of labels: numbers before strings."""
    return isinstance(label, str), label


def spelled(label: Any) -> str:
    """A label as a string; integers without a decimal point."""
    return written(int(label) if isinstance(label, float) and label.is_integer() else label)
