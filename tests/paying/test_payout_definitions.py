"""Payouts computed a second time from their definitions, with numpy and decimals alone."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats
from tests.paying.test_payouts import some_games, valuation_of

import shapband as sb

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
