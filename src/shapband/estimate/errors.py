"""The error of every expectation by cause, and how the errors of several providers are correlated.

Some errors shrink as games are played: errors due to the spread of the values over games, and to
the solver's noise. Others last however many games are played, such as the error due to the choice
of the pools. A new lasting cause is one more entry of `lasting_causes`; intervals, differences,
ranks, shares, payouts, stopping rules, the printed result and the report take all causes from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shapband._typing import FloatArray
from shapband.estimate.moments import Moments
from shapband.estimate.pools import FREEDOM
from shapband.estimate.simulate import difference_variances

# Every cause, and its name in printed sentences.
CAUSES = {
    "games": "number of games",
    "solver": "solver",
    "pools": "pools",
    "validation": "validation rows",
}


class LastingCause(NamedTuple):
    """A cause of error that more games do not lower.

    Attributes
    ----------
    variance : (n,) variance of every expectation's error
    freedom : (n,) degrees of freedom of Student's quantile for it
    most_freedom : (n,) the same after any number of games
    effects : (k, n) independent effects, the sums of whose products are the covariances; None if
        the errors have the correlations of the values
    apart_freedom : (n,) degrees of freedom for differences between providers, if there are effects
    """

    variance: FloatArray
    freedom: FloatArray
    most_freedom: FloatArray
    effects: FloatArray | None = None
    apart_freedom: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Errors:
    """The variance of every expectation's error, split by cause; the parts add up.

    Attributes
    ----------
    by_cause : the part (n,) of each of `CAUSES`; NaN if the solver's noise is not known
    total : (n,) the square of the standard error; known even if the solver's noise is not
    shrinking : (n,) the parts of games and solver, which more games lower
    remaining : (n,) the part of all lasting causes, which any number of games would leave
    lasting : the causes that more games do not lower
    freedom : (n,) degrees of freedom of Student's quantile for the whole error
    drawn_freedom : (n,) the same without the error due to the validation rows
    looked_freedom : the same for an error of the games that is checked repeatedly
    correlation : (n, n) of the errors, or None if it was not kept
    dealt_correlation : (n, n) of the errors of games that were dealt from shuffles, where it is
        known to differ from `correlation`; else None
    """

    by_cause: Mapping[str, FloatArray]
    total: FloatArray
    shrinking: FloatArray
    remaining: FloatArray
    lasting: tuple[LastingCause, ...]
    freedom: FloatArray
    drawn_freedom: FloatArray
    looked_freedom: float
    correlation: FloatArray | None
    dealt_correlation: FloatArray | None

    @staticmethod
    def of(moments: Moments) -> Errors:
        """Split the error of the expectations by its causes."""
        lasting = lasting_causes(moments)
        whole = moments.games_variance if moments.pools is None else moments.pools.games
        solver = np.minimum(moments.noise / max(moments.n_games, 1), whole)
        parts = {cause: np.zeros_like(whole) for cause in CAUSES}
        parts |= {"games": whole - solver, "solver": solver}
        parts |= {cause: found.variance for cause, found in lasting.items()}
        remains = sum((found.variance for found in lasting.values()), np.zeros_like(whole))
        total = whole + remains
        return Errors(
            parts,
            total,
            total - remains,
            remains,
            tuple(lasting.values()),
            _freedom(moments, total),
            _drawn_freedom(moments),
            _looked_freedom(moments),
            _correlation(moments),
            _dealt_correlation(moments),
        )

    @property
    def covariance(self) -> FloatArray | None:
        """(n, n) covariance of the errors, or None if it was not kept.

        The errors due to pools are assumed to have the correlations of the values: a pool moves the
        values of two providers together as much as a single draw does. One game gives zeros.
        """
        if self.correlation is None:
            return None
        if np.isnan(self.total).all():
            return np.zeros_like(self.correlation)
        square, own = _outer_square(self.shrinking), np.zeros_like(self.correlation)
        if self.dealt_correlation is not None:
            own, square = self.dealt_correlation * square, np.zeros_like(square)
        for cause in self.lasting:
            if cause.effects is None:
                square = square + _outer_square(cause.variance)
            else:
                own = own + cause.effects.T @ cause.effects
        return np.asarray(self.correlation * square + own)

    def difference_freedom(self, variances: FloatArray) -> FloatArray:
        """Degrees of freedom of the error of the row's expectation minus the column's: (n, n).

        Errors that move both providers alike cancel in a difference, so what is left of a cause may
        be less certain than its errors of single expectations.

        Parameters
        ----------
        variances : (n, n) of the errors of the differences
        """
        parts: list[tuple[FloatArray, FloatArray]] = []
        for cause in self.lasting:
            if cause.effects is not None and cause.apart_freedom is not None:
                apart = difference_variances(cause.effects.T @ cause.effects)
                parts.append((apart, _smaller(cause.apart_freedom)))
        rest = np.maximum(variances - sum(part for part, _ in parts), 0.0)
        drawn = np.maximum(_smaller(self.drawn_freedom), 1.0)
        return np.where(variances > 0, welch_freedom(*parts, (rest, drawn)), drawn)


def _smaller(freedom: FloatArray) -> FloatArray:
    """The smaller number of every two providers: (n, n)."""
    return np.asarray(np.minimum.outer(freedom, freedom))


def welch_freedom(*parts: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Degrees of freedom of the sum of independent errors (Welch 1947, Biometrika 34, 28-35).

    Without any error they are infinite, because any number gives the same result.

    Parameters
    ----------
    parts : estimated variance and degrees of freedom, at least 1, of every error

    Examples
    --------
    >>> one = np.array([1.0])
    >>> welch_freedom((one, 9 * one), (one, 9 * one)).tolist()
    [18.0]
    """
    total = np.sum([variance for variance, _ in parts], axis=0)
    safe = np.where(total > 0, total, 1.0)
    # Shares, because the square of a tiny variance might underflow.
    below = np.sum([(part / safe) ** 2 / np.maximum(freedom, 1.0) for part, freedom in parts], 0)
    return np.asarray(np.where(below > 0, 1 / np.where(below > 0, below, 1.0), np.inf))


