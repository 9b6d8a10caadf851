"""The value of a provider that takes part at random, split by its own presence."""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray
from shapband.estimate.averaged import Averaged, own_presence
from shapband.estimate.moments import Moments
from shapband.estimate.presence import PresenceMoments


def participation_parts(moments: Moments, squared_error: FloatArray) -> dict[str, FloatArray]:
    """Rate, moments if present, and the variance by its causes: (n,) each, by name.

    Without a participation everybody is present in all games. Averages over who is present also
    have the parts of the law of total variance, given the draws of a game. `squared_error` is the
    squared error of the expectations.

    If presence is drawn for the rounds of a game, there are only two rates: a provider that is
    present in one game more often than in another has another value there, so moments "if present"
    would depend on how often.

    What the validation rows change in a game is 0 if the provider is absent. So their error of the
    value if present is their error of the expectation over the rate.
    """
    if moments.presence is not None and moments.presence.rounds is not None:
        return _parts_of_rounds(moments.presence, moments.presence.rounds, moments.n_games)
    if moments.averaged is not None:
        return _averaged_parts(moments, moments.averaged, squared_error)
    presence, pools, rows = moments.presence, moments.pools, moments.validation
    if presence is None or (presence.count == moments.n_games).all():
        rate = np.ones_like(moments.mean)
        mean, variance = moments.mean, moments.variance
        error = np.sqrt(squared_error)
        of_data = variance
    else:
        rate = presence.count / moments.n_games
        mean, square = presence.mean, presence.of_present
        of_data = rate * presence.variance
        with np.errstate(divide="ignore", invalid="ignore"):
            if pools is not None:
                square = square + pools.variance / rate**2
                of_data = of_data + pools.hidden / rate
            if rows is not None:
                # An absent provider is worth 0 without any fold, too.
                square = square + rows.variance / rate**2
            error, variance = np.sqrt(square), of_data / rate
        # Nothing is known of a provider's data before it is present; its variance is 0 until then.
        of_data = np.where(rate > 0, of_data, 0.0)
    return {
        "rate": rate,
        "expectation_present": mean,
        "standard_error_present": error,
        "variance_present": variance,
        "variance_participation": np.where(rate < 1, moments.variance - of_data, 0.0),
        "variance_data": of_data,
    }


def _parts_of_rounds(
    presence: PresenceMoments, rounds: FloatArray, n_games: int
) -> dict[str, FloatArray]:
    """Share of all rounds in which each provider was present, and of games with such a round."""
    share = rounds / (n_games * presence.rounds_per_game)
    return {"rate": share, "rate_in_games": presence.count / n_games}


def _averaged_parts(
    moments: Moments, averaged: Averaged, squared_error: FloatArray
) -> dict[str, FloatArray]:
    rate, own = averaged.rates, own_presence(averaged, moments)
    own = np.where(rate < 1, own, 0.0)
    of_data = moments.variance - own
    return {
        "rate": rate,
        "expectation_present": moments.mean / rate,
        "standard_error_present": np.sqrt(squared_error) / rate,
        "variance_present": of_data / rate,
        "variance_participation": own,
        "variance_data": of_data,
        "variance_within_draws": averaged.mean,
        "variance_between_draws": moments.variance - averaged.mean,
    }
