import re

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student
from tests.conftest import linear_providers, with_pools, with_sums

import shapband as sb
from shapband.estimate.intervals import expectation_interval
from shapband.estimate.moments import Moments
from shapband.estimate.sequences import (
    difference_half_widths,
    mixture_boundary,
    sequence_half_widths,
    sequence_quantile,
)
from shapband.estimate.stopping import StoppingRule


def run(**arguments):
    providers, validation = linear_providers()
    given = {"sampling": sb.Fresh(12), "n_games": 2000, "seed": 0, "fixed_validation": True}
    arguments = given | arguments
    return sb.value(providers, sb.LinearUtility(*validation), **arguments)


def half_width(valuation):
    return sequence_half_widths(valuation.estimate, 0.95)


def spread_out(*scatter):
    """Values that alternate, in enough games for a decision: (40, 1)."""
    return np.resize(np.array(scatter), 40)[:, None]


def test_precision_stops_at_the_first_look_that_is_precise_enough():
    valuation = run(stop=sb.Precision(absolute=0.004))
    assert valuation.n_games % 32 == 0
    assert valuation.n_games < 2000
    assert half_width(valuation).max() <= 0.004
    before = sb.Estimate.of(valuation.games[:-32])
    earlier = run(n_games=before.n_games)
    assert half_width(earlier).max() > 0.004
    assert "Precision(absolute=0.004" in valuation.stopped


def test_relative_precision():
    valuation = run(stop=sb.Precision(relative=0.05))
    assert valuation.n_games < 2000
    assert (half_width(valuation) <= 0.05 * np.abs(valuation.expectation)).all()


def test_the_answer_does_not_depend_on_workers_or_chunks():
    one = run(stop=sb.Precision(absolute=0.004))
    for arguments in ({"n_jobs": 2}, {"chunk_size": 5}, {"chunk_size": 500}):
        other = run(stop=sb.Precision(absolute=0.004), **arguments)
        np.testing.assert_array_equal(other.games, one.games)
        assert other.access.records == one.access.records


def test_nothing_is_bought_beyond_the_stop():
    valuation = run(stop=sb.Precision(absolute=0.004))
    assert valuation.access.requests == 5 * valuation.n_games


def independent(centres, widths):
    """Estimate from 64 games without correlation between two neighbours in the list."""
    signs = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]] * 16)
    return sb.Estimate.of(np.array(centres) + signs * np.array(widths))


def test_a_ranking_is_stable_when_neighbours_are_decided():
    assert sb.StableRanking().met(independent([0.0, 1.0, 2.0], [0.2] * 3), 0.0)
    close = independent([0.0, 0.1, 2.0], [0.2] * 3)
    assert not sb.StableRanking().met(close, 0.0)
    assert sb.StableRanking(tolerance=0.5).met(close, 0.0)


def test_neighbours_are_next_to_each_other_in_value_not_in_the_list():
    assert sb.StableRanking().met(independent([2.0, 0.0, 1.0], [0.2] * 3), 0.0)
    # The first and the last are alike, with one that is far from both between them.
    assert not sb.StableRanking().met(independent([0.0, 5.0, 0.1], [0.2] * 3), 0.0)


def test_every_pair_is_judged_by_its_own_error():
    wide, narrow = 4.0, 0.001
    for widths, decided in (([narrow, wide, narrow], False), ([wide, narrow, narrow], True)):
        assert sb.StableRanking().met(independent([0.0, 10.0, 11.0], widths), 0.0) is decided


def test_a_difference_has_the_error_of_its_own_values():
    games = np.random.default_rng(0).normal(size=(50, 3)) @ np.array(
        [[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]]
    )
    estimate = sb.Estimate.of(games)
    one, other = np.array([0, 2]), np.array([1, 0])
    differences = sb.Estimate.of(games[:, one] - games[:, other])
    half = difference_half_widths(estimate, one, other, 0.9)
    np.testing.assert_allclose(half, sequence_half_widths(differences, 0.9), rtol=1e-12)
    # Without covariances both half widths are added, which is never less.
    blind = difference_half_widths(with_sums(estimate, products=None), one, other, 0.9)
    each = sequence_half_widths(estimate, 0.9)
    np.testing.assert_allclose(blind, each[one] + each[other], rtol=1e-12)
    assert (blind > half).all()