def _outer_square(variance: FloatArray) -> FloatArray:
    """Covariances of errors with these variances if all were perfectly correlated: (n, n)."""
    deviation = np.sqrt(variance)
    return np.asarray(np.outer(deviation, deviation))


def lasting_causes(moments: Moments) -> dict[str, LastingCause]:
    """The causes of these games that more games do not lower."""
    found = {}
    if moments.pools is not None:
        # With few games, the number of games limits the degrees of freedom; more games raise them
        # to FREEDOM, unless the sizes of the pools limit them further.
        freedom, few = moments.pools.freedom, moments.n_games - 1
        most = np.where(freedom < few, freedom, FREEDOM)
        found["pools"] = LastingCause(moments.pools.variance, freedom, most)
    if moments.validation is not None:
        rows = moments.validation
        found["validation"] = LastingCause(
            rows.variance, rows.freedom, rows.freedom, rows.effects, rows.apart_freedom
        )
    return found


def _correlation(moments: Moments) -> FloatArray | None:
    """Correlation of the values, unless games depend on each other or presence was recorded."""
    if moments.presence is not None and moments.presence.of_mean is not None:
        return moments.presence.correlation
    return moments.correlation


def _dealt_correlation(moments: Moments) -> FloatArray | None:
    """Correlation of the means of dealt games: a mean of the games' and the shuffles' correlations.

    What dealing cancels is not the same for all sums of values, so the means of shuffles are
    correlated differently than single games. Few shuffles show it with much noise.
    """
    shuffles, presence = moments.shuffles, moments.presence
    if shuffles is None or (presence is not None and presence.of_mean is not None):
        return None
    games, means = moments.correlation, shuffles.correlation
    if games is None or means is None:
        return None
    # A value whose mean is the same in all shuffles has no correlation, and keeps the games'.
    weight = np.sqrt(np.where(np.diag(means) > 0, shuffles.evidence, 0.0))
    kept = np.sqrt(1 - weight**2)
    return np.asarray(np.outer(kept, kept) * games + np.outer(weight, weight) * means)


def _freedom(moments: Moments, total: FloatArray) -> FloatArray:
    """Degrees of freedom of the whole error."""
    drawn, rows = _drawn_freedom(moments), moments.validation
    if rows is None:
        return drawn
    rest = np.maximum(total - rows.variance, 0.0)
    return np.where(total > 0, welch_freedom((rest, drawn), (rows.variance, rows.freedom)), drawn)


def _drawn_freedom(moments: Moments) -> FloatArray:
    if moments.pools is not None:
        return moments.pools.freedom
    if moments.presence is not None and moments.presence.freedom is not None:
        return moments.presence.freedom
    games = moments.n_games - 1
    return np.full_like(moments.mean, max(games, 1) if moments.certain else games)


def _looked_freedom(moments: Moments) -> float:
    freedom = float(moments.n_games - 1)
    if moments.presence is not None and moments.presence.freedom is not None:
        freedom = min(freedom, float(moments.presence.freedom.min()))
    return freedom
