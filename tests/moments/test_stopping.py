import numpy as np
import pytest
from tests.conftest import linear_providers

import shapband as sb


def run(**arguments):
    providers, validation = linear_providers()
    arguments = {"sampling": sb.Fresh(12), "n_games": 2000, "seed": 0} | arguments
    return sb.value(providers, sb.LinearUtility(*validation), **arguments)


def half_width(valuation):
    return np.diff(valuation.interval(0.95), axis=1)[:, 0] / 2


def test_precision_stops_at_the_first_look_that_is_precise_enough():
    valuation = run(stop=sb.Precision(absolute=0.004))
    assert valuation.n_games % 32 == 0
    assert valuation.n_games < 2000
    assert half_width(valuation).max() <= 0.004
    before = sb.Moments.of(valuation.games[:-32])
    earlier = run(n_games=before.n_games)
    assert half_width(earlier).max() > 0.004
    assert "Precision(absolute=0.004" in valuation.stopped


def test_relative_precision():
    valuation = run(stop=sb.Precision(relative=0.02))
    assert (half_width(valuation) <= 0.02 * np.abs(valuation.expectation)).all()


def test_the_answer_does_not_depend_on_workers_or_chunks():
    one = run(stop=sb.Precision(absolute=0.004))
    for arguments in ({"n_jobs": 2}, {"chunk_size": 5}, {"chunk_size": 500}):
        other = run(stop=sb.Precision(absolute=0.004), **arguments)
        np.testing.assert_array_equal(other.games, one.games)
        assert other.access.records == one.access.records


def test_nothing_is_bought_beyond_the_stop():
    valuation = run(stop=sb.Precision(absolute=0.004))
    assert valuation.access.requests == 5 * valuation.n_games


def test_a_ranking_is_stable_when_neighbours_are_decided():
    games = np.array([[0.0, 1.0, 2.0], [0.2, 1.2, 2.2], [-0.2, 0.8, 1.8], [0.0, 1.0, 2.0]])
    assert sb.StableRanking().met(sb.Moments.of(games), 0.0)
    close = games * [1, 0.1, 1]
    assert not sb.StableRanking().met(sb.Moments.of(close), 0.0)
    assert sb.StableRanking(tolerance=2.0).met(sb.Moments.of(close), 0.0)


@pytest.mark.parametrize("correlation", [-1.0, -0.5, 0.0, 0.5])
def test_equal_providers_are_seldom_ranked_whatever_their_correlation(correlation):
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 2000, 64))
    pairs = np.stack([one, correlation * one + np.sqrt(1 - correlation**2) * other], axis=-1)
    ranked = np.mean([sb.StableRanking().met(sb.Moments.of(games), 0.0) for games in pairs])
    assert ranked < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 2000)
    # A gap of ten errors is seen nearly always, so the rule can be met.
    shifted = pairs[:200] + np.array([0.0, 1.25])
    apart = [sb.StableRanking().met(sb.Moments.of(games), 0.0) for games in shifted]
    assert np.mean(apart) > 0.9


def test_rules_compose():
    moments = sb.Moments.of(np.array([[1.0], [1.1], [0.9]]))
    yes, no = sb.Precision(absolute=10.0), sb.Precision(absolute=1e-9)
    assert (yes | no).met(moments, 0.0)
    assert not (yes & no).met(moments, 0.0)
    assert (yes & (no | sb.Seconds(5))).met(moments, 6.0)
    assert not (yes & (no | sb.Seconds(5))).met(moments, 4.0)


def test_time_ends_a_valuation():
    valuation = run(stop=sb.Seconds(1e-9))
    assert valuation.n_games == 32


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: sb.Precision(), "absolute"),
        (lambda: sb.Precision(absolute=0.0), "limit"),
        (lambda: sb.Precision(relative=float("nan")), "relative"),
        (lambda: sb.StableRanking(tolerance=-1.0), "tolerance"),
        (lambda: sb.Precision(absolute=0.1, level=2), "level"),
        (lambda: sb.StableRanking(level=95), "level"),
        (lambda: sb.Seconds(0), "limit"),
        (lambda: run(stop=5), "stop"),
    ],
)
def test_bad_rules_are_refused(make, named):
    with pytest.raises(sb.errors.InvalidInput, match=named):
        make()
