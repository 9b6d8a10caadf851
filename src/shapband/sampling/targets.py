"""Providers whose records all have one target: a class alone teaches a model little."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shapband._typing import AnyArray
from shapband.records.batch import Batch


def one_label(names: Sequence[str], stocks: Sequence[Batch | None]) -> tuple[str, ...]:
    """Name the providers whose records all have the same target, unless all records have it.

    A stock that is not known is None. One record says nothing.

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
