"""Coalitions stratified by size, with three surrogates: learning curves, drift and overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband import kernels
from shapband._typing import FloatArray, IntArray
from shapband.checks import check_whole
from shapband.errors import InvalidInput
from shapband.games import Games
from shapband.solvers.base import Solution, Solver
from shapband.solvers.blend import FOLDS_APART, left_out_together, shares
from shapband.solvers.curve import fit_curves
from shapband.solvers.drift import drift_blocks, fit_drifts
from shapband.solvers.evaluation import Evaluation
from shapband.solvers.exact import MAX_PROVIDERS, Exact
from shapband.solvers.listed import Listed
from shapband.solvers.overlap import Correction, Explained, Overlap, operations
from shapband.solvers.pair_strata import sampled_interactions
from shapband.solvers.pairs import PairSolution, pair_count, pairs_among
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
_ROUNDING = 1e-14  # residuals below this share of the variance of the values are rounding errors
# A fit ends when its squared error is below this multiple of a variance: of the variance of the
# values in the fit to the pilot, of the variance of the residuals in later fits.
_PILOT_TOLERANCE, _TOLERANCE = 1e-8, 1e-5
_TRIAL_TOLERANCE = 1e-3  # the same limit for a fit that only decides the shares of the blend
_MOSTLY = 0.99  # a size counts as infinite if more than this share of its coalitions is unseen


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
       were used neither for its fit nor for the correction. With 8 to 64 providers and a utility
       whose evaluations take more operations than the fit, a third surrogate is fitted to the
       residuals, if it leaves less than 0.8 of their squares in a trial on a part of them: kernel
       ridge regression on the overlap of coalitions (common members over all members), which
       learns who replaces whom.

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
    gives_interactions = True

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
        return self.solve_like(games, games)

    def solve_like(self, games: Games, pattern: Games) -> Solution:
        n = games.n_providers
        if n <= MAX_PROVIDERS and 2**n - 1 <= self.n_evaluations:
            return Exact().solve(games)
        sizes = Sizes(n, self.n_evaluations, games.index)
        # Sort by name, so that the order of the providers does not matter.
        by_name = np.argsort(np.array(games.names))
        evaluate = Evaluation(games, np.argsort(by_name))
        of_pattern = evaluate if pattern is games else Evaluation(pattern, np.argsort(by_name))
        seeds = games.seeds.words("strata", "", games.indices, 1)[:, 0]
        pilots = [sizes.pilot(seed) for seed in seeds]
        rows = [[sizes.enumerated] * len(seeds), [pilot.rows for pilot in pilots]]
        enumerated, known = map(of_pattern, rows)
        rows = [] if pattern is games else rows  # so that pilots can be freed
        work = self.n_evaluations * games.utility.operations(n)
        # Pilots are removed from the list, so that each is freed when its game has drawn the rest.
        begun = [
            _Game(sizes, pilots.pop(0), np.concatenate(values), work)
            for values in zip(enumerated, known, strict=True)
        ]
        for game, seed in zip(begun, seeds, strict=True):
            game.draw(seed)
        for game, *own in zip(begun, *map(evaluate, rows), strict=True) if rows else ():
            game.use(np.concatenate(own))
        new = evaluate(
            [game.sample.rows[len(old) :] for game, old in zip(begun, known, strict=True)]
        )
        values, noise = np.empty((2, len(begun), n))
        pairs = np.empty((2, len(begun), pair_count(n) if games.interactions else 0))
        for g, (game, more) in enumerate(zip(begun, new, strict=True)):
            values[g, by_name], noise[g, by_name] = game.solved(more, games.utility.empty)
            if games.interactions:
                pairs[:, g, pairs_among(by_name, n)] = game.interactions(more, games.utility.empty)
        found = PairSolution(*pairs) if games.interactions else None
        return Solution(values, noise, evaluate.count, pairs=found)

    def floats_per_game(self, n_providers: int) -> int:
        """Floats in the rows of the coalitions, their copies and lists, and the slopes."""
        slopes = 4 * _FOLDS_OF_FEW * n_providers * len(drift_blocks(n_providers).middles)
        return self.n_evaluations * (n_providers // 2 + 8) + slopes


@dataclass(frozen=True, eq=False)
class _Surrogates:
    """Surrogates that were fitted without each fold.

    The slopes of a size are the first end, plus the size's scale × the second end, plus the
    expected spread of the size × the slopes of its block.

    Attributes
    ----------
    ends : (n_folds, 2, n) from the learning curves
    scales : (n + 1,) of the second end
    slopes : (n_folds, n_blocks, n) from the slopes that drift
    means : (n_folds, n + 1)
    predictions : (n_rows, n_folds) of coalitions of one, of all but one, and of the sample
    """

    ends: FloatArray
    scales: FloatArray
    slopes: FloatArray
    means: FloatArray
    predictions: FloatArray


class _Game:
    """One game: the pilot, then the sample, then the values."""

    def __init__(self, sizes: Sizes, pilot: Sample, known: FloatArray, work: float) -> None:
        self._sizes = sizes
        self.sample = pilot
        self._work = work  # operations of all evaluations
        self._blocks = drift_blocks(sizes.n)
        spread = float(np.ptp(known)) or float(np.abs(known).max()) or 1.0
        # Values are divided by a power of two near their range, which loses no digit, so that the
        # squares of very small and very large values neither underflow nor overflow.
        self._unit = float(np.ldexp(1.0, int(np.frexp(spread)[1])))
        self._known = known / self._unit  # values of the enumerated coalitions, then of the pilot
        self._range = spread / self._unit
        self._least_variance = (_LEAST_SPREAD * self._range) ** 2
        # Spreads that the surrogates of drift and of overlaps assume. They follow from the
        # enumerated sizes, because values that correct a surrogate must not change it.
        self._expected = np.sqrt(sizes.expected_variances(self._known[: 2 * sizes.n]))
        self._n_folds = _FOLDS_OF_FEW if sizes.few else _FOLDS

    def use(self, known: FloatArray) -> None:
        """Replace the values of the coalitions that decided which others are evaluated."""
        self._known = known / self._unit

    def draw(self, seed: np.uint64) -> None:
        """Estimate from the pilot how much values vary around the surrogate, and draw the rest."""
        n, values = self._sizes.n, np.delete(self._known, 2 * self._sizes.n)
        of_size = self._of_size
        around = values - _mean_by_size(values, of_size, n)[of_size]
        self._spreads = self._sizes.spreads(around[: 2 * n], around[2 * n :])
        # All coalitions of a size have equally many members, so adding a constant to all slopes
        # does not change the fit. The ridge makes it unique.
        ridge = _UNIQUE / self._range**2
        residuals = self._pilot_residuals(values, ridge)
        # If the surrogate predicts the varying values of the pilot, as in additive games, smaller
        # residuals are expected in all sizes.
        self._least_variance *= _share_left(around[2 * n :], residuals[2 * n :])
        self._spreads = self._sizes.spreads(residuals[: 2 * n], residuals[2 * n :])
        self.sample = self._sizes.sample(self.sample, self._spreads, values[: 2 * n], seed)

    def _pilot_residuals(self, values: FloatArray, ridge: float) -> FloatArray:
        """Residuals around a learning curve that was fitted without the fold of each coalition."""
        n_folds = _FOLDS_OF_PILOT if self._sizes.few else _FOLDS
        folds = self._folds(n_folds)
        trained = folds[:, None] != np.arange(n_folds)
        accuracy = np.full(n_folds, _PILOT_TOLERANCE)
        curves = fit_curves(self._lists(), values, self._weights, trained, ridge, accuracy)
        # Coalitions of one provider and of all but one are in all fits.
        own = curves.predictions[np.arange(len(folds)), np.maximum(folds, 0)]
        return np.asarray(values - own)

    def _lists(self) -> Listed:
        """List the coalitions of one, of all but one, and of the sample."""
        parts = [self._sizes.enumerated[: 2 * self._sizes.n], self.sample.rows]
        return Listed.of(parts, self._of_size)

    @property
    def _of_size(self) -> IntArray:
        """Sizes of the coalitions of one, of all but one, and of the sample."""
        n = self._sizes.n
        return np.concatenate([np.repeat([1, n - 1], n), self.sample.sizes])

    def _folds(self, n_folds: int) -> IntArray:
        """Fold of each sampled coalition, the same for both of a pair; -1 for those enumerated.

        Neighbouring sizes begin with different folds, so that all folds have about equally many
        coalitions, even if a size has fewer coalitions than there are folds.
        """
        sample, n = self.sample, self._sizes.n
        smaller = np.minimum(sample.sizes, n - sample.sizes)
        return np.append(np.full(2 * n, -1), (sample.units + FOLDS_APART * smaller) % n_folds)

    @property
    def _weights(self) -> FloatArray:
        """Weight of a coalition of each size in the fit."""
        return 1.0 / np.maximum(self._spreads.variances, self._least_variance)

    def solved(self, more: FloatArray, empty: float) -> tuple[FloatArray, FloatArray]:
        """Values and noise, given the values of the coalitions that were drawn after the pilot."""
        n = self._sizes.n
        values = np.concatenate([np.delete(self._known, 2 * n), more / self._unit])
        # If n providers share the range of the values, their slopes are about range / n, which is
        # the prior of the ridge regression. The prior is needed with few evaluations, because a
        # surrogate has two slopes per provider. With more evaluations it made the bias larger.
        ridge = (n if self._sizes.few else _UNIQUE**0.5) ** 2 / self._range**2
        phi, noise = self._estimate(values, self._blend(values, ridge))
        whole = phi + self._enumerated(empty / self._unit)
        return whole * self._unit, noise * self._unit**2

    def interactions(self, more: FloatArray, empty: float) -> tuple[FloatArray, FloatArray]:
        """Interactions and their noise; the arguments are the same as in `solved`."""
        first = 2 * self._sizes.n + 1
        values = np.concatenate([self._known[first:], more / self._unit])
        found = self._known[:first], values, empty / self._unit
        pairs, noise = sampled_interactions(self._sizes, self.sample, *found)
        return pairs * self._unit, noise * self._unit**2

    def _blend(self, values: FloatArray, ridge: float) -> _Surrogates:
        """Fit the first two surrogates without each fold, and blend them."""
        n_folds, listed = self._n_folds, self._lists()
        folds = self._folds(n_folds)
        each = np.arange(n_folds)
        # The first half of the fits is blended, the second half gives the shares.
        left_out = np.concatenate([np.column_stack([each, each]), left_out_together(n_folds)])
        trained = (folds[:, None] != left_out[:, 0]) & (folds[:, None] != left_out[:, 1])
        accuracy = np.repeat([_TOLERANCE, _TRIAL_TOLERANCE], n_folds)
        curves = fit_curves(listed, values, self._weights, trained, ridge, accuracy)
        drifts = fit_drifts(listed, values, self._expected, trained, self._blocks, n_folds)
        share = shares(
            values[:, None] - curves.predictions[:, n_folds:],
            values[:, None] - drifts.predictions[:, n_folds:],
            folds,
            self._importance[self._of_size],
        )
        rest = 1.0 - share
        return _Surrogates(
            rest[:, None, None] * curves.ends[:n_folds],
            curves.scales,
            share[:, None, None] * drifts.slopes,
            rest[:, None] * curves.means[:n_folds] + share[:, None] * drifts.means[:n_folds],
            rest * curves.predictions[:, :n_folds] + share * drifts.predictions[:, :n_folds],
        )

    @property
    def _importance(self) -> FloatArray:
        """(n + 1,) weight of a squared residual of each size in the noise, up to a factor."""
        counts = np.maximum(np.bincount(self.sample.sizes, minlength=self._sizes.n + 1), 1)
        return np.asarray(self._sizes.weights * self._unseen / counts**2)

    def _correction(self, values: FloatArray, surrogates: _Surrogates) -> Correction | None:
        """What the surrogate of overlaps adds to the first two, if that is worth its time."""
        n, of_size = self._sizes.n, self._of_size
        if operations(len(values), n, self._n_folds) > self._work:
            return None
        rows = np.concatenate([self._sizes.enumerated[: 2 * n], self.sample.rows])
        residuals = values[:, None] - surrogates.predictions
        folds = self._folds(self._n_folds)
        overlap = Overlap(Explained(rows, of_size, folds, residuals, self._expected))
        if not overlap.is_worth_it(self._importance[of_size]):
            return None
        return overlap.correction(self._unseen[of_size] < _MOSTLY)

    @property
    def _unseen(self) -> FloatArray:
        """(n + 1,) share of the coalitions of each size that were not sampled."""
        counts = np.bincount(self.sample.sizes, minlength=self._sizes.n + 1)
        return np.asarray(np.maximum(0.0, 1.0 - counts / self._sizes.capacities))

    def _estimate(
        self, values: FloatArray, surrogates: _Surrogates
    ) -> tuple[FloatArray, FloatArray]:
        """Values and noise with all surrogates.

        The linear part of the correction is added to the first two surrogates. The rest of it
        contributes nothing to the providers' values, but makes the residuals smaller. In a size
        of which many coalitions were evaluated, the surrogates of the folds are moved towards
        their mean; see the kernel.
        """
        sizes, sample, first = self._sizes, self.sample, 2 * self._sizes.n
        folds = self._folds(self._n_folds)[first:]
        predictions = surrogates.predictions[first:]
        own, shared = predictions[np.arange(len(folds)), folds], predictions.mean(axis=1)
        slopes, means = surrogates.slopes, surrogates.means
        correction = self._correction(values, surrogates)
        if correction is not None:
            own, shared = own + correction.own[first:], shared + correction.shared[first:]
            slopes, means = slopes + correction.slopes, means + correction.means
        moved = shared + self._unseen[sample.sizes] * (own - shared)
        found: tuple[FloatArray, FloatArray] = kernels.load("strata").estimate(
            sample.rows,
            sample.sizes,
            values[first:] - moved,
            values[first:] - own,
            folds,
            sample.mates,
            surrogates.ends,
            surrogates.scales,
            slopes,
            self._expected,
            self._blocks.of_size,
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
