"""Going on without providers that fail for good.

A valuation without a provider is a valuation of the others: its games begin anew, and games with
and without the provider are not mixed. The draws of a game are addressed by provider and game, so
the others give the same records again. They are held in memory, or stored in a run, and not bought
twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shapband.access.held import HeldPurchases
from shapband.checks import one_line, printable
from shapband.errors import InvalidInput, ProviderFailed, ProviderLeftOut
from shapband.providers import Group, Provider
from shapband.secrets import hide

if TYPE_CHECKING:
    from shapband.engine.arguments import Arguments
    from shapband.valuation.valuation import Valuation


class LeftOut(NamedTuple):
    """A provider that a valuation goes on without, and why."""

    name: str
    reason: str


def without(
    players: Sequence[Provider | Group], left_out: Sequence[LeftOut]
) -> Sequence[Provider | Group]:
    """The players without some providers; a group that has lost all its members is left out too."""
    names = {one.name for one in left_out}
    if not names:
        return players
    left: list[Provider | Group] = []
    for player in players:
        if isinstance(player, Group):
            members = [one for one in player.providers if one.name not in names]
            left += [Group(player.name, members)] if members else []
        elif player.name not in names:
            left.append(player)
    return left


def check_none_left(players: Sequence[Provider | Group], left_out: Sequence[LeftOut]) -> None:
    """Raise InvalidInput if a run has left out one of the players, without being told to now."""
    names = [
        one.name
        for player in players
        for one in (player.providers if isinstance(player, Group) else [player])
    ]
    for one in left_out:
        if one.name in names:
            raise InvalidInput(
                f"leave_out_failing: the run has left out a provider that failed ({one.reason}): "
                "resume it with leave_out_failing=True, or begin a new run"
            )


def describe(left_out: Sequence[LeftOut]) -> str:
    """Who was left out, why, and what follows for the values; empty if nobody was."""
    if not left_out:
        return ""
    causes = "; ".join(one.reason for one in left_out)
    which = "it" if len(left_out) == 1 else "them"
    return (
        f"{causes}. All values are for games without {which}, which begin anew: they divide what "
        f"the others are worth together, and may differ from their values in games with {which}"
    )


def play_leaving_out(
    check: Callable[[Sequence[LeftOut]], Arguments],
    play_games: Callable[[Arguments, HeldPurchases], Valuation],
) -> Valuation:
    """Play a valuation; begin it anew without each provider that fails for good.

    Parameters
    ----------
    check : makes the arguments of the valuation without some providers
    play_games : plays them with a journal of purchases
    """
    held = HeldPurchases()
    given = check(())
    while True:
        try:
            return play_games(given, held)
        except ProviderFailed as failure:
            given = arguments_without(failure, given, check)


def arguments_without(
    failure: ProviderFailed, given: Arguments, check: Callable[[Sequence[LeftOut]], Arguments]
) -> Arguments:
    """The arguments without a provider that failed; raises its failure if it cannot be left out."""
    if len(given.providers) == 1:
        raise failure
    reason = hide(printable(one_line(failure)))
    try:
        others = check([*given.left_out, LeftOut(failure.provider, reason)])
    except InvalidInput as cause:
        failure.add_note(f"it cannot be left out: {one_line(cause)}")
        raise failure from cause
    warnings.warn(f"{reason}; the valuation begins anew without it", ProviderLeftOut, stacklevel=4)
    return others
