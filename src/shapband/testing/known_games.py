"""Games whose Shapley values are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shapband._typing import FloatArray
from shapband.checks import check_row, check_whole, written
from shapband.coalitions import members
from shapband.errors import InvalidInput
from shapband.indices import SHAPLEY
from shapband.solvers.exact import MAX_PROVIDERS, index_values


@dataclass(frozen=True)
class KnownGame:
    """A game for `compare_solvers`, given by a function.

    Parameters
    ----------
    value : the value of a coalition, given as the tuple of its members 0 .. n-1, ascending
    n_providers : the number of providers
    shapley : (n,) the Shapley values; computed from all coalitions by default, for up to 20
        providers

    Examples
    --------
    >>> import shapband as sb
    >>> game = sb.testing.KnownGame(lambda members: len(members) ** 2.0, 3)
    >>> game.truth.tolist()
    [3.0, 3.0, 3.0]
    """

    value: Callable[[tuple[int, ...]], float]
    n_providers: int
    shapley: ArrayLike | None = None

    def __post_init__(self) -> None:
        if not callable(self.value):
            raise InvalidInput(
                "KnownGame: value must be a function of the members of a coalition; received "
                f"{written(self.value)}"
            )
        check_whole("KnownGame: n_providers", self.n_providers, 2)
        if self.shapley is None and self.n_providers > MAX_PROVIDERS:
            raise InvalidInput(
                f"KnownGame: {self.n_providers} providers have too many coalitions to compute the "
                f"values (the limit is {MAX_PROVIDERS} providers): pass shapley"
            )
        if self.shapley is not None:
            given = check_row("KnownGame: shapley", self.shapley)
            if given.shape != (self.n_providers,):
                raise InvalidInput(
                    f"KnownGame: shapley must have one value for each of {self.n_providers} "
                    f"providers; received the shape {given.shape}"
                )

    @property
    def truth(self) -> FloatArray:
        """(n,) the Shapley values."""
        if self.shapley is not None:
            return check_row("KnownGame: shapley", self.shapley)
        table = [self.of_mask(mask) for mask in range(2**self.n_providers)]
        values: FloatArray = index_values(np.array([table]), SHAPLEY)[0]
        return values

    def of_mask(self, mask: int) -> float:
        """The value of a coalition given as a bitmask."""
        return float(self.value(tuple(members(mask))))
