"""The error of every expectation that is due to the choice of the validation rows.

With φ₋ₖ the expectation without fold k of K folds of the rows, and φ̄ the mean of all φ₋ₖ, the
jackknife estimates the variance over the choice of the rows by

    (K − 1) / K · Σₖ (φ₋ₖ − φ̄)²

with K − 1 degrees of freedom (Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapter
11; folds of several rows as in Kott 2001, Journal of Official Statistics 17, 521-526). The φ₋ₖ are
means over the first G games only. The effect of a fold differs from game to game, and from pool to
pool, which raises the sum by the variance of such means over games and pools. That much is
subtracted, because the errors due to games and pools include it. If the part κ of the sum is
kept, the difference has about (K − 1) κ² degrees of freedom (Satterthwaite 1946, Biometrics
Bulletin 2, 110-114, without the small error of what is subtracted).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.codec import lock_arrays

# At least this part of the sum is kept, because the part that is subtracted is uncertain.
_LEAST_KEPT = 0.25
# The part that is kept is uncertain, too, and with fewer degrees of freedom intervals would be many
# times longer. With 3, intervals of naive Bayes, of which 0.66 to 0.82 is kept, hold in 94.8 % of
# cases instead of 91.6 %; chosen on other seeds than those of docs/coverage.md.
_LEAST_FREEDOM = 3.0
_LEAST_FOLDS = 6  # the kurtosis of fewer effects has a small upper bound and says little


def effective_freedom(effects: FloatArray) -> float:
    """Degrees of freedom of the sum of the squares of some effects of K folds: (K, n).

    They are K - 1 for normal effects, and fewer if a few rows decide:

        2 K / (κ - (K - 3) / (K - 1))

    with the kurtosis κ, from the variance of a sample variance. The kurtosis of few effects is
    uncertain, so its mean over all providers is used; the factor (K + 1) / (K - 1) removes its bias
    for normal effects.

    Examples
    --------
    >>> equal, one_decides = np.array([1.0, -1.0] * 5), np.array([9.0] + [-1.0] * 9)
    >>> effective_freedom(equal[:, None]), round(effective_freedom(one_decides[:, None]), 1)
    (9.0, 2.2)
    """
    n_folds = len(effects)
    square = (effects**2).mean(axis=0)
    known = square > 0
    if n_folds < _LEAST_FOLDS or not known.any():
        return n_folds - 1.0
    kurtosis = float(((effects[:, known] ** 4).mean(axis=0) / square[known] ** 2).mean())
    kurtosis *= (n_folds + 1) / (n_folds - 1)
    beyond = kurtosis - (n_folds - 3) / (n_folds - 1)
    return float(np.clip(2 * n_folds / beyond, 1.0, n_folds - 1.0)) if beyond > 0 else n_folds - 1.0


def _without_noise(
    apart: FloatArray, between: FloatArray | float, present: BoolArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Means over games (n_folds, n) of effects, shrunk by the variance of such means.

    The second answer is the part (n,) of the sum of their squares that is kept.

    Parameters
    ----------
    apart : (n_games, n_folds, n) effects of the folds, as differences from their mean over folds
    between : variance of a mean over the choice of the pools, relative to the variance over games;
        the effects are assumed to depend on the pools as much as the values do
    present : (n_games, n) the games over which means are taken, at least one of each column; None
        takes all
    """
    mean, noise = _mean_and_noise(apart, between, present)
    square = (mean**2).sum(axis=0)
    kept = np.clip(1.0 - noise / _positive(square), _LEAST_KEPT, 1.0)
    return np.asarray(mean * np.sqrt(kept)), kept


