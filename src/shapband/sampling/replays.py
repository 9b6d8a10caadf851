"""What differs when games are played again with the same draws."""

from __future__ import annotations

from typing import NamedTuple

from shapband.seeds import Seeds


class Replays(NamedTuple):
    """What is random in a game beside the draws, and drawn anew when it is played again.

    Attributes
    ----------
    presence : whether it is random who is present in the rounds of a game
    training : whether the training has random numbers of its own
    """

    presence: bool
    training: bool

    @property
    def other_presence(self) -> tuple[bool, ...]:
        """Whether presence differs in each replay; the training differs in all of them."""
        return (True,) * self.presence + (False,) * self.training


def replay_seeds(seed: int, place: int) -> Seeds:
    """The random streams of a replay, by its place among the replays of a game.

    Examples
    --------
    >>> replay_seeds(0, 0) == replay_seeds(0, 1)
    False
    """
    return Seeds(int(Seeds(seed).words("replay", "", range(place, place + 1), 1)[0, 0]))
