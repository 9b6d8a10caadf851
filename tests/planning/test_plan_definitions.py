"""Plans and bills computed a second time from their definitions."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

import shapband as sb
from shapband.engine.plan import make_plan
from shapband.planning.bill import foresee
from tests.conftest import gaussian_providers, linear_providers
from tests.counted import Counted, CountedDraws

pytestmark = pytest.mark.usefixtures("warm_kernels")
QUICK = {"minutes": 0.05, "seed": 0}  # the pilot takes a second at most


@pytest.mark.parametrize("n_sample", [1, 2, 3, 4, 15])
def test_every_row_of_a_plan_asks_for_what_it_promises(n_sample: int) -> None:
    """Sources with and without an end, the budget large enough for a second pilot."""
    stock, (X, y) = linear_providers(n=2, records=400)
    providers = [sb.Provider(p.name, Counted(p.source)) for p in stock]
    providers += [sb.Provider("endless", CountedDraws(3))]
    found = sb.plan(
        providers,
        sb.LinearUtility(X, y),
        n_sample=n_sample,
        budget=sb.Budget(records=1200),
        **QUICK,
    )
    assert found.pilot.cost.records <= found.recommended.records
    for row in found.rows:
        few = sb.Proposal(**(vars(row) | {"n_games": min(row.n_games, 400)}))
        if few.n_games < row.n_games and isinstance(row.sampling, sb.Fresh):
            continue  # the bill of fresh draws grows with the games
        valuation = found.value(few)
        assert valuation.access.records == row.records
        assert valuation.access.requests == row.requests
        assert row.records <= 1200


@pytest.mark.parametrize("n_sample", [1, 2, 3])
def test_a_second_pilot_never_has_smaller_pools_than_the_first(n_sample: int) -> None:
    stock, (X, y) = linear_providers(n=2, records=400)
    providers = [sb.Provider(p.name, Counted(p.source)) for p in stock]
    found = sb.plan(
        providers, sb.LinearUtility(X, y), n_sample=n_sample, budget=sb.Budget(records=500), **QUICK
    )
    assert found.recommended.sampling.n_pool > 200  # far from the pools of 60 of the first pilot
    assert found.pilot.cost.records == found.pilot.pool_sizes.sum() >= 120
    for row in found.rows:
        if not isinstance(row.sampling, sb.Fresh):
            few = sb.Proposal(**(vars(row) | {"n_games": 40}))
            assert found.value(few).access.records == row.records


def test_half_widths_are_students_quantile_times_the_standard_error() -> None:
    providers, (X, y) = linear_providers(n=3, records=200)
    budget = sb.Budget(records=240)
    found = sb.plan(providers, sb.LinearUtility(X, y), n_sample=10, budget=budget, **QUICK)
    fresh = [row for row in found.rows if isinstance(row.sampling, sb.Fresh)]
    assert fresh
    for row in fresh:
        quantile = stats.t.ppf(0.975, row.n_games - 1)
        np.testing.assert_allclose(row.half_width, quantile * row.standard_error)
    for row in found.rows:
        ratio = row.variance_half_width / row.variance_standard_error
        np.testing.assert_allclose(ratio, stats.norm.ppf(0.975), rtol=1e-6)
        assert (row.half_width >= 1.9599 * row.standard_error).all()


def test_the_promised_interval_is_the_interval_of_the_valuation() -> None:
    """For an additive game: half widths of plan and valuation agree, and 90 % ones do not."""
    providers = gaussian_providers([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])
    budget = sb.Budget(records=3000)
    found = sb.plan(providers, sb.AdditiveUtility(), n_sample=10, budget=budget, **QUICK)
    row = next(row for row in found.rows if isinstance(row.sampling, sb.Fresh))
    low, high = found.value(row).interval(0.95).T
    half = (high - low) / 2
    # Each variance of 80 to 100 games is known to about 15 %, so the mean half width to 4 %.
    assert row.half_width.mean() == pytest.approx(half.mean(), rel=0.12)
    shorter = stats.norm.ppf(0.95) / stats.norm.ppf(0.975)
    assert shorter * row.half_width.mean() != pytest.approx(half.mean(), rel=0.12)


@pytest.mark.parametrize("sampling", [sb.Fresh(7), sb.Pooled(30, 7)], ids=repr)
def test_a_bill_counts_a_provider_only_in_the_games_in_which_it_takes_part(sampling) -> None:
    providers, (X, y) = linear_providers(n=4, records=50)
    plan = make_plan(
        providers,
        sb.LinearUtility(X, y),
        sampling=sampling,
        n_games=20,
        seed=3,
        participation=sb.Independent({"site 0": 0.2, "site 1": 0.9, "site 2": 0.5, "site 3": 1.0}),
        solver=sb.Permutation(3),
    )
    bill = foresee(plan, sb.Prices(record="0.5"))
    valuation = sb.value(
        providers,
        sb.LinearUtility(X, y),
        sampling=sampling,
        n_games=20,
        seed=3,
        participation=plan.participation,
        solver=sb.Permutation(3),
    )
    used = [valuation.access.by_provider[name] for name in valuation.names]
    assert bill.records.tolist() == [one.records for one in used]
    assert bill.requests.tolist() == [one.requests for one in used]
    assert bill.money == Decimal("0.5") * int(bill.records.sum())
    if isinstance(sampling, sb.Fresh):
        present = (valuation.participation["rate"].to_numpy() * 20).round().astype(int)
        assert bill.requests.tolist() == present.tolist()
        assert bill.requests[0] < 20


def test_the_price_of_a_row_is_its_records_and_requests_at_their_prices() -> None:
    providers, (X, y) = linear_providers(n=3, records=200)
    prices = sb.Prices(record="0.03", request="1.25")
    found = sb.plan(
        providers, sb.LinearUtility(X, y), n_sample=15, prices=prices, money=40, **QUICK
    )
    for row in found.rows:
        assert row.money == Decimal("0.03") * row.records + Decimal("1.25") * row.requests <= 40
