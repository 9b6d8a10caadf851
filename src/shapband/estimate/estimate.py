"""The estimate: both moments of every value, and the errors of their estimates by cause.

Intervals, statements about several providers, stopping rules, plans, reports and payouts are
made from an `Estimate`. How games depend on each other (shuffles, pools, who takes part) is known
where it is made, in this package, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shapband._typing import FloatArray
from shapband.errors import InvalidInput
from shapband.estimate.errors import Errors
from shapband.estimate.moments import Moments, moments_of_games
from shapband.estimate.participation import participation_parts
from shapband.estimate.shapes import Shape
from shapband.estimate.variance import kurtosis, variance_standard_error


@dataclass(frozen=True, eq=False)
class Estimate:
    """Expectation and variance of every provider's value, and their errors.

    Attributes
    ----------
    moments : sums over games, from which all else follows
    errors : the squared error of every expectation by cause, and its degrees of freedom
    shape : whether the values are constant, two-valued or skewed

    Examples
    --------
    >>> import shapband as sb
    >>> estimate = sb.Estimate.of([[2.5, 2.0, 4.5], [2.0, 3.5, 2.5]])
    >>> estimate.expectation.tolist(), estimate.variance.tolist()
    ([2.25, 2.75, 3.5], [0.125, 1.125, 2.0])
    """

    moments: Moments
    errors: Errors
    shape: Shape

    @staticmethod
    def of_moments(moments: Moments) -> Estimate:
        """Estimate from the sums over games."""
        return Estimate(moments, Errors.of(moments), Shape.of(moments))

    @staticmethod
    def of(
        games: ArrayLike, noise: ArrayLike | None = None, per_shuffle: int | None = None
    ) -> Estimate:
        """Estimate from independent games.

        Parameters
        ----------
        games : (n_games, n) values
        noise : (n_games, n) variances of the solver's noise, or None if it has none
        per_shuffle : consecutive games that share a shuffle of the pools, or None
        """
        x: FloatArray = np.asarray(games, dtype=np.float64)
        if x.ndim != 2 or len(x) == 0:
            raise InvalidInput(
                f"Estimate: games must have the shape (n_games, n); received {x.shape}"
            )
        w = np.zeros_like(x) if noise is None else np.asarray(noise, dtype=np.float64)
        return Estimate.of_moments(moments_of_games(x, w, per_shuffle))

    @property
    def n_games(self) -> int:
        """Number of games played."""
        return self.moments.n_games

    @property
    def expectation(self) -> FloatArray:
        """(n,) estimate of E[φ]."""
        return self.moments.mean

    @property
    def variance(self) -> FloatArray:
        """(n,) estimate of Var(φ), solver noise removed; a small variance may come out negative."""
        return self.moments.variance

    @property
    def raw_variance(self) -> FloatArray:
        """(n,) sample variance across games, solver noise included."""
        return self.moments.raw_variance

    @property
    def solver_variance(self) -> FloatArray:
        """(n,) mean noise variance of the solver."""
        return self.moments.noise

    @property
    def standard_error(self) -> FloatArray:
        """(n,) standard error of the expectation, all causes included."""
        return np.asarray(np.sqrt(self.errors.total))

    @property
    def variance_standard_error(self) -> FloatArray:
        """(n,) standard error of the variance, for these validation rows."""
        return variance_standard_error(self.moments)

    @property
    def kurtosis(self) -> FloatArray:
        """(n,) kurtosis of the values across games."""
        return kurtosis(self.moments)

    @property
    def pools_square(self) -> FloatArray:
        """(n,) relative variance of the variance over the choice of the pools; 0 without pools."""
        pools = self.moments.pools
        return np.zeros_like(self.expectation) if pools is None else pools.square

    @property
    def participation(self) -> Mapping[str, FloatArray]:
        """How often each provider took part, and both moments if present: (n,) each, by name."""
        return participation_parts(self.moments, self.errors.total)

    @property
    def takes_part_at_random(self) -> bool:
        """Whether the valuation had a participation."""
        return self.moments.presence is not None or self.moments.averaged is not None

    @property
    def shows_single_games(self) -> bool:
        """Whether values belong to single games, and are not averages over who is present."""
        return self.moments.averaged is None

    @property
    def is_certain(self) -> bool:
        """Whether all games are equal by design."""
        return self.moments.certain
