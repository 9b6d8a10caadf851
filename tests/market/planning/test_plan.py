"""plan(): its table, its promises on bills, and what it refuses."""

from decimal import Decimal

import numpy as np
import pytest
from tests.conftest import gaussian_providers, linear_providers, one_record_providers
from tests.counted import Counted, CountedDraws

import shapband as sb
from shapband.errors import BudgetExceeded, InvalidInput
from shapband.market.plan import merged

pytestmark = pytest.mark.usefixtures("warm_kernels")
QUICK = {"minutes": 0.05, "seed": 0}  # the pilot takes a second at most


def small(n=4, records=200):
    made, (X, y) = linear_providers(n=n, records=records)
    return made, sb.LinearUtility(X, y)


@pytest.fixture(scope="module")
def found():
    providers, utility = small()
    budget = sb.Budget(records=400, requests=400)
    return sb.plan(providers, utility, n_sample=15, budget=budget, **QUICK)


def kinds(found):
    return {type(row.sampling).__name__ for row in found.rows}


# What it says.


def test_every_method_has_its_rows(found):
    assert kinds(found) == {"Fresh", "Pooled"}
    assert {row.sampling.replace for row in found.rows if isinstance(row.sampling, sb.Pooled)} == {
        True, False,
    }  # fmt: skip
    assert {type(row.solver).__name__ for row in found.rows} == {"Exact", "Permutation"}
    for row in found.rows:
        assert row.records <= 400
        assert row.seconds <= 3.001
        assert row.standard_error.shape == row.half_width.shape == (4,)
        assert (row.half_width > row.standard_error).all()
    worst = [row.half_width.max() for row in found.rows]
    assert worst == sorted(worst)


def test_the_recommended_row_has_the_smallest_error(found):
    same = [row for row in found.rows if getattr(row.sampling, "replace", False) is False]
    assert found.recommended in same
    best = min(row.half_width.max() for row in same)
    assert found.recommended.half_width.max() <= 1.02 * best
    assert "smallest error" in found.reason


def test_the_table_as_text_frame_and_html(found):
    lines = str(found).splitlines()
    assert lines[0] == (
        "4 providers: the smallest error within 400 records and 400 requests and 0.05 min"
    )
    assert lines[2].split()[:3] == ["sampling", "solver", "games"]
    (marked,) = [line for line in lines[3 : 3 + len(found.rows)] if line.startswith("→ ")]
    assert repr(found.recommended.sampling) in marked
    assert f"pilot:   {found.pilot.cost.records} records" in str(found)
    frame = found.to_frame()
    assert frame["recommended"].sum() == 1
    assert frame["records"].tolist() == [row.records for row in found.rows]
    assert "<td" in found._repr_html_()
    assert repr(found) == f"<Proposals: {len(found.rows)} rows, 0 out of reach>"


# The bill.


@pytest.mark.parametrize("kind", ["memory", "stock", "endless", "late"])
def test_bills_are_exact_and_the_pilot_is_not_bought_twice(kind):
    providers, utility = small(n=3)
    if kind == "stock":
        providers = [sb.Provider(p.name, Counted(p.source)) for p in providers]
    elif kind == "endless":
        providers = [sb.Provider(p.name, CountedDraws(3)) for p in providers]
    elif kind == "late":
        providers = [sb.Provider(p.name, sb.with_delay(p.source, 0.001)) for p in providers]
    found = sb.plan(providers, utility, n_sample=15, budget=sb.Budget(records=600), **QUICK)
    asked = [getattr(p.source, "asked", 0) for p in providers]
    assert asked == ([2] * 3 if kind in ("stock", "endless") else [0] * 3)
    for row in found.rows:
        if row.n_games > 2000:
            continue
        valuation = found.value(row)
        assert valuation.access.records == row.records
        assert valuation.access.requests == row.requests
        assert valuation.n_games == row.n_games
    if kind in ("stock", "endless"):
        before = sum(p.source.asked for p in providers)
        pooled = next(row for row in found.rows if isinstance(row.sampling, sb.Pooled))
        found.value(pooled)
        assert sum(p.source.asked for p in providers) - before == pooled.requests - 6


def test_the_arguments_give_the_same_values_without_the_pilot(found):
    providers, utility = small()
    by_hand = sb.value(providers, utility, **found.recommended.arguments)
    planned = found.value()
    np.testing.assert_array_equal(by_hand.games, planned.games)
    assert planned.seed == 0


def test_a_plan_can_be_played_in_a_run(found, tmp_path):
    kept = found.value(run=tmp_path / "run")
    np.testing.assert_array_equal(kept.games, found.value().games)
    assert kept.access.records == found.recommended.records
    run = sb.load(tmp_path / "run")
    run.verify()
    providers, utility = small()
    again = sb.value(providers, utility, **found.recommended.arguments, run=tmp_path / "run")
    np.testing.assert_array_equal(again.games, kept.games)


def test_workers_do_not_change_the_values(found):
    providers, utility = small()
    row = found.recommended
    two = sb.value(providers, utility, **row.arguments, n_jobs=2, chunk_size=7)
    np.testing.assert_array_equal(two.games, found.value(row).games)


