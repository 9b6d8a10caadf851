"""plan() and bill() with sizes by name and fractions, participation, an index and groups."""

from __future__ import annotations

from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.conftest import gaussian_providers, linear_providers
from tests.counted import Counted

import shapband as sb
from shapband.errors import BudgetExceeded, InvalidInput
from shapband.market.planning.errors import ErrorModel
from shapband.market.planning.presence import Attendance
from shapband.market.planning.solvers import FAMILIES, families_for
from shapband.market.planning.ways import Way, methods_for

pytestmark = pytest.mark.usefixtures("warm_kernels")
QUICK: dict[str, Any] = {"minutes": 2, "seed": 0}  # enough on a busy machine too
STOCKS = (60, 150, 400, 1000)
NAMES = tuple(f"site {i}" for i in range(4))


@pytest.fixture(autouse=True)
def quick_pilots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pilots that take about a quarter of a second."""
    monkeypatch.setattr("shapband.market.planning.pilot._SHORTEST", 0.1)
    monkeypatch.setattr("shapband.market.planning.pilot._TIME_SHARE", 0.002)


def unequal() -> tuple[list[sb.Provider], sb.Utility]:
    """Four sources that count requests, with 60 to 1,000 records."""
    made, (X, y) = linear_providers(n=4, records=max(STOCKS))
    few = [
        sb.ArraySource(p.source.records.X[:n], p.source.records.y[:n])
        for p, n in zip(made, STOCKS, strict=True)
    ]
    providers = [sb.Provider(name, Counted(one)) for name, one in zip(NAMES, few, strict=True)]
    return providers, sb.LinearUtility(X, y)


def in_groups(providers: list[sb.Provider]) -> list[sb.Provider | sb.Group]:
    return [sb.Group("north", providers[:2]), *providers[2:]]


CASES: dict[str, dict[str, Any]] = {
    "a fraction": {"n_sample": 0.1},
    "by name": {"n_sample": dict(zip(NAMES, (10, 11, 30, 40), strict=True))},
    "independent": {"n_sample": 0.1, "participation": sb.Independent(0.6)},
    "cohort": {"n_sample": 10, "participation": sb.Cohort(2)},
    "chain": {"n_sample": 10, "participation": sb.MarkovChain(0.3, 0.8)},
    "trace": {"n_sample": 10, "participation": sb.Trace(np.eye(4) + np.eye(4, k=1) > 0)},
    "banzhaf": {"n_sample": 10, "index": sb.Banzhaf()},
    "groups": {"n_sample": 0.1},
}


@pytest.mark.parametrize("name", CASES)
def test_every_row_costs_what_it_promises_and_can_be_played_by_hand(name: str) -> None:
    providers, utility = unequal()
    players = in_groups(providers) if name == "groups" else providers
    found = sb.plan(players, utility, budget=sb.Budget(records=1100), **CASES[name], **QUICK)
    assert len(found.rows) >= 3
    kinds = {(type(row.sampling), getattr(row.sampling, "replace", False)) for row in found.rows}
    assert kinds == {(sb.Fresh, False), (sb.Pooled, False), (sb.Pooled, True)}
    for row in found.rows:
        if row.n_games > 400:
            if isinstance(row.sampling, sb.Fresh):
                continue  # the bill of fresh draws grows with the games
            row = sb.Proposal(**(vars(row) | {"n_games": 60}))
        valuation = found.value(row)
        assert (valuation.access.records, valuation.access.requests) == (row.records, row.requests)
        assert row.records <= 1100
        if name == "trace" and row.n_games >= 4:
            assert row.n_games % 4 == 0
        by_hand = sb.value(players, utility, **row.arguments)
        np.testing.assert_array_equal(by_hand.games, valuation.games)
        assert by_hand.design.setup == valuation.design.setup
        assert by_hand.design.averaged == valuation.design.averaged
        assert by_hand.design.draw_sizes.tolist() == valuation.design.draw_sizes.tolist()


def test_a_provider_that_is_absent_is_not_asked_for_a_fresh_draw() -> None:
    """Stocks of 15 have no two draws of 10, so the pilot has fresh draws."""
    made, (X, y) = linear_providers(n=3, records=15)
    providers = [sb.Provider(p.name, Counted(p.source)) for p in made]
    budget = sb.Budget(records=600)
    found = sb.plan(
        providers, sb.LinearUtility(X, y), n_sample=10, participation=sb.Independent(0.5),
        budget=budget, **QUICK,
    )  # fmt: skip
    assert found.pilot.pool_sizes is None
    asked = [p.source.asked for p in providers]
    assert sum(asked) == found.pilot.cost.requests
    present = sb.Independent(0.5).simulate([p.name for p in providers], 32, seed=0).to_numpy()
    games = found.pilot.arguments.n_games
    assert asked == present[:games].sum(axis=0).tolist()
    for row in found.rows:
        if row.n_games < 400:
            access = found.value(row).access
            assert (access.records, access.requests) == (row.records, row.requests)
    why = {one.method: one.reason for one in found.out_of_reach}
    assert why["Pooled, with replacement with Exact"] == (
        "it averages over who takes part, and no game of the pilot does"
    )


def test_pools_hold_the_same_number_of_draws_of_every_provider() -> None:
    providers, utility = unequal()
    found = sb.plan(providers, utility, n_sample=0.05, budget=sb.Budget(records=900), **QUICK)
    few = sb.Proposal(**(vars(found.recommended) | {"n_games": 20}))
    pools = found.value(few).design.pool_sizes
    assert pools.sum() > 700
    row = next(row for row in found.rows if isinstance(row.sampling, sb.Pooled))
    assert row.sampling.n_boot == 0.05
    large = pools[2:] / np.array([20, 50])
    assert large[0] == pytest.approx(large[1], rel=0.05)


def test_pool_sizes_have_their_shortest_form() -> None:
    providers, _ = unequal()
    stocks = np.array(STOCKS, dtype=np.float64)

    def form(n_sample: Any, draws: Any, n_pool: int, held: Any = None) -> Any:
        method = methods_for(n_sample, draws)[1]
        kept = None if held is None else np.array(held, dtype=np.float64)
        return Way(method, n_pool, FAMILIES[0], 15, stocks, kept).sampling(providers).n_pool

    assert form(10, None, 100) == 100
    assert form(10, None, 1000) == 1000
    draws = [6, 15, 40, 100]
    assert form(0.1, draws, 300) == 0.3
    assert form(0.1, draws, 1000) == 1000  # whole stocks
    assert form(0.1, draws, 300, held=[60, 45, 120, 300]) == dict(
        zip(NAMES, (60, 45, 120, 300), strict=True)
    )
    by_name = dict(zip(NAMES, (10, 10, 20, 30), strict=True))
    assert form(by_name, [10, 10, 20, 30], 90) == dict(zip(NAMES, (30, 30, 60, 90), strict=True))


@pytest.mark.parametrize("n_pool", [200, 201, 333, 999, 1000, 5000])
def test_pools_of_fractions_hold_two_draws_and_no_more_than_the_stock(n_pool: int) -> None:
    rng = np.random.default_rng(n_pool)
    for fraction in (0.1, 0.013, 0.0007):
        stocks = rng.integers(3, 10_000, size=6).astype(np.float64)
        draws = np.maximum(np.floor(fraction * stocks), 1).astype(int)
        if (stocks < 2 * draws).any():
            continue
        method = methods_for(fraction, draws.tolist())[1]
        pools = method.pool_sizes(max(n_pool, method.least_pool), stocks)
        assert (pools >= 2 * draws).all()
        assert (pools <= stocks).all()


def test_attendance_is_what_the_valuation_has() -> None:
    providers, utility = unequal()
    chain = sb.MarkovChain(0.2, 0.7)
    found = sb.plan(providers, utility, n_sample=10, participation=chain, **QUICK)
    counts = Attendance(found.pilot.arguments)
    present = chain.simulate(NAMES, 10_000, seed=0).to_numpy()
    for n_games in (0, 1, 4095, 4096, 4097, 10_000, 5000):
        assert counts.counts(n_games).tolist() == present[:n_games].sum(axis=0).tolist()
    draws = np.array([1.0, 2.0, 3.0, 4.0])
    assert counts.cost(77, draws).records == (present[:77].sum(axis=0) * draws).sum()


@pytest.mark.parametrize(
    "participation", [sb.Independent(0.5), sb.Cohort(2), sb.MarkovChain(0.5, 0.5)], ids=repr
)
def test_the_variance_over_who_takes_part_is_told_from_that_of_the_records(
    participation: sb.Participation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an additive game x = B m, with B the presence and m the mean of a draw of 20 records.

    The part of the records is q² σ² / 20, and P the rest of q σ² / 20 + q (1 - q) μ². The pilot has
    60 records or more of each provider, so its variances have errors of about 18 %. By a clock that
    goes on by 10 µs when it is read, it plays as many games as it may, on a busy machine too.
    """
    clock = SimpleNamespace(perf_counter=partial(next, count(0.0, 1e-5)))
    monkeypatch.setattr("shapband.market.planning.probes.time", clock)
    monkeypatch.setattr("shapband.market.planning.probes._MOST_PROBED", 16)
    mu, sd, q = np.array([1.0, 2.0, 3.0, 0.5]), np.array([4.0, 4.0, 8.0, 8.0]), 0.5
    providers = gaussian_providers(mu, sd)
    found = sb.plan(
        providers, sb.AdditiveUtility(), n_sample=20, participation=participation,
        budget=sb.Budget(records=4000), minutes=5, seed=0,
    )  # fmt: skip
    assert found.pilot.n_games == 2048
    model = ErrorModel.of(found.pilot, 20)
    records = q**2 * sd**2 / 20
    whole = q * sd**2 / 20 + q * (1 - q) * mu**2
    assert model.variance.sum() == pytest.approx(records.sum(), rel=0.4)
    assert (model.variance + model.presence).sum() == pytest.approx(whole.sum(), rel=0.25)
    assert model.variance.sum() < 0.7 * whole.sum()  # the control


