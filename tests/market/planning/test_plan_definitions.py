"""Plans and bills computed a second time from their definitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.conftest import gaussian_providers, linear_providers
from tests.counted import Counted, CountedDraws

import shapband as sb
from shapband.engine.arguments import check_arguments
from shapband.estimate.validation import ValidationErrors
from shapband.market.bill import foresee
from shapband.market.planning.errors import ErrorModel
from shapband.market.planning.probes import Bench, Probe, probe
from shapband.market.planning.requests import RequestTimes
from shapband.market.planning.seconds import TimeModel
from shapband.market.planning.solvers import FAMILIES, Family
from shapband.market.planning.ways import Way, methods_for

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
    given = {"budget": budget, "fixed_validation": True, **QUICK}
    found = sb.plan(providers, sb.LinearUtility(X, y), n_sample=10, **given)
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
    promised, halves = [], []
    for seed in range(4):
        budget = sb.Budget(records=3000)
        found = sb.plan(
            providers, sb.AdditiveUtility(), n_sample=10, budget=budget, **QUICK | {"seed": seed}
        )
        row = next(row for row in found.rows if isinstance(row.sampling, sb.Fresh))
        low, high = found.value(row).interval(0.95).T
        promised.append(row.half_width.mean())
        halves.append((high - low).mean() / 2)
    # A pilot knows each of three variances to about 18 %, so the mean of four half widths to 3 %.
    assert np.mean(promised) == pytest.approx(np.mean(halves), rel=0.12)
    shorter = stats.norm.ppf(0.95) / stats.norm.ppf(0.975)
    assert shorter * np.mean(promised) != pytest.approx(np.mean(halves), rel=0.12)


@pytest.mark.parametrize("sampling", [sb.Fresh(7), sb.Pooled(30, 7)], ids=repr)
def test_a_bill_counts_a_provider_only_in_the_games_in_which_it_takes_part(sampling) -> None:
    providers, (X, y) = linear_providers(n=4, records=50)
    plan = check_arguments(
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


def shared(x: float) -> float:
    """What two draws have in common if each record of one is in the other with probability x."""
    return 2.0 * x + 0.5 * x**2 + 0.3 * x**3


def by_hand(stocks: list[float], n_sample: int) -> ErrorModel:
    """A model of providers that are all alike, so that own and other pools weigh the same."""
    n = len(stocks)
    parts = np.repeat([[2.0], [0.5], [0.3]], n, axis=1)  # of single records, pairs and triples
    kurtosis, square = np.full(n, 4.0), np.full(n, 2.5)
    x = n_sample / np.array(stocks)
    return ErrorModel(
        draws=n_sample,
        stocks=np.array(stocks),
        variance=2.0 * (1 - x) + 0.5 * (1 - x**2) + 0.3 * (1 - x**3),
        parts=parts,
        kurtosis=kurtosis,
        square=square,
        rows=None,
        noise={"Permutation": (np.array([4.0]), np.full((1, n), 0.8))},
    )


@pytest.mark.parametrize("stock", [np.inf, 1000.0])
@pytest.mark.parametrize(
    ("name", "games_part", "per_shuffle"),
    [
        ("Fresh", lambda V, B, end, k: V, 0),
        ("Pooled, without replacement", lambda V, B, end, k: end - k * shared(20 / 100), 5),
        ("Pooled, with replacement", lambda V, B, end, k: end, 0),
    ],
)
def test_errors_are_those_of_the_formulas_of_their_methods(
    stock: float, name: str, games_part: Callable[..., float], per_shuffle: int
) -> None:
    """Draws of 20 from pools of 100, 60 games, a solver's noise of 0.8 · 4 / 8."""
    model = by_hand([stock, stock], 20)
    method = next(one for one in methods_for(20) if one.name == name)
    permutations = next(one for one in FAMILIES if one.name == "Permutation")
    errors = model.errors(Way(method, 100, permutations, 8, model.stocks), 60)
    x, least, noise = 20 / 100, 20 / stock, 0.4
    V, B = 2.8 - shared(least), shared(x) - shared(least)
    pools = B if method.pooled else 0.0
    games = (games_part(V, B, 2.8, per_shuffle) + noise) / 60
    np.testing.assert_allclose(errors.standard_error, np.sqrt(games + pools))
    assert errors.pools == pytest.approx(pools / (games + pools))
    of_games = (4.0 - 57 / 59) / 60
    of_pools = 2.5 * (1 / 100 - 1 / stock) if method.pooled else 0.0
    relative = np.sqrt(of_games + of_pools)
    np.testing.assert_allclose(errors.variance_standard_error, (V + noise) * relative)


