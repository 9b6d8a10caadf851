"""Quantiles, tails and correlations over games: exact small cases, and levels of the intervals."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm, pearsonr
from tests.conftest import gaussian_providers

import shapband as sb
from shapband.errors import InvalidInput
from shapband.estimate import tails


def skewed(seed, shape):
    """Values with a heavy lower tail."""
    return 1 - np.exp(0.6 * np.random.default_rng(seed).normal(size=shape))


# Quantiles.


def test_the_ends_are_order_statistics():
    x = np.arange(1.0, 101.0)[:, None]
    found = tails.quantile(x, 0.5, 0.95)
    # Known table: for the median of 100 values the 40th and the 61st.
    assert (found.low[0], found.high[0]) == (40.0, 61.0)
    assert found.estimate[0] == 50.5
    assert binom.cdf(39, 100, 0.5) < 0.025 < binom.cdf(40, 100, 0.5)


def test_too_few_games_leave_an_end_open():
    found = tails.quantile(np.arange(20.0)[:, None], 0.05, 0.95)
    assert found.low[0] == -np.inf
    assert found.high[0] == 4.0 - 1
    assert tails.quantile(np.arange(5.0)[:, None], 0.5, 0.95).high[0] == np.inf


@pytest.mark.parametrize("probability", [0.05, 0.5, 0.9])
def test_quantile_intervals_hold(probability):
    # 4,000 repetitions at once: the standard error of 0.95 is 0.0034.
    found = tails.quantile(skewed(0, (60, 4000)), probability, 0.95)
    truth = 1 - np.exp(0.6 * norm.ppf(1 - probability))
    assert np.mean((found.low <= truth) & (truth <= found.high)) > 0.95 - 3 * 0.0034


# The probability of a negative value.


@pytest.mark.parametrize("negatives", [0, 3, 20])
def test_the_interval_of_clopper_and_pearson(negatives):
    x = np.ones((20, 1))
    x[:negatives] = -1.0
    found = tails.probability_below(x, 0.0, 0.95)
    expected = binomtest(negatives, 20).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose([found.low[0], found.high[0]], expected, rtol=1e-10)
    assert found.estimate[0] == negatives / 20


# Shortfall.


def test_the_shortfall_is_the_mean_of_the_tail():
    x = np.random.default_rng(0).normal(size=(4000, 1))
    found = tails.shortfall(x, 0.1, 0.95)
    assert found.estimate[0] == pytest.approx(np.sort(x[:, 0])[:400].mean(), abs=1e-3)
    truth = -norm.pdf(norm.ppf(0.1)) / 0.1
    assert abs(found.estimate[0] - truth) < 4 * found.standard_error[0]


@pytest.mark.parametrize(
    "draw", [skewed, lambda seed, shape: np.random.default_rng(seed).normal(size=shape)]
)
def test_the_error_of_the_shortfall_is_its_spread(draw):
    # 2,000 repetitions of 400 games with 100 in the tail.
    x = draw(1, (400, 2000))
    found = tails.shortfall(x, 0.25, 0.95)
    truth = np.sort(draw(2, 2_000_000))[:500_000].mean()
    assert found.standard_error.mean() == pytest.approx(found.estimate.std(), rel=0.06)
    assert abs(np.mean((found.low <= truth) & (truth <= found.high)) - 0.95) < 3.5 * 0.0049


def test_few_games_in_the_tail_give_no_interval():
    x = skewed(0, (499, 1))
    assert np.isnan(tails.shortfall(x, 0.1, 0.95).low).all()
    assert np.isfinite(tails.shortfall(x, 0.1, 0.95).standard_error).all()
    assert np.isfinite(tails.shortfall(skewed(0, (500, 1)), 0.1, 0.95).low).all()


# Correlations.


def test_correlations_are_those_of_pearson():
    x = skewed(0, (50, 3))
    found = tails.correlation(x, 0.95)
    np.testing.assert_allclose(found.estimate, np.corrcoef(x.T))
    assert np.diag(found.standard_error).tolist() == [0, 0, 0]
    assert np.diag(found.low).tolist() == np.diag(found.high).tolist() == [1, 1, 1]
    fisher = pearsonr(x[:, 0], x[:, 1]).confidence_interval(0.95)
    assert found.low[0, 1] < fisher.low < fisher.high < found.high[0, 1]


def test_a_constant_has_no_correlation():
    x = skewed(0, (50, 3))
    x[:, 1] = 0.1
    found = tails.correlation(x, 0.95)
    assert np.isnan(found.estimate[1]).all()
    assert np.isfinite(found.estimate[0, 2])
    assert np.isnan(found.low[0, 1])


def test_opposite_values_have_a_sure_correlation():
    x = np.random.default_rng(0).normal(size=(30, 1))
    found = tails.correlation(np.hstack([x, 1 - x]), 0.95)
    assert found.estimate[0, 1] == pytest.approx(-1)
    assert found.low[0, 1] == pytest.approx(-1)
    assert found.high[0, 1] == pytest.approx(-1)


def correlated(seed, n_games, heavy):
    """Two values with the correlation 0.5, and with heavy tails on request."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_games, 2)) @ np.array([[1.0, 0.5], [0.0, np.sqrt(0.75)]])
    return x / np.sqrt(rng.chisquare(6, (n_games, 1)) / 6) if heavy else x