def test_solvers_for_groups_and_other_indices() -> None:
    assert [one.name for one in families_for(6, players=[3, 1, 2])] == ["Exact", "Permutation"]
    assert families_for(6, players=[3, 1, 2])[0].works(6) == [7 + 4 * 6 + 4 * 2]
    assert [one.name for one in families_for(40, players=[30, 5, 5])] == ["Permutation"]
    plain = [one.name for one in families_for(6)]
    assert [one.name for one in families_for(6, sb.Banzhaf())] == plain


def test_a_small_cohort_of_many_providers_has_exact_values() -> None:
    providers, (X, y) = linear_providers(n=24, records=40)
    found = sb.plan(
        providers, sb.LinearUtility(X, y), n_sample=5, participation=sb.Cohort(3),
        budget=sb.Budget(records=2000), **QUICK,
    )  # fmt: skip
    assert sb.Exact in {type(row.solver) for row in found.rows}
    row = next(row for row in found.rows if isinstance(row.sampling, sb.Fresh))
    assert row.evaluations == row.n_games * (2**3 - 1)
    assert found.value(row).evaluations == row.evaluations


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"n_sample": {"site 0": 10}},
            "plan: n_sample must name every provider, and 'site 1' is missing: add its size, or "
            "leave the provider out",
        ),
        (
            {"n_sample": {**dict.fromkeys(NAMES, 10), "site 9": 3}},
            "plan: n_sample must name providers only, and 'site 9' is not one of them; did you "
            "mean site 3?",
        ),
        (
            {"n_sample": 1.5},
            "plan: n_sample must be a whole number of at least 1, a fraction of each stock between "
            "0 and 1, or whole numbers by provider name; received 1.5",
        ),
        (
            {"n_sample": 100},
            "plan: provider 'site 0' has 60 records, fewer than n_sample=100: lower n_sample, give "
            "sizes by provider name, or leave the provider out",
        ),
        ({"participation": 0.5}, "participation must be Independent(...)"),
        ({"participation": sb.Cohort(5)}, "Cohort: k must be at most the number of providers, 4"),
        ({"index": "banzhaf"}, "index must be"),
        (
            {"participation": sb.Cohort(2), "grouped": True},
            "participation: with groups everybody must take part",
        ),
        ({"index": sb.Banzhaf(), "grouped": True}, "index: groups share their Shapley value"),
    ],
)
def test_an_error_names_the_argument_before_any_source_is_asked(
    options: dict[str, Any], message: str
) -> None:
    providers, utility = unequal()
    given = {"n_sample": 10, **options}
    players = in_groups(providers) if given.pop("grouped", False) else providers
    with pytest.raises(InvalidInput) as refused:
        sb.plan(players, utility, **given)
    assert str(refused.value).startswith(message)
    assert [p.source.asked for p in providers] == [0] * 4


