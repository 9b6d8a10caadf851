"""Providers that take part independently of each other and of other games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.sampling.participation import (
    ByName,
    Participation,
    check_by_name,
    check_probabilities,
    numbers_of,
    plain,
    shown,
    spelled,
    uniform_numbers,
)
from shapband.seeds import Seeds


@dataclass(frozen=True, repr=False)
class Independent(Participation):
    """Every provider is present with a probability, independently in every game.

    Parameters
    ----------
    probability : above 0 and at most 1: one number for all providers, or a mapping by name

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Independent({"north": 0.9, "south": 0.5})
    Independent({'north': 0.9, 'south': 0.5})
    >>> sb.Independent(0.8).simulate(["north", "south"], n_rounds=1000, seed=0).mean().tolist()
    [0.812, 0.786]
    """

    probability: ByName

    def __post_init__(self) -> None:
        check_probabilities("Independent: probability", self.probability, above_zero=True)

    def check(self, names: Sequence[str]) -> None:
        check_by_name("Independent: probability", self.probability, names)

    def present(self, seeds: Seeds, names: Sequence[str], games: range) -> BoolArray:
        numbers = [uniform_numbers(seeds, name, games) for name in names]
        return np.stack(numbers, axis=1) < self.rates(names)

    def counts(self, names: Sequence[str]) -> Sequence[int]:
        always = int((self.rates(names) == 1).sum())
        return range(max(always, 1), len(names) + 1)

    def rates(self, names: Sequence[str]) -> FloatArray:
        return numbers_of(self.probability, names)

    @property
    def estimand(self) -> str:
        return f"by providers that take part with probability {spelled(self.probability)}"

    def settings(self) -> dict[str, Any]:
        return {"probability": plain(self.probability)}

    def __repr__(self) -> str:
        return f"Independent({shown(self.probability)})"
