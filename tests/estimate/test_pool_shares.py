"""The share of the pools that shuffles show, and the skewness that pools give to errors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import shapband as sb
from coverage_study.play import play_pool
from coverage_study.settings import Setting
from shapband.estimate import pool_games, pools
from shapband.estimate.influence import Influence
from shapband.estimate.pools import DealtSpread, Spread


def spread(
    skewness: Any = (0.0, 0.0), dealt: DealtSpread | None = None, n_games: float = 50.0
) -> Spread:
    one = np.ones(2)
    return Spread(n_games, one, one * 0, one / n_games, 49, 0.0, np.array(skewness), dealt)


@pytest.mark.parametrize("share", [0.2, 0.6, 1.0])
def test_the_likeliest_share_explains_the_means_of_shuffles(share: float) -> None:
    """Games that use a fifth of their pools, five of a shuffle: F is 1 - 4 · 0.2 · share."""
    sizes = pools._Sizes(np.full(2, 0.2), np.ones(2), 1.25, 0.2)
    seen = DealtSpread(size=5, seen=5, factor=1 - 0.8 * share)
    fit = pools._fit_shuffles(spread(dealt=seen), sizes, 2)
    total = 1.25 * (pools._OWN + pools._REST)
    assert total[np.argmax(fit)] == pytest.approx(share, abs=0.02)
    more = pools._fit_shuffles(spread(dealt=seen._replace(seen=500)), sizes, 2)
    np.testing.assert_array_equal(fit, more)  # more than five shuffles count no more


def test_solver_noise_does_not_hide_the_share_of_the_pools() -> None:
    """Of a variance that is half noise, shuffles cancel half as much at the same share."""
    sizes = pools._Sizes(np.full(2, 0.2), np.ones(2), 1.25, 0.2)
    influence: Any = Influence(*(np.ones(2) for _ in range(8)), per_group=1.0)
    noisy = spread(dealt=DealtSpread(5, 5, 1 - 0.8 * 0.6 / 2))._replace(noise=np.full(2, 0.5))
    _, base, clean = pools._without_noise(noisy, influence, sizes)
    assert base.tolist() == [0.5, 0.5]
    total = 1.25 * (pools._OWN + pools._REST)
    found = total[np.argmax(pools._fit_shuffles(noisy, clean, 2))]
    assert found == pytest.approx(0.6, abs=0.02)
    ignored = total[np.argmax(pools._fit_shuffles(noisy, sizes, 2))]
    assert ignored == pytest.approx(0.3, abs=0.02)  # a control


def test_many_providers_count_like_ten() -> None:
    sizes = pools._Sizes(np.full(2, 0.2), np.ones(2), 1.25, 0.2)
    seen = spread(dealt=DealtSpread(5, 5, 0.6))
    ten = pools._fit_shuffles(seen, sizes, 10)
    np.testing.assert_array_equal(pools._fit_shuffles(seen, sizes, 800), ten)
    assert np.ptp(pools._fit_shuffles(seen, sizes, 5)) < np.ptp(ten)


def test_absent_providers_leave_no_evidence_in_shuffles() -> None:
    X = np.random.default_rng(2).normal(size=(300, 3))
    providers = [sb.Provider(name, sb.ArraySource(X, X @ [1.0, 2.0, 0.5])) for name in "abc"]
    found = sb.value(
        providers,
        sb.LinearUtility(X[:50] + 1, (X[:50] + 1) @ [1.0, 2.0, 0.5]),
        sampling=sb.Pooled(100, 20, replace=False),
        participation=sb.MarkovChain(join=0.6, stay=0.7),
        n_games=40,
        seed=1,
    )
    moments = found.estimate.moments
    assert pool_games.spread_of(moments).dealt is not None
    of_present = pool_games._spread_if_present(moments)
    assert of_present.dealt is None
    assert not of_present.skewness.any()


def reported_over_true(n_pools: int) -> float:
    setting = Setting("friedman", "subsets", n_pools, (50,))
    found = [play_pool(setting, pool)["at"]["50"] for pool in range(n_pools)]
    error, mean = (np.array([one[name] for one in found]) for name in ("error", "mean"))
    return float(np.sqrt((error**2).mean() / mean.var(axis=0, ddof=1).mean()))


def test_shuffles_bring_reported_errors_close_to_the_true_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """50 games of 250 pools and five correlated providers: the ratio is known to about 4 %."""
    with_shuffles = reported_over_true(250)
    monkeypatch.setattr(pool_games, "_dealt_spread", lambda _moments: None)
    assert 0.9 < with_shuffles < 1.15
    assert reported_over_true(250) > with_shuffles + 0.08  # a control


def test_the_skewness_of_a_mean_of_a_finite_stock_is_the_simulated_one() -> None:
    """Means of 80 of 120 records: a half of 3 c - s, from 40,000 samples."""
    rng, m = np.random.default_rng(1), 80
    records = rng.lognormal(0.0, 0.7, 120)
    drawn = rng.permuted(np.tile(records, (40_000, 1)), axis=1)[:, :m]
    mean, square = drawn.mean(axis=1), drawn.var(axis=1, ddof=1)
    z = (mean - mean.mean()) / mean.std()
    needed = (3 * (z * square / square.mean()) - z**3) / 2
    apart = (records - records.mean()) / records.std()
    design: Any = SimpleNamespace(pool_sizes=[m], unseen=[1 / 3])
    found = pools._of_pools(np.array([(apart**3).mean()]), design)[0]
    error = needed.std() / np.sqrt(len(needed))
    # The first order of 1 / m; the next one is about a tenth of it.
    assert abs(needed.mean() - found) < 4 * error + 0.1 * found
    assert found > 20 * error  # a control: the sum without the covariance has the other sign
    assert (z**3).mean() < 0
    whole: Any = SimpleNamespace(pool_sizes=[m], unseen=[0.0])
    assert pools._of_pools(np.ones(1), whole).tolist() == [0.0]


def test_skewed_games_count_where_records_show_less() -> None:
    design: Any = SimpleNamespace(draw_sizes=np.array([25, 25]), pool_sizes=[100, 100])
    made = spread((4.0, -0.5), n_games=10_000.0)
    found = pools._record_skewness(np.array([1.0, 9.0]), made, design)
    assert found == pytest.approx([0.6 * 4 * 5, 9.0], rel=0.01)
    rare = spread((40.0, -0.5), n_games=10_000.0)
    assert pools._record_skewness(np.zeros(2), rare, design)[0] == 2 * np.sqrt(100)
    few = spread((0.9, 0.3), n_games=30.0)  # apart by no more than chance: shrunk to the mean
    np.testing.assert_allclose(pools._record_skewness(np.zeros(2), few, design), 0.6 * 0.6 * 5)


@pytest.mark.long
def test_a_provider_that_few_games_need_has_intervals_that_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The fourth provider of the cancer task: 200 pools, a standard error of about 2 %."""
    setting = Setting("cancer", "subsets", 200, (200,))
    fresh = [play_pool(Setting("cancer", "fresh", 40, (1000,)), pool) for pool in range(40)]
    truth = np.mean([one["at"]["1000"]["mean"][3] for one in fresh])

    def level() -> float:
        found = [play_pool(setting, pool)["at"]["200"] for pool in range(setting.pools)]
        return float(np.mean([one["low"][3] <= truth <= one["high"][3] for one in found]))

    assert level() > 0.86
    monkeypatch.setattr(pools, "_PART_OF_GAMES", 0.0)
    assert level() < 0.86  # a control
