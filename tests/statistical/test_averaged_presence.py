"""Do averages over who takes part estimate what drawn presence does, with smaller errors?"""

import numpy as np
import pytest
from tests.conftest import linear_providers
from tests.statistical.test_random_participation import played, truth
from tests.test_averaged_presence import draw_presence

import shapband as sb
from shapband.engine import arguments as checked

RATES = (0.9, 0.7, 0.8, 0.95, 0.5, 0.9, 0.8, 0.7, 0.9, 0.8)
COLUMNS = ["expectation_present", "variance_present", "variance_participation", "variance_data"]


def moments(way, providers, utility, **given):
    """Expectation, variance and the columns of the frame of 12 seeds: (12, 6, n)."""
    rows = []
    for seed in range(12):
        one = sb.value(providers, utility, seed=seed, **given)
        assert one.setup["presence"].startswith(way)
        frame = one.participation
        rows.append([one.expectation, one.variance, *(frame[name] for name in COLUMNS)])
    return np.array(rows)


def distance(one, other):
    """Distance of two means over seeds, in standard errors of the paired differences."""
    apart = one - other
    return np.abs(apart.mean(axis=0)) / (apart.std(axis=0, ddof=1) / np.sqrt(len(apart)))


@pytest.mark.parametrize("game", ["wine", "least squares of five"])
def test_both_ways_estimate_the_same_moments(monkeypatch, wine, game):
    providers, utility = wine.providers, wine.utility
    if game != "wine":
        providers, validation = linear_providers()
        utility = sb.LinearUtility(*validation)
    law = sb.Independent({one.name: p for one, p in zip(providers, RATES, strict=False)})
    game = {"providers": providers, "utility": utility, "sampling": sb.Pooled(100, 20)}
    game["n_games"] = 100
    averaged = moments("averaged over", participation=law, **game)
    other = moments("averaged over", participation=sb.Independent(0.6), **game)
    monkeypatch.setattr(checked, "choose_averaging", draw_presence)
    drawn = moments("drawn", participation=law, **game)
    assert (distance(averaged, drawn) < 5).all()
    # Another probability is noticed in all moments, and drawing costs accuracy.
    assert (distance(other, drawn).max(axis=1) > 5).all()
    assert averaged[:, 0].std(axis=0).mean() < drawn[:, 0].std(axis=0).mean()


def test_the_part_of_the_error_that_is_due_to_games_is_smaller(monkeypatch, wine):
    given = {"sampling": sb.Pooled(250, 60), "n_games": 200, "seed": 0}
    law = sb.Independent(0.8)
    averaged = sb.value(wine.providers, wine.utility, participation=law, **given)
    monkeypatch.setattr(checked, "choose_averaging", draw_presence)
    drawn = sb.value(wine.providers, wine.utility, participation=law, **given)
    ratio = averaged.error.games / drawn.error.games
    assert (ratio < 0.65).all()
    assert averaged.standard_error.mean() < 0.9 * drawn.standard_error.mean()
    assert averaged.variance_standard_error.mean() < 0.9 * drawn.variance_standard_error.mean()


def levels(n_repeats, sampling, rate=0.8):
    """Part of the intervals that hold: of the expectation, of the variance, and if too small."""
    p = np.full(3, rate)
    expectation, data, own = truth(p)
    data = data * 4 / 8  # draws of 8 records
    held = np.zeros(3)
    for seed in range(n_repeats):
        one = played(sb.Independent(rate), seed, n_games=80, sampling=sampling)
        assert one.estimate.moments.averaged is not None
        low, high = one.interval().T
        held[0] += np.mean((low <= expectation) & (expectation <= high))
        low, high = one.variance_interval().T
        held[1] += np.mean((low <= data + own) & (data + own <= high))
        naive = one.estimate.moments.averaged.m2 / one.n_games**2  # without the error of the pools
        held[2] += np.mean(np.abs(one.variance - data - own) <= 1.98 * np.sqrt(naive))
    return held / n_repeats


def test_intervals_of_both_moments_hold_behind_pools():
    """450 intervals: the standard error of a level of 0.95 is 0.0103."""
    expectation, variance, naive = levels(150, sb.Pooled(40, 8, replace=False))
    assert 0.95 - 4 * 0.0103 < expectation < 0.95 + 4 * 0.0103
    assert variance > 0.95 - 4 * 0.0103
    assert naive < 0.8


@pytest.mark.long
@pytest.mark.parametrize("rate", [0.8, 0.5])
@pytest.mark.parametrize("sampling", [sb.Pooled(40, 8), sb.Pooled(40, 8, replace=False)], ids=repr)
def test_intervals_of_both_moments_hold_behind_many_pools(sampling, rate):
    """3,000 intervals: the standard error of a level of 0.95 is 0.004."""
    expectation, variance, naive = levels(1000, sampling, rate)
    assert 0.95 - 4 * 0.004 < expectation < 0.95 + 4 * 0.004
    assert 0.95 - 4 * 0.004 < variance < 0.99
    assert naive < 0.8