@pytest.mark.parametrize(("heavy", "n_games"), [(False, 10), (False, 100), (True, 100)])
def test_correlation_intervals_hold_and_those_of_fisher_do_not(heavy, n_games):
    # 1,000 repetitions: the standard error of 0.95 is 0.007.
    held = np.zeros(2)
    for seed in range(1000):
        x = correlated(seed, n_games, heavy)
        found = tails.correlation(x, 0.95)
        z = np.arctanh(found.estimate[0, 1]) - np.arctanh(0.5)
        held += found.low[0, 1] <= 0.5 <= found.high[0, 1], abs(z) < 1.96 / np.sqrt(n_games - 3)
    assert held[0] / 1000 > 0.93 - 2 * 0.007
    assert (held[1] / 1000 < 0.93 - 3 * 0.007) == heavy


# The public face.


def valued(n_games=60, **options):
    providers = gaussian_providers((0.0, 1.0, 2.0), (1.0, 1.0, 1.0))
    return sb.value(
        providers, sb.AdditiveUtility(), sampling=sb.Fresh(4), n_games=n_games, seed=0, **options
    )


def test_a_distribution_is_a_table():
    found = valued().distribution(quantiles=(0.25, 0.5), tail=0.2)
    assert found.statistics == ("quantile 0.25", "quantile 0.5", "negative", "shortfall 0.2")
    frame = found.to_frame()
    assert frame.loc[("g2", "negative"), "estimate"] == 0.0
    assert frame.loc[("g0", "negative"), "low"] < 0.5 < frame.loc[("g0", "negative"), "high"]
    assert np.isnan(frame.loc[("g0", "quantile 0.5"), "standard_error"])
    assert str(found).startswith("values in 60 games\n")


def test_kept_games_are_told():
    valuation = valued(keep_games=10)
    assert "the first 10 games, which were kept, of 60" in str(valuation.distribution())
    found = valuation.correlation()
    assert (found.n_games, found.n_played) == (10, 60)
    assert "of 60" in str(found)
    assert found.to_frame().loc["g0", "g0"] == 1.0


@pytest.mark.parametrize("keep_games", [0, 3])
def test_too_few_kept_games_are_refused(keep_games):
    valuation = valued(keep_games=keep_games)
    for ask in (valuation.distribution, valuation.correlation):
        with pytest.raises(InvalidInput, match="raise keep_games"):
            ask()


def test_probabilities_are_checked():
    for wrong in ({"quantiles": (0.5, 1.0)}, {"tail": 0.0}, {"tail": "0.1"}):
        with pytest.raises(InvalidInput, match=f"{next(iter(wrong))} must"):
            valued().distribution(**wrong)
