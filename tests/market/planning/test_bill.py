"""What is foreseen is what is asked for and evaluated."""

from decimal import Decimal

import numpy as np
import pytest
from tests.conftest import linear_providers
from tests.counted import Counted

import shapband as sb
from shapband.errors import BudgetExceeded, InvalidInput

SAMPLINGS = [
    sb.Fresh(7), sb.Pooled(30, 7), sb.Pooled(60, 7, replace=False),
    sb.Stratified(30, 7, 0.5),
]  # fmt: skip
SOLVERS = [sb.Exact(), sb.Permutation(3), sb.BalancedPermutation(10), None]


def some_providers(n=5):
    """Providers of which one has fewer records than the largest pool."""
    made, (X, y) = linear_providers(n=n, records=50)
    few, _ = linear_providers(n=1, records=25, seed=9)
    return [*made[:-1], sb.Provider("few", few[0].source)], sb.LinearUtility(X, y)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_the_bill_is_what_the_valuation_takes(sampling, solver):
    providers, utility = some_providers()
    arguments = {"sampling": sampling, "solver": solver, "n_games": 12, "seed": 3}
    bill = sb.bill(providers, utility, **arguments)
    valuation = sb.value(providers, utility, **arguments)
    used = [valuation.access.by_provider[name] for name in bill.names]
    assert bill.records.tolist() == [one.records for one in used]
    assert bill.requests.tolist() == [one.requests for one in used]
    assert bill.evaluations == valuation.evaluations
    assert bill.exactly


def test_black_boxes_evaluate_other_numbers_of_coalitions():
    providers, _ = some_providers()
    utility = sb.FunctionUtility(lambda X, y: float(len(y)))
    arguments = {"sampling": sb.Fresh(7), "solver": sb.Permutation(12), "n_games": 4, "seed": 3}
    found = sb.value(providers, utility, **arguments).evaluations
    assert sb.bill(providers, utility, **arguments).evaluations == found


def test_many_games_are_extrapolated():
    providers, utility = some_providers()
    arguments = {"sampling": sb.Fresh(7), "solver": sb.Permutation(3), "n_games": 640, "seed": 3}
    bill = sb.bill(providers, utility, **arguments)
    assert not bill.exactly
    assert "about" in str(bill)
    found = sb.value(providers, utility, **arguments).evaluations
    assert found == pytest.approx(bill.evaluations, rel=0.03)


def test_no_source_is_asked():
    providers, utility = some_providers()
    counted = [sb.Provider(p.name, Counted(p.source)) for p in providers]
    sb.bill(counted, utility, sampling=sb.Pooled(30, 7), n_games=10)
    assert [p.source.asked for p in counted] == [0] * 5


def test_a_budget_ends_the_games():
    providers, utility = some_providers()
    bill = sb.bill(
        providers, utility, sampling=sb.Fresh(7), n_games=100, budget=sb.Budget(records=200)
    )
    assert (bill.n_games, int(bill.records.sum())) == (5, 175)
    for sampling in (sb.Fresh(25), sb.Pooled(30, 7)):
        with pytest.raises(BudgetExceeded, match="does not pay"):
            sb.bill(providers, utility, sampling=sampling, budget=sb.Budget(records=100))


def test_money_is_exact():
    providers, utility = some_providers()
    prices = sb.Prices(record=0.1, request="0.03")
    bill = sb.bill(providers, utility, sampling=sb.Fresh(7), n_games=3, prices=prices)
    assert bill.money == Decimal("10.95")  # 0.1 * 105 + 0.03 * 15, which no float is
    assert "money: 10.95" in str(bill)
    with pytest.raises(InvalidInput, match="prices must be Prices"):
        sb.bill(providers, utility, sampling=sb.Fresh(7), prices=0.1)


@pytest.mark.parametrize("amount", [-1, float("nan"), float("inf"), True, None, "much", b"1"])
def test_odd_prices_are_refused(amount):
    with pytest.raises(InvalidInput, match="Prices: record must be an amount"):
        sb.Prices(record=amount)


def test_a_sampling_that_does_not_tell_is_named():
    class Own(sb.Fresh):
        def purchases(self, providers):
            return None

    providers, utility = some_providers()
    with pytest.raises(InvalidInput, match="Own does not say what it will ask for"):
        sb.bill(providers, utility, sampling=Own(7))


def test_the_bill_is_a_table():
    providers, utility = some_providers()
    bill = sb.bill(providers, utility, sampling=sb.Pooled(30, 7), n_games=10)
    assert bill.to_frame()["records"].tolist() == [30, 30, 30, 30, 25]
    assert str(bill).splitlines() == [
        "5 providers, 10 games",
        "",
        "provider  requests  records",
        "site 0           1       30",
        "site 1           1       30",
        "site 2           1       30",
        "site 3           1       30",
        "few              1       25",
        "total            5      145",
        "",
        f"coalitions to evaluate: {bill.evaluations:,}",
    ]
    assert "<td" in bill._repr_html_()
    assert repr(bill) == "<Bill: 145 records in 5 requests>"
    assert np.array_equal(bill.requests, [1] * 5)
