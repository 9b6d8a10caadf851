"""Policies: the weights that payments are proportional to, and the errors of the weights.

A policy turns the moments of the values into weights. No provider has to pay: a weight below zero
counts as zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import check_number
from shapband.errors import InvalidInput
from shapband.estimate.estimate import Estimate
from shapband.estimate.kept import kept_errors
from shapband.estimate.moments import MANY
from shapband.estimate.simulate import normal_blocks, normal_errors
from shapband.valuation.spread import check_single_games
from shapband.valuation.valuation import Valuation

POLICIES = ("proportional", "risk", "floor", "lower_bound")
_LEAST_GAMES = 10  # a covariance is estimated from at least this many games


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights that payments are proportional to.

    Attributes
    ----------
    estimate : (n,) the weights; those below zero count as zero
    errors : returns simulated errors of the weights in blocks of (draws, n); no blocks if the
        errors are not known
    meaning : a phrase that describes the weights, for the end of a sentence
    """

    estimate: FloatArray
    errors: Callable[[], Iterator[FloatArray]]
    meaning: str

    @property
    def paid(self) -> FloatArray:
        """(n,) the weights, with negative ones set to zero."""
        return np.maximum(self.estimate, 0.0)

    def share_errors(self) -> FloatArray:
        """(n,) standard deviation of the simulated shares; NaN if the errors are not known."""
        count, mean, square = 0, np.zeros_like(self.estimate), np.zeros_like(self.estimate)
        for errors in self.errors():
            simulated = np.maximum(self.estimate + errors, 0.0)
            total = simulated.sum(axis=1, keepdims=True)
            shares = simulated / np.where(total > 0, total, 1.0)
            center = shares.mean(axis=0)
            apart, count = center - mean, count + len(shares)
            # Squares about the common mean (Chan, Golub and LeVeque 1983).
            square += ((shares - center) ** 2).sum(axis=0)
            square += apart**2 * (len(shares) * (count - len(shares)) / count)
            mean += apart * (len(shares) / count)
        return np.sqrt(square / count) if count else np.full_like(self.estimate, np.nan)


def proportional_weights(valuation: Valuation) -> Weights:
    """The expectations."""
    errors = _expectation_errors(valuation)
    return Weights(valuation.expectation, errors, "proportional to the expected values")


def lower_bound_weights(valuation: Valuation, level: float) -> Weights:
    """The lower ends of the intervals of the expectations, 0 where there is none yet."""
    low = valuation.interval(level)[:, 0]
    estimate = np.where(np.isfinite(low), low, 0.0)
    meaning = f"proportional to the lower ends of the {100 * level:g} % intervals"
    return Weights(estimate, _expectation_errors(valuation), meaning)


def risk_weights(valuation: Valuation, risk_aversion: float) -> Weights:
    """Expectation minus `risk_aversion` times the covariance with the sum of all values.

    The covariances add up to the variance of the sum, so all deductions together equal the risk of
    the whole. A provider whose value moves against the others gets more instead of less.
    """
    aversion = check_number("payouts: risk_aversion", risk_aversion, least=0)
    check_single_games(valuation.estimate, "payouts: policy='risk'")
    games = valuation.games
    if len(games) < _LEAST_GAMES:
        raise InvalidInput(
            f"payouts: policy='risk' needs the values of at least {_LEAST_GAMES} games; this "
            f"valuation keeps {len(games)}: finish the run, play more games, or raise keep_games"
        )
    apart = games - games.mean(axis=0)
    with_total = apart * apart.sum(axis=1, keepdims=True)
    covariance = with_total.sum(axis=0) / (len(games) - 1)
    estimate = valuation.expectation - aversion * covariance
    errors = _risk_errors(apart, aversion * (with_total - covariance), valuation.estimate)
    meaning = (
        f"proportional to the expected values minus {aversion:g} × their covariance with the sum "
        "of all values"
    )
    return Weights(estimate, errors, meaning)


def _expectation_errors(valuation: Valuation) -> Callable[[], Iterator[FloatArray]]:
    """Simulated errors of the expectations.

    With more than 500 providers they follow from the values of kept games; if these do not show
    how the errors are correlated, the errors are drawn as independent.
    """
    estimate = valuation.estimate
    covariance, total = estimate.errors.covariance, estimate.errors.total
    if covariance is not None:
        return _simulated(covariance, estimate)
    kept = kept_errors(estimate, valuation.games)

    def normal(count: int, rng: np.random.Generator) -> FloatArray:
        if kept is not None:
            return kept.normal(count, rng)
        return rng.standard_normal((count, len(total))) * np.sqrt(total)

    return lambda: normal_blocks(normal, len(total)) if _known(total, estimate) else iter(())


def _risk_errors(
    mean: FloatArray, risk: FloatArray, estimate: Estimate
) -> Callable[[], Iterator[FloatArray]]:
    """Errors of the weights, simulated from each game's part in expectations and risk.

    Pools make the errors of the expectations larger. For the risk, the error due to the choice of
    the pools is not included.
    """
    total, games = estimate.errors.total, estimate.raw_variance / estimate.n_games
    larger = np.sqrt(np.where(games > 0, total / np.where(games > 0, games, 1.0), 1.0))
    parts = larger * mean - risk
    if parts.shape[1] <= MANY:
        covariance = np.atleast_2d(np.cov(parts, rowvar=False)) / estimate.n_games
        return _simulated(covariance, estimate)
    factor = (parts - parts.mean(axis=0)) / np.sqrt((len(parts) - 1) * estimate.n_games)

    def normal(count: int, rng: np.random.Generator) -> FloatArray:
        return np.asarray(rng.standard_normal((count, len(factor))) @ factor)

    return lambda: normal_blocks(normal, len(total)) if _known(total, estimate) else iter(())


def _simulated(covariance: FloatArray, estimate: Estimate) -> Callable[[], Iterator[FloatArray]]:
    return lambda: iter([normal_errors(covariance)] if _known(covariance, estimate) else [])


def _known(variances: FloatArray, estimate: Estimate) -> bool:
    """Whether errors with these variances can be drawn."""
    played = estimate.n_games > 1 or estimate.is_certain
    return played and bool(np.isfinite(variances).all())