def looks(games, every=32):
    """Estimates from the first 32, 64, ... games, (n_games, n), from cumulative sums."""
    n = games.shape[1]
    sums = np.cumsum(games, axis=0)
    products = np.cumsum(games[:, :, None] * games[:, None, :], axis=0)
    unused = np.zeros(n)
    for done in range(every, len(games) + 1, every):
        mean = sums[done - 1] / done
        about = products[done - 1] - done * np.outer(mean, mean)
        folded = Moments(
            done, mean=mean, m2=np.diag(about).copy(), m3=unused, m4=unused,
            noise=unused, noise_m2=unused, cross_11=unused, cross_21=unused,
            products=about,
        )  # fmt: skip
        yield sb.Estimate.of_moments(folded)


def pair(rng, correlation, n_games):
    one, other = rng.normal(size=(2, n_games))
    return np.stack([one, correlation * one + np.sqrt(1 - correlation**2) * other], axis=-1)


def decided_by_todays_rule(estimate):
    """The rule as it was: Student's intervals do not overlap, at every look anew."""
    half = student.ppf(0.975, estimate.n_games - 1) * np.sqrt(
        estimate.raw_variance / estimate.n_games
    )
    return abs(np.diff(estimate.expectation)[0]) > half.sum()


def falsely_ranked(rule, correlation, runs, n_looks):
    rng = np.random.default_rng(0)
    games = (pair(rng, correlation, 32 * n_looks) for _ in range(runs))
    return np.mean([any(map(rule, looks(one))) for one in games])


@pytest.mark.long
def test_a_tie_is_seldom_ranked_however_often_it_is_looked_at():
    def rule(estimate):
        return sb.StableRanking().met(estimate, 0.0)

    assert falsely_ranked(rule, -0.9, 100, 60) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 100)
    # The rule as it was fails the same check.
    control = falsely_ranked(decided_by_todays_rule, -0.9, 100, 60)
    assert control > 0.05 + 4 * np.sqrt(0.05 * 0.95 / 100)


@pytest.mark.long
@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.9])
def test_a_tie_is_ranked_in_at_most_5_percent_of_runs_with_300_looks(correlation):
    ranked = falsely_ranked(lambda m: sb.StableRanking().met(m, 0.0), correlation, 1000, 300)
    assert ranked <= 0.05


@pytest.mark.long
def test_a_tie_among_ten_providers_is_ranked_in_at_most_5_percent_of_runs():
    rng = np.random.default_rng(1)
    centres = np.arange(10.0)
    centres[5] = centres[4]
    runs = (centres + rng.normal(size=(3200, 10)) for _ in range(400))
    rule = sb.StableRanking()
    assert np.mean([any(rule.met(m, 0.0) for m in looks(games)) for games in runs]) <= 0.05


@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.9])
def test_a_gap_is_seen_soon(correlation):
    rng = np.random.default_rng(2)
    # The difference has a spread of at most 2; the gap is 6 of its standard errors at 320 games.
    shift = np.array([0.0, 6 * 2 / np.sqrt(320)])
    runs = (pair(rng, correlation, 320) + shift for _ in range(50))
    assert np.mean([any(sb.StableRanking().met(m, 0.0) for m in looks(one)) for one in runs]) > 0.9


def missed(draw, truth, runs, n_looks, boundary):
    """Fraction of runs in which any look misses the truth."""
    games = draw((32 * n_looks, runs))
    done = np.arange(32, 32 * n_looks + 1, 32)[:, None]
    mean = np.cumsum(games, axis=0)[31::32] / done
    square = np.cumsum((games - truth) ** 2, axis=0)[31::32] / done - (mean - truth) ** 2
    error = np.sqrt(square / (done - 1))
    limits = np.array([boundary(int(t)) for t in done[:, 0]])[:, None]
    return np.mean((np.abs(mean - truth) > limits * error).any(axis=0))


def sequence(t):
    return -student.ppf(norm.sf(mixture_boundary(t, 0.05)), t - 1)


def test_the_sequence_holds_at_all_looks_together():
    rng = np.random.default_rng(3)
    allowed = 0.05 + 2 * np.sqrt(0.05 * 0.95 / 500)
    assert missed(rng.standard_normal, 0.0, 500, 100, sequence) <= allowed
    # Student's interval, which holds at a single look, is left by many more.
    control = missed(rng.standard_normal, 0.0, 500, 100, lambda t: student.ppf(0.975, t - 1))
    assert control > 0.2


def test_the_sequence_holds_for_skewed_values():
    rng = np.random.default_rng(4)
    allowed = 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)
    assert missed(lambda s: rng.lognormal(0, 0.8, s), np.exp(0.32), 500, 100, sequence) <= allowed


