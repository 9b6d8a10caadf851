"""Payouts computed a second time from their definitions, with numpy and decimals alone."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.conftest import redesigned
from tests.market.paying.test_payouts import some_games, valuation_of

import shapband as sb
from shapband.market.paying.apportion import apportion

NAMES = ("a", "b", "c")
MEANS = [2.0, 3.0, 5.0]


def amounts_of(paid: sb.Payouts) -> np.ndarray:
    return np.array([float(one) for one in paid.amounts.values()])


def divided(amount: float, weights: np.ndarray) -> np.ndarray:
    """An amount in proportion to the weights, those below zero left out."""
    kept = np.maximum(weights, 0.0)
    return amount * kept / kept.sum()


@pytest.mark.parametrize("seed", range(5))
def test_proportional_payouts_follow_the_means_of_the_games(seed: int) -> None:
    games = some_games([-0.2, 1.0, 4.0], seed)
    paid = sb.payouts(valuation_of(games, NAMES), 10_000)
    assert amounts_of(paid) == pytest.approx(divided(10_000, games.mean(axis=0)), abs=0.011)


@pytest.mark.parametrize("aversion", [0.0, 0.1, 0.4])
def test_risk_payouts_follow_means_minus_covariances_with_the_total(aversion: float) -> None:
    games = some_games(MEANS) @ np.array([[1.0, 0.3, 0.0], [0.0, 1.0, -0.4], [0.0, 0.0, 1.0]])
    total = games.sum(axis=1)
    risk = np.array([np.cov(games[:, i], total)[0, 1] for i in range(3)])
    paid = sb.payouts(valuation_of(games, NAMES), 10_000, policy="risk", risk_aversion=aversion)
    expected = divided(10_000, games.mean(axis=0) - aversion * risk)
    assert amounts_of(paid) == pytest.approx(expected, abs=0.011)


@pytest.mark.parametrize("floor", [0, 500, "1234.56", 3333])
def test_floor_payouts_are_the_floor_and_a_part_of_the_rest(floor: int | str) -> None:
    games = some_games(MEANS)
    paid = sb.payouts(valuation_of(games, NAMES), 10_000, policy="floor", floor=floor)
    least = float(floor)
    expected = least + divided(10_000 - 3 * least, games.mean(axis=0))
    assert amounts_of(paid) == pytest.approx(expected, abs=0.011)


@pytest.mark.parametrize("level", [None, 0.5, 0.8, 0.99])
def test_lower_bound_payouts_follow_students_lower_ends_at_their_level(
    level: float | None,
) -> None:
    half = some_games(MEANS, n_games=30)
    # Mirrored, because intervals of skewed values are not symmetric.
    games = np.concatenate([half, 2 * np.array(MEANS) - half])
    extra = {} if level is None else {"level": level}
    paid = sb.payouts(valuation_of(games, NAMES), 10_000, policy="lower_bound", **extra)
    used = 0.95 if level is None else level
    quantile = stats.t.ppf((1 + used) / 2, 59)
    low = games.mean(axis=0) - quantile * games.std(axis=0, ddof=1) / np.sqrt(60)
    assert amounts_of(paid) == pytest.approx(divided(10_000, low), abs=0.011)
    assert f"{100 * used:g} % intervals" in paid.rule


def test_the_lower_bound_pays_nothing_where_no_interval_exists() -> None:
    """After two games a value that stayed the same has an interval without ends."""
    games = np.array([[4.0, 1.0, 5.0], [4.0, 1.1, 5.0]])
    valuation = valuation_of(games, NAMES)
    assert np.isinf(valuation.interval(0.5)[[0, 2], 0]).all()
    paid = sb.payouts(valuation, 100, policy="lower_bound", level=0.5)
    assert paid.amounts == {"a": Decimal("0.00"), "b": Decimal("100.00"), "c": Decimal("0.00")}


@pytest.mark.parametrize("floor", [100, 300])
def test_the_error_of_a_floor_payout_is_the_error_of_the_rest(floor: int) -> None:
    """What everybody gets is certain: only the rest is as uncertain as the shares."""
    valuation = valuation_of(some_games(MEANS), NAMES)
    plain = sb.payouts(valuation, 1000).standard_error
    paid = sb.payouts(valuation, 1000, policy="floor", floor=floor)
    assert paid.standard_error == pytest.approx(plain * (1000 - 3 * floor) / 1000)


def test_errors_of_shares_are_those_of_the_delta_method() -> None:
    """With small errors a share w_i / Σ w has the error of its linear approximation."""
    games = 100 * np.array(MEANS) + some_games([0.0, 0.0, 0.0], n_games=400)
    covariance = np.cov(games, rowvar=False) / 400
    mean = games.mean(axis=0)
    gradient = (np.eye(3) - (mean / mean.sum())[:, None]) / mean.sum()
    expected = 1000 * np.sqrt(np.diag(gradient @ covariance @ gradient.T))
    found = sb.payouts(valuation_of(games, NAMES), 1000).standard_error
    # Simulated from 4,000 or more draws, so known to about 1 %.
    assert found == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    ("decimals", "codes"),
    [
        (0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"),
        (2, "AUD BRL CAD CHF CNY CZK DKK EUR GBP HUF IDR INR MGA MRU MXN NOK PLN SEK TRY USD ZAR"),
        (3, "BHD IQD JOD KWD LYD OMR TND"),
        (4, "CLF UYW"),
    ],
)
def test_currencies_have_the_decimals_of_iso_4217(decimals: int, codes: str) -> None:
    """The minor units of ISO 4217, list one; others than these four numbers do not occur."""
    valuation = valuation_of(some_games(MEANS), NAMES)
    for code in codes.split():
        amount = sb.payouts(valuation, 100, currency=code).amounts["a"]
        assert -amount.as_tuple().exponent == decimals, code


def test_failed_coalitions_are_noted_below_the_amounts() -> None:
    plain = valuation_of(some_games(MEANS), NAMES)
    assert "could not be evaluated" not in str(sb.payouts(plain, 10))
    failed = replace(plain, failures=1234)
    assert "1,234 coalitions could not be evaluated" in str(sb.payouts(failed, 10))


def test_the_frame_of_payouts_has_the_interval_of_the_level_asked_for() -> None:
    valuation = valuation_of(some_games(MEANS), NAMES)
    frame = sb.payouts(valuation, 1000).to_frame(level=0.7)
    np.testing.assert_array_equal(frame[["low", "high"]].to_numpy(), valuation.interval(0.7))
    assert sum(frame["amount"]) == 1000


def test_shares_in_the_printed_table_are_parts_of_the_whole_amount() -> None:
    valuation = valuation_of(some_games([1.0, 1.0, 2.0]), NAMES)
    paid = sb.payouts(valuation, 1000, policy="floor", floor=200)
    printed = {line.split()[0]: line.split()[-2] for line in str(paid).splitlines()[3:6]}
    for name, amount in paid.amounts.items():
        assert float(printed[name]) == pytest.approx(100 * float(amount) / 1000, abs=0.006)


@pytest.mark.parametrize("units", [7, 100, 9_999, 1_234_567])
def test_units_left_over_go_to_the_largest_remainders(units: int) -> None:
    """Hamilton's method: whoever gets a unit more has no smaller remainder than the others."""
    rng = np.random.default_rng(units)
    for _ in range(20):
        weights = rng.integers(0, 1000, size=6)
        weights[0] = 0
        quotas = [Fraction(units * int(one), int(weights.sum())) for one in weights]
        given = apportion(units, weights.tolist(), list("abcdef"))
        more = [one - math.floor(quota) for one, quota in zip(given, quotas, strict=True)]
        remainders = np.array([float(quota - math.floor(quota)) for quota in quotas])
        assert set(more) <= {0, 1}
        assert given[0] == 0
        got, others = remainders[np.equal(more, 1)], remainders[np.equal(more, 0)]
        # Weights are compared to 1e-12 of the largest.
        assert got.min(initial=1.0) >= others.max(initial=0.0) - 1e-5


