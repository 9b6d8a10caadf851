"""Payouts of groups: members are paid by their own values, and a note says what follows."""

from __future__ import annotations

from typing import Any

import pytest

import shapband as sb

NOTE = "members of groups are paid by their own values: "


def valuation(*groups: int, values: tuple[float, ...]) -> sb.Valuation:
    """Groups of the first providers with these numbers of members; values as they are given."""
    providers = [
        sb.Provider(f"p{at}", sb.ArraySource([[1.0]], [value])) for at, value in enumerate(values)
    ]
    players: list[sb.Provider | sb.Group] = []
    for number, size in enumerate(groups):
        members, providers = providers[:size], providers[size:]
        players.append(sb.Group(f"g{number}", members))
    options: dict[str, Any] = {"sampling": sb.Fresh(1), "n_games": 2, "seed": 0}
    return sb.value([*players, *providers], sb.AdditiveUtility(), **options)


def test_the_note_has_the_share_of_the_group_and_what_its_members_get() -> None:
    paid = sb.payouts(valuation(2, values=(0.202, -0.200, 0.198)), 1000)
    assert paid.notes[0] == (
        f"{NOTE}'g0' as one player has 1.00 % of the values above zero, and its members get 50.50 %"
    )
    assert paid.notes[0] in str(paid)
    assert float(paid.amounts["p0"] + paid.amounts["p1"]) == pytest.approx(505.0)


def test_a_group_of_positive_members_gets_its_own_share() -> None:
    found = valuation(2, values=(0.2, 0.3, 0.5))
    assert (
        "'g0' as one player has 50.00 % of the values above zero, and its members get 50.00 %"
        in (sb.payouts(found, 1000).notes[0])
    )
    floor = sb.payouts(found, 900, policy="floor", floor=300).notes[0]
    assert "has 50.00 % of the values above zero, and its members get 66.67 %" in floor


def test_a_group_below_zero_has_no_share() -> None:
    note = sb.payouts(valuation(2, values=(0.1, -0.3, 0.3)), 100).notes[0]
    assert (
        "'g0' as one player has 0.00 % of the values above zero, and its members get 25.00 %"
        in (note)
    )


def test_many_groups_are_counted() -> None:
    note = sb.payouts(valuation(2, 2, 2, 2, 2, values=(1.0,) * 10), 100).notes[0]
    assert note.count("as one player") == 3
    assert note.endswith("; and 2 more groups")


@pytest.mark.parametrize("groups", [(), (1,)])
def test_without_groups_of_two_there_is_no_note(groups: tuple[int, ...]) -> None:
    assert sb.payouts(valuation(*groups, values=(0.2, 0.3, 0.5)), 100).notes == ()


def test_nothing_is_said_of_shares_of_nothing() -> None:
    assert sb.payouts(valuation(2, values=(0.2, 0.3, 0.5)), 0).notes == ()