def _mean_and_noise(
    apart: FloatArray, between: FloatArray | float, present: BoolArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Means over games (n_folds, n), and the part (n,) of the sum of their squares due to games."""
    if present is None:
        present = np.ones((len(apart), apart.shape[2]), dtype=bool)
    games, counted = present.sum(axis=0), present[:, None, :]
    mean = apart.sum(axis=0, where=counted) / games
    square = ((apart - mean) ** 2).sum(axis=(0, 1), where=counted)
    return mean, np.asarray(square / np.maximum(games - 1, 1) * (1 / games + between))


def _positive(square: FloatArray) -> FloatArray:
    return np.where(square > 0, square, 1.0)


def as_often_present(folds: FloatArray, present: BoolArray, rates: FloatArray) -> FloatArray:
    """Effects whose mean over some games is as if everybody took part in them as often as in all.

    Parameters
    ----------
    folds : (n_games, n_folds, n) effects, 0 for absent providers
    present : (n_games, n) who took part in these games
    rates : (n,) share of all games in which a provider took part
    """
    seen = present.mean(axis=0)
    often = np.where(rates > 0, np.nan, 0.0)  # a provider of none of these games is not known
    np.divide(rates, seen, out=often, where=seen > 0)
    return np.asarray(folds * often)


@dataclass(frozen=True, eq=False)
class ValidationErrors:
    """The errors due to the choice of the validation rows.

    Attributes
    ----------
    effects : (n_folds, n) effects of the folds, in a scale in which the sum of their squares is the
        variance, and the sum of products the covariance, of the expectations' errors
    kept : (n,) part of each sum of squares that is left after the variance of the effects over
        games is subtracted; None in results of older versions, which did not keep it
    kept_apart : (n,) the same for the effects minus their mean over providers, which is what
        differences between providers have; None in results of older versions
    games : (n_games, n_folds, n) effects of the folds in single games, from which a comparison with
        another valuation finds the noise of both; None in results of older versions, and for
        groups, pairs and rounds, which are not compared
    """

    effects: FloatArray
    kept: FloatArray | None = None
    kept_apart: FloatArray | None = None
    games: FloatArray | None = None

    def __post_init__(self) -> None:
        lock_arrays(self)

    @staticmethod
    def of(folds: FloatArray, between: FloatArray | float = 0.0) -> ValidationErrors | None:
        """Estimate from the effects of folds in some games (n_games, n_folds, n).

        The answer is None if an effect is not known. `between` (n,) is the variance of an
        expectation over the choice of the pools, relative to the variance across games.
        """
        if len(folds) == 0 or np.isnan(folds).any():
            return None
        n_folds = folds.shape[1]
        apart = folds - folds.mean(axis=1, keepdims=True)
        raw = (apart.mean(axis=0) ** 2).sum(axis=0)
        # Rows that are hard move all providers together. Noise is subtracted from this common part
        # and from the rest one by one, because differences between providers have only the rest.
        common = apart.mean(axis=2, keepdims=True)
        together, _ = _without_noise(common, float(np.mean(between)))
        single, kept_apart = _without_noise(apart - common, between)
        effects = together + single
        left = (effects**2).sum(axis=0) / np.where(raw > 0, raw, 1.0)
        kept = np.where(raw > 0, np.clip(left, _LEAST_KEPT, 1.0), 1.0)
        return ValidationErrors(effects * np.sqrt((n_folds - 1) / n_folds), kept, kept_apart)

    @staticmethod
    def of_present(
        folds: FloatArray,
        present: BoolArray,
        rates: FloatArray,
        between: FloatArray | float = 0.0,
    ) -> ValidationErrors | None:
        """Estimate from games in which not everybody took part.

        A provider's value is 0 in the other games, so the effect of a fold on its expectation is
        the mean effect in the games of the provider times their share of all games.

        Parameters
        ----------
        folds, between : as in `of`; effects are 0 for absent providers
        present : (n_games, n) who took part in the games of the effects
        rates : (n,) share of all games in which a provider took part; the answer is None if it took
            part in some games, but in none with effects
        """
        seen = present.any(axis=0)
        if (rates[~seen] > 0).any() or len(folds) == 0 or np.isnan(folds).any():
            return None
        # Providers take part in different games, so they have no common part that is known better.
        apart = folds - folds.mean(axis=1, keepdims=True)
        effects, kept = _without_noise(apart, between, present | ~seen)
        n_folds = folds.shape[1]
        return ValidationErrors(effects * rates * np.sqrt((n_folds - 1) / n_folds), kept)

    def chosen(self, places: list[int]) -> ValidationErrors:
        """Return the errors of the providers at these places."""
        effects, games = self.effects[:, places], self.games
        kept, apart = (None if one is None else one[places] for one in (self.kept, self.kept_apart))
        return ValidationErrors(
            effects, kept, apart, None if games is None else games[:, :, places]
        )

    @property
    def variance(self) -> FloatArray:
        """(n,) variance of every expectation's error."""
        return np.asarray((self.effects**2).sum(axis=0))

    @property
    def freedom(self) -> FloatArray:
        """(n,) degrees of freedom of the variances."""
        return self._freedom(self.kept)

    @property
    def apart_freedom(self) -> FloatArray:
        """(n,) degrees of freedom of the variances of differences from other providers."""
        return self.freedom if self.kept_apart is None else self._freedom(self.kept_apart)

    def _freedom(self, kept: FloatArray | None) -> FloatArray:
        n_folds, n = self.effects.shape
        most = np.full(n, n_folds - 1.0)
        if kept is None:
            return most
        return np.asarray(np.minimum(most, np.maximum(most * kept**2, _LEAST_FREEDOM)))


def errors_apart(
    first: FloatArray,
    second: FloatArray,
    between: tuple[FloatArray, FloatArray],
    *,
    paired: bool,
) -> ValidationErrors:
    """Estimate the errors of the second expectations minus the first from the effects of folds.

    The effects of the same rows cancel, but their noise does not, because it is due to the games.
    So the noise of both is subtracted from the sum of squares of the differences. At least as much
    is kept of each difference as of all together, because one sum is less certain than all, and at
    least a quarter, because effects that differ by as much as the noise cannot be told from equal
    ones: with less kept, intervals of 2,000 games held in 84 to 92 % of cases instead of 97 % if
    one provider had other records, and 86 to 89 instead of 92 % if all had.

    Parameters
    ----------
    first, second : (n_games, n_folds, n) effects of the same number of folds
    between : variances of both expectations over the choice of the pools, as in
        `ValidationErrors.of`
    paired : whether games with the same number have the same draws, so that their noise cancels
    """
    pair = [one - one.mean(axis=1, keepdims=True) for one in (first, second)]
    if paired:
        shared = min(len(first), len(second))
        apart = pair[1][:shared] - pair[0][:shared]
        mean, noise = _mean_and_noise(apart, np.maximum(*between))
    else:
        found = [_mean_and_noise(*one) for one in zip(pair, between, strict=True)]
        mean, noise = found[1][0] - found[0][0], found[0][1] + found[1][1]
    square = (mean**2).sum(axis=0)
    together = 1.0 - noise.sum() / _positive(square.sum())
    single = 1.0 - noise / _positive(square)
    kept = np.clip(np.maximum(single, together), _LEAST_KEPT, 1.0)
    n_folds = mean.shape[0]
    return ValidationErrors(mean * np.sqrt(kept * (n_folds - 1) / n_folds), kept)


def joined_rows(one: ValidationErrors, other: ValidationErrors) -> ValidationErrors:
    """The errors of some values and of others, due to the same validation rows."""
    effects = np.concatenate([one.effects, other.effects], axis=1)
    return ValidationErrors(
        effects, _joined(one.kept, other.kept), _joined(one.kept_apart, other.kept_apart)
    )


def _joined(one: FloatArray | None, other: FloatArray | None) -> FloatArray | None:
    return None if one is None or other is None else np.concatenate([one, other])