def test_large_amounts_are_divided_to_the_cent() -> None:
    """Ten million in cents: a quota from exact fractions is missed by less than a cent."""
    games = np.repeat([[1.0, 3.0, 7.0]], 20, axis=0)
    paid = sb.payouts(valuation_of(games, NAMES), 10_000_000)
    for weight, amount in zip((1, 3, 7), paid.amounts.values(), strict=True):
        quota = Fraction(10_000_000 * weight, 11)
        # 1e-12 of the amount is a thousandth of a cent.
        assert abs(Fraction(amount) - quota) < Fraction("0.01001")


def test_errors_of_risk_payouts_are_those_of_the_jackknife() -> None:
    """Values are skewed, so that the errors of means and of covariances depend on each other."""
    games = 3.0 + np.random.default_rng(5).exponential([1.0, 2.0, 3.0], size=(700, 3))

    def amounts(kept: np.ndarray, aversion: float) -> np.ndarray:
        total = kept.sum(axis=1)
        apart = kept - kept.mean(axis=0)
        risk = apart.T @ (total - total.mean()) / (len(kept) - 1)
        return divided(1000, kept.mean(axis=0) - aversion * risk)

    def jackknife(aversion: float) -> np.ndarray:
        without = [amounts(np.delete(games, g, axis=0), aversion) for g in range(len(games))]
        return np.sqrt(len(games) - 1) * np.std(without, axis=0)

    paid = sb.payouts(valuation_of(games, NAMES), 1000, policy="risk", risk_aversion=0.2)
    assert paid.standard_error == pytest.approx(jackknife(0.2), rel=0.1)
    # The control: risk that is paid for instead of charged has other errors.
    assert paid.standard_error != pytest.approx(jackknife(-0.2), rel=0.1)


