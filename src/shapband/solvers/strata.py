"""Coalitions stratified by size, with three surrogates: learning curves, drift and overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband import kernels
from shapband._typing import BoolArray, FloatArray, IntArray, MemberArray
from shapband.checks import check_whole
from shapband.errors import InvalidInput
from shapband.games import Games
from shapband.solvers.base import Solution, Solver
from shapband.solvers.blend import FOLDS_APART, shares
from shapband.solvers.drift import Drift
from shapband.solvers.exact import MAX_PROVIDERS, Exact
from shapband.solvers.overlap import (
    FEWEST_PROVIDERS,
    MOST_EVALUATIONS,
    MOST_PROVIDERS,
    Correction,
    Explained,
    Overlap,
)
from shapband.solvers.sizes import Sample, Sizes

# Numbers of folds, which are left out of the fits in turn. With few evaluations (a pilot of two
# pairs per size) more folds are used, because a curve fitted to half of the coalitions may differ
# much from a curve fitted to most of them.
_FOLDS, _FOLDS_OF_FEW, _FOLDS_OF_PILOT = 4, 8, 2
_UNIQUE = 1e-6  # ridge of the pilot's fit, relative to 1 / range², which makes the fit unique
# Smallest spread of a size in the fit, relative to the range of the values. A pilot of 4 to 16
# equal values does not show that all coalitions of a size are worth the same. Without this bound
# such a size would weigh 1e18 times as much as the others, and slopes that fit it alone would be
# noise in all other sizes. With 0.01 it weighs at most 2,500 times as much as a size whose values
# are spread over the whole range. With 0.1 errors in voting games with 20 evaluations per provider
# were up to 18 % larger.
_LEAST_SPREAD = 0.01
_ROUNDING = 1e-14  # share of the variance of the values that rounding alone leaves
# Accuracy of the surrogate's fits: of the pilot's fit in variances of a value, of later fits in
# variances of a residual.
_PILOT_TOLERANCE, _TOLERANCE = 1e-8, 1e-5
_TRIAL_TOLERANCE = 1e-3  # the same for a fit that is only compared with the other surrogate
_MOSTLY = 0.99  # a size is treated as infinite if more than this share of it is unseen


@dataclass(frozen=True)
class Strata(Solver):
    """At most `n_evaluations` coalitions per game, sampled size by size.

    A value is a sum over the sizes s of mean differences between coalitions with and without the
    provider. All coalitions of one provider and of all but one are evaluated. The others are
    sampled within each size, without replacement, in three steps:

    1. A pilot evaluates a few coalitions of each size, with their complements.
    2. The remaining evaluations go to the sizes where the values are expected to vary most, in
       pairs of complements if their errors cancel in the pilot.
    3. Two surrogates are fitted to most of the coalitions, and corrected by the mean residuals of
       the others, which are left out in turn. One is a learning curve, v(S) ≈ c_s + Σ (a_i + b_i /
       s) over the members i of S. The other has slopes that drift with the size and stay near zero
       where little is known. They are blended according to how well each predicts coalitions that
       were used neither for its fit nor for the correction. With 8 to 64 providers and up to
       10,000 coalitions, a third surrogate is fitted to the residuals, if it leaves less than 0.8
       of their squares in a trial on a part of them: kernel ridge regression on the overlap of
       coalitions (common members over all members), which learns who replaces whom.

    The correction makes the values unbiased however poor the surrogates are. The residuals of
    coalitions that were not in a fit give the solver's noise. The number of coalitions of each size
    follows from the coalitions of one provider and of all but one, which are all evaluated; if it
    followed from the pilot, rare values there would bias the means of the sizes. With few
    evaluations (fewer than about 7 per provider) all sizes get the same weight. If the evaluations
    suffice for all coalitions, the values are exact.

    Parameters
    ----------
    n_evaluations : distinct coalitions evaluated in a game, at least 4 for each provider

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Strata(n_evaluations=500)
    Strata(n_evaluations=500)
    """

    n_evaluations: int
    any_index = True

    def __post_init__(self) -> None:
        check_whole("Strata: n_evaluations", self.n_evaluations, 1)

    def check(self, n_providers: int) -> None:
        least = min(4 * n_providers, 2 ** min(n_providers, MAX_PROVIDERS) - 1)
        if self.n_evaluations < least:
            raise InvalidInput(
                f"Strata: n_evaluations must be at least {least} for {n_providers} providers; "
                f"received {self.n_evaluations}"
            )

    def solve(self, games: Games) -> Solution:
        n = games.n_providers
        if n <= MAX_PROVIDERS and 2**n - 1 <= self.n_evaluations:
            return Exact().solve(games)
        sizes = Sizes(n, self.n_evaluations, games.index)
        # Sort by name, so that the order of the providers does not matter.
        by_name = np.argsort(np.array(games.names))
        evaluate = _Evaluation(games, np.argsort(by_name))
        seeds = games.seeds.words("strata", "", games.indices, 1)[:, 0]
        pilots = [sizes.pilot(seed) for seed in seeds]
        known = evaluate([np.concatenate([sizes.enumerated, pilot.rows]) for pilot in pilots])
        begun = [_Game(sizes, pilot, old) for pilot, old in zip(pilots, known, strict=True)]
        for game, seed in zip(begun, seeds, strict=True):
            game.draw(seed)
        new = evaluate([game.sample.rows[len(game.pilot.rows) :] for game in begun])
        values, noise = np.empty((len(begun), n)), np.empty((len(begun), n))
        for g, (game, more) in enumerate(zip(begun, new, strict=True)):
            values[g, by_name], noise[g, by_name] = game.solved(more, games.utility.empty)
        return Solution(values, noise, evaluate.count)

    def floats_per_game(self, n_providers: int) -> int:
        """Floats in the rows of the coalitions, their copies, and the fits of curves."""
        return self.n_evaluations * (n_providers // 2 + 8) + 4 * n_providers**2


class _Evaluation:
    """Evaluates coalitions of several games at once, and counts them.

    Rows are in the order of names; `rank` is the place of each provider in it.
    """

    def __init__(self, games: Games, rank: IntArray) -> None:
        self._games = games
        self._rank = rank
        self.count = 0

    def __call__(self, rows: list[MemberArray]) -> list[FloatArray]:
        counts = [len(part) for part in rows]
        of_game = np.repeat(np.arange(len(rows)), counts)
        values = self._games.values(np.concatenate(rows)[:, self._rank], of_game)
        self.count += len(values)
        return np.split(values, np.cumsum(counts)[:-1])


class _Game:
    """One game: the pilot, then the sample, then the values."""

    def __init__(self, sizes: Sizes, pilot: Sample, known: FloatArray) -> None:
        self._sizes = sizes
        self.pilot = self.sample = pilot
        spread = float(np.ptp(known)) or float(np.abs(known).max()) or 1.0
        # Values are divided by a power of two near their range, which loses no digit, so that the
        # squares of very small and very large values neither underflow nor overflow.
        self._unit = float(np.ldexp(1.0, int(np.frexp(spread)[1])))
        self._known = known / self._unit  # of the enumerated coalitions, then of the pilot
        self._range = spread / self._unit
        self._least_variance = (_LEAST_SPREAD * self._range) ** 2
        # Spreads that the surrogates of drift and of overlaps assume. They follow from the
        # enumerated sizes, because values that correct a surrogate must not change it.
        self._expected = np.sqrt(sizes.expected_variances(self._known[: 2 * sizes.n]))
        self._n_folds = _FOLDS_OF_FEW if sizes.few else _FOLDS

    def draw(self, seed: np.uint64) -> None:
        """Estimate from the pilot how much values vary around the surrogate, and draw the rest."""
        n, values = self._sizes.n, np.delete(self._known, 2 * self._sizes.n)
        of_size = np.concatenate([np.repeat([1, n - 1], n), self.pilot.sizes])
        around = values - _mean_by_size(values, of_size, n)[of_size]
        self._spreads = self._sizes.spreads(around[: 2 * n], around[2 * n :])
        # All coalitions of a size have equally many members, so adding a constant to all slopes
        # does not change the fit. The ridge makes it unique.
        ridge = _UNIQUE / self._range**2
        n_folds = _FOLDS_OF_PILOT if self._sizes.few else _FOLDS
        residuals, _, _ = self._fit(self.pilot, values, n_folds, ridge, _PILOT_TOLERANCE)
        # If the surrogate predicts the varying values of the pilot, as in additive games, smaller
        # residuals are expected in all sizes.
        self._least_variance *= _share_left(around[2 * n :], residuals[2 * n :])
        self._spreads = self._sizes.spreads(residuals[: 2 * n], residuals[2 * n :])
        self.sample = self._sizes.sample(self.pilot, self._spreads, values[: 2 * n], seed)

    def _fit(
        self, sample: Sample, values: FloatArray, n_folds: int, ridge: float, tolerance: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Residuals of the enumerated and the sampled coalitions, and the learning curves."""
        rows, of_size, folds = self._rows(sample, n_folds)
        fitted: tuple[FloatArray, FloatArray, FloatArray] = kernels.load("strata").cross_fit(
            rows, of_size, values, self._weights, folds, n_folds, ridge, tolerance
        )
        return fitted

    def _rows(self, sample: Sample, n_folds: int) -> tuple[MemberArray, IntArray, IntArray]:
        """Coalitions of one, of all but one, and of the sample: rows, sizes and folds."""
        n = self._sizes.n
        rows = np.concatenate([self._sizes.enumerated[: 2 * n], sample.rows])
        of_size = np.concatenate([np.repeat([1, n - 1], n), sample.sizes])
        return rows, of_size, np.concatenate([np.full(2 * n, -1), self._folds(sample, n_folds)])

    def _folds(self, sample: Sample, n_folds: int) -> IntArray:
        """Fold of each sampled coalition, the same for both of a pair.

        Neighbouring sizes begin with different folds, so that all folds have about equally many
        coalitions, even if a size has fewer coalitions than there are folds.
        """
        smaller = np.minimum(sample.sizes, self._sizes.n - sample.sizes)
        return np.asarray((sample.units + FOLDS_APART * smaller) % n_folds)

    @property
    def _weights(self) -> FloatArray:
        """Weight of a coalition of each size in the fit."""
        return 1.0 / np.maximum(self._spreads.variances, self._least_variance)

    def solved(self, more: FloatArray, empty: float) -> tuple[FloatArray, FloatArray]:
        """Values and noise, given the values of the coalitions that were drawn after the pilot."""
        n = self._sizes.n
        values = np.concatenate([np.delete(self._known, 2 * n), more / self._unit])
        # If n providers share the range of the values, their slopes are about range / n, which is
        # the prior of the ridge regression. It is needed with few evaluations per provider, because
        # a surrogate has two slopes per provider. With more evaluations it made the bias larger.
        ridge = (n if self._sizes.few else _UNIQUE**0.5) ** 2 / self._range**2
        curves = self._blend(values, ridge)
        correction = self._correction(values, *curves)
        if correction is None:
            phi, noise = self._estimate(values[2 * n :], *curves)
        else:
            phi, noise = self._corrected(values, correction, *curves)
        whole = phi + self._enumerated(empty / self._unit)
        return whole * self._unit, noise * self._unit**2

    def _blend(self, values: FloatArray, ridge: float) -> tuple[FloatArray, FloatArray]:
        """Slopes (n_folds, n + 1, n) and means (n_folds, n + 1) of the first two surrogates."""
        rows, of_size, folds = self._rows(self.sample, self._n_folds)
        drift = Drift(rows, of_size, values, self._expected)

        def around_curve(left_out: BoolArray) -> FloatArray:
            without = np.where(left_out, 0, -1)
            fitted: tuple[FloatArray, FloatArray, FloatArray] = kernels.load("strata").cross_fit(
                rows, of_size, values, self._weights, without, 1, ridge, _TRIAL_TOLERANCE
            )
            return fitted[0]

        def around_drift(left_out: BoolArray) -> FloatArray:
            return _residuals(rows, of_size, values, *drift.fitted_to(~left_out))

        share = shares(around_curve, around_drift, folds, self._n_folds, self._importance[of_size])
        _, curve, means = self._fit(self.sample, values, self._n_folds, ridge, _TOLERANCE)
        slopes = _by_size(curve)
        for fold in range(self._n_folds):
            other = drift.fitted_to(folds != fold)
            slopes[fold] += share[fold] * (other[0] - slopes[fold])
            means[fold] += share[fold] * (other[1] - means[fold])
        return slopes, means

    @property
    def _importance(self) -> FloatArray:
        """(n + 1,) weight of a squared residual of each size in the noise, up to a factor."""
        counts = np.maximum(np.bincount(self.sample.sizes, minlength=self._sizes.n + 1), 1)
        return np.asarray(self._sizes.weights * self._unseen / counts**2)

    def _correction(
        self, values: FloatArray, slopes: FloatArray, means: FloatArray
    ) -> Correction | None:
        """What the surrogate of overlaps adds to the first two, if that is worth its time."""
        n, sample = self._sizes.n, self.sample
        if not FEWEST_PROVIDERS <= n <= MOST_PROVIDERS or len(sample.rows) > MOST_EVALUATIONS:
            return None
        rows, of_size, folds = self._rows(sample, self._n_folds)
        overlap = Overlap(Explained(rows, of_size, values, folds, slopes, means, self._expected))
        if not overlap.is_worth_it(self._importance[of_size]):
            return None
        return overlap.correction(self._unseen[of_size] < _MOSTLY)

    @property
    def _unseen(self) -> FloatArray:
        """(n + 1,) share of the coalitions of each size that were not sampled."""
        counts = np.bincount(self.sample.sizes, minlength=self._sizes.n + 1)
        return np.asarray(np.maximum(0.0, 1.0 - counts / self._sizes.capacities))

    def _corrected(
        self, values: FloatArray, correction: Correction, slopes: FloatArray, means: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Values and noise with all surrogates.

        The linear part of the correction is added to the first two surrogates. The rest of it
        contributes nothing to the providers' values, so it is subtracted from the values of the
        coalitions, which reduces their noise. As in the kernel `_between`, the rests of the folds
        are moved towards their mean, the more of a size's coalitions were evaluated.
        """
        first = 2 * self._sizes.n
        own, shared = correction.own[first:], correction.shared[first:]
        blended = shared + self._unseen[self.sample.sizes] * (own - shared)
        both = slopes + correction.slopes, means + correction.means
        phi, _ = self._estimate(values[first:] - blended, *both)
        _, noise = self._estimate(values[first:] - own, *both)
        return phi, noise

    def _estimate(
        self, values: FloatArray, slopes: FloatArray, means: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        sizes, sample = self._sizes, self.sample
        found: tuple[FloatArray, FloatArray] = kernels.load("strata").estimate(
            sample.rows,
            sample.sizes,
            values,
            self._folds(sample, self._n_folds),
            sample.mates,
            slopes,
            means,
            sizes.joins,
            sizes.leaves,
            sizes.capacities,
        )
        return found

    def _enumerated(self, empty: float) -> FloatArray:
        """The part of the values due to the coalitions of nobody, one, all but one and all."""
        n, joins, leaves = self._sizes.n, self._sizes.joins, self._sizes.leaves
        single, without = self._known[:n], self._known[n : 2 * n]
        # One coalition of size 1 contains provider i, and one of size n - 1 does not contain it.
        ones = (joins[1] + leaves[1]) * single - leaves[1] * single.sum()
        others = joins[n - 1] * without.sum() - (joins[n - 1] + leaves[n - 1]) * without
        whole = joins[n] * self._known[2 * n] - leaves[0] * empty
        return np.asarray((ones + others) / n + whole)


def _residuals(
    rows: MemberArray, of_size: IntArray, values: FloatArray, slopes: FloatArray, means: FloatArray
) -> FloatArray:
    """Residuals around a surrogate with slopes (n + 1, n) and means (n + 1,) by size."""
    members = np.einsum("ri,ri->r", rows, slopes[of_size])
    return np.asarray(values - means[of_size] - members)


def _mean_by_size(values: FloatArray, of_size: IntArray, n: int) -> FloatArray:
    sums = np.bincount(of_size, weights=values, minlength=n + 1)
    return np.asarray(sums / np.maximum(np.bincount(of_size, minlength=n + 1), 1))


def _share_left(around: FloatArray, residuals: FloatArray) -> float:
    """Share of the squares of values around their means that is left in the residuals, at most 1.

    It is 1 if the values do not vary, because then there was nothing to predict.
    """
    squares = float((around**2).sum())
    share = float((residuals**2).sum()) / squares if squares > 0 else 1.0
    return min(1.0, max(share, _ROUNDING))


def _by_size(slopes: FloatArray) -> FloatArray:
    """Slopes (n_folds, n + 1, n) of the learning curves (n_folds, 2, n) within each size."""
    sizes = np.maximum(np.arange(slopes.shape[2] + 1), 1)
    return np.asarray(slopes[:, None, 0] + 2.0 / sizes[:, None] * slopes[:, None, 1])
