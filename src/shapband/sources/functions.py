"""Records drawn on request, by a function or from a distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shapband._facts import facts, name_of
from shapband._typing import FloatArray
from shapband.checks import check_kind, check_whole, described
from shapband.errors import InvalidInput
from shapband.records.batch import Batch, take_in
from shapband.sources.base import GenerativeSource, UnusableAnswer


class FunctionSource(GenerativeSource):
    """A source that calls a function for every draw.

    Parameters
    ----------
    draw : ``draw(size, rng) -> (X, y)``; all its randomness must come from the generator `rng`,
        so that a seed gives the same records again
    waits : whether the function waits for something outside this process, such as a network;
        if so, it is called from a thread, in parallel with other providers' functions
    concurrent : calls at the same time, if it waits
    version : changes with the records that the function draws from, such as the name of a snapshot;
        runs refuse to mix two versions. None if it is not known

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> def coin(size, rng):
    ...     X = rng.normal(size=(size, 2))
    ...     return X, X.sum(axis=1)
    >>> len(sb.FunctionSource(coin).draw(5, np.random.default_rng(0)))
    5
    """

    def __init__(
        self,
        draw: Callable[[int, np.random.Generator], tuple[Any, Any]],
        *,
        waits: bool = False,
        concurrent: int = 1,
        version: str | None = None,
    ) -> None:
        wanted = "a function draw(size, rng) -> (X, y)"
        check_kind("FunctionSource: draw", draw, Callable, wanted)
        self._draw = draw
        self.waits = waits
        self.concurrent = check_whole("FunctionSource: concurrent", concurrent, 1)
        self.version = version
        self._about = facts(name_of(draw), waits=waits)

    def draw(self, size: int, rng: np.random.Generator) -> Batch:
        answer: object = self._draw(size, rng)
        # A data frame of two columns would unpack into these columns.
        if not isinstance(answer, (tuple, list, np.ndarray)) or len(answer) != 2:
            raise UnusableAnswer(
                f"FunctionSource: draw must return a tuple (X, y); received {described(answer)}",
                answer,
            )
        X, y = answer
        return _checked(X, y, "FunctionSource")


class DistributionSource(GenerativeSource):
    """A source that draws features from a frozen scipy distribution and labels them.

    Parameters
    ----------
    distribution : a frozen scipy distribution, of one or several dimensions
    label : function from features (size, n_features) to targets (size,); by default the target is
        the first feature itself

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> from scipy.stats import norm
    >>> source = sb.DistributionSource(norm(2.0, 0.1), label=lambda X: 3.0 * X[:, 0])
    >>> batch = source.draw(100, np.random.default_rng(0))
    >>> bool(abs(batch.y.mean() - 6.0) < 0.2)
    True
    """

    def __init__(self, distribution: Any, label: Callable[[FloatArray], Any] | None = None) -> None:
        if not hasattr(distribution, "rvs"):
            raise InvalidInput(
                "DistributionSource: distribution must be a frozen scipy distribution, such as "
                f"scipy.stats.norm(0, 1); received {type(distribution).__name__}"
            )
        if label is not None and not callable(label):
            raise InvalidInput(
                f"DistributionSource: label must be a function of the features; received {label!r}"
            )
        self._distribution = distribution
        self._label = label
        family = getattr(distribution, "dist", distribution)
        name = str(getattr(family, "name", type(family).__name__))
        self._about = facts(name, label=label and name_of(label))

    def draw(self, size: int, rng: np.random.Generator) -> Batch:
        drawn = np.asarray(self._distribution.rvs(size=size, random_state=rng), dtype=np.float64)
        X = drawn.reshape(size, -1)
        y = X[:, 0] if self._label is None else self._label(X)
        return _checked(X, y, "DistributionSource")


def _checked(X: Any, y: Any, owner: str) -> Batch:
    try:
        return take_in(X, y, owner)
    except InvalidInput as cause:
        raise UnusableAnswer(str(cause), (X, y)) from cause
