"""The shape of a provider's values: constant, two-valued, or skewed.

Student's interval for the expectation assumes values that are not too far from normal. The sums
of `Moments` show when they are too far: a constant has no spread; a distribution on two points is
the only one whose kurtosis is 1 plus its squared skewness; and the sign of the skewness tells on
which side the interval is too short.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.estimate.moments import Moments

_ULPS = 8  # assumed rounding of an expectation, in units in the last place of the sum of values
_SAME = 1e-8  # values are two-valued if their kurtosis is 1 + skewness² to this relative error
_EQUAL = 1e-6  # squared deviations are all equal if the kurtosis is 1 to this error
_RARE = 0.1  # equal values count as constant if they exclude an event of this probability
# Values are too skewed if skewness / √games is above the first limit and the skewness above the
# second, which few samples of normal values reach by chance.
_VERY_SKEWED = 0.5
_SKEWED = 1.75


@dataclass(frozen=True, eq=False)
class TwoValues:
    """Values that are one of two numbers in every game.

    Attributes
    ----------
    found : (n,) whether a provider's values are of this kind; the rest holds for these only
    low, spread : (n,) the smaller number, and by how much the other is larger
    count : (n,) games with the larger number
    """

    found: BoolArray
    low: FloatArray
    spread: FloatArray
    count: FloatArray

    def probability(self, n_games: int, level: float) -> tuple[FloatArray, FloatArray]:
        """Clopper and Pearson's interval for the probability of the larger number."""
        from scipy.special import betaincinv

        tail = (1 - level) / 2
        k = np.where(self.found, self.count, 1.0)
        low = np.asarray(betaincinv(k, n_games - k + 1, tail), dtype=np.float64)
        high = np.asarray(betaincinv(k + 1, n_games - k, 1 - tail), dtype=np.float64)
        return low, high


@dataclass(frozen=True, eq=False)
class Shape:
    """The distribution of every provider's values, as far as the sums over games show it.

    Attributes
    ----------
    n_games : games played
    certain : whether all games are equal by design
    rounding : bound on the rounding error of an expectation
    deviation : (n,) standard deviation across games, solver noise included
    skewness : (n,) corrected for bias; 0 with few games
    two_values : the providers whose values take only two numbers
    never_changed : (n,) whether the value was the same in all games, up to rounding
    never_present : (n,) whether a provider took part in none of the games
    """

    n_games: int
    certain: bool
    rounding: float
    deviation: FloatArray
    skewness: FloatArray
    two_values: TwoValues
    never_changed: BoolArray
    never_present: BoolArray

    @staticmethod
    def of(moments: Moments) -> Shape:
        """Find the shape from the sums over games."""
        return Shape(
            n_games=moments.n_games,
            certain=moments.certain,
            rounding=rounding_error(moments),
            deviation=np.sqrt(moments.m2 / max(moments.n_games - 1, 1)),
            skewness=skewness_of(moments),
            two_values=two_values(moments),
            never_changed=never_changed(moments),
            never_present=_never_present(moments),
        )

    def maybe_constant(self, level: float) -> BoolArray:
        """Whether a value never changed, in too few games to call it constant: (n,).

        It makes no difference if no value of any provider changed: accuracies often stay the same
        in a few games. The value of a provider that was never present is not known at all. Games
        that are equal by design cannot change, so their values are constant.
        """
        few = self.n_games < games_to_be_constant(level) or self.never_present.any()
        return np.asarray(self.never_changed & (few and not self.certain))

    @property
    def very_skewed(self) -> BoolArray:
        """Whether the values are too skewed for an interval from this many games: (n,)."""
        limit = max(_SKEWED, _VERY_SKEWED * np.sqrt(self.n_games))
        skewed = np.abs(self.skewness) > limit
        return np.asarray(skewed & ~self.two_values.found & ~self.never_changed)


def rounding_error(moments: Moments) -> float:
    """Bound on the rounding error of an expectation.

    The values of a game are differences of coalition values, which are as large as the sum of
    all values. The largest error measured was 11 units in the last place of the largest value,
    with 15 providers.
    """
    return float(_ULPS * np.finfo(np.float64).eps * np.abs(moments.mean).sum())


def never_changed(moments: Moments) -> BoolArray:
    """Whether every provider's value was the same in all games, up to rounding: (n,)."""
    limit = moments.n_games * rounding_error(moments) ** 2
    return (moments.m2 <= limit) & (moments.n_games > 1 or moments.certain)


def games_to_be_constant(level: float) -> int:
    """Return how many equal values exclude an event of 10 %.

    They exclude it at half the error probability of the interval. The other half is left for games
    in which the event is seen.

    Examples
    --------
    >>> games_to_be_constant(0.95), games_to_be_constant(0.99)
    (36, 51)
    """
    return int(np.ceil(np.log((1 - level) / 2) / np.log1p(-_RARE)))


def _never_present(moments: Moments) -> BoolArray:
    """Whether a provider took part in none of the games: (n,)."""
    if moments.presence is None:
        return np.zeros(len(moments.mean), dtype=bool)
    return np.asarray(moments.presence.count == 0)


def skewness_of(moments: Moments) -> FloatArray:
    """Skewness of the values across games, corrected for bias; 0 with few games: (n,)."""
    n = moments.n_games
    if n < 3:
        return np.zeros_like(moments.mean)
    return np.asarray(_plain_skewness(moments) * np.sqrt(n * (n - 1)) / (n - 2))


def two_values(moments: Moments) -> TwoValues:
    """Find the providers whose values take only two numbers; this needs three games."""
    n = max(moments.n_games, 1)
    skew = _plain_skewness(moments)
    square = np.where(moments.m2 > 0, moments.m2, 1.0)
    kurtosis = n * moments.m4 / square**2
    share = (1 - skew / np.sqrt(skew**2 + 4)) / 2
    count = np.clip(np.rint(n * share), 1, max(n - 1, 1))
    found = np.abs(kurtosis - skew**2 - 1) <= _SAME * kurtosis
    found &= ~never_changed(moments) & (moments.m2 > 0) & (n > 2)
    if moments.presence is not None and moments.presence.of_mean is not None:
        found &= False  # the interval holds only for independent games with random presence
    spread = np.sqrt(moments.m2 / n / np.maximum(share * (1 - share), 1 / n**2))
    return TwoValues(found, moments.mean - share * spread, spread, count)


def _plain_skewness(moments: Moments) -> FloatArray:
    square = np.where(moments.m2 > 0, moments.m2, 1.0)
    return np.asarray(np.sqrt(moments.n_games) * moments.m3 / square**1.5)


def skewness_of_squares(moments: Moments) -> FloatArray:
    """Skewness over games of the squared deviations from the mean: (n,).

    It is 0 in older results, and where the sixth powers are out of range.
    """
    if moments.m6 is None:
        return np.zeros_like(moments.mean)
    n = moments.n_games
    square = np.where(moments.m2 > 0, moments.m2 / n, 1.0)
    fourth = moments.m4 / n / square / square
    sixth = moments.m6 / n / square / square / square
    spread = np.maximum(fourth - 1, 0.0)
    known = (moments.m2 > 0) & (spread > _EQUAL) & np.isfinite(sixth)
    third = np.where(known, sixth, 0.0) - 3 * fourth + 2
    return np.where(known, third / np.where(known, spread, 1.0) ** 1.5, 0.0)
