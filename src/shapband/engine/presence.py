"""Checks of arguments about rounds: who takes part in them, and values by round."""

from __future__ import annotations

from collections.abc import Sequence

from shapband.checks import check_kind
from shapband.errors import InvalidInput
from shapband.sampling.participation import Participation, check_per
from shapband.utilities.base import Utility

_KNOWN = (
    "Independent(...), Cohort(...), MarkovChain(...), Trace(...), a Participation of your own, or "
    "None"
)


def check_participation(participation: object, names: Sequence[str]) -> None:
    """Check that a participation, if there is one, describes these providers."""
    if participation is not None:
        check_kind("participation", participation, Participation, _KNOWN, "sb.Independent({})")
        assert isinstance(participation, Participation)  # noqa: S101  for the type checker
        check_per(type(participation).__name__, participation.per)
        participation.check(names)


def present_counts(
    participation: Participation | None, names: Sequence[str], utility: Utility
) -> Sequence[int]:
    """How many providers may be in one game; only those present in one of its rounds are.

    Raises InvalidInput if providers come and go in rounds, but the utility has no rounds.

    Examples
    --------
    >>> import shapband as sb
    >>> present_counts(sb.Cohort(2), ["a", "b", "c"], sb.AdditiveUtility())
    [2]
    """
    if participation is None:
        return [len(names)]
    counts = participation.counts(names)
    if participation.per == "game":
        return counts
    if utility.rounds == 0:
        raise InvalidInput(
            f"participation: {participation!r} is about rounds of training, but "
            f'{type(utility).__name__} has no rounds: use per="game", or a utility with rounds, '
            "such as FederatedUtility"
        )
    participation.check_rounds(utility.rounds)
    # Different providers may be present in every round.
    return range(min(counts), min(max(counts) * utility.rounds, len(names)) + 1)


def check_by_round(wanted: object, utility: Utility, players: Sequence[int]) -> None:
    """Check the argument `by_round`, and whether the other arguments allow it.

    Parameters
    ----------
    players : number of providers of every player: of each group, and 1 for each single provider
    """
    check_kind("by_round", wanted, bool, "True or False")
    if wanted and utility.rounds == 0:
        raise InvalidInput(
            f"by_round: {type(utility).__name__} has no rounds of training: leave by_round out, or "
            "use a utility with rounds, such as FederatedUtility"
        )
    if wanted and max(players) > 1:
        raise InvalidInput(
            "by_round: the values of groups are not split by round: leave by_round out, or value "
            "the providers without groups"
        )
