"""Moments of games whose values are averages over who is present.

Let x be the expected value of a provider given the draws of a game, over who is present, and u its
variance given the draws. By the law of total variance

    Var(φ) = Var(x) + E[u],

where the first part is due to the draws and the second to who is present. The expectation if
present is E[x] / p, with p the probability of being present, because an absent provider is worth 0.
So the part of the variance that the provider's own presence causes, p (1 - p) E[φ | present]²,
equals (1 - p) / p E[x]².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shapband._typing import FloatArray

if TYPE_CHECKING:
    from shapband.estimate.moments import Moments


@dataclass(frozen=True, eq=False)
class Averaged:
    """Sums over games of the variance over who is present, for every provider.

    Attributes
    ----------
    rates : (n,) probability of being present
    mean : (n,) mean over games of the variance given the draws, u
    m2 : (n,) sum of (u - ū)**2
    cross_21 : (n,) sum of (x - x̄)**2 (u - ū), with x the value averaged over who is present
    """

    rates: FloatArray
    mean: FloatArray
    m2: FloatArray
    cross_21: FloatArray


def games_part(averaged: Averaged, n_games: int) -> FloatArray:
    """Variance of the error of `mean` over the choice of games: (n,)."""
    return np.asarray(averaged.m2 / max(n_games - 1, 1) / n_games)


def pools_part(averaged: Averaged, moments: Moments) -> FloatArray:
    """Variance of the error of `mean` over the choice of the pools: (n,).

    The pools are assumed to cause the same share of the variance of u across games as of the
    variance of x: in the additive game u is p (1 - p) / p² x², so the pools move both alike.
    """
    if moments.pools is None:
        return np.zeros_like(averaged.mean)
    spread, raw = averaged.m2 / max(moments.n_games - 1, 1), moments.raw_variance
    share = np.where(raw > 0, moments.pools.variance / np.where(raw > 0, raw, 1.0), 1.0)
    return np.asarray(share * spread)


def own_presence(averaged: Averaged, moments: Moments) -> FloatArray:
    """Part of the variance that the provider's own presence causes, (1 - p) / p E[x]²: (n,).

    The square of the mean overestimates E[x]² by the variance of the mean, which is subtracted.
    """
    square = moments.mean**2 - moments.raw_variance / moments.n_games
    if moments.pools is not None:
        square = square - moments.pools.hidden
    return np.asarray((1 - averaged.rates) / averaged.rates * square)
