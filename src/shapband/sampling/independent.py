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
    Per,
    check_by_name,
    check_per,
    check_probabilities,
    each,
    numbers_of,
    per_settings,
    per_shown,
    plain,
    shown,
    spelled,
    uniform_numbers,
    uniform_numbers_of_rounds,
    who,
)
from shapband.seeds import Seeds


@dataclass(frozen=True, repr=False)
class Independent(Participation):
    """Every provider is present with a probability, independently in every game.

    Parameters
    ----------
    probability : above 0 and at most 1: one number for all providers, or a mapping by name
    per : "game", or "round" if presence is drawn for each round of training within a game

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Independent({"north": 0.9, "south": 0.5})
    Independent({'north': 0.9, 'south': 0.5})
    >>> sb.Independent(0.8).simulate(["north", "south"], n_rounds=1000, seed=0).mean().tolist()
    [0.812, 0.786]
    >>> sb.Independent(0.5, per="round").simulate(["north", "south"], n_rounds=2, seed=0).shape
    (2, 2)
    """

    probability: ByName
    per: Per = "game"

    def __post_init__(self) -> None:
        check_probabilities("Independent: probability", self.probability, above_zero=True)
        check_per("Independent", self.per)

    def check(self, names: Sequence[str]) -> None:
        check_by_name("Independent: probability", self.probability, names)

    def present(self, seeds: Seeds, names: Sequence[str], games: range) -> BoolArray:
        numbers = [uniform_numbers(seeds, name, games) for name in names]
        return np.stack(numbers, axis=1) < self.rates(names)

    def present_in_rounds(
        self, seeds: Seeds, names: Sequence[str], games: range, n_rounds: int
    ) -> BoolArray:
        numbers = [uniform_numbers_of_rounds(seeds, name, games, n_rounds) for name in names]
        return np.stack(numbers, axis=2) < self.rates(names)

    def counts(self, names: Sequence[str]) -> Sequence[int]:
        always = int((self.rates(names) == 1).sum())
        return range(max(always, 1), len(names) + 1)

    def rates(self, names: Sequence[str]) -> FloatArray:
        return numbers_of(self.probability, names)

    @property
    def estimand(self) -> str:
        chance = f"with probability {spelled(self.probability)}"
        return f"by {who(self.per)} that take part{each(self.per)} {chance}"

    def settings(self) -> dict[str, Any]:
        return {"probability": plain(self.probability), **per_settings(self.per)}

    def __repr__(self) -> str:
        return f"Independent({shown(self.probability)}{per_shown(self.per)})"
