"""Moments of the games in which a provider takes part, and errors if games depend on each other.

Let B be 1 if a provider is present in a game and 0 if not, x its value, which is 0 if it is absent,
p its probability of being present, and μ its expectation if present. Then x = B μ + z with
z = B (x - μ), whose expectation is 0 whether or not the provider is present. So

    Var(x) = p (1 - p) μ² + p Var(x | present),

where the first part is due to the provider's own participation; the second is due to the data and
to who else takes part.

If presence is a Markov chain, games depend on each other. The chains of the providers are known and
independent. So the autocorrelation of B is ρ^k at a distance of k games, with ρ the provider's
persistence, and B is uncorrelated with z. Hence the variance of the mean of G games is

    μ² Var(B̄) + (Var(z) + 2 γ / (1 - ρ')) / G,

with γ the covariance of z in two consecutive games and ρ' the largest persistence of the other
providers. The last term is exact if the others are equally persistent and their effects on x add
up. Otherwise it is too large, because the covariances at longer distances decay faster.
(`dependence` has the rule for negative persistence.)

If presence was recorded (`Trace`), B is not random: Var(B̄) = 0, and games are independent. Only
the data differ between games in which the same providers are present, so the error follows from the
variance within such games (`recorded`).
"""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import dataclass, replace

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.estimate.dependence import (
    correlation_of,
    long_run_variance,
    square_factor,
    variance_of_rate,
)
from shapband.estimate.recorded import RoundSums
from shapband.sampling.design import Design

_MANY = 500  # with more providers, correlations are not kept


@dataclass(frozen=True, eq=False)
class PresenceMoments:
    """Moments of each provider's value over the games in which it was present.

    Attributes
    ----------
    count : (n,) games in which the provider was present
    mean : (n,) mean of its values in these games, NaN if there are none
    raw_variance : (n,) variance of its values in these games, solver noise included
    noise : (n,) mean noise variance of the solver in these games
    of_present : (n,) variance of the error of `mean` over the choice of games
    of_mean : (n,) variance of the error of the expectation over the choice of games, or None if
        the games are independent
    freedom : (n,) degrees of freedom of `of_mean`, or None
    square : (n,) factor by which dependence raises the variance of the variance, or None
    correlation : (n, n) correlation of the errors of the expectations, or None if it equals the
        correlation of the values
    rounds : (n,) rounds, over all games, in which the provider was present; None if presence is
        drawn for games. With rounds, a provider is in a game if it is present in one of its rounds
    rounds_per_game : rounds in one game, 0 if presence is drawn for games
    """

    count: FloatArray
    mean: FloatArray
    raw_variance: FloatArray
    noise: FloatArray
    of_present: FloatArray
    of_mean: FloatArray | None = None
    freedom: FloatArray | None = None
    square: FloatArray | None = None
    correlation: FloatArray | None = None
    rounds: FloatArray | None = None
    rounds_per_game: int = 0

    @property
    def variance(self) -> FloatArray:
        """(n,) variance of the value if present, solver noise removed."""
        return self.raw_variance - self.noise


@dataclass(frozen=True, eq=False)
class Overall:
    """The moments of all games that `PresenceFold.moments` needs.

    Attributes
    ----------
    n_games : games played
    mean : (n,) mean over all games
    m2, m4 : (n,) sums of second and fourth powers of the deviations from it
    products : (n, n) sums of products of these deviations, or None with many providers
    """

    n_games: int
    mean: FloatArray
    m2: FloatArray
    m4: FloatArray
    products: FloatArray | None

    @property
    def of_mean(self) -> FloatArray:
        """(n,) variance of the mean of independent games."""
        return np.asarray(self.m2 / max(self.n_games - 1, 1) / self.n_games)

    @property
    def spread(self) -> FloatArray:
        """(n,) variance of the squared deviations."""
        return np.maximum(self.m4 / self.n_games - (self.m2 / self.n_games) ** 2, 0.0)


