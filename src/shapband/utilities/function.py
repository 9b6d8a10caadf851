"""Any function of the records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shapband._facts import facts, name_of
from shapband.checks import check_kind, check_number
from shapband.records.batch import Batch
from shapband.utilities.joined import RecordsUtility
from shapband.utilities.wording import function_words


class FunctionUtility(RecordsUtility):
    """A coalition is worth ``v(X, y)`` of its members' records together.

    Parameters
    ----------
    v : function of the features and targets; it is not called for the empty coalition. It must
        give the same value for the same records, so a random function needs a fixed seed.
        `shapband.testing.check_utility` detects a function that does not
    empty : value of the empty coalition

    Examples
    --------
    >>> import shapband as sb
    >>> from shapband.records.batch import Batch
    >>> import numpy as np
    >>> utility = sb.FunctionUtility(lambda X, y: y.max())
    >>> draws = [Batch(np.zeros((2, 1)), np.array([1.0, 4.0])), Batch(np.ones((1, 1)), np.ones(1))]
    >>> utility.evaluate(draws, [0b10, 0b11]).tolist()
    [1.0, 4.0]
    """

    def __init__(self, v: Callable[[Any, Any], float], *, empty: float = 0.0) -> None:
        check_kind("FunctionUtility: v", v, Callable, "a function v(X, y)")
        self._v = v
        self.empty = check_number("FunctionUtility: empty", empty)
        self._about = facts(name_of(v), empty=empty)

    @property
    def model_name(self) -> str:  # type: ignore[override]
        return function_words(self._v)

    def score(self, batch: Batch) -> float:
        return self._v(batch.X, batch.y)
