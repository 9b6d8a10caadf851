import re

import numpy as np
import pytest
from tests.conftest import linear_providers

import shapband as sb
from shapband.moments import intervals
from shapband.moments.stopping import StoppingRule


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


def test_neighbours_are_next_to_each_other_in_value_not_in_the_list():
    scatter = np.array([[0.0], [0.2], [-0.2], [0.0]])
    apart = sb.Moments.of(scatter + np.array([2.0, 0.0, 1.0]))
    assert sb.StableRanking().met(apart, 0.0)
    # The first and the last are alike, with one that is far from both between them.
    alike = sb.Moments.of(scatter + np.array([0.0, 5.0, 0.1]))
    assert not sb.StableRanking().met(alike, 0.0)


def test_every_pair_is_judged_by_its_own_two_intervals():
    scatter = np.array([[-1.0], [1.0], [0.0], [0.0]])
    wide, narrow = 2.0, 0.001
    for widths, decided in (([narrow, wide, narrow], False), ([wide, narrow, narrow], True)):
        moments = sb.Moments.of(np.array([0.0, 10.0, 11.0]) + scatter * np.array(widths))
        assert sb.StableRanking().met(moments, 0.0) is decided


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


def test_a_half_width_at_the_limit_is_precise_enough():
    games = [[1.0, 10.0], [1.5, 11.0], [2.0, 12.0]]
    moments = sb.Moments.of(games)
    low, high = intervals.expectation_interval(moments, 0.9).T
    half = (high - low) / 2
    assert half[1] == half.max()
    for enough, rule in (
        (half[1], lambda limit: sb.Precision(absolute=limit, level=0.9)),
        (half[0] / 1.5, lambda limit: sb.Precision(relative=limit, level=0.9)),
    ):
        assert rule(enough).met(moments, 0.0)
        assert not rule(0.99 * enough).met(moments, 0.0)
    # Either limit is enough, for every provider by itself.
    both = sb.Precision(absolute=half[0], relative=half[1] / 11, level=0.9)
    assert both.met(moments, 0.0)
    assert not sb.Precision(absolute=half[0], level=0.9).met(moments, 0.0)
    assert not sb.Precision(relative=half[1] / 11, level=0.9).met(moments, 0.0)


def test_relative_precision_is_of_the_size_of_an_expectation_not_of_its_sign():
    moments = sb.Moments.of([[-1.0], [-1.1], [-0.9]])
    assert sb.Precision(relative=0.5).met(moments, 0.0)


def test_a_higher_level_needs_more_games():
    moments = sb.Moments.of([[0.0, 1.0], [0.3, 1.3], [-0.3, 0.7]])
    for rule in (
        lambda level: sb.Precision(absolute=1.0, level=level),
        lambda level: sb.StableRanking(level=level),
    ):
        assert rule(0.8).met(moments, 0.0)
        assert not rule(0.99).met(moments, 0.0)


def test_providers_as_close_as_the_tolerance_may_stay_undecided():
    moments = sb.Moments.of([[0.0, 1.0], [4.0, 5.0]])
    (low, high), _ = intervals.expectation_interval(moments, 0.95)
    # The two may be apart by the gap of 1 and two half widths.
    apart = 1.0 + (high - low)
    assert sb.StableRanking(tolerance=apart * (1 + 1e-12)).met(moments, 0.0)
    assert not sb.StableRanking(tolerance=apart * 0.999).met(moments, 0.0)


def test_equal_providers_are_ranked_only_if_they_never_vary():
    assert not sb.StableRanking().met(sb.Moments.of([[0.0, 0.0], [1.0, 1.0]]), 0.0)
    assert sb.StableRanking().met(sb.Moments.of([[0.5, 0.5], [0.5, 0.5]]), 0.0)


def test_the_time_is_up_at_the_limit():
    moments = sb.Moments.of([[1.0], [2.0]])
    assert sb.Seconds(5).met(moments, 5.0)
    assert not sb.Seconds(5).met(moments, 4.999)


class Asked(StoppingRule):
    """Answers what it was told to, and keeps the questions."""

    def __init__(self, answer):
        self.answer = answer
        self.questions = []

    def met(self, moments, seconds):
        self.questions.append((moments, seconds))
        return self.answer


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_both_parts_of_a_rule_see_the_games_and_the_time(first, second):
    moments = sb.Moments.of([[1.0], [2.0]])
    for compose, expected in (
        (lambda one, other: one & other, first and second),
        (lambda one, other: one | other, first or second),
    ):
        one, other = Asked(first), Asked(second)
        assert compose(one, other).met(moments, 3.0) is expected
        assert {*one.questions, *other.questions} == {(moments, 3.0)}


def test_a_rule_is_written_as_it_was_composed():
    rule = (sb.Seconds(5) | sb.Precision(absolute=1.0)) & sb.StableRanking()
    assert repr(rule) == (
        "((Seconds(limit=5) | Precision(absolute=1.0, relative=None, level=0.95))"
        " & StableRanking(tolerance=0.0, level=0.95))"
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: sb.Precision(), "Precision: pass absolute=, relative= or both"),
        (lambda: sb.Precision(absolute=0.0), "Precision: a limit must be above 0; received 0.0"),
        (
            lambda: sb.Precision(absolute=1.0, relative=-0.5),
            "Precision: a limit must be above 0; received -0.5",
        ),
        (
            lambda: sb.Precision(relative=float("nan")),
            "Precision: absolute and relative must be a finite number; received nan",
        ),
        (
            lambda: sb.StableRanking(tolerance=-1.0),
            "StableRanking: tolerance must be at least 0; received -1.0",
        ),
        (
            lambda: sb.StableRanking(tolerance="0"),
            "StableRanking: tolerance must be a finite number; received '0'",
        ),
        (
            lambda: sb.Precision(absolute=0.1, level=2),
            "level must lie strictly between 0 and 1, such as 0.95; received 2",
        ),
        (
            lambda: sb.StableRanking(level=95),
            "level must lie strictly between 0 and 1, such as 0.95; received 95",
        ),
        (lambda: sb.Seconds(0), "Seconds: limit must be above 0; received 0"),
        (lambda: sb.Seconds("1"), "Seconds: limit must be a finite number; received '1'"),
    ],
)
def test_bad_rules_are_refused(make, said):
    with pytest.raises(sb.errors.InvalidInput, match=f"^{re.escape(said)}$"):
        make()


def test_a_stop_that_is_no_rule_is_refused():
    with pytest.raises(sb.errors.InvalidInput, match="stop"):
        run(stop=5)
