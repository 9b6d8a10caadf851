"""What plans and bills print, choose and refuse, from made-up parts."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.conftest import linear_providers, one_record_providers

import shapband as sb
from shapband.errors import BudgetExceeded, InvalidInput
from shapband.extend import Cost
from shapband.market.plan import _nothing_serves, _reason, merged
from shapband.market.planning.proposals import OutOfReach, Proposal, Proposals
from shapband.market.planning.search import Candidate, Limits, Search
from shapband.market.planning.ways import Method, methods_for
from shapband.sampling.shared import Copies, Shared

PRICES = sb.Prices(record="0.5", request=2)


def limits(**parts: Any) -> Limits:
    none = {"budget": sb.Budget(), "prices": None, "money": None, "minutes": None, "error": None}
    return Limits(**(none | parts))


def proposal(sampling: sb.Sampling, money: Decimal | None = None) -> Proposal:
    return Proposal(
        names=("a", "b"),
        sampling=sampling,
        solver=sb.Strata(80),
        n_games=1200,
        standard_error=np.array([0.1, 0.3]),
        half_width=np.array([0.2, 0.6]),
        variance_standard_error=np.array([0.01, 0.03]),
        variance_half_width=np.array([0.02, 0.06]),
        pools=0.5,
        validation=0.25,
        records=2400,
        requests=1300,
        money=money,
        seconds=75.0,
        evaluations=96_000,
        seed=7,
    )


def proposals(names: tuple[str, ...] = ("a", "b"), **parts: Any) -> Proposals:
    pilot = SimpleNamespace(
        arguments=SimpleNamespace(
            names=names,
            providers=one_record_providers(len(names)),
            utility=sb.AdditiveUtility(),
        ),
        copies=Copies(parts.pop("shared", ())),
        labels=(),
        unseen_labels=(),
        cost=Cost(requests=1234, records=5678),
        n_games=2048,
        seconds=1.234,
    )
    rows = proposal(sb.Fresh(20)), proposal(sb.Pooled(200, 20, replace=False))
    made = {
        "rows": rows,
        "recommended": rows[1],
        "reason": "it is the best",
        "out_of_reach": (OutOfReach("Fresh with Exact", "it takes long"),),
        "limits": limits(),
        "pilot": pilot,
        "n_jobs": 1,
    }
    return Proposals(**(made | parts))


def test_the_printed_plan() -> None:
    made = proposals()
    words = [" ".join(line.split()) for line in str(made).splitlines()]
    row = "Strata(n_evaluations=80) 1,200 0.6 0.4 0.04 2,400 1,300 1 min 15 s"
    assert words == [
        "2 providers: the smallest error within no limit",
        "",
        "sampling solver games ± 95 % mean variance ± 95 % records requests time",
        f"Fresh(n_sample=20) {row}",
        f"→ Pooled(n_pool=200, n_boot=20, replace=False) {row}",
        "",
        "→ it is the best",
        "out of reach: Fresh with Exact: it takes long",
        "pilot: 5,678 records in 1,234 requests, 2,048 games, 1.23 s; included in every row",
        "± 95 %: half width of the widest interval of an expectation, and the mean of all",
    ]
    header, first, second = str(made).splitlines()[2:5]
    starts = header.index("sampling"), first.index("Fresh"), second.index("Pooled")
    assert starts == (2, 2, 2)
    assert repr(made) == "<Proposals: 2 rows, 1 out of reach>"
    assert "<td" in made._repr_html_()


def test_a_printed_plan_with_prices_an_error_and_copies() -> None:
    row = proposal(sb.Fresh(20), money=Decimal("3800.00"))
    made = proposals(
        ("a",),
        rows=(row,),
        recommended=row,
        out_of_reach=(),
        limits=limits(prices=PRICES, money=Decimal(4000), error=0.7),
        shared=(Shared("a", "a", 3, 4),),
    )
    words = [" ".join(line.split()) for line in str(made).splitlines()]
    assert words == [
        "1 provider: an error of ±0.7 within 4000 of money",
        "",
        "sampling solver games ± 95 % mean variance ± 95 % records requests money time",
        "→ Fresh(n_sample=20) Strata(n_evaluations=80) 1,200 0.6 0.4 0.04 2,400 1,300 3,800.00 "
        "1 min 15 s",
        "",
        "→ it is the best",
        "copied: 3 of 4 records of 'a' equal other records of 'a': a copy takes value from what it "
        "was copied from",
        "pilot: 5,678 records in 1,234 requests, 2,048 games, 1.23 s; included in every row",
        "± 95 %: half width of the widest interval of an expectation, and the mean of all",
    ]


def test_the_frame_of_a_plan() -> None:
    frame = proposals().to_frame()
    assert frame["recommended"].tolist() == [False, True]
    assert frame.iloc[0].to_dict() == {
        "recommended": False,
        "sampling": "Fresh(n_sample=20)",
        "solver": "Strata(n_evaluations=80)",
        "n_games": 1200,
        "half_width_worst": 0.6,
        "half_width_mean": 0.4,
        "standard_error_worst": 0.3,
        "standard_error_mean": 0.2,
        "variance_half_width_worst": 0.06,
        "variance_half_width_mean": 0.04,
        "variance_standard_error_worst": 0.03,
        "variance_standard_error_mean": 0.02,
        "records": 2400,
        "requests": 1300,
        "money": None,
        "seconds": 75.0,
        "evaluations": 96_000,
    }


def test_the_arguments_of_a_row_buy_no_more_than_its_bill() -> None:
    row = proposal(sb.Fresh(20))
    assert row.arguments == {
        "sampling": row.sampling,
        "solver": row.solver,
        "n_games": 1200,
        "seed": 7,
        "budget": sb.Budget(records=2400, requests=1300),
    }


def test_limits_in_words() -> None:
    assert str(limits()) == "no limit"
    all_of_them = limits(
        budget=sb.Budget(records=1000), prices=PRICES, money=Decimal(30), minutes=2.5
    )
    assert str(all_of_them) == f"{sb.Budget(records=1000)} and 30 of money and 2.5 min"


def test_limits_allow_what_they_cover_exactly() -> None:
    cost = Cost(requests=3, records=10)  # 11 with these prices
    assert limits().allows(cost)
    assert limits(prices=PRICES, money=Decimal(11)).allows(cost)
    assert not limits(prices=PRICES, money=Decimal("10.99")).allows(cost)
    assert limits(budget=sb.Budget(records=10, requests=3)).allows(cost)
    assert not limits(budget=sb.Budget(records=9)).allows(cost)
    assert not limits(budget=sb.Budget(requests=2), prices=PRICES, money=Decimal(11)).allows(cost)


def test_reasons_in_words() -> None:
    ten = limits(minutes=10.0)
    assert _reason(0.0, ten) == (
        "it has the smallest error within 10 min; more games would lower it"
    )
    assert _reason(0.123, ten) == (
        "it has the smallest error within 10 min; more games alone reach ±0.12 at best"
    )
    assert _reason(0.0, limits(error=0.05)) == "it reaches ±0.05 for the least records"
    assert _reason(0.0, limits(error=0.05, prices=PRICES)) == (
        "it reaches ±0.05 for the least money"
    )


def test_a_plan_without_any_method_says_why_the_first_one_fails() -> None:
    refused = [("Fresh", "Exact", "it takes long"), ("Blocks", "Exact", "it takes longer")]
    assert str(_nothing_serves(refused, limits(minutes=1.0))) == (
        "no method serves within 1 min; Fresh with Exact: it takes long: raise the limits"
    )
    assert str(_nothing_serves(refused, limits(error=0.1))) == (
        "no method serves within no limit; Fresh with Exact: it takes long: raise the error or the "
        "limits"
    )


def test_refusals_of_one_sampling_for_one_reason_are_joined() -> None:
    refused = [
        ("Fresh", "Exact", "slow"),
        ("Blocks", "Exact", "slow"),
        ("Fresh", "Arcs", "dear"),
        ("Fresh", "Strata", "slow"),
    ]
    assert merged(refused) == (
        OutOfReach("Fresh with Exact or Strata", "slow"),
        OutOfReach("Blocks with Exact", "slow"),
        OutOfReach("Fresh with Arcs", "dear"),
    )


def candidate(worst: float, variance: float, records: int, seconds: float) -> Candidate:
    errors = SimpleNamespace(
        half_width=np.array([0.01, worst]), variance_standard_error=np.array([0.0, variance])
    )
    return Candidate(SimpleNamespace(), 10, errors, Cost(5, records), seconds)


def search(**parts: Any) -> Search:
    return Search(SimpleNamespace(), SimpleNamespace(), SimpleNamespace(), limits(**parts))


def test_the_smallest_error_is_picked_and_among_equal_ones_the_best_variance() -> None:
    least = candidate(1.0, 0.9, 100, 1.0)
    alike = candidate(1.02, 0.5, 500, 99.0)
    worse = candidate(1.03, 0.1, 10, 1.0)
    assert search().pick([worse, least, alike]) is alike
    assert search().pick([worse, least]) is least


def test_the_smallest_bill_is_picked_then_the_time_then_the_best_variance() -> None:
    cheap = candidate(1.0, 0.9, 100, 8.0)
    as_soon = candidate(1.0, 0.5, 100, 16.0)
    late = candidate(1.0, 0.1, 100, 16.5)
    dear = candidate(0.1, 0.1, 101, 1.0)
    found = [dear, late, cheap, as_soon]
    assert search(error=2.0).pick(found) is as_soon
    # Below ten seconds, times count as equal.
    soon = candidate(1.0, 0.2, 100, 10.0), candidate(1.0, 0.3, 100, 1.0)
    assert search(error=2.0).pick(soon) is soon[0]


def test_bills_and_the_order_of_the_table() -> None:
    one = candidate(1.0, 0.9, 100, 8.0)
    assert search().bill(one) == 100
    assert search(prices=PRICES).bill(one) == 60
    assert search(prices=PRICES).order(one) == (1.0, 8.0)
    assert search(error=2.0).order(one) == (100.0, 8.0)
    assert search(error=2.0, prices=PRICES).order(one) == (60.0, 8.0)


def test_methods_their_samplings_and_least_pools() -> None:
    assert methods_for(10) == [
        Method("Fresh", 10, pooled=False, replace=False),
        Method("Pooled, without replacement", 10, pooled=True, replace=False),
        Method("Pooled, with replacement", 10, pooled=True, replace=True),
    ]
    assert [repr(one.make(50)) for one in methods_for(10)] == [
        "Fresh(n_sample=10)",
        "Pooled(n_pool=50, n_boot=10, replace=False)",
        "Pooled(n_pool=50, n_boot=10)",
    ]
    assert [one.least_pool for one in methods_for(10)] == [20, 20, 2]


def test_a_stock_below_two_draws_makes_methods_impossible() -> None:
    providers = one_record_providers(3)
    stocks = np.array([1e6, 1999.0, 2000.0])
    reason = "provider 'p1' has 1,999 records, fewer than two draws of 1,000"
    found = [one.impossible(providers, stocks) for one in methods_for(1000)]
    assert found == [None, reason, None]
    assert not any(one.impossible(providers, stocks + 1) for one in methods_for(1000))


def test_a_bill_with_money() -> None:
    providers, (X, y) = linear_providers(n=1, records=50)
    bill = sb.bill(
        providers, sb.LinearUtility(X, y), sampling=sb.Fresh(7), n_games=1000, prices=PRICES
    )
    assert str(bill).splitlines() == [
        "1 provider, 1,000 games",
        "",
        "provider  requests  records",
        "site 0       1,000    7,000",
        "total        1,000    7,000",
        "",
        "coalitions to evaluate: 1,000",
        "money: 5,500.0",
    ]
    assert bill.to_frame().index.name == "provider"
    assert list(bill.to_frame()) == ["requests", "records"]
    assert bill.to_frame()["requests"].tolist() == [1000]


class Silent(sb.Fresh):
    """Does not say what it will ask for."""

    def purchases(self, providers: Any) -> None:
        return None


@pytest.mark.parametrize(
    ("function", "options", "kind", "message"),
    [
        (
            sb.bill,
            {"sampling": Silent(7)},
            InvalidInput,
            "Silent does not say what it will ask for: give it a method `purchases`",
        ),
        (
            sb.bill,
            {"sampling": sb.Fresh(7), "prices": 0.1},
            InvalidInput,
            "prices must be Prices(record=..., request=...); received 0.1: use "
            "sb.Prices(record=0.1)",
        ),
        (
            sb.bill,
            {"sampling": sb.Fresh(7), "budget": sb.Budget(records=41)},
            BudgetExceeded,
            "the budget of 41 records does not pay for the pools and two games: they take at least "
            "42 records in 6 requests",
        ),
        (
            sb.bill,
            {"sampling": sb.Pooled(1000, 7), "budget": sb.Budget(records=100)},
            BudgetExceeded,
            "the budget of 100 records does not pay for the pools and two games: they take at "
            "least 150 records in 3 requests",
        ),
        (
            sb.plan,
            {"n_sample": 10, "money": 5},
            InvalidInput,
            "money needs prices: pass prices=Prices(record=..., request=...), or write [prices] in "
            "the configuration",
        ),
        (
            sb.plan,
            {"n_sample": 10, "money": "all", "prices": PRICES},
            InvalidInput,
            "money must be an amount of at least 0, such as 0.02 or \"0.02\"; received 'all'",
        ),
        (sb.plan, {"n_sample": 10, "error": 0}, InvalidInput, "error must be above 0; received 0"),
        (
            sb.plan,
            {"n_sample": 0},
            InvalidInput,
            "plan: n_sample must be a whole number of at least 1, a fraction of each stock between "
            "0 and 1, or whole numbers by provider name; received 0",
        ),
        (
            sb.plan,
            {"n_sample": 10, "budget": sb.Budget(records=59)},
            BudgetExceeded,
            "the pilot takes 60 records in 3 requests, which is beyond the limits: raise them, or "
            "lower n_sample",
        ),
        (
            sb.plan,
            {"n_sample": 30, "budget": sb.Budget(records=179)},
            BudgetExceeded,
            "the pilot takes 180 records in 6 requests, which is beyond the limits: raise them, or "
            "lower n_sample",
        ),
    ],
)
def test_what_is_refused_gets_this_message(
    function: Any, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    providers, (X, y) = linear_providers(n=3, records=50)
    with pytest.raises(kind) as refused:
        function(providers, sb.LinearUtility(X, y), **options)
    assert str(refused.value) == message
