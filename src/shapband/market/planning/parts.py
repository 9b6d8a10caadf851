"""How much of a variance is due to single records, and to sets of two and three records.

The value of a draw is a mean plus effects of its single records, of its pairs and of its triples
(Efron and Stein 1981, Annals of Statistics 9, 586-596). Let P_j be the variance of the effects of
sets of j records over draws from an endless population. A draw takes the fraction x of a pool, or n
of the stock. Of j records that are in one draw, those of another draw from the same pool have all
with the probability x^j, about. So

    variance of draws from one pool                Σ_j P_j (1 - x^j),
    variance between pools                         Σ_j P_j (x^j - n^j),
    covariance of two draws dealt from one shuffle  -Σ_j P_j x^j,
    influence of the pool's records                Σ_j j P_j x^(j - 1) (x - n),

because the infinitesimal jackknife counts a set of j records j times. Larger sets count as triples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shapband._typing import FloatArray
from shapband.estimate.estimate import Estimate
from shapband.estimate.pools import FREEDOM
from shapband.estimate.shuffles import factor_of

ORDERS = np.arange(1, 4)[:, None]  # sizes of the sets of records
_OWN = 7 / 8  # share of a provider's own pool in B: the mean of the prior of `estimate.pools`
_LEAST_FACTOR = 0.05  # dealing is never assumed to cancel more than all but this of a variance
_STEPS = 24  # of the grid of possible shares
# All shares of the three parts in steps of 1 / 24, with the same weight before anything is known.
_SHARES = np.array(
    [(i, j, _STEPS - i - j) for i in range(_STEPS + 1) for j in range(_STEPS + 1 - i)]
) / float(_STEPS)


class Shuffled(NamedTuple):
    """What the means of complete shuffles show.

    Attributes
    ----------
    size : games of a shuffle, k
    factor : the variance of a mean of k dealt games over the variance with independent games
    freedom : degrees of freedom of the factor
    raw : (n,) variance across games
    """

    size: int
    factor: float
    freedom: float
    raw: FloatArray


def shuffled(estimate: Estimate) -> Shuffled | None:
    """What shuffles show, or None if there are fewer than two or their games depend on others."""
    moments, raw = estimate.moments, estimate.raw_variance
    shuffles, presence = moments.shuffles, moments.presence
    dependent = presence is not None and presence.of_mean is not None
    if shuffles is None or shuffles.count < 2 or dependent or not raw.any():
        return None
    seen = shuffles.count - 1
    ratio = shuffles.square.sum() / seen / raw.sum()
    factor = float(factor_of(np.asarray(ratio), moments.n_games, shuffles.size))
    covariance = moments.products
    square = (raw**2).sum()
    if covariance is not None:
        square = (covariance**2).sum() / (moments.n_games - 1) ** 2
    # Satterthwaite's degrees of freedom of the sum of the variances of correlated values
    return Shuffled(shuffles.size, factor, float(seen * raw.sum() ** 2 / square), raw)


def likely_parts(
    within: FloatArray,
    influence: FloatArray,
    x: FloatArray,
    least: FloatArray,
    dealt: Shuffled | None,
) -> FloatArray:
    """The parts P_j that explain what one pool shows, as their mean over all that may be: (3, n).

    All providers have the same shares of the three parts, because a pilot shows single shares too
    badly. A pilot has one pool of few records, so the sum of the influences counts as a variance
    with `FREEDOM` degrees of freedom, and the means of shuffles count no more, however many there
    are.

    Parameters
    ----------
    within : (n,) variance of draws from one pool
    influence : (n,) variance between pools that the influence of the records gives
    x, least : (n,) fractions of the pool and of the stock in a draw
    dealt : what shuffles show, or None
    """
    alone = within / (1 - x**ORDERS)  # (3, n) each part if it explains all
    log = np.zeros(len(_SHARES))
    total = float(influence.sum())
    expected = _SHARES @ (alone * mixed(ORDERS * x ** (ORDERS - 1) * (x - least))).sum(axis=1)
    if total > 0 and (expected > 0).all():
        log -= np.log(total / expected) ** 2 * FREEDOM / 4  # a logarithm has variance 2 / FREEDOM
    if dealt is not None:
        cancelled = _SHARES @ (alone * x**ORDERS).sum(axis=1) / dealt.raw.sum()
        factor = np.maximum(1 - (dealt.size - 1) * cancelled, _LEAST_FACTOR)
        freedom = min(dealt.freedom, FREEDOM)
        log -= freedom / 2 * (np.log(factor) + dealt.factor / factor)
    weight = np.exp(log - log.max())
    shares = weight @ _SHARES / weight.sum()
    return np.asarray(shares[:, None] * alone)


def variance_of_draws(parts: FloatArray, least: FloatArray) -> FloatArray:
    """Variance of fresh draws of a fraction of the stock: (n,)."""
    return np.asarray((parts * (1 - least**ORDERS)).sum(axis=0))


def variance_of_dealt(parts: FloatArray, used: FloatArray, size: float) -> FloatArray:
    """Variance of the mean of a shuffle's games times their number, given the pools: (n,).

    Parameters
    ----------
    used : (n,) fraction of the pool in a draw
    size : games of the shuffle
    """
    return np.asarray((parts * (1 - size * used**ORDERS)).sum(axis=0))


def variance_between(parts: FloatArray, x: FloatArray, least: FloatArray) -> FloatArray:
    """Variance between pools of whose records a draw takes the fraction x: (n,)."""
    return np.asarray((parts * mixed(np.maximum(x**ORDERS - least**ORDERS, 0.0))).sum(axis=0))


def mixed(reach: FloatArray) -> FloatArray:
    """Weighted mean over the pools that move a provider's value: mostly its own pool."""
    n = reach.shape[-1]
    if n == 1:
        return reach
    others = (reach.sum(axis=-1, keepdims=True) - reach) / (n - 1)
    return np.asarray(_OWN * reach + (1 - _OWN) * others)
