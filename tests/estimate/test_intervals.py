import numpy as np
import pytest
from scipy import stats

import shapband as sb
from shapband.estimate import intervals
from shapband.estimate.variance import variance_of_variance


def test_student_s_interval_is_scipy_s():
    values = np.random.default_rng(0).normal(size=(12, 2))
    values = np.concatenate([values, -values])  # without skewness
    estimate = sb.Estimate.of(values)
    expected = stats.t.interval(0.9, 23, loc=values.mean(axis=0), scale=stats.sem(values, axis=0))
    np.testing.assert_allclose(
        intervals.expectation_interval(estimate, 0.9), np.transpose(expected), rtol=1e-12
    )


def test_variance_of_variance_of_normal_values_is_the_textbook_s():
    # For normal values μ4 = 3σ⁴, and the variance of the sample variance is 2σ⁴/(m-1).
    sigma2 = np.array([2.0])
    np.testing.assert_allclose(
        variance_of_variance(3 * sigma2**2, sigma2, 10), 2 * sigma2**2 / 9, rtol=1e-14
    )


def test_standard_error_of_the_variance_matches_repetition():
    rng = np.random.default_rng(1)
    estimates, errors = [], []
    for _ in range(400):
        estimate = sb.Estimate.of(rng.gamma(3.0, size=(60, 20)))
        estimates.append(estimate.variance)
        errors.append(estimate.variance_standard_error**2)
    spread = np.var(estimates, axis=0, ddof=1).mean()
    claimed = np.mean(errors)
    # 8,000 estimates: the relative error of their variance is a few percent for this skew.
    assert claimed == pytest.approx(spread, rel=0.12)


def test_exact_games_without_noise_reduce_to_bonett():
    values = np.random.default_rng(2).normal(size=(40, 3))
    low, high = intervals.variance_interval(sb.Estimate.of(values), 0.95).T
    variance = values.var(axis=0, ddof=1)
    assert ((low > 0) & (low < variance) & (variance < high)).all()


def test_one_game_tells_nothing_of_the_variance():
    estimate = sb.Estimate.of([[1.0, 2.0]])
    assert np.isnan(estimate.variance_standard_error).all()


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_one_game_has_no_interval_for_the_variance(level):
    found = intervals.variance_interval(sb.Estimate.of([[1.0, 2.0]]), level)
    assert found.shape == (2, 2)
    assert np.isnan(found).all()


def test_two_games_tell_the_variance_up_to_itself():
    """Their fourth moment is taken at its lower bound σ⁴, so the error is s²."""
    estimate = sb.Estimate.of([[1.0, 5.0], [2.0, 5.5]])
    assert estimate.variance.tolist() == [0.5, 0.125]
    np.testing.assert_allclose(estimate.variance_standard_error, [0.5, 0.125])


def test_the_upper_end_may_overflow_to_infinity():
    # The factor n / (n - z) of Bonett's interval grows without limit as z comes close to n = 2.
    level = 2 * stats.norm.cdf(1.9999) - 1
    assert intervals.variance_interval(sb.Estimate.of([[1.0], [2.0]]), level).tolist() == [
        [0.0, np.inf]
    ]


def test_values_that_never_change_have_no_variance():
    estimate = sb.Estimate.of(np.full((40, 2), 0.25))
    low, high = intervals.variance_interval(estimate, 0.95).T
    assert low.tolist() == [0.0, 0.0]
    assert (high < 1e-29).all()  # the square of a rounding error
    assert estimate.variance_standard_error.tolist() == [0.0, 0.0]


def test_two_games_give_an_honest_if_useless_interval():
    estimate = sb.Estimate.of(np.array([[1.0], [2.0]]))
    assert intervals.variance_interval(estimate, 0.99).tolist() == [[0.0, np.inf]]


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, float("nan"), "0.95"])
def test_a_level_outside_0_and_1_is_refused(level):
    estimate = sb.Estimate.of(np.zeros((3, 1)))
    rule = "lie strictly between 0 and 1, such as 0.95|be a finite number"
    with pytest.raises(sb.errors.InvalidInput, match=rf"^level must ({rule}); received .+$"):
        intervals.expectation_interval(estimate, level)