def test_games_of_a_shuffle_are_as_many_as_the_smallest_pool_has_draws() -> None:
    """Stocks of 35 and 200, pools of 100: the valuation plays three games from a shuffle."""
    (one, two), (X, y) = linear_providers(n=2, records=200)
    few = sb.ArraySource(one.source.records.X[:35], one.source.records.y[:35])
    providers = [sb.Provider("few", few), two]
    dealt = next(one for one in methods_for(10) if one.shuffles)
    assert Way(dealt, 100, FAMILIES[0], 3, np.array([35.0, 200.0])).per_shuffle == 35 // 10
    budget = sb.Budget(records=235)
    found = sb.plan(providers, sb.LinearUtility(X, y), n_sample=10, budget=budget, **QUICK)
    pooled = [row for row in found.rows if isinstance(row.sampling, sb.Pooled)]
    rows = [row for row in pooled if not row.sampling.replace]
    assert rows
    for row in rows:
        assert row.n_games % 3 == 0


def test_the_frame_of_a_plan_has_the_worst_and_the_mean_of_each_error() -> None:
    providers, (X, y) = linear_providers(n=3, records=200)
    budget = sb.Budget(records=240)
    found = sb.plan(providers, sb.LinearUtility(X, y), n_sample=10, budget=budget, **QUICK)
    frame = found.to_frame()
    errors = (
        "half_width", "standard_error", "variance_half_width", "variance_standard_error",
    )  # fmt: skip
    for (_, line), row in zip(frame.iterrows(), found.rows, strict=True):
        for error in errors:
            assert line[f"{error}_worst"] == max(getattr(row, error))
            assert line[f"{error}_mean"] == pytest.approx(np.mean(getattr(row, error)))
        for plain in ("n_games", "records", "requests", "seconds", "evaluations"):
            assert line[plain] == getattr(row, plain)
        exact = isinstance(row.solver, sb.Exact)
        assert not exact or row.evaluations == row.n_games * (2**3 - 1)


