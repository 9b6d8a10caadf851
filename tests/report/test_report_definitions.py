"""Numbers of the report computed a second time from their definitions."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

import shapband as sb
from shapband.report.page import page_of
from shapband.sampling.shared import Shared
from shapband.valuation.text import valuation_table
from tests.conftest import redesigned, with_pools
from tests.report.made_up import made_up, valuation_of
from tests.report.reading import Page


def text_of(valuation):
    return Page(page_of(valuation)).text


def test_more_games_lower_the_error_of_games_and_leave_the_error_of_pools():
    """After k games: half² = multiple² (s_k² / k + pools)."""
    rng = np.random.default_rng(0)
    plain = valuation_of(3.0 + rng.normal(size=(400, 3)))
    pools = np.full(3, 0.04)
    valuation = replace(plain, estimate=with_pools(plain.estimate, pools, 9.0))
    frame = valuation.plot.frame("convergence")
    low, high = valuation.interval().T
    multiple = (high - low) / 2 / valuation.standard_error
    for place, name in enumerate(valuation.names):
        rows = frame[frame["provider"] == name]
        for k, half in zip(rows["games"], rows["half_width"], strict=True):
            spread = valuation.games[:k, place].var(ddof=1) / k
            expected = multiple[place] * np.sqrt(spread + pools[place])
            assert half == pytest.approx(expected, rel=1e-9), (name, k)
        # The control: a hundred times the games would leave a tenth if the pools' part shrank too.
        assert rows["half_width"].iloc[-1] > 0.3 * rows["half_width"].iloc[0]


def test_records_of_the_convergence_are_those_bought_for_so_many_games():
    fresh = made_up(4, 200)
    frame = fresh.plot.frame("convergence")
    assert (
        frame["records"].tolist() == np.rint(fresh.access.records * frame["games"] / 200).tolist()
    )


@pytest.mark.parametrize(
    ("means", "sentence"),
    [
        ([0.0, 5.0, 10.0, 15.0], "All ranks are certain"),
        ([0.0, 0.0, 0.0, 0.0], "No rank is certain"),
        ([0.0, 0.0, 10.0, 15.0], "2 of 4 ranks are certain"),
        ([0.0, 0.0, 0.0, 15.0], "1 of 4 ranks is certain"),
    ],
)
def test_certain_ranks_are_counted(means, sentence):
    rng = np.random.default_rng(1)
    values = np.array(means) + rng.normal(size=(200, 4))
    assert sentence in text_of(valuation_of(values))


def test_the_shares_of_causes_are_parts_of_the_squared_error(wine):
    valuation = sb.value(
        wine.providers, wine.utility, sampling=sb.Pooled(120, 40), n_games=60, seed=0,
        solver=sb.Permutation(4),
    )  # fmt: skip
    frame = valuation.plot.frame("variance_sources")
    causes = frame[["games", "solver", "pools", "validation"]]
    np.testing.assert_allclose(causes.sum(axis=1), 1.0)
    error = valuation.error.loc[frame.index]
    for cause in causes:
        np.testing.assert_allclose(
            frame[cause], (error[cause] / error["standard_error"]) ** 2, atol=1e-12
        )


def test_the_share_of_negative_games_and_quantiles_are_counted():
    rng = np.random.default_rng(2)
    values = np.array([0.1, 1.0]) + rng.normal(size=(500, 2))
    frame = valuation_of(values, names=("low", "high")).plot.frame("distribution")
    for place, name in enumerate(("low", "high")):
        column = np.sort(values[:, place])
        assert frame.loc[name, "negative"] == np.count_nonzero(column < 0) / 500
        assert frame.loc[name, "lowest"] == column[0]
        assert frame.loc[name, "highest"] == column[-1]
        assert frame.loc[name, "quantile_0.5"] == pytest.approx((column[249] + column[250]) / 2)


def percent(text):
    """The number of a cell such as "62 %"."""
    return float(text.split("\u00a0")[0].split(" ")[0])


def with_means(means, deviations, n_games=100, seed=3):
    """Games whose sample means and deviations are exactly these."""
    drawn = np.random.default_rng(seed).normal(size=(n_games, len(means)))
    drawn = (drawn - drawn.mean(axis=0)) / drawn.std(axis=0, ddof=1)
    return np.array(means) + drawn * deviations


def test_the_probability_to_be_above_the_next_is_students():
    """P(E[a] > E[b]) = T((ā - b̄) / s), with s the standard error of the paired difference."""
    games = with_means([1.0, 1.4, 1.2, 1.25], [1.0, 2.0, 1.5, 1.0])
    frame = valuation_of(games, names=tuple("abcd")).plot.frame("ranks")
    assert list(frame.index) == ["b", "d", "c", "a"]
    for upper, lower in pairwise([1, 3, 2, 0]):
        apart = games[:, upper] - games[:, lower]
        statistic = apart.mean() / (apart.std(ddof=1) / np.sqrt(len(apart)))
        expected = stats.t.cdf(statistic, len(apart) - 1)
        assert frame.loc["abcd"[upper], "above_next"] == pytest.approx(expected, abs=1e-6)
        assert expected > 0.5
    assert np.isnan(frame.loc["a", "above_next"])


def test_providers_that_may_be_the_largest_are_counted_without_the_two_that_are_named():
    """The largest estimate is exact, and each of ten others may well be larger."""
    games = with_means([1.0] + [0.9] * 10, [1e-3] + [10.0] * 10)
    valuation = valuation_of(games)
    chances = valuation.top(1).to_numpy()
    assert chances[0] < 0.05
    assert (chances[1:] > 0.05).all()
    assert "; 9 more are possible" in text_of(valuation)
    three = valuation_of(with_means([1.0, 0.99, 0.98, -50.0], [1.0] * 4))
    assert "; 1 more is possible" in text_of(three)
    two = valuation_of(with_means([1.0, 0.99, -50.0], [1.0] * 3))
    assert "possible" not in text_of(two)


def test_the_line_of_the_pools_is_the_half_width_that_endless_games_leave():
    """Median over providers of multiple · sqrt(pools), on the logarithmic axis of the chart."""
    rng = np.random.default_rng(0)
    plain = valuation_of(3.0 + rng.normal(size=(400, 3)))
    pools = np.array([0.04, 0.01, 0.0025])
    valuation = replace(plain, estimate=with_pools(plain.estimate, pools, 9.0))
    content = page_of(valuation)
    chart = content[content.index('id="convergence"') : content.index('id="errors"')]
    (drawn,) = re.findall(r'y1="([\d.]+)"[^>]* class="floor"', chart)
    ticks = re.findall(r' y="([\d.]+)"[^>]* class="tick left">([\d.]+)</text>', chart)
    at, widths = np.array(ticks, dtype=float).T
    slope, start = np.polyfit(at, np.log(widths), 1)
    low, high = valuation.interval().T
    expected = np.median((high - low) / 2 * np.sqrt(pools) / valuation.standard_error)
    assert np.exp(start + slope * float(drawn)) == pytest.approx(expected, rel=0.01)


def absent_at_times(sampling, **more):
    """Providers that take part at different rates, the least valuable first."""
    rng = np.random.default_rng(4)
    providers = [
        sb.Provider(name, sb.ArraySource(np.zeros((60, 1)), rng.normal(mean, deviation, 60)))
        for name, mean, deviation in [("a", 1.0, 4.0), ("b", 3.0, 0.5), ("c", 8.0, 12.0)]
    ]
    law = sb.Independent({"a": 0.9, "b": 0.5, "c": 0.7})
    return sb.value(
        providers, sb.AdditiveUtility(), sampling=sampling, n_games=200, seed=0,
        participation=law, **more,
    )  # fmt: skip


def test_the_table_shows_the_mean_of_the_games_in_which_a_provider_took_part():
    """An absent provider is worth 0; nobody who is present is worth exactly 0."""
    valuation = absent_at_times(sb.Fresh(5))
    header, rows = valuation_table(valuation)
    assert header[-3:] == ("takes part", "if present", "std. error")
    assert [row[0] for row in rows] == ["c", "b", "a"]
    for row, at in zip(rows, (2, 1, 0), strict=True):
        present = valuation.games[valuation.games[:, at] != 0, at]
        error = present.std(ddof=1) / np.sqrt(len(present))
        assert float(row[-3].split()[0]) == pytest.approx(len(present) / 2, abs=0.06)
        assert float(row[-2]) == pytest.approx(present.mean(), abs=0.06 * error)
        assert float(row[-1]) == pytest.approx(error, rel=0.06)
        # The control: the mean over all games differs by far more than its digits.
        assert abs(float(row[-2]) - valuation.games[:, at].mean()) > 0.06 * error


def test_the_part_of_the_own_presence_is_a_part_of_the_own_variance():
    """Law of total variance: of p m² (1 - p) + p s², the first part is due to presence."""
    valuation = absent_at_times(sb.Fresh(5))
    page = Page(page_of(valuation))
    caption = "Participation and values of those who take part"
    column = page.column(caption, "variance from own presence")
    assert list(column) == ["c", "b", "a"]
    for at, name in enumerate("abc"):
        values = valuation.games[:, at]
        present = values[values != 0]
        rate = len(present) / len(values)
        own = rate * (1 - rate) * present.mean() ** 2
        expected = 100 * own / (own + rate * present.var())
        # Estimates of both variances without bias differ from these by about 1 / 200.
        assert percent(column[name]) == pytest.approx(expected, abs=1.5)


def test_variances_are_split_into_own_presence_the_others_and_the_data():
    """The value of an additive game depends on the own presence and the own data alone."""
    valuation = absent_at_times(sb.Pooled(40, 5), solver=sb.Exact())
    assert valuation.setup["presence"].startswith("averaged over")
    (line,) = [line for line in str(valuation).splitlines() if line.startswith("variance:")]
    own, others, data = (float(one) for one in re.findall(r"(\d+) %", line))
    parts, whole = valuation.participation, valuation.variance.sum()
    expected_own = 100 * parts["variance_participation"].sum() / whole
    # Given the draws, the averaged value is p · mean, so the data have p² s² of the variance.
    rates, sizes = np.array([0.9, 0.5, 0.7]), valuation.games.std(axis=0, ddof=1)
    expected_data = 100 * (sizes**2).sum() / whole
    assert rates == pytest.approx(parts["rate"].to_numpy())
    assert own == pytest.approx(expected_own, abs=1.0)
    assert data == pytest.approx(expected_data, abs=1.0)
    assert own + others + data == 100
    assert abs(data - others) > 3  # so that they cannot be swapped unseen


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_pictures_show_the_intervals_of_the_level_asked_for(level):
    valuation = made_up(4, 100)
    low, high = valuation.interval(level).T
    axes = Figure().subplots()
    valuation.plot.convergence(axes, level=level)
    (widest,) = [line for line in axes.lines if line.get_label() == "widest"]
    assert widest.get_ydata()[-1] == pytest.approx(((high - low) / 2).max())
    assert f"{100 * level:g} %" in axes.get_ylabel()
    bars = valuation.plot.forest(Figure().subplots(), level=level).collections[0].get_segments()
    order = np.argsort(-valuation.expectation)
    np.testing.assert_allclose([bar[:, 0] for bar in bars], np.stack([low, high], axis=1)[order])


def test_the_table_of_access_has_the_sizes_of_draws_and_pools():
    valuation = redesigned(
        made_up(3), draw_sizes=np.array([11, 12, 13]), pool_sizes=np.array([101, 1002, 103])
    )
    page, caption = Page(page_of(valuation)), "Records, requests and seconds by provider"
    names = valuation.names
    assert [page.column(caption, "in a game")[name] for name in names] == ["11", "12", "13"]
    assert [page.column(caption, "in the pool")[name] for name in names] == ["101", "1,002", "103"]


def test_quantiles_have_two_digits_of_the_error_of_a_median():
    """The median of n normal values has the standard error 1.25 σ / √n."""
    for n_games, decimals in ((100, 2), (10_000, 3)):  # errors of 0.125 and 0.0125
        games = np.random.default_rng(0).normal(5.0, 1.0, (n_games, 2))
        page = Page(page_of(valuation_of(games, names=("a", "b"))))
        for part in (0.05, 0.5, 0.95):
            cell = page.column("Quantiles of the values in single games", f"{100 * part:g} %")["a"]
            assert cell == f"{np.quantile(games[:, 0], part):.{decimals}f}"


def test_pairs_with_equal_records_are_listed():
    pairs = (
        Shared("provider 0000", "provider 0002", 1_100, 1_200, ("column 0",), 0.0, 2.0),
        Shared("provider 0001", "provider 0001", 7, 90),
    )
    page = Page(page_of(redesigned(made_up(3), shared_records=pairs)))
    header, *rows = page.tables["Equal records"]
    assert header == ["provider", "with", "equal records", "of", "by chance at most", "compared"]
    assert rows == [
        ["provider 0002", "provider 0000", "1,100", "1,200", "2.0", "leaving out column 0"],
        ["provider 0001", "provider 0001", "7", "90", "", "as they are"],
    ]
