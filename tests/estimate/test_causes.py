"""A cause of error that is added in one place widens every statement about the expectations."""

import numpy as np
import pytest
from scipy import stats

import shapband as sb
from shapband.estimate import errors
from shapband.estimate.errors import LastingCause
from shapband.report.page import page_of

VARIANCE = 1e-4  # of the error that the new cause adds to every expectation


@pytest.fixture(scope="module")
def both():
    """The same valuation without and with one more cause of error."""
    task = sb.datasets.wine()
    arguments = {"sampling": sb.Fresh(60), "n_games": 100, "seed": 0, "fixed_validation": True}
    before = sb.value(task.providers, task.utility, **arguments)
    known = errors.lasting_causes

    def with_weather(moments):
        n = len(moments.mean)
        cause = LastingCause(np.full(n, VARIANCE), np.full(n, 9.0), np.full(n, 9.0))
        return {**known(moments), "weather": cause}

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(errors.CAUSES, "weather", "weather")
        patch.setattr(errors, "lasting_causes", with_weather)
        yield before, sb.value(task.providers, task.utility, **arguments)


def test_it_is_a_column_of_the_errors_and_their_squares_add_up(both):
    before, after = both
    np.testing.assert_allclose(after.error["weather"], np.sqrt(VARIANCE))
    square = before.standard_error**2 + VARIANCE
    np.testing.assert_allclose(after.standard_error, np.sqrt(square), rtol=1e-12)


@pytest.mark.parametrize("simultaneous", [False, True])
def test_it_widens_intervals(both, simultaneous):
    before, after = (np.diff(one.interval(simultaneous=simultaneous)) for one in both)
    assert (after > 2 * before).all()


def test_it_is_in_differences_ranks_shares_and_payouts(both):
    names = both[0].names
    for number in (
        lambda one: one.difference(names[0], names[-1]).standard_error,
        lambda one: float((one.ranks().high - one.ranks().low).sum()),
        lambda one: float(one.shares()["standard_error"].min()),
        lambda one: float(sb.payouts(one, 1000).to_frame()["standard_error"].min()),
    ):
        before, after = map(number, both)
        assert after > 1.5 * before


def test_a_stopping_rule_sees_what_more_games_do_not_lower(both):
    before, after = (one.estimate for one in both)
    assert sb.Precision(absolute=0.015).met(before, 0.0)
    assert not sb.Precision(absolute=0.015).met(after, 0.0)


def test_it_is_printed_and_reported(both):
    before, after = both
    assert "weather" not in str(before)
    assert "% from the weather" in str(after)
    lasting = stats.t.ppf(0.975, 9) * np.sqrt(VARIANCE)
    widest = float(np.diff(after.interval()).max()) / 2
    assert widest < lasting  # because of the smaller quantile of all errors together
    assert f"more games alone reach ±{widest:.3f} at best" in str(after)
    assert page_of(after).count("weather") > page_of(before).count("weather")