def test_money_limits_and_is_exact():
    providers, utility = small()
    prices = sb.Prices(record="0.01", request="0.10")
    found = sb.plan(providers, utility, n_sample=15, prices=prices, money=5, **QUICK)
    for row in found.rows:
        assert row.money == row.records * Decimal("0.01") + row.requests * Decimal("0.10")
        assert row.money <= 5
    assert found.recommended.money > Decimal("4.5")  # it is used
    assert "5 of money" in str(found)


# An error that is asked for.


def test_what_an_error_costs():
    providers, utility = small()
    given = {"n_sample": 15, "seed": 0, "fixed_validation": True}
    found = sb.plan(providers, utility, error=0.05, **given)
    for row in found.rows:
        assert row.half_width.max() <= 0.05 * (1 + 1e-9)
    fewest = min(row.records for row in found.rows if not getattr(row.sampling, "replace", False))
    assert found.recommended.records == fewest
    assert found.reason == "it reaches ±0.05 for the least records"
    smaller = sb.plan(providers, utility, error=0.01, **given)
    assert smaller.recommended.records >= found.recommended.records
    assert smaller.recommended.n_games > found.recommended.n_games


def test_an_error_below_what_the_validation_rows_leave_is_out_of_reach():
    providers, utility = small()
    with pytest.raises(BudgetExceeded, match="choice of the validation rows alone leaves ±0"):
        sb.plan(providers, utility, n_sample=15, error=0.01, seed=0)


def test_what_is_out_of_reach_says_why():
    providers, utility = small(records=40)
    found = sb.plan(providers, utility, n_sample=15, budget=sb.Budget(records=300), **QUICK)
    # Two draws of 25 are more than the stock has.
    tight = sb.plan(providers, utility, n_sample=25, budget=sb.Budget(records=3000), **QUICK)
    assert found.out_of_reach == ()
    why = {one.method: one.reason for one in tight.out_of_reach}
    assert why["Pooled, without replacement with Exact or Permutation"] == (
        "provider 'site 0' has 40 records, fewer than two draws of 25"
    )
    assert "out of reach: Pooled, without replacement" in str(tight)
    assert kinds(tight) == {"Fresh", "Pooled"}
    assert isinstance(tight.recommended.sampling, sb.Fresh)
    for row in tight.rows:
        access = tight.value(row).access
        assert (access.records, access.requests) == (row.records, row.requests)


def test_pools_that_cannot_reach_an_error():
    providers = gaussian_providers([1.0, 2.0], [1.0, 1.0])
    found = sb.plan(
        providers, sb.AdditiveUtility(), n_sample=10, error=0.002, seed=0
    )  # pools of 300 draws leave 2 * 0.018
    reasons = [one.reason for one in found.out_of_reach]
    assert any("however many games" in reason for reason in reasons)
    assert isinstance(found.recommended.sampling, sb.Fresh)


def test_nothing_serves():
    providers, utility = small()
    with pytest.raises(BudgetExceeded, match="raise the error or the limits"):
        sb.plan(providers, utility, n_sample=15, error=1e-5, budget=sb.Budget(records=300), **QUICK)


def test_refusals_with_one_reason_are_joined():
    rows = [("Fresh", "Exact", "why"), ("Fresh", "Permutation", "why"), ("Pooled", "Exact", "no")]
    joined = merged(rows)
    assert [(one.method, one.reason) for one in joined] == [
        ("Fresh with Exact or Permutation", "why"), ("Pooled with Exact", "no"),
    ]  # fmt: skip


@pytest.mark.parametrize("requests", [15, 20])
def test_a_second_pilot_needs_requests_of_its_own(requests):
    """Three requests a provider are those of the first pilot and the pool; a fourth is another."""
    providers = gaussian_providers([1.0] * 5, [1.0] * 5)
    budget = sb.Budget(records=10_000, requests=requests)
    found = sb.plan(providers, sb.AdditiveUtility(), n_sample=10, budget=budget, **QUICK)
    assert 1950 <= found.recommended.sampling.n_pool <= 2000  # of pools about as good
    assert found.pilot.cost.requests == requests - 5
    access = found.value().access
    assert access.records == 5 * found.recommended.sampling.n_pool
    assert access.requests == requests


def test_a_pilot_of_fresh_draws_keeps_within_the_money():
    providers, utility = small(records=40)
    options = {"n_sample": 25, "prices": sb.Prices(record=1), **QUICK}
    found = sb.plan(providers, utility, money=1700, **options)
    assert found.pilot.cost.records == 400  # 4 of 17 games
    assert found.recommended.money <= 1700
    with pytest.raises(BudgetExceeded, match="the pilot takes 200 records in 8 requests"):
        sb.plan(providers, utility, money=199, **options)


# Odd sizes.


@pytest.mark.parametrize("n", [1, 2])
def test_few_providers(n):
    providers, utility = small(n=n)
    found = sb.plan(providers, utility, n_sample=15, budget=sb.Budget(records=300), **QUICK)
    assert {type(row.solver) for row in found.rows} == {sb.Exact}
    assert found.value().n_games == found.recommended.n_games