def test_a_provider_far_below_zero_has_no_error_and_adds_none_to_the_others() -> None:
    paid = sb.payouts(valuation_of(some_games([-9.0, 4.0]), ("harmful", "good")), 1000)
    assert paid.standard_error.tolist() == [0.0, 0.0]


def test_the_error_of_a_payout_near_zero_is_that_of_a_value_cut_at_zero() -> None:
    """The positive part of a normal error has the variance s² (1/2 - 1/2π)."""
    games = np.array([0.0, 1000.0]) + some_games([0.0, 0.0], n_games=400) * [1.0, 1e-6]
    games[:, 0] -= games[:, 0].mean()
    error = games[:, 0].std(ddof=1) / np.sqrt(400)
    paid = sb.payouts(valuation_of(games, ("nothing", "all")), 10**6)
    expected = 10**6 * error / 1000 * np.sqrt(0.5 - 0.5 / np.pi)
    assert paid.standard_error == pytest.approx([expected, expected], rel=0.05)


def test_errors_of_more_than_500_payouts_are_those_of_independent_values() -> None:
    """Covariances of so many values are not kept; Var(share) by the delta method without them."""
    names = tuple(f"p{at}" for at in range(510))
    games = some_games([50.0 + at % 7 for at in range(510)], n_games=30)
    paid = sb.payouts(valuation_of(games, names), 1000)
    mean, variance = games.mean(axis=0), games.var(axis=0, ddof=1) / 30
    share = mean / mean.sum()
    square = ((1 - 2 * share) * variance + share**2 * variance.sum()) / mean.sum() ** 2
    # Each deviation from 4,000 draws is known to about 1 %.
    assert paid.standard_error == pytest.approx(1000 * np.sqrt(square), rel=0.06)


def test_a_statement_has_the_numbers_of_its_provider() -> None:
    games = some_games([30.0, 14.0, 21.0]) * [3.0, 1.0, 2.0]
    plain = valuation_of(games, NAMES)
    used = {name: sb.extend.Usage(at + 2, 100 * (at + 1), 0.0) for at, name in enumerate(NAMES)}
    sizes = np.array([11, 12, 13])
    asked = replace(plain, access=sb.AccessReport(used))
    paid = sb.payouts(redesigned(asked, draw_sizes=sizes), 1000)
    for at, name in enumerate(NAMES):
        lines = dict(re.findall(r"^(\w[\w ]+): +(.*)$", paid.statement(name), re.MULTILINE))
        low, high = plain.interval(0.95)[at]
        numbers = [float(one) for one in re.findall(r"[\d.]+", lines["expected value"])]
        rounding = 0.06 * (high - low) / 2  # two digits of the half width are shown
        expected = [games[:, at].mean(), 95, low, high]
        assert numbers == pytest.approx(expected, abs=rounding)
        spread = float(lines["spread"].split()[0])
        assert spread == pytest.approx(games[:, at].std(ddof=1), abs=rounding)
        amount, _, error = lines["payout"].partition(" EUR ± ")
        assert Decimal(amount) == paid.amounts[name]
        assert float(error.split()[0]) == pytest.approx(paid.standard_error[at], abs=0.006)
        assert lines["records"] == f"{100 * (at + 1)} in {at + 2} requests, {11 + at} in a game"
