"""Providers that come and go: an independent two-state Markov chain for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.errors import InvalidInput
from shapband.sampling.participation import (
    ByName,
    Participation,
    Per,
    check_by_name,
    check_per,
    check_probabilities,
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

_BEHIND = 64  # look for a game that decides the state first in this many earlier games


@dataclass(frozen=True, repr=False)
class MarkovChain(Participation):
    """Every provider joins and leaves from game to game, by its own Markov chain.

    The chains begin in their stationary distribution: a provider is present in
    join / (1 + join - stay) of all games, and the correlation of its presence in two consecutive
    games is stay - join. So games are dependent, and the valuation's errors take that into account.
    With ``per="round"`` the chains go over the rounds of a game, and begin anew in every game, so
    games are independent.

    Parameters
    ----------
    join : probability of being present if absent in the game before, above 0; one number for all
        providers, or a mapping by name
    stay : probability of being present if present in the game before, in the same form
    per : "game", or "round" if providers join and leave from round to round within a game

    Examples
    --------
    >>> import shapband as sb
    >>> chain = sb.MarkovChain(join=0.2, stay=0.9)
    >>> trace = chain.simulate(["north", "south"], n_rounds=20_000, seed=0)
    >>> trace["north"].mean().round(2), trace["north"].autocorr().round(2)
    (np.float64(0.67), np.float64(0.7))
    """

    join: ByName
    stay: ByName
    per: Per = "game"

    def __post_init__(self) -> None:
        check_probabilities("MarkovChain: join", self.join, above_zero=True)
        check_probabilities("MarkovChain: stay", self.stay)
        check_per("MarkovChain", self.per)

    def check(self, names: Sequence[str]) -> None:
        check_by_name("MarkovChain: join", self.join, names)
        check_by_name("MarkovChain: stay", self.stay, names)
        if (self.persistence(names) == -1).any():
            raise InvalidInput(
                "MarkovChain: with join=1 and stay=0 a provider is present in every other "
                f"{self.per}, which is not random: use a Trace"
            )

    def present(self, seeds: Seeds, names: Sequence[str], games: range) -> BoolArray:
        settings = zip(
            names,
            numbers_of(self.join, names).tolist(),
            numbers_of(self.stay, names).tolist(),
            strict=True,
        )
        return np.stack([_states(seeds, name, games, j, s) for name, j, s in settings], axis=1)

    def present_in_rounds(
        self, seeds: Seeds, names: Sequence[str], games: range, n_rounds: int
    ) -> BoolArray:
        join, stay = numbers_of(self.join, names), numbers_of(self.stay, names)
        drawn = [uniform_numbers_of_rounds(seeds, name, games, n_rounds) for name in names]
        numbers = np.stack(drawn, axis=2)
        found = np.empty(numbers.shape, dtype=bool)
        chance = np.broadcast_to(self.rates(names), found[:, 0].shape)
        for r in range(n_rounds):
            found[:, r] = numbers[:, r] < chance
            chance = np.where(found[:, r], stay, join)
        return found

    def counts(self, names: Sequence[str]) -> Sequence[int]:
        always = int((self.rates(names) == 1).sum())
        return range(max(always, 1), len(names) + 1)

    def rates(self, names: Sequence[str]) -> FloatArray:
        return np.asarray(_stationary(numbers_of(self.join, names), numbers_of(self.stay, names)))

    def persistence(self, names: Sequence[str]) -> FloatArray:
        apart = numbers_of(self.stay, names) - numbers_of(self.join, names)
        return np.where(self.rates(names) < 1, apart, 0.0)

    @property
    def estimand(self) -> str:
        each = "" if self.per == "game" else " from round to round"
        return (
            f"by {who(self.per)} that join with probability {spelled(self.join)} and stay with "
            f"probability {spelled(self.stay)}{each}"
        )

    def settings(self) -> dict[str, Any]:
        return {"join": plain(self.join), "stay": plain(self.stay), **per_settings(self.per)}

    def __repr__(self) -> str:
        return f"MarkovChain(join={shown(self.join)}, stay={shown(self.stay)}{per_shown(self.per)})"


def _stationary(join: FloatArray | float, stay: FloatArray | float) -> FloatArray | float:
    """Probability of presence in the stationary distribution."""
    return join / (1 + join - stay)


def _states(seeds: Seeds, name: str, games: range, join: float, stay: float) -> BoolArray:
    """Whether a provider is present: (n_games,).

    Every game has a random number. If the number is below both `join` and `stay`, the provider is
    present, and if it is above both, the provider is absent, whatever its state was before. A
    number between the two keeps the state if `stay` is larger than `join`, and changes it
    otherwise. So the state in a game follows from the last game whose number was not between the
    two, and no worker needs to follow the chain from the first game on.
    """
    low, high = min(join, stay), max(join, stay)
    behind = _BEHIND
    while True:
        start = max(0, games.start - behind)
        numbers = uniform_numbers(seeds, name, range(start, games.stop))
        state = numbers < low
        decided = state | (numbers >= high)
        if start == 0:
            decided[0], state[0] = True, numbers[0] < _stationary(join, stay)
        first = games.start - start
        if decided[: first + 1].any():
            break
        behind *= 4
    place = np.arange(len(numbers))
    last = np.maximum.accumulate(np.where(decided, place, 0))
    found = state[last]
    if stay < join:
        found = found ^ ((place - last) % 2 == 1)
    return np.asarray(found[first:])