def test_many_providers_have_no_exact_row():
    providers, utility = small(n=24, records=40)
    found = sb.plan(providers, utility, n_sample=5, budget=sb.Budget(records=1200), **QUICK)
    kinds = {type(row.solver) for row in found.rows}
    assert sb.Permutation in kinds
    assert sb.Exact not in kinds
    assert found.recommended.records <= 1200


def test_draws_of_one_record():
    providers = gaussian_providers([1.0, 2.0], [1.0, 1.0])
    found = sb.plan(
        providers, sb.AdditiveUtility(), n_sample=1, budget=sb.Budget(records=500), **QUICK
    )
    assert found.value().access.records == found.recommended.records


@pytest.mark.long
def test_values_without_any_randomness():
    table = sb.TableUtility([0.0, 1.0, 2.0, 4.0])
    found = sb.plan(one_record_providers(2), table, n_sample=1, **QUICK)
    assert found.recommended.half_width.max() == 0
    assert found.value().expectation.tolist() == [1.5, 2.5]


def test_huge_values():
    providers = gaussian_providers([1e50, 2e50], [1e50, 1e50])
    found = sb.plan(
        providers, sb.AdditiveUtility(), n_sample=5, budget=sb.Budget(records=500), **QUICK
    )
    assert np.isfinite(found.recommended.half_width).all()


# What it refuses, before any source is asked.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_sample": 0}, "n_sample must be a whole number"),
        ({"n_sample": 2.5}, "n_sample must be a whole number"),
        ({"minutes": 0}, "minutes must be above 0"),
        ({"minutes": "1"}, "minutes must be a finite number"),
        ({"error": -1.0}, "error must be above 0"),
        ({"budget": 2500}, "budget must be a Budget"),
        ({"prices": 2}, "prices must be Prices"),
        ({"money": 5}, "money needs prices"),
        ({"money": -5, "prices": sb.Prices(1)}, "money must be an amount"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"n_jobs": 0}, "n_jobs must be a whole number"),
        ({"concurrency": 0}, "concurrency must be a whole number"),
        ({"n_sample": 300}, "fewer than n_sample=300"),
    ],
)
def test_bad_arguments(options, message):
    providers, utility = small()
    counted = [sb.Provider(p.name, Counted(p.source)) for p in providers]
    with pytest.raises(InvalidInput, match=message):
        sb.plan(counted, utility, **{"n_sample": 15, **options})
    assert [p.source.asked for p in counted] == [0] * 4


@pytest.mark.parametrize(
    "limits", [{"budget": sb.Budget(records=100)}, {"budget": sb.Budget(requests=7)},
               {"prices": sb.Prices(1), "money": 100}], ids=str
)  # fmt: skip
def test_a_pilot_that_is_too_dear_is_refused(limits):
    providers, utility = small()
    counted = [sb.Provider(p.name, Counted(p.source)) for p in providers]
    with pytest.raises(BudgetExceeded, match="the pilot takes 120 records in 8 requests"):
        sb.plan(counted, utility, n_sample=15, **limits)
    assert [p.source.asked for p in counted] == [0] * 4


def test_draws_dealt_from_whole_stocks_are_promised_no_more_than_they_reach():
    """The pilot's pools are whole stocks, so its shuffles say how much of the variance cancels."""
    rng = np.random.default_rng(0)
    X, X_val = rng.normal(size=(12, 2)), rng.normal(size=(50, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=12)
    providers = [
        sb.Provider(name, sb.ArraySource(X[part], y[part]))
        for name, part in (("a", slice(6)), ("b", slice(6, 12)))
    ]
    utility = sb.LinearUtility(X_val, X_val @ [1.0, 2.0])
    given = {"n_sample": 3, "minutes": 0.02, "fixed_validation": True}
    found = sb.plan(providers, utility, seed=0, **given)
    row = next(one for one in found.rows if "replace=False" in repr(one.sampling))
    promised = row.standard_error * np.sqrt(row.n_games / 200)
    values = [
        sb.value(providers, utility, sampling=row.sampling, n_games=200, seed=seed).expectation
        for seed in range(40)
    ]
    # The standard error of a deviation from 40 values is 11 % of it.
    assert (np.std(values, axis=0, ddof=1) < 1.44 * promised).all()
    assert (promised < 3 * np.std(values, axis=0, ddof=1)).all()


def test_errors_beyond_all_games_and_values_without_any():
    providers = gaussian_providers([1.0, 2.0], [1.0, 1.0])
    with pytest.raises(BudgetExceeded, match=r"Fresh with Exact: 10,000,000 games leave ±"):
        sb.plan(providers, sb.AdditiveUtility(), n_sample=5, error=1e-9, seed=0)
    same = sb.FunctionUtility(lambda X, y: 1.0)
    found = sb.plan(providers, same, n_sample=5, error=0.1, seed=0)
    assert found.recommended.half_width.max() == 0