def test_a_fraction_of_a_source_without_a_size_is_refused() -> None:
    providers = gaussian_providers([1.0, 2.0], [1.0, 1.0])
    with pytest.raises(InvalidInput, match=r"plan: n_sample=0\.1 is a fraction of each stock, but"):
        sb.plan(providers, sb.AdditiveUtility(), n_sample=0.1)


def test_pools_that_are_too_dear_for_unequal_draws_are_named() -> None:
    providers, utility = unequal()
    with pytest.raises(BudgetExceeded, match="the pilot takes 322 records in 8 requests"):
        sb.plan(providers, utility, n_sample=0.1, budget=sb.Budget(records=300))


def test_a_row_prints_as_a_table_of_providers() -> None:
    providers, utility = unequal()
    found = sb.plan(
        providers, utility, n_sample=CASES["by name"]["n_sample"], index=sb.Banzhaf(),
        budget=sb.Budget(records=900), prices=sb.Prices(record="0.5"), **QUICK,
    )  # fmt: skip
    row = found.recommended
    lines = str(row).splitlines()
    assert lines[0] == f"4 providers, {row.n_games:,} games"
    assert lines[1].startswith("Pooled(n_pool=60 to ")
    assert lines[3].split() == ["provider", "±", "95", "%", "variance", "±", "95", "%", "pool"]
    for line, name, half in zip(lines[4:8], NAMES, row.half_width, strict=True):
        cells = line.removeprefix(name).split()
        assert cells[0] == f"{half:.2g}"
        assert cells[2] == f"{row.sampling.n_pool[name]:,}"
    notes = "\n".join(lines[9:])
    assert "index:   Banzhaf()" in notes
    assert f"sources: {row.records:,} records in {row.requests:,} requests, {row.money:,}" in notes
    assert repr(row).startswith("<Proposal: Pooled(n_pool=60 to ")
    html = row._repr_html_()
    assert all(f">{name}</td>" in html for name in NAMES)
    frame = row.to_frame()
    assert frame.index.tolist() == list(NAMES)
    assert frame["half_width"].tolist() == row.half_width.tolist()