def test_the_quantile_is_that_of_the_boundary_with_student_s_tail():
    estimate = sb.Estimate.of(np.random.default_rng(0).normal(size=(48, 2)))
    assert sequence_quantile(estimate, 0.95) == pytest.approx(sequence(48), rel=1e-9)


@pytest.mark.parametrize("limits", [{"absolute": 0.25}, {"relative": 0.25}])
def test_the_interval_holds_after_precision_stopped(limits):
    rng = np.random.default_rng(5)
    rule = sb.Precision(**limits)
    held, fixed, stopped = [], [], []
    for _ in range(500):
        games = 1 + rng.normal(size=(640, 1))
        estimate = next(m for m in looks(games) if rule.met(m, 0.0))
        stopped.append(estimate.n_games)
        held.append(abs(estimate.expectation[0] - 1) <= sequence_half_widths(estimate, 0.95)[0])
        low, high = expectation_interval(estimate, 0.95)[0]
        fixed.append(low <= 1 <= high)
    assert np.mean(held) >= 0.95
    assert np.mean(fixed) >= 0.94 - 2 * np.sqrt(0.94 * 0.06 / 500)
    assert 64 < np.mean(stopped) < 640


def test_the_error_of_the_pools_is_added_to_that_of_the_games():
    estimate = sb.Estimate.of(np.random.default_rng(0).normal(size=(256, 2)))
    pools = student.ppf(0.975, 30) * np.sqrt(0.01)
    np.testing.assert_allclose(
        sequence_half_widths(with_pools(estimate, 0.01, 30), 0.95),
        np.hypot(sequence_half_widths(estimate, 0.95), pools),
    )
    # The pools move two providers as much apart as their correlation lets them.
    pair = np.array([0]), np.array([1])
    products = estimate.moments.products
    r = products[0, 1] / np.sqrt(products[0, 0] * products[1, 1])
    np.testing.assert_allclose(
        difference_half_widths(with_pools(estimate, 0.01, 30), *pair, 0.95),
        np.hypot(difference_half_widths(estimate, *pair, 0.95), pools * np.sqrt(2 - 2 * r)),
    )


def test_more_games_cannot_meet_a_precision_that_the_pools_prevent():
    games = np.random.default_rng(0).normal(size=(224, 2))
    estimate = with_pools(sb.Estimate.of(games), 0.04, 30)
    half = student.ppf(0.975, 30) * 0.2
    rule = sb.Precision(absolute=half / 3)
    # The pools may use 0.9 of the limit, so the variance must be lower by (3 / 0.9)².
    assert rule.out_of_reach(estimate) == pytest.approx(9 / 0.81)
    assert sb.Precision(absolute=half).out_of_reach(estimate) is None
    assert rule.out_of_reach(sb.Estimate.of(games)) is None
    early = with_pools(sb.Estimate.of(games[:192]), 0.04, 30)
    assert rule.out_of_reach(early) is None


def test_a_combined_rule_is_out_of_reach_if_no_part_can_meet_it():
    estimate = with_pools(sb.Estimate.of(np.random.default_rng(0).normal(size=(224, 2))), 0.04, 30)
    far, further = sb.Precision(absolute=0.1), sb.Precision(absolute=0.05)
    open_to, clock = sb.StableRanking(), sb.Seconds(5)
    low, high = far.out_of_reach(estimate), further.out_of_reach(estimate)
    assert low < high
    for rule, expected in (
        (far | further, low),
        (far & further, high),
        (far | open_to, None),
        (far & open_to, low),
        (far | clock, low),
        (clock | far, low),
        (far & clock, low),
        (clock | sb.Seconds(6), None),
        (open_to, None),
        (clock, None),
    ):
        assert rule.out_of_reach(estimate) == expected


def test_a_time_limit_is_found_in_a_combined_rule():
    never = float("inf")
    for rule, expected in (
        (sb.Seconds(5), 5.0),
        (sb.Precision(absolute=1.0), never),
        (sb.Precision(absolute=1.0) | sb.Seconds(5), 5.0),
        (sb.Precision(absolute=1.0) & sb.Seconds(5), never),
        (sb.Seconds(7) & sb.Seconds(5), 7.0),
        (sb.Seconds(7) | sb.Seconds(5), 5.0),
    ):
        assert rule.time_limit == expected


