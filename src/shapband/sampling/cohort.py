"""A random cohort of providers in every game, as federated learning samples its clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.checks import check_whole
from shapband.errors import InvalidInput
from shapband.sampling.participation import PURPOSE, Participation
from shapband.seeds import Seeds


@dataclass(frozen=True, repr=False)
class Cohort(Participation):
    """Exactly `k` of the providers are present in a game; all sets of k are equally likely.

    Parameters
    ----------
    k : providers in a game, at most all of them

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Cohort(2).simulate(["north", "south", "east"], 5, seed=0).sum(axis=1).tolist()
    [2, 2, 2, 2, 2]
    """

    k: int

    def __post_init__(self) -> None:
        check_whole("Cohort: k", self.k, 1)

    def check(self, names: Sequence[str]) -> None:
        if self.k > len(names):
            raise InvalidInput(
                f"Cohort: k must be at most the number of providers, {len(names)}; received "
                f"{self.k}"
            )

    def present(self, seeds: Seeds, names: Sequence[str], games: range) -> BoolArray:
        """Draw a random word for each provider; those with the k smallest are present."""
        words = [seeds.words(PURPOSE, name, games, 1)[:, 0] for name in names]
        chosen = np.argsort(np.stack(words, axis=1), axis=1)[:, : self.k]
        found = np.zeros((len(games), len(names)), dtype=bool)
        np.put_along_axis(found, chosen, values=True, axis=1)
        return found

    def counts(self, names: Sequence[str]) -> Sequence[int]:  # noqa: ARG002
        return [self.k]

    def rates(self, names: Sequence[str]) -> FloatArray:
        return np.full(len(names), self.k / len(names))

    @property
    def estimand(self) -> str:
        return f"by random cohorts of {self.k} of the providers"

    def settings(self) -> dict[str, Any]:
        return {"k": int(self.k)}

    def __repr__(self) -> str:
        return f"Cohort({self.k})"
