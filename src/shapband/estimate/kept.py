"""The covariance of the errors of many providers, from the values of games that were kept.

The covariance of n errors has n² numbers, 800 MB for 10,000 providers. The deviations of K kept
games from their mean hold the same correlations in K n numbers: the correlation of two providers is
the product of their columns, scaled to length 1. So every number that follows from the covariance,
such as the error of one difference or the error of the total, is computed when it is needed.

If games were dealt from shuffles, the means of shuffles are correlated differently than games.
Their deviations are added as further columns, with the weight that `errors` gives to their
correlations.

If all games were kept, the covariance is the one that `Errors.covariance` has for few providers. If
only the first K of G games were kept, the error of a difference has two estimates: the spread of
the difference in the kept games, whose statistic has Student's distribution with K - 1 degrees of
freedom, and the correlation in the kept games with the errors from all games. The larger one is
used, because a value may change in later games only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.estimate.estimate import Estimate
from shapband.estimate.shuffles import Shuffles, shuffle_means

# If Var(a - b) is computed as less than this share of Var(a) + Var(b), it may be rounding alone,
# and is raised to it. So the error of a difference is at least 1e-6 times the errors of both.
_CANCELLED = 1e-12


@dataclass(frozen=True, eq=False)
class KeptErrors:
    """The errors of all expectations, as sums of shared and independent parts.

    Attributes
    ----------
    unit : (n, K) deviations in the kept games, scaled to length 1; 0 for a value that was constant.
        More columns hold the deviations of shuffles, if there are shuffles
    deviations : (estimates, causes, n) standard deviation of the error due to each cause. The first
        estimate is from all games; if some were not kept, the second one is from the kept games
    own : (n,) variance of errors that are not correlated with others
    effects : (k, n) independent effects on all errors, such as of folds of validation rows
    most_freedom : degrees of freedom that the kept games allow; infinite if all games were kept
    """

    unit: FloatArray
    deviations: FloatArray
    own: FloatArray
    effects: FloatArray
    most_freedom: float

    @property
    def variances(self) -> FloatArray:
        """(estimates, n) variance of the error of every expectation."""
        alone = self.own + (self.effects**2).sum(axis=0)
        return np.asarray((self.deviations**2).sum(axis=1) + alone)

    def difference_variances(self, rows: slice, columns: slice) -> FloatArray:
        """Variance of the difference of the row's and the column's error: (rows, columns)."""
        estimates = [
            (whole[rows, None] + whole[columns], by_cause[:, rows].T @ by_cause[:, columns])
            for by_cause, whole in zip(self.deviations, self.variances, strict=True)
        ]
        also = self.effects[:, rows].T @ self.effects[:, columns]
        return _largest_variance(self.unit[rows] @ self.unit[columns].T, also, estimates)

    def neighbour_variances(self) -> FloatArray:
        """Variance of the difference of every provider's error and the next one's: (n - 1,)."""
        estimates = [
            (whole[:-1] + whole[1:], (by_cause[:, :-1] * by_cause[:, 1:]).sum(axis=0))
            for by_cause, whole in zip(self.deviations, self.variances, strict=True)
        ]
        also = (self.effects[:, :-1] * self.effects[:, 1:]).sum(axis=0)
        correlation = np.einsum("ik,ik->i", self.unit[:-1], self.unit[1:])
        return _largest_variance(correlation, also, estimates)

    def totals(self) -> tuple[FloatArray, FloatArray]:
        """Covariances with the error of the total (estimates, n), and its variance (estimates,)."""
        sums = self.deviations @ self.unit  # (estimates, causes, K)
        effect = self.effects.sum(axis=1)
        with_total = (self.deviations * (sums @ self.unit.T)).sum(axis=1) + self.own
        of_total = (sums**2).sum(axis=(1, 2)) + self.own.sum() + effect @ effect
        return np.asarray(with_total + effect @ self.effects), np.asarray(of_total)

    def normal(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw normal errors of all providers, with the errors from all games: (count, n)."""
        errors = np.zeros((count, len(self.own)))
        for deviation in self.deviations[0]:
            errors += rng.standard_normal((count, self.unit.shape[1])) @ self.unit.T * deviation
        errors += rng.standard_normal((count, len(self.effects))) @ self.effects
        alone = np.flatnonzero(self.own)
        errors[:, alone] += rng.standard_normal((count, len(alone))) * np.sqrt(self.own[alone])
        return errors


