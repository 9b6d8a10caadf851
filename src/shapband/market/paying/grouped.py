"""What members of groups are paid, beside what their groups are worth as one player."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from shapband.checks import printable
from shapband.valuation.valuation import Valuation

_NAMED = 3  # a note names at most this many groups


def group_note(valuation: Valuation, money: Sequence[Decimal], amount: Decimal) -> str:
    """Say what the members of every group get together, and the share of the group as one player.

    The two differ, because a value below zero counts as zero: within a group it lowers what the
    group is worth, but not what its other members are paid. The note is empty if no group has two
    members or more, or nothing is paid.

    Parameters
    ----------
    money : what each provider gets
    amount : what was divided
    """
    groups = valuation.groups
    if groups is None or not amount:
        return ""
    places = groups.grouping.members
    inside = {place for group in places for place in group}
    alone = [value for at, value in enumerate(valuation.expectation) if at not in inside]
    above = np.maximum([*groups.expectation, *alone], 0.0)
    worth = (100 * above / (above.sum() or 1.0))[: len(places)]
    said = []
    for name, group, share in zip(groups.names, places, worth.tolist(), strict=True):
        if len(group) > 1:
            paid = 100 * sum(money[at] for at in group) / amount
            said.append(
                f"'{printable(name)}' as one player has {share:.2f} % of the values above zero, "
                f"and its members get {paid:.2f} %"
            )
    if not said:
        return ""
    more = f"; and {len(said) - _NAMED} more groups" if len(said) > _NAMED else ""
    return f"members of groups are paid by their own values: {'; '.join(said[:_NAMED])}{more}"