@pytest.mark.parametrize(
    ("minutes", "seconds"), [(0.01, 1.0), (1.0, 12.0), (2.0, 24.0), (60.0, 60.0), (None, 3.0)]
)
def test_the_pilot_takes_a_fifth_of_the_time_but_a_minute_at_most(
    minutes: float | None, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the pilot's time is for the probes, half for the games of the main solver."""
    granted: list[float] = []
    solve = Bench.solve

    def quick_probe(bench: Bench, families: Sequence[Family], limit: float) -> list[Probe]:
        granted.append(limit)
        return probe(bench, families, 0.001)

    def quick_solve(bench: Bench, *arguments: Any) -> Probe:
        family, work, least, most, limit, *watch = arguments
        granted.extend([limit] if watch else [])
        return solve(bench, family, work, least, min(most, 16), 0.001, *watch)

    monkeypatch.setattr("shapband.market.planning.pilot.probe", quick_probe)
    monkeypatch.setattr(Bench, "solve", quick_solve)
    providers, (X, y) = linear_providers(n=2, records=60)
    limits = {"minutes": minutes} if minutes is not None else {"error": 0.2}
    sb.plan(providers, sb.LinearUtility(X, y), n_sample=10, seed=0, **limits)
    assert granted[:2] == pytest.approx([seconds / 2, seconds / 2])


def test_only_records_that_the_pilot_does_not_hold_take_time_to_fetch() -> None:
    """A source with 2 s per request and 0.1 s per record, and one with 1 s and 0.01 s."""
    stock, (X, y) = linear_providers(n=2, records=400)
    providers = [sb.Provider(p.name, Counted(p.source)) for p in stock]
    budget = sb.Budget(records=200)
    found = sb.plan(providers, sb.LinearUtility(X, y), n_sample=10, budget=budget, **QUICK)
    speed = RequestTimes(
        per_request=np.array([2.0, 1.0]),
        per_record=np.array([0.1, 0.01]),
        waits=np.array([False, False]),
        concurrency=1,
        at_once=np.ones(2),
    )
    pilot = replace(found.pilot, requests=speed)
    held = int(pilot.pool_sizes[0])
    assert pilot.pool_sizes.tolist() == [held, held]
    pooled = next(one for one in methods_for(10) if one.name.startswith("Pooled, without"))
    times = TimeModel(pilot, 10, 1)
    for more in (0, 1, 50):
        waited = 2.0 + 0.1 * more + 1.0 + 0.01 * more if more else 0.0
        way = Way(pooled, held + more, FAMILIES[0], 3, pilot.stocks)
        assert times.fixed(way) == pytest.approx(pilot.seconds + waited)


def test_the_printed_plan_and_its_frame_show_the_numbers_of_the_rows() -> None:
    providers, (X, y) = linear_providers(n=3, records=200)
    found = sb.plan(
        providers,
        sb.LinearUtility(X, y),
        n_sample=10,
        error=0.5,
        budget=sb.Budget(records=450),
        prices=sb.Prices(record="0.5"),
        **QUICK,
    )
    headline, blank, header, *rest = str(found).splitlines()
    assert headline.startswith("3 providers: an error of ±0.5 within ")
    assert (blank, rest[len(found.rows)]) == ("", "")
    titles = [
        "sampling", "solver", "games", "± 95 %", "mean", "variance ± 95 %",
        "records", "requests", "money", "time",
    ]  # fmt: skip
    assert re.split(r"\s{2,}", header.strip()) == titles
    frame = found.to_frame()
    for line, row, (_, cells) in zip(rest, found.rows, frame.iterrows(), strict=False):
        shown = dict(zip(titles, re.split(r"\s{2,}", line.strip()), strict=True))
        assert line.startswith("→ ") == (row is found.recommended) == cells["recommended"]
        assert shown["sampling"].removeprefix("→ ") == repr(row.sampling) == cells["sampling"]
        assert shown["solver"] == repr(row.solver) == cells["solver"]
        assert shown["games"] == f"{row.n_games:,}"
        assert shown["± 95 %"] == f"{row.half_width.max():.2g}"
        assert shown["mean"] == f"{row.half_width.mean():.2g}"
        assert shown["variance ± 95 %"] == f"{row.variance_half_width.mean():.2g}"
        assert shown["records"] == f"{row.records:,}"
        assert shown["requests"] == f"{row.requests:,}"
        assert shown["money"] == f"{row.records * Decimal('0.5'):,}"
        for name in ("n_games", "records", "requests", "money", "seconds", "evaluations"):
            assert cells[name] == getattr(row, name)
        for name in ("half_width", "standard_error", "variance_half_width",
                     "variance_standard_error"):  # fmt: skip
            assert cells[f"{name}_worst"] == getattr(row, name).max()
            assert cells[f"{name}_mean"] == getattr(row, name).mean()
    notes = "\n".join(rest[len(found.rows) + 1 :])
    assert notes.startswith(f"→ {found.reason}")
    for one in found.out_of_reach:
        assert f"out of reach: {one.method}: {one.reason}" in notes
    pilot = found.pilot
    assert (
        f"pilot:   {pilot.cost.records:,} records in {pilot.cost.requests:,} requests, "
        f"{pilot.n_games:,} games, {pilot.seconds:.2f} s; included in every row\n"
        "± 95 %:  half width of the widest interval of an expectation, and the mean of all"
    ) in notes
    html = found._repr_html_()
    assert all(f"{title}</th>" in html for title in titles)


def test_the_choice_of_the_validation_rows_is_added_to_the_errors_of_every_method() -> None:
    plain = by_hand([1000.0, 1000.0], 20)
    effects = np.arange(20.0).reshape(10, 2) / 50
    rows = ValidationErrors(effects)
    model = replace(plain, rows=rows)
    permutations = next(one for one in FAMILIES if one.name == "Permutation")
    for method in methods_for(20):
        way = Way(method, 100, permutations, 8, model.stocks)
        before, after = plain.errors(way, 60), model.errors(way, 60)
        variance = (effects**2).sum(axis=0)
        np.testing.assert_allclose(after.standard_error**2, before.standard_error**2 + variance)
        half = stats.t.ppf(0.975, 9) * np.sqrt(variance)
        np.testing.assert_allclose(after.half_width, np.hypot(before.half_width, half))
        share = variance.sum() / (after.standard_error**2).sum()
        assert after.validation == pytest.approx(share)
        assert before.validation == 0