def _largest_variance(
    correlation: FloatArray,
    also: FloatArray,
    estimates: Sequence[tuple[FloatArray, FloatArray]],
) -> FloatArray:
    """Largest of some estimates of Var(a - b).

    Each estimate has Var(a) + Var(b), and the covariance that a correlation of 1 would give; `also`
    is a further covariance.
    """
    largest = np.zeros_like(correlation)
    for both, shared in estimates:
        np.maximum(largest, both - 2 * (correlation * shared + also), out=largest)
        np.maximum(largest, _CANCELLED * both, out=largest)
    return largest


def kept_errors(
    estimate: Estimate, games: FloatArray | None, places: IntArray | slice = slice(None)
) -> KeptErrors | None:
    """Make the errors of the providers at some places from the values of kept games (K, n).

    The answer is None if the games do not show how the errors are correlated: there are too few of
    them, or they depend on each other, or presence was recorded.
    """
    errors, presence = estimate.errors, estimate.moments.presence
    total = errors.total[places]
    if not total.any():
        nothing = np.zeros((0, len(total)))
        return KeptErrors(nothing.T, np.zeros((1, 1, len(total))), total, nothing, np.inf)
    if games is None or (presence is not None and presence.of_mean is not None):
        return None
    kept_freedom = len(games) - 1
    if kept_freedom < 1:
        return None
    apart = games[:, places] - games[:, places].mean(axis=0)
    most_freedom = np.inf
    square = (apart**2).sum(axis=0)
    varies = square > 0
    correlated = [cause.variance[places] for cause in errors.lasting if cause.effects is None]
    parts = [errors.shrinking[places], *correlated]
    others = [cause.effects[:, places] for cause in errors.lasting if cause.effects is not None]
    effects = np.concatenate([np.zeros((0, len(total))), *others])
    deviations = np.sqrt(np.where(varies, np.stack(parts), 0.0))[None]
    if len(games) < estimate.n_games:
        most_freedom = float(kept_freedom)
        in_all = np.where(varies, estimate.raw_variance[places], 1.0)
        ratio = np.sqrt(square / kept_freedom / in_all)
        deviations = np.concatenate([deviations, deviations * ratio])
    return KeptErrors(
        unit=_with_shuffles(_unit(apart), games[:, places], estimate.moments.shuffles),
        deviations=deviations,
        own=np.where(varies, 0.0, total - (effects**2).sum(axis=0)),
        effects=effects,
        most_freedom=most_freedom,
    )


def _unit(apart: FloatArray) -> FloatArray:
    """Columns of deviations as rows of length 1; 0 for a value that was constant: (n, K)."""
    length = np.sqrt((apart**2).sum(axis=0))
    return np.ascontiguousarray((apart / np.where(length > 0, length, 1.0)).T)


def _with_shuffles(unit: FloatArray, games: FloatArray, shuffles: Shuffles | None) -> FloatArray:
    """Add the deviations of the means of shuffles, so that every row keeps its length."""
    if shuffles is None:
        return unit
    means = shuffle_means(games, shuffles.size)
    if len(means) < 2:
        return unit
    between = _unit(means - means.mean(axis=0))
    evidence = replace(shuffles, count=len(means)).evidence
    weight = np.where(between.any(axis=1), evidence, 0.0)[:, None]
    return np.concatenate([np.sqrt(1 - weight) * unit, np.sqrt(weight) * between], axis=1)
