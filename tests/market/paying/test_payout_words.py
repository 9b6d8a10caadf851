"""What payouts print and refuse, word for word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.conftest import redesigned
from tests.market.paying.test_payouts import some_games, valuation_of

import shapband as sb
from shapband.errors import InvalidInput
from shapband.sampling.shared import Shared

NAMES = ("a", "b")
PLAIN = valuation_of(np.array([[1.0, 5.0], [3.0, 7.0]] * 10), NAMES)


def odd_valuation() -> sb.Valuation:
    """A valuation with everything that is noted before paying."""
    return redesigned(
        replace(PLAIN, stopped_code="unfinished", failures=1234),
        setup={"utility": "made up", "index": "Banzhaf()"},
        distinct_records=np.array([4.0, 10.0]),
        pool_sizes=np.array([10, 20]),
        shared_records=(Shared("a", "b", 3, 4), Shared("b", "b", 1200, 2400)),
    )


def test_the_printed_payouts() -> None:
    paid = sb.payouts(PLAIN, 10_000)
    error = f"{paid.standard_error[0]:.2f}"  # simulated; another test checks it
    assert str(paid).splitlines() == [
        "10,000.00 EUR to 2 providers, proportional to the expected values",
        "",
        "provider       EUR  std. error    share",
        f"b         7,500.00      {error}  75.00 %",
        f"a         2,500.00      {error}  25.00 %",
    ]
    assert repr(paid) == "<Payouts of 10,000.00 EUR to 2 providers>"
    alone = sb.payouts(valuation_of(np.ones((3, 1)), ("a",)), 5)
    assert repr(alone) == "<Payouts of 5.00 EUR to 1 provider>"
    assert str(alone).splitlines()[0] == (
        "5.00 EUR to 1 provider, proportional to the expected values"
    )


def test_a_statement() -> None:
    paid = sb.payouts(PLAIN, 10_000)
    assert paid.statement("a").splitlines() == [
        "Statement for a",
        "",
        f"payout:         2,500.00 EUR ± {paid.standard_error[0]:.2f} (standard error)",
        "rule:           proportional to the expected values",
        "expected value: 2.00, 95 % interval 1.54 to 2.46",
        "spread:         1.03 (standard deviation from one draw of the data to the next)",
        "records:        10 in 1 request, 10 in a game",
        "method:         20 games, seed 0",
    ]


def test_a_statement_after_one_game() -> None:
    once = valuation_of(np.array([[1.0, 3.0]]), NAMES)
    assert sb.payouts(once, 100).statement("b").splitlines() == [
        "Statement for b",
        "",
        "payout:         75.00 EUR",
        "rule:           proportional to the expected values",
        "expected value: 3.00000, 95 % interval not known to not known",
        "spread:         not known (standard deviation from one draw of the data to the next)",
        "records:        10 in 1 request, 10 in a game",
        "method:         1 game, seed 0",
    ]


def test_all_notes_before_paying_and_in_statements() -> None:
    paid = sb.payouts(odd_valuation(), 10, currency="YEN")
    assert paid.notes == (
        "YEN is not a currency of ISO 4217; it is assumed to have 2 decimals",
        "records repeat: a has 4 different ones for draws of 10, b has 10 different ones in a pool "
        "of 20: copies are paid as if they were different",
        "copied: 'a' and 'b' share 3 of 4 records, 1,200 of 2,400 records of 'b' equal other "
        "records of 'b': a copy is paid for what it was copied from",
        "1,234 coalitions could not be evaluated; failed= gave their value",
        "the run is not finished: these are the amounts so far",
        "the values are values of the index Banzhaf(), not Shapley values",
    )
    assert str(paid).splitlines()[-len(paid.notes) - 1 :] == ["", *paid.notes]
    both = [
        "the run is not finished: this is the amount so far",
        "the value is a value of the index Banzhaf(), not the Shapley value",
        "records repeat; copies are paid as if they were different",
        "3 records equal records of another provider",
    ]
    own = "1,200 records equal other records of the same provider"
    for name, notes in {"a": both, "b": [*both, own]}.items():
        told = paid.statement(name).splitlines()
        assert told[8:] == [f"note:           {note}" for note in notes]


def test_payouts_of_nothing_have_no_shares() -> None:
    paid = sb.payouts(PLAIN, 0)
    assert [line.split()[-1] for line in str(paid).splitlines()[3:]] == ["-", "-"]


@pytest.mark.parametrize(
    ("policy", "extra", "rule"),
    [
        ("proportional", {}, "proportional to the expected values"),
        (
            "risk",
            {"risk_aversion": 0.25},
            "proportional to the expected values minus 0.25 × their covariance with the sum of all "
            "values",
        ),
        (
            "floor",
            {"floor": 1234},
            "1,234.00 EUR to everybody, and the rest proportional to the expected values",
        ),
        ("lower_bound", {}, "proportional to the lower ends of the 95 % intervals"),
        ("lower_bound", {"level": 0.5}, "proportional to the lower ends of the 50 % intervals"),
    ],
)
def test_every_policy_has_a_rule_in_words(policy: str, extra: Any, rule: str) -> None:
    paid = sb.payouts(PLAIN, 10_000, policy=policy, **extra)
    assert (paid.policy, paid.rule) == (policy, rule)


def test_the_frame_of_payouts() -> None:
    frame = sb.payouts(PLAIN, 10_000).to_frame()
    assert frame.index.name == "provider"
    assert list(frame) == ["amount", "standard_error", "currency", "expectation", "low", "high"]
    assert frame["currency"].tolist() == ["EUR", "EUR"]
    np.testing.assert_array_equal(frame[["low", "high"]].to_numpy(), PLAIN.interval(0.95))


AMOUNT = 'must be an amount of at least 0, such as 0.02 or "0.02"; received'
MESSAGES: dict[str, Callable[[], Any]] = {
    "payouts: pass a valuation; received list": lambda: sb.payouts([1.0], 10),
    "payouts: policy must be one of proportional, risk, floor, lower_bound; received 'flor': did "
    "you mean floor?": lambda: sb.payouts(PLAIN, 10, policy="flor"),
    "payouts: risk_aversion is only for policy='risk'": (
        lambda: sb.payouts(PLAIN, 10, risk_aversion=1.0)
    ),
    "payouts: floor is only for policy='floor'": lambda: sb.payouts(PLAIN, 10, floor=1),
    "payouts: level is only for policy='lower_bound'": lambda: sb.payouts(PLAIN, 10, level=0.5),
    "payouts: risk_aversion is needed for policy='risk'": (
        lambda: sb.payouts(PLAIN, 10, policy="risk")
    ),
    "payouts: floor is needed for policy='floor'": lambda: sb.payouts(PLAIN, 10, policy="floor"),
    "payouts: risk_aversion must be at least 0; received -1": (
        lambda: sb.payouts(PLAIN, 10, policy="risk", risk_aversion=-1)
    ),
    "payouts: policy='risk' needs the values of at least 10 games; this valuation keeps 9: finish "
    "the run, play more games, or raise keep_games": (
        lambda: sb.payouts(
            valuation_of(some_games([1.0, 2.0], n_games=9), NAMES),
            10,
            policy="risk",
            risk_aversion=1,
        )
    ),
    "payouts: a floor of 6 EUR for 2 providers is more than the amount": (
        lambda: sb.payouts(PLAIN, 10, policy="floor", floor=6)
    ),
    "payouts: no provider has a positive weight (proportional to the expected values), so the "
    "amount cannot be divided": (
        lambda: sb.payouts(valuation_of(some_games([-9.0, -9.0]), NAMES), 10)
    ),
    "payouts: currency must be a code of three capital letters, such as EUR; received 'euro'": (
        lambda: sb.payouts(PLAIN, 10, currency="euro")
    ),
    "payouts: currency must be a code of three capital letters, such as EUR; received 978": (
        lambda: sb.payouts(PLAIN, 10, currency=978)
    ),
    f"payouts: amount {AMOUNT} -1": lambda: sb.payouts(PLAIN, -1),
    f"payouts: floor {AMOUNT} 'some'": lambda: sb.payouts(PLAIN, 1, policy="floor", floor="some"),
    "payouts: floor must have at most 2 decimals in EUR and be at most 10^22; received 0.001": (
        lambda: sb.payouts(PLAIN, 1, policy="floor", floor=0.001)
    ),
    f"Prices: record {AMOUNT} True": lambda: sb.Prices(record=True),
    f"Prices: request {AMOUNT} None": lambda: sb.Prices(request=None),
    "statement: 'c' is not a provider: known are a, b": (
        lambda: sb.payouts(PLAIN, 10).statement("c")
    ),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_what_is_refused_gets_this_message(message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        MESSAGES[message]()
    assert str(refused.value) == message


def test_the_limits_of_what_is_accepted() -> None:
    """The floor may be all of the amount, ten games are enough, and 10^24 units can be divided."""
    half = sb.payouts(PLAIN, 10, policy="floor", floor=5)
    assert [str(one) for one in half.amounts.values()] == ["5.00", "5.00"]
    ten = valuation_of(some_games([1.0, 2.0], n_games=10), NAMES)
    assert sb.payouts(ten, 10, policy="risk", risk_aversion=0).policy == "risk"
    assert sum(sb.payouts(PLAIN, "1e22").amounts.values()) == 10**22
    assert str(sb.Prices()) == "Prices(record=Decimal('0'), request=Decimal('0'))"
