"""Numbers of the report computed a second time from their definitions."""

from dataclasses import replace

import numpy as np
import pytest

import shapband as sb
from shapband.report.page import page_of
from tests.conftest import with_pools
from tests.report.made_up import made_up, valuation_of
from tests.report.reading import Page


def text_of(valuation):
    return Page(page_of(valuation)).text


def test_more_games_lower_the_error_of_games_and_leave_the_error_of_pools():
    """After k games: half² = multiple² (s_k² / k + pools)."""
    rng = np.random.default_rng(0)
    plain = valuation_of(3.0 + rng.normal(size=(400, 3)))
    pools = np.full(3, 0.04)
    valuation = replace(plain, moments=with_pools(plain.moments, pools, 9.0))
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
    causes = frame[["games", "solver", "pools"]]
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
