"""Policies: the weights that payments are proportional to, and the errors of the weights.

A policy turns the moments of the values into weights. No provider has to pay: a weight below zero
counts as zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import check_number
from shapband.errors import InvalidInput
from shapband.estimate.estimate import Estimate
from shapband.estimate.moments import MANY
from shapband.estimate.simulate import independent_errors, normal_errors
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
    errors : (draws, n) simulated errors of the weights; no rows if the errors are not known
    meaning : describes the weights; the end of a sentence
    """

    estimate: FloatArray
    errors: FloatArray
    meaning: str

    @property
    def paid(self) -> FloatArray:
        """(n,) the weights, with negative ones set to zero."""
        return np.maximum(self.estimate, 0.0)

    def share_errors(self) -> FloatArray:
        """(n,) standard deviation of the simulated shares; NaN if the errors are not known."""
        if not len(self.errors):
            return np.full_like(self.estimate, np.nan)
        simulated = np.maximum(self.estimate + self.errors, 0.0)
        total = simulated.sum(axis=1, keepdims=True)
        shares = simulated / np.where(total > 0, total, 1.0)
        return np.asarray(shares.std(axis=0))


def proportional_weights(valuation: Valuation) -> Weights:
    """The expectations."""
    errors = _expectation_errors(valuation.estimate)
    return Weights(valuation.expectation, errors, "proportional to the expected values")


def lower_bound_weights(valuation: Valuation, level: float) -> Weights:
    """The lower ends of the intervals of the expectations, 0 where there is none yet."""
    low = valuation.interval(level)[:, 0]
    estimate = np.where(np.isfinite(low), low, 0.0)
    meaning = f"proportional to the lower ends of the {100 * level:g} % intervals"
    return Weights(estimate, _expectation_errors(valuation.estimate), meaning)


def risk_weights(valuation: Valuation, risk_aversion: float) -> Weights:
    """Expectation minus `risk_aversion` times the covariance with the sum of all values.

    The covariances add up to the variance of the sum, so all deductions together equal the risk of
    the whole. A provider whose value moves against the others gets more instead of less.
    """
    aversion = check_number("payouts: risk_aversion", risk_aversion, least=0)
    check_single_games(valuation.estimate, "payouts: policy='risk'")
    games = valuation.games
    if games.shape[1] > MANY:
        raise InvalidInput(
            f"payouts: policy='risk' needs the covariances of all providers, which are computed "
            f"for up to {MANY}; there are {games.shape[1]:,}"
        )
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


def _expectation_errors(estimate: Estimate) -> FloatArray:
    """Simulated errors of the expectations, independent if there are more than 500 providers."""
    covariance = estimate.errors.covariance
    if covariance is None:
        return independent_errors(estimate.errors.total)
    return _simulated(covariance, estimate)


def _risk_errors(mean: FloatArray, risk: FloatArray, estimate: Estimate) -> FloatArray:
    """Errors of the weights, simulated from each game's part in expectations and risk: (draws, n).

    Pools make the errors of the expectations larger. For the risk, the error due to the choice of
    the pools is not included.
    """
    total, games = estimate.errors.total, estimate.raw_variance / estimate.n_games
    larger = np.sqrt(np.where(games > 0, total / np.where(games > 0, games, 1.0), 1.0))
    covariance = np.atleast_2d(np.cov(larger * mean - risk, rowvar=False)) / estimate.n_games
    return _simulated(covariance, estimate)


def _simulated(covariance: FloatArray, estimate: Estimate) -> FloatArray:
    played = estimate.n_games > 1 or estimate.is_certain
    known = played and bool(np.isfinite(covariance).all())
    return normal_errors(covariance) if known else np.empty((0, len(covariance)))