def test_names_with_odd_characters_are_escaped() -> None:
    made, (X, y) = linear_providers(n=2, records=60)
    odd = ["<b>north</b>", "süd\n\x1b[31m"]
    providers = [sb.Provider(name, p.source) for name, p in zip(odd, made, strict=True)]
    found = sb.plan(
        providers, sb.LinearUtility(X, y), n_sample=dict(zip(odd, (5, 10), strict=True)), **QUICK
    )
    for shown in (found.recommended, found):
        assert "<b>" not in shown._repr_html_()
        assert "\x1b" not in str(shown)


def test_one_more_draw_from_the_records_of_a_plan() -> None:
    providers, utility = unequal()
    given = {"n_sample": 0.05, "budget": sb.Budget(records=900), **QUICK}
    grouped = sb.plan(in_groups(providers), utility, **given)
    gains = grouped.next_batch(50)
    assert gains.names == NAMES
    assert gains.access.records == grouped.pilot.cost.records
    absent = sb.plan(providers, utility, participation=sb.Cohort(2), **given)
    with pytest.raises(InvalidInput, match="for games in which not everybody takes part"):
        absent.next_batch()


@pytest.mark.parametrize("name", CASES)
def test_a_bill_takes_what_value_takes(name: str) -> None:
    providers, utility = unequal()
    players = in_groups(providers) if name == "groups" else providers
    others = {key: part for key, part in CASES[name].items() if key != "n_sample"}
    for sampling in (sb.Fresh(CASES[name]["n_sample"]), sb.Pooled(0.4, 0.1, replace=False)):
        arguments = {"sampling": sampling, "n_games": 12, "seed": 3, **others}
        bill = sb.bill(players, utility, **arguments)
        valuation = sb.value(players, utility, **arguments)
        used = [valuation.access.by_provider[one] for one in bill.names]
        assert bill.records.tolist() == [one.records for one in used]
        assert bill.requests.tolist() == [one.requests for one in used]
        assert bill.evaluations == valuation.evaluations


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"index": sb.Banzhaf()}, r"index: next_batch has none; received Banzhaf\(\): leave it"),
        ({"participation": sb.Cohort(2)}, r"participation: next_batch has none; received Cohort"),
    ],
)
def test_the_bill_of_a_next_batch_has_no_index_or_participation(
    option: dict[str, Any], message: str
) -> None:
    providers, utility = unequal()
    with pytest.raises(InvalidInput, match=message):
        sb.bill(providers, utility, sampling=sb.Fresh(10), next_batch=True, **option)
