"""Games played again with the same draws, to split the variance of the values by its causes.

With D the draws of a game, M who is present in its rounds, and T the random numbers of the
training, the law of total variance splits Var(φ) into three parts that add up:

    data           Var(E[φ | D])
    participation  E[Var(E[φ | D, M] | D)]
    training       E[Var(φ | D, M)]

Two values with the same D and independent M and T differ by the last two parts, and two values
with the same D and M by the last one: half of the expected squared difference is their sum
(`estimate.split`).
"""

from __future__ import annotations

from shapband.checks import check_kind
from shapband.errors import InvalidInput
from shapband.sampling.participation import Participation
from shapband.sampling.replays import Replays
from shapband.utilities.base import Utility


def choose_replays(
    wanted: object, utility: Utility, participation: Participation | None
) -> Replays | None:
    """Decide what differs when games are played again; None if they are not."""
    check_kind("variance_parts", wanted, bool, "True or False")
    if not wanted:
        return None
    if participation is not None and participation.per == "game":
        raise InvalidInput(
            "variance_parts: games cannot be played again with others present, because absent "
            'providers give no records: use per="round", or leave variance_parts out; '
            "valuation.participation has the part of each provider's own presence"
        )
    if participation is not None and participation.recorded:
        raise InvalidInput(
            f"variance_parts: {participation!r} is recorded, so presence is not random: use "
            "Independent, Cohort or MarkovChain, or leave variance_parts out"
        )
    if participation is None and not utility.training:
        raise InvalidInput(
            "variance_parts: nothing but the data is random in these games, so all of the variance "
            "is from the data: leave variance_parts out"
        )
    return Replays(presence=participation is not None, training=bool(utility.training))
