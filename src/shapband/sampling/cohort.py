"""A random cohort of providers in every game, as federated learning samples its clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapband._typing import AnyArray, BoolArray, FloatArray
from shapband.checks import check_whole
from shapband.errors import InvalidInput
from shapband.sampling.participation import (
    PURPOSE,
    Participation,
    Per,
    check_per,
    each,
    per_settings,
    per_shown,
    who,
)
from shapband.seeds import Seeds


@dataclass(frozen=True, repr=False)
class Cohort(Participation):
    """Exactly `k` of the providers are present in a game; all sets of k are equally likely.

    Parameters
    ----------
    k : providers in a game, at most all of them
    per : "game", or "round" if every round of training within a game has its own cohort

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Cohort(2).simulate(["north", "south", "east"], 5, seed=0).sum(axis=1).tolist()
    [2, 2, 2, 2, 2]
    """

    k: int
    per: Per = "game"

    def __post_init__(self) -> None:
        check_whole("Cohort: k", self.k, 1)
        check_per("Cohort", self.per)

    def check(self, names: Sequence[str]) -> None:
        if self.k > len(names):
            raise InvalidInput(
                f"Cohort: k must be at most the number of providers, {len(names)}; received "
                f"{self.k}"
            )

    def present(self, seeds: Seeds, names: Sequence[str], games: range) -> BoolArray:
        """Draw a random word for each provider; those with the k smallest are present."""
        words = [seeds.words(PURPOSE, name, games, 1)[:, 0] for name in names]
        return _smallest(np.stack(words, axis=1), self.k)

    def present_in_rounds(
        self, seeds: Seeds, names: Sequence[str], games: range, n_rounds: int
    ) -> BoolArray:
        words = [seeds.words(PURPOSE, name, games, n_rounds) for name in names]
        return _smallest(np.stack(words, axis=2), self.k)

    def counts(self, names: Sequence[str]) -> Sequence[int]:  # noqa: ARG002
        return [self.k]

    def rates(self, names: Sequence[str]) -> FloatArray:
        return np.full(len(names), self.k / len(names))

    @property
    def estimand(self) -> str:
        return f"by random cohorts of {self.k} of the {who(self.per)}{each(self.per)}"

    def settings(self) -> dict[str, Any]:
        return {"k": int(self.k), **per_settings(self.per)}

    def __repr__(self) -> str:
        return f"Cohort({self.k}{per_shown(self.per)})"


def _smallest(words: AnyArray, k: int) -> BoolArray:
    """Whether each word is among the k smallest along the last axis: an array of that shape."""
    chosen = np.argsort(words, axis=-1)[..., :k]
    found = np.zeros(words.shape, dtype=bool)
    np.put_along_axis(found, chosen, values=True, axis=-1)
    return found