def test_rules_compose():
    estimate = sb.Estimate.of(1 + spread_out(0.1, -0.1))
    yes, no = sb.Precision(absolute=10.0), sb.Precision(absolute=1e-9)
    assert (yes | no).met(estimate, 0.0)
    assert not (yes & no).met(estimate, 0.0)
    assert (yes & (no | sb.Seconds(5))).met(estimate, 6.0)
    assert not (yes & (no | sb.Seconds(5))).met(estimate, 4.0)


def test_time_ends_a_valuation():
    valuation = run(stop=sb.Seconds(1e-9))
    assert valuation.n_games == 2
    assert valuation.stopped_code == "rule"


def test_a_half_width_at_the_limit_is_precise_enough():
    estimate = sb.Estimate.of([1.5, 11.0] + spread_out(-0.5, 0.5) * [1, 2])
    half = sequence_half_widths(estimate, 0.9)
    assert half[1] == half.max()
    for enough, rule in (
        (half[1], lambda limit: sb.Precision(absolute=limit, level=0.9)),
        (half[0] / 1.5, lambda limit: sb.Precision(relative=limit, level=0.9)),
    ):
        assert rule(enough).met(estimate, 0.0)
        assert not rule(0.99 * enough).met(estimate, 0.0)
    # Either limit is enough, for every provider by itself.
    both = sb.Precision(absolute=half[0], relative=half[1] / 11, level=0.9)
    assert both.met(estimate, 0.0)
    assert not sb.Precision(absolute=half[0], level=0.9).met(estimate, 0.0)
    assert not sb.Precision(relative=half[1] / 11, level=0.9).met(estimate, 0.0)


def test_relative_precision_is_of_the_size_of_an_expectation_not_of_its_sign():
    estimate = sb.Estimate.of(-1 + spread_out(0.1, -0.1))
    assert sb.Precision(relative=0.5).met(estimate, 0.0)


def test_a_higher_level_needs_more_games():
    estimate = sb.Estimate.of([0.0, 1.0] + spread_out(-1.4, 1.4) * [1.0, -0.01])
    for rule in (
        lambda level: sb.Precision(absolute=1.0, level=level),
        lambda level: sb.StableRanking(level=level),
    ):
        assert rule(0.8).met(estimate, 0.0)
        assert not rule(0.99).met(estimate, 0.0)


def test_providers_as_close_as_the_tolerance_may_stay_undecided():
    estimate = sb.Estimate.of([0.0, 1.0] + spread_out(-2.0, 2.0) * [1.0, -1.0])
    (half,) = difference_half_widths(estimate, np.array([1]), np.array([0]), 0.95)
    apart = 1.0 + half
    assert sb.StableRanking(tolerance=apart * (1 + 1e-12)).met(estimate, 0.0)
    assert not sb.StableRanking(tolerance=apart * 0.999).met(estimate, 0.0)


def test_providers_that_are_equal_in_every_game_need_no_ranking():
    varying = spread_out(0.1, 0.3, 0.2)
    assert sb.StableRanking().met(sb.Estimate.of(np.repeat(varying, 2, axis=1)), 0.0)
    assert sb.StableRanking().met(sb.Estimate.of(np.full((40, 2), 0.5)), 0.0)
    assert not sb.StableRanking().met(sb.Estimate.of(0.2 + (varying - 0.2) * [1, -1]), 0.0)


def test_a_difference_as_small_as_rounding_does_not_rank():
    estimate = sb.Estimate.of(np.tile([0.1, np.nextafter(0.1, 1)], (40, 1)))
    assert estimate.expectation[0] != estimate.expectation[1]
    assert sb.StableRanking().met(estimate, 0.0)  # as two that tie


def test_the_time_is_up_at_the_limit():
    estimate = sb.Estimate.of([[1.0], [2.0]])
    assert sb.Seconds(5).met(estimate, 5.0)
    assert not sb.Seconds(5).met(estimate, 4.999)


class Asked(StoppingRule):
    """Answers what it was told to, and keeps the questions."""

    def __init__(self, answer):
        self.answer = answer
        self.questions = []

    def met(self, estimate, seconds):
        self.questions.append((estimate, seconds))
        return self.answer


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_both_parts_of_a_rule_see_the_games_and_the_time(first, second):
    estimate = sb.Estimate.of([[1.0], [2.0]])
    for compose, expected in (
        (lambda one, other: one & other, first and second),
        (lambda one, other: one | other, first or second),
    ):
        one, other = Asked(first), Asked(second)
        assert compose(one, other).met(estimate, 3.0) is expected
        assert {*one.questions, *other.questions} == {(estimate, 3.0)}


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