class PresenceFold:
    """Sums, for each provider, over the games in which it was present.

    Values are taken relative to a centre of their provider: the mean of its values in the first
    block of games in which it was present.
    """

    def __init__(self, design: Design) -> None:
        participation = design.participation
        assert participation is not None  # noqa: S101  for the type checker
        self._design = design
        names = design.names
        self._rates = participation.rates(names)
        self._persistence = participation.persistence(names)
        sometimes = bool((self._rates < 1).any())
        # Chains that go over the rounds of a game begin anew in every game.
        self._follows = sometimes and bool(self._persistence.any()) and design.rounds == 0
        self._fixed = sometimes and participation.recorded
        self._centre = np.full(len(names), np.nan)
        self._sums = _Sums(len(names), pairs=self._follows)
        self._rounds = RoundSums(len(names)) if self._fixed else None
        self._in_rounds = np.zeros(len(names)) if design.rounds else None
        self._last: tuple[FloatArray, FloatArray] | None = None  # presence and values, last game
        self._n_games = 0

    def add(self, values: FloatArray, noise: FloatArray) -> None:
        """Add the next games: values and noise, (n_games, n) each."""
        games = range(self._n_games, self._n_games + len(values))
        self._n_games = games.stop
        in_rounds = self._design.present_in_rounds(games)
        present = self._design.present(games)
        if in_rounds is not None:
            present = np.asarray(in_rounds.any(axis=1))
        if self._in_rounds is not None and in_rounds is not None:
            self._in_rounds = self._in_rounds + in_rounds.sum(axis=(0, 1))
        self._set_centres(values, present)
        b = present.astype(np.float64)
        x = np.where(present, values - np.where(present, self._centre, 0.0), 0.0)
        sums = self._sums
        sums.count += b.sum(axis=0)
        sums.first += x.sum(axis=0)
        sums.second += (x * x).sum(axis=0)
        sums.noise += np.where(present, noise, 0.0).sum(axis=0)
        if self._follows:
            self._add_pairs(b, x)
        if self._rounds is not None:
            self._rounds.add(present, x, in_rounds)

    def copy(self) -> PresenceFold:
        """Return a fold to which games can be added without changing this one."""
        twin = copy(self)
        twin._centre, twin._sums = self._centre.copy(), deepcopy(self._sums)
        twin._rounds = deepcopy(self._rounds)
        return twin

    def moments(self, overall: Overall) -> PresenceMoments:
        """Compute the moments from the sums."""
        count, centre = self._sums.count, np.nan_to_num(self._centre)
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = np.where(count > 0, self._sums.first / count, np.nan)
            m2 = np.maximum(self._sums.second - self._sums.first * shift, 0.0)
            raw = np.where(count > 1, m2 / (count - 1), np.nan)
            noise = np.where(count > 0, self._sums.noise / count, np.nan)
            found = PresenceMoments(
                count,
                centre + shift,
                raw,
                noise,
                raw / count,
                rounds=self._in_rounds,
                rounds_per_game=self._design.rounds,
            )
        if self._follows:
            return self._followed(found, shift, overall)
        if self._rounds is not None:
            return self._of_recorded(found, self._rounds, overall)
        return found

    def _set_centres(self, values: FloatArray, present: BoolArray) -> None:
        new = np.isnan(self._centre) & present.any(axis=0)
        if new.any():
            sums = np.where(present, values, 0.0).sum(axis=0)
            self._centre[new] = sums[new] / present.sum(axis=0)[new]

    def _add_pairs(self, b: FloatArray, x: FloatArray) -> None:
        """Add the pairs of consecutive games."""
        if self._last is not None:
            b, x = np.concatenate([self._last[0], b]), np.concatenate([self._last[1], x])
        self._last = b[-1:], x[-1:]
        before, after = slice(None, -1), slice(1, None)
        sums = self._sums
        sums.lag_x += (x[before] * x[after]).sum(axis=0)
        sums.lag_bx += (b[before] * x[after] + x[before] * b[after]).sum(axis=0)
        sums.lag_b += (b[before] * b[after]).sum(axis=0)
        if sums.lag_pairs is not None:
            whole = x + b * np.nan_to_num(self._centre)  # the values themselves
            sums.lag_pairs += whole[before].T @ whole[after]

    def _of_recorded(
        self, found: PresenceMoments, rounds: RoundSums, overall: Overall
    ) -> PresenceMoments:
        """Add the errors of the moments, if presence was recorded and so is not random."""
        within = rounds.within()
        known = (found.count > 1) & (within.freedom > 0)
        of_sum = np.where(known, within.of_sum, found.count * found.raw_variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            of_present = of_sum / found.count**2
        return replace(
            found,
            of_present=of_present,
            of_mean=np.where(found.count > 1, of_sum / self._n_games**2, overall.of_mean),
            freedom=np.maximum(np.where(known, within.freedom, found.count - 1), 1.0),
            correlation=None if within.products is None else correlation_of(within.products),
        )

    def _followed(
        self, found: PresenceMoments, shift: FloatArray, overall: Overall
    ) -> PresenceMoments:
        """Add the errors of the moments, if games depend on the games before them."""
        games, p, sums = self._n_games, self._rates, self._sums
        rate, single = found.count / games, p * (1 - p)
        of_rate = variance_of_rate(p, self._persistence, games)
        after = (sums.lag_x - shift * sums.lag_bx + shift**2 * sums.lag_b) / max(games - 1, 1)
        of_z = rate * found.raw_variance
        long_run = long_run_variance(of_z, after, self._persistence, games)
        slow = np.where(single > 0, games * of_rate / np.where(single > 0, single, 1.0), 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            of_present = long_run / games / rate**2
            raised = np.where(of_z > 0, long_run / of_z, 1.0)
        return replace(
            found,
            of_present=of_present,
            of_mean=np.where(
                found.count > 1,
                found.mean**2 * of_rate + long_run / games,
                overall.of_mean * slow,
            ),
            freedom=np.maximum(np.minimum(found.count, games / slow) - 1, 1.0),
            square=square_factor(_own_square(found, single, overall), slow, raised, overall.spread),
            correlation=self._lagged_correlation(overall),
        )

    def _lagged_correlation(self, overall: Overall) -> FloatArray | None:
        """Correlation of the providers' means, from products in the same and in consecutive games.

        As for one provider, covariances at longer distances are extrapolated from the covariance of
        consecutive games, here with the larger persistence of the two providers.
        """
        if self._sums.lag_pairs is None or overall.products is None:
            return None
        games, mean = overall.n_games, overall.mean
        steps = max(games - 1, 1)
        after = self._sums.lag_pairs / steps - np.outer(mean, mean)
        decay = np.maximum.outer(self._persistence, self._persistence)
        return correlation_of(overall.products / steps + (after + after.T) / (1 - decay))


def _own_square(found: PresenceMoments, single: FloatArray, overall: Overall) -> FloatArray:
    """Variance of the squared deviations that is due to the provider's own presence: (n,)."""
    if_present = found.raw_variance + (found.mean - overall.mean) ** 2
    return np.asarray(single * np.nan_to_num(if_present - overall.mean**2) ** 2)


class _Sums:
    """Sums over games for every provider: (n,) each.

    Below, x is the value minus its centre and b is 1 if the provider is present; both are 0 if it
    is absent.

    count, first, second, noise : sums of b, x, x² and of the solver's noise if present
    lag_x, lag_bx, lag_b : sums of products of consecutive games
    lag_pairs : (n, n) products of a value with a value in the next game, or None if not needed
    """

    def __init__(self, n: int, *, pairs: bool) -> None:
        self.count, self.first, self.second, self.noise = np.zeros((4, n))
        self.lag_x, self.lag_bx, self.lag_b = np.zeros((3, n))
        self.lag_pairs = np.zeros((n, n)) if pairs and n <= _MANY else None
