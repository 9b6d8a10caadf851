"""Pools bought in parts, and purchases that are held for a later valuation."""

import numpy as np
import pytest
from tests.conftest import linear_providers
from tests.counted import Counted, CountedDraws

import shapband as sb
from shapband.access.access import Access
from shapband.access.held import HeldPurchases
from shapband.engine.arguments import check_arguments
from shapband.engine.play import play
from shapband.engine.workers.local import LocalWorkers
from shapband.runs.run import value_in_run
from shapband.seeds import Seeds


def providers_of(kind):
    """Providers in memory, distant ones with a stock, or distant ones without end."""
    made, (X, y) = linear_providers(n=3, records=40)
    if kind == "stock":
        made = [sb.Provider(p.name, Counted(p.source)) for p in made]
    elif kind == "endless":
        made = [sb.Provider(p.name, CountedDraws(3)) for p in made]
    return made, sb.LinearUtility(X, y)


def bought(providers, *rounds, seed=5):
    held = HeldPurchases()
    with Access(providers, Seeds(seed), sb.Budget(), None, held) as access:
        for sizes in rounds:
            pools = access.fetch_pools(sizes)
    held.close()
    return held, pools, access


@pytest.mark.parametrize("kind", ["memory", "stock"])
@pytest.mark.parametrize("first", [1, 7, 19])
def test_a_pool_in_parts_has_the_records_of_one_request(kind, first):
    providers, _ = providers_of(kind)
    _, whole, _ = bought(providers, [20] * 3)
    held, parts, access = bought(providers, [first] * 3, [20, first, 12])
    for one, other, size in zip(whole, parts, [20, first, 12], strict=True):
        assert len(other) == size
        np.testing.assert_array_equal(other.X, one.X[:size])
    assert access.report.records == 20 + first + max(first, 12)
    assert held.pool_parts(providers[1].name) == [first]


def test_another_seed_gives_other_parts():
    providers, _ = providers_of("stock")
    _, one, _ = bought(providers, [4] * 3, [20] * 3)
    _, other, _ = bought(providers, [4] * 3, [20] * 3, seed=6)
    assert not np.array_equal(one[0].X, other[0].X)


def test_parts_of_an_endless_source_are_other_draws():
    providers, _ = providers_of("endless")
    _, (pool, *_), access = bought(providers, [10] * 3, [20] * 3)
    assert len(np.unique(pool.X[:, 0])) == 20
    assert access.report.by_provider[providers[0].name].requests == 2


@pytest.mark.parametrize("kind", ["memory", "stock", "endless"])
def test_what_is_held_is_not_asked_for_again(kind, tmp_path):
    providers, utility = providers_of(kind)
    held, _, _ = bought(providers, [10] * 3)
    asked = [getattr(p.source, "asked", 0) for p in providers]
    plan = check_arguments(
        providers, utility, sampling=sb.Pooled(24, 8, replace=False), n_games=20, seed=5,
        budget=sb.Budget(records=72, requests=6),
    )  # fmt: skip
    valuation = play(plan, LocalWorkers(1, threads=True), lambda _: None, held)
    assert (valuation.access.records, valuation.access.requests) == (72, 6)
    if kind != "memory":
        assert [p.source.asked - n for p, n in zip(providers, asked, strict=True)] == [1, 1, 1]
    kept = value_in_run(
        tmp_path / "run", plan, LocalWorkers(1, threads=True), lambda _: None, seed_given=True,
        held=held,
    )  # fmt: skip
    np.testing.assert_array_equal(kept.games, valuation.games)
    assert (kept.access.records, kept.access.requests) == (72, 6)
    sb.load(tmp_path / "run").verify()
    again = sb.value(
        providers, utility, sampling=sb.Pooled(24, 8, replace=False), n_games=20, seed=5,
        budget=sb.Budget(records=72, requests=6), run=tmp_path / "run",
    )  # fmt: skip
    np.testing.assert_array_equal(again.games, valuation.games)


def test_a_run_whose_pools_were_bought_in_parts_can_be_resumed(tmp_path):
    providers, utility = providers_of("endless")
    held, _, _ = bought(providers, [10] * 3)
    plan = check_arguments(
        providers, utility, sampling=sb.Pooled(24, 8, replace=False), n_games=40, seed=5
    )
    workers = LocalWorkers(1, threads=True)
    whole = play(plan, workers, lambda _: None, held)

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        value_in_run(tmp_path / "run", plan, workers, interrupt, seed_given=True, held=held)
    asked = [p.source.asked for p in providers]
    resumed = value_in_run(tmp_path / "run", plan, workers, lambda _: None, seed_given=True)
    np.testing.assert_array_equal(resumed.games, whole.games)
    assert [p.source.asked for p in providers] == asked
    assert resumed.access.records == 72


def test_fresh_draws_that_are_held_are_the_first_games():
    providers, utility = providers_of("stock")
    held = HeldPurchases()
    with Access(providers, Seeds(5), sb.Budget(), None, held) as access:
        access.fetch("draw", range(3), [8] * 3, "the draws")
    held.close()
    plan = check_arguments(providers, utility, sampling=sb.Fresh(8), n_games=10, seed=5)
    workers = LocalWorkers(1, threads=True)
    valuation = play(plan, workers, lambda _: None, held)
    assert [p.source.asked for p in providers] == [10] * 3
    assert (valuation.access.records, valuation.access.requests) == (240, 30)
    np.testing.assert_array_equal(valuation.games, play(plan, workers, lambda _: None).games)


def test_a_closed_journal_keeps_nothing_further():
    held = HeldPurchases()
    held.close()
    held.taken(["a"], "draw", range(3), 2)
    assert held.usage() == {}
    assert held.unpaid(["a"], "draw", range(3)) == [range(3)]
