"""Least squares and ridge regression from merged Gram matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shapband import kernels
from shapband._facts import facts, name_of
from shapband._typing import AnyArray, FloatArray, IntArray, MemberArray, NonNegative
from shapband.checks import check_number
from shapband.coalitions import arc_members, mask_rows, row_masks
from shapband.errors import InvalidInput
from shapband.kernels.walks import walk_of_rows
from shapband.records.arrays import float_targets
from shapband.records.batch import Batch, Schema
from shapband.records.draws import Draws
from shapband.utilities import few_records, gram, scores
from shapband.utilities.base import CoalitionFailed, GameSummaries, MergeableUtility, RowsUtility
from shapband.utilities.embed import Embedding
from shapband.utilities.magnitudes import check_distances, check_targets_magnitude, standard_units
from shapband.utilities.rows import check_numeric_targets, validation_facts
from shapband.utilities.scores import Empty, Score
from shapband.utilities.wording import score_words

# Features count as dependent if an eigenvalue of their correlation matrix, relative to the largest
# one and to 1, is below this. The second number is for coalitions with fewer records than features.
DEPENDENT = np.array([1e-10, 1e-20])
# With this many features or more, the equations of eight coalitions at once do not fit into the
# processor's cache, and solving one coalition after the other is faster.
WIDE = 160
_UNDECIDED = (
    "its features depend on each other so nearly, or in units so far apart, that rounding errors "
    "decide the fit, or squares of its numbers are outside the range of floats: pass the features "
    "in other units, or leave out features that depend on others"
)


class LinearUtility(RowsUtility, MergeableUtility):
    """A coalition is worth the score of a least-squares fit, with intercept, to its records.

    The fit needs the records only through sums of products, so a provider's summary is its Gram
    matrix, in coordinates centred by a record of the draw and scaled for accuracy. Coalitions
    whose features are linearly dependent get the coefficients of least norm, as scikit-learn's
    `LinearRegression` gives them (if its `tol` is small: by default its newer versions ignore
    features that vary a million times less than others). Coalitions with fewer than two records
    are worth `empty`.
    With `alpha` it is ridge regression, as scikit-learn's `Ridge`: the intercept is not penalised,
    and every coalition has one solution.

    Without a penalty, a draw with no more records than features is summarised by the records
    themselves, which are fewer numbers.

    Values are right to nine digits (relative to values above 1) for all scales, offsets and
    correlations of features. The error of every fit is estimated, and where rounding may change a
    value by 1e-10, the coalition is fitted again in 32 digits, from the records, which takes about
    30 times as long. A feature counts as constant in a coalition if its range is less than 1e-13 of
    its largest number. Features count as dependent if an eigenvalue of their correlation matrix,
    relative to the largest, is below 1e-10, or below 1e-20 in coalitions with no more records than
    features.

    A coalition cannot be evaluated if rounding decides its fit even in 32 digits. This happens if
    the eigenvalue is between 1e-20 and about 1e-17. It also happens if features are dependent and
    their units, on which the least norm depends, differ so much that the last digits of records
    matter; with a penalty, if they differ by a factor beyond 1e70. Features and targets beyond
    1e151, whose squares overflow, and features more than 1e70 standard deviations away from the
    validation rows are refused.

    Parameters
    ----------
    X_val : (n_rows, n_features) validation rows
    y_val : (n_rows,) validation targets
    score : "inverse_mse" for 1 / (1 + MSE), "r2" or "neg_mse"
    alpha : weight of the squared norm of the coefficients, in the features' own units, which is
        added to the squared error of a coalition; 0 for least squares
    embed : a fitted transformer that turns the features of records and validation rows into the
        features of the fit, such as random features or the last layer of a network; or None
    empty : value of the empty coalition: a number, or "baseline" for the score of the mean of
        `y_val`; by default 0 for "inverse_mse", as in the paper, and the baseline for others

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> X = np.arange(5.0).reshape(-1, 1)
    >>> utility = sb.LinearUtility(X, 3 * X[:, 0] + 1)
    >>> summary = utility.summarise(sb.ArraySource(X, 3 * X[:, 0] + 1).records)
    >>> round(float(utility.evaluate([summary], [0b1])[0]), 9)
    1.0

    Ridge regression draws the slope towards zero, here to 3 · 10 / (10 + 10):

    >>> ridge = sb.LinearUtility(X, 3 * X[:, 0] + 1, score="neg_mse", alpha=10.0)
    >>> summary = ridge.summarise(sb.ArraySource(X, 3 * X[:, 0] + 1).records)
    >>> round(float(ridge.evaluate([summary], [0b1])[0]), 9)
    -4.5
    """

    schema: Schema
    model_name = "linear regression"
    any_order = True
    # A pipeline of scalers and least squares, for coalitions with no more records than features:
    # scalers change what is the least norm. It is set by `utility_for`.
    small_model: Any = None
    _computed = ("_form",)

    def __init__(
        self,
        X_val: ArrayLike,
        y_val: ArrayLike,
        score: Score = "inverse_mse",
        *,
        alpha: NonNegative = 0.0,
        embed: Any = None,
        empty: Empty = None,
    ) -> None:
        self._embed = Embedding(embed, "LinearUtility")
        self.validation_records, validation, self.schema = self._embed.validation(
            X_val, y_val, "LinearUtility"
        )
        X, y = validation.X, check_numeric_targets(validation.y, "LinearUtility")
        check_targets_magnitude(y, "LinearUtility: the targets y_val")
        self._score = scores.check_score(score, y, "LinearUtility")
        self.score_name = score_words(score)
        self._variance = scores.variance_of(y)
        self.empty, self.baseline = scores.check_empty(
            empty, score, self._dummy_score, "LinearUtility"
        )
        self._alpha = check_number("LinearUtility: alpha", alpha)
        if self._alpha < 0:
            raise InvalidInput(f"LinearUtility: alpha must not be negative; received {alpha!r}")
        mean, deviation = standard_units(X, "LinearUtility")
        self._scale = np.ldexp(1.0, np.frexp(deviation)[1])  # powers of two lose no digits
        self._centre = gram.Centre(mean, 1.0 / self._scale, float(y.mean()))
        self._validation = np.ascontiguousarray(X.T), y
        self._about = facts(
            validation_facts(validation),
            score=score,
            alpha=self._alpha,
            embed=None if embed is None else name_of(embed),
            empty=self.empty,
        )

    @cached_property
    def _form(self) -> gram.Form:
        """The error as a function of the coefficients; kernels are compiled to make it."""
        measure = self._variance if self._score == "r2" else 1.0
        (X, y), variance = self._validation, self._variance
        return gram.form_of_rows(X, y, variance, self._centre, self._alpha, measure)

    @property
    def validation_rows(self) -> int:
        return len(self._validation[1])

    def on_rows(self, rows: IntArray) -> LinearUtility:
        part, (columns, y) = copy(self), self._validation
        part._validation = np.ascontiguousarray(columns[:, rows]), y[rows]
        part._variance = scores.variance_of(y[rows])
        part.__dict__.pop("_form", None)
        scores.check_score(self._score, y[rows], "LinearUtility")
        if self.baseline:
            part.empty = part._dummy_score
        return part

    def kernels_ahead(self, solver: str, draw_size: int) -> tuple[str, ...]:
        if self._is_wide or self._keeps(draw_size):
            return ()
        both = "linear.gram_summaries", "linear.recentred", "linear.harmless"
        arcs = "linear_arcs.linear_arcs", "linear.linear_rows"
        return both + {"Exact": ("linear.linear_table",), "Arcs": arcs}.get(solver, ())

    def check_batch(self, batch: Batch) -> None:
        check_distances(self._embed.features(batch), *self._centre[:2])
        check_targets_magnitude(float_targets(batch.y), "the targets")

    def features_used(self, batch: Batch) -> FloatArray | None:
        return None if self._embed.transformer is None else self._embed.features(batch)

    def summarise(self, batch: Batch) -> FloatArray:
        """Return the sums of products in 16 and in 32 digits, or few records."""
        summary: FloatArray = self.summarise_games([Draws.whole(batch)])[0][0]
        return summary

    def evaluate(self, summaries: Sequence[FloatArray], coalitions: Sequence[int]) -> FloatArray:
        if few_records.has_records(summaries):
            return self._evaluate_records(summaries, mask_rows(coalitions, len(summaries)))
        return super().evaluate(summaries, coalitions)

    def summary_floats(self, draw_size: int) -> int:
        """Return the length of the sums of products, or of few records."""
        features = len(self._scale)
        return draw_size * (features + 1) if self._keeps(draw_size) else gram.summary_size(features)

    def summarise_games(self, draws: Sequence[Draws]) -> GameSummaries:
        """Return the summaries of consecutive games.

        They are `gram.GramGames`, or nested lists if the summaries of some providers are records.
        """
        features = [self._embed.features(drawn.batch) for drawn in draws]
        if not any(self._keeps(drawn.choice.size) for drawn in draws):
            return gram.gram_games(draws, features, self._centre)
        by_provider = [
            gram.own_records(drawn, X)
            if self._keeps(drawn.choice.size)
            else np.concatenate(
                [gram.gram_sums([drawn], [X], self._centre)[:, 0], gram.exact_sums(drawn, X)],
                axis=1,
            )
            for drawn, X in zip(draws, features, strict=True)
        ]
        return [list(game) for game in zip(*by_provider, strict=True)]

    def operations(self, n_providers: int) -> float:  # noqa: ARG002
        """Count the operations of merging and of a Cholesky factorisation."""
        p = len(self._scale) + 2
        return p**3 / 6 + 2 * p**2

    def evaluate_all(self, games: GameSummaries) -> FloatArray:
        if few_records.holds_records(games):
            return super().evaluate_all(games)
        stacked = gram.GramGames.of(games, len(self._scale))
        if self._is_wide:
            n = stacked.sums.shape[1]
            rows = mask_rows(range(1, 1 << n), n)
            of_game = np.repeat(np.arange(len(stacked)), len(rows))
            values = self.evaluate_rows(stacked, np.tile(rows, (len(stacked), 1)), of_game)
            return np.insert(values.reshape(len(stacked), -1), 0, self.empty, axis=1)
        sums, limits, clear = self._about_validation(stacked)
        mse = kernels.load("linear").linear_table(sums, limits, *self._form)
        mse[~clear] = np.nan
        mse[:, 0] = 0.0  # the empty coalition has no fit; its value is `empty`
        size, n = mse.shape[1], sums.shape[1]
        places = np.arange(n)
        values = self._worth(
            mse, stacked, lambda at: (at // size, (at % size)[:, None] >> places & 1)
        )
        values[:, 0] = self.empty
        return values

    def evaluate_prefixes(
        self, games: GameSummaries, orders: IntArray, first: IntArray
    ) -> FloatArray:
        if self._is_wide or few_records.holds_records(games):
            return super().evaluate_prefixes(games, orders, first)
        stacked = gram.GramGames.of(games, len(self._scale))
        sums, limits, clear = self._about_validation(stacked)
        mse = kernels.load("linear").linear_prefixes(sums, limits, orders, first, *self._form)
        mse[~clear] = np.nan
        n, walk = orders.shape[2], orders[0].size
        position = np.argsort(orders, axis=2).reshape(-1, n)  # of each provider in a permutation
        return self._worth(
            mse, stacked, lambda at: (at // walk, position[at // n] <= (at % n)[:, None])
        )

    def evaluate_rows(
        self, games: GameSummaries, inside: MemberArray, of_game: IntArray
    ) -> FloatArray:
        if few_records.holds_records(games):
            return super().evaluate_rows(games, inside, of_game)
        stacked = gram.GramGames.of(games, len(self._scale))
        if self._is_wide:
            values = np.empty(len(inside))
            for g in np.unique(of_game):
                rows = slice(*np.searchsorted(of_game, [g, g + 1]))
                values[rows] = self._evaluate_wide(stacked, int(g), inside[rows])
            return values
        sums, limits, clear = self._about_validation(stacked)
        mse = kernels.load("linear").linear_rows(sums, limits, inside, of_game, *self._form)
        mse[~clear[of_game]] = np.nan
        return self._worth(mse, stacked, lambda at: (of_game[at], inside[at]))

    def evaluate_arcs(self, games: GameSummaries, circles: IntArray, arcs: IntArray) -> FloatArray:
        if self._is_wide or few_records.holds_records(games):
            return super().evaluate_arcs(games, circles, arcs)
        stacked = gram.GramGames.of(games, len(self._scale))
        sums, limits, clear = self._about_validation(stacked)
        mse = kernels.load("linear_arcs").linear_arcs(sums, limits, circles, arcs, *self._form)
        mse[~clear[arcs[:, 0]]] = np.nan
        n = circles.shape[2]
        return self._worth(
            mse, stacked, lambda at: (arcs[at // n, 0], arc_members(circles, arcs[at // n], at % n))
        )

    def _evaluate_wide(self, games: gram.GramGames, g: int, inside: MemberArray) -> FloatArray:
        """Values of coalitions (m, n) of one game with many features.

        Coalitions that the kernel for many features leaves open, such as those with constant
        features, are passed to the kernel for few features.
        """
        sums, limits, clear = self._about_validation(games.only(g))
        mse = np.full(len(inside), np.nan)
        if clear[0]:
            errors, walk = kernels.load("linear_wide").wide_errors, walk_of_rows(inside)
            mse = errors(sums[0], limits[0], *walk, len(inside), *self._form)
            left = np.flatnonzero(np.isnan(mse))
            if len(left):
                again, one_game = kernels.load("linear").linear_rows, np.zeros_like(left)
                mse[left] = again(sums, limits, inside[left], one_game, *self._form)
        return self._worth(mse, games, lambda at: (np.full(len(at), g), inside[at]))

    def _evaluate_records(self, game: Sequence[FloatArray], inside: MemberArray) -> FloatArray:
        """Values of coalitions of one game in which some summaries are records."""
        count = inside @ few_records.record_counts(game)
        values = np.full(len(inside), self.empty)
        few, many = (count >= 2) & (count <= len(self._scale)), count > len(self._scale)
        if few.any():
            mse = self._small_errors(game, inside[few])
            unsolved = np.isnan(mse)
            if unsolved.any():
                mse[unsolved] = self._exactly(
                    gram.gram_of_records(game, self._centre), 0, inside[few][unsolved]
                )
            values[few] = scores.score_from_mse(mse, self._score, self._variance)
        if many.any():
            one_game = np.zeros(int(many.sum()), dtype=np.int64)
            summaries = gram.gram_of_records(game, self._centre)
            values[many] = self.evaluate_rows(summaries, inside[many], one_game)
        return values

    def _small_errors(self, game: Sequence[FloatArray], inside: MemberArray) -> FloatArray:
        """Errors of coalitions with no more records than features; NaN if not solved yet."""
        if self.small_model is not None:
            return few_records.refitted_mse(self.small_model, game, inside, *self._validation)
        return few_records.few_records_mse(game, inside, self._centre, self._form)

    def _about_validation(
        self, games: gram.GramGames
    ) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        """Sums of products relative to the means of the validation rows: (n_games, n, n_sums).

        The other results (n_games,) say how well the kernels can solve games from them: see
        `harmless` and `recentred`.
        """
        kernel = kernels.load("linear")
        moved, clear = kernel.recentred(games.sums, *self._centre[:2])
        form = self._form
        return moved, kernel.harmless(moved, form.A, form.c, len(form.b), form.measure), clear

    def _worth(
        self,
        mse: FloatArray,
        games: gram.GramGames,
        locate: Callable[[IntArray], tuple[IntArray, AnyArray]],
    ) -> FloatArray:
        """Score the errors; coalitions that are not solved yet are solved in 32 digits.

        Parameters
        ----------
        mse : errors of coalitions, of any shape; NaN for those that are not solved yet
        games : summaries
        locate : returns the games (m,) and the members (m, n) of coalitions at flat places of `mse`
        """
        unsolved = np.flatnonzero(np.isnan(mse))
        values = scores.score_from_mse(mse, self._score, self._variance)
        of_game, inside = locate(unsolved)
        for g in np.unique(of_game):
            places = of_game == g
            values.flat[unsolved[places]] = self._answer(games, int(g), inside[places])
        return values

    def _answer(self, games: gram.GramGames, g: int, inside: AnyArray) -> FloatArray:
        """Values of coalitions (m, n) of a game that are too small, or hard to solve."""
        values = np.full(len(inside), self.empty)
        fitted = inside @ games.sums[g, :, 0] >= 2
        if fitted.any():
            mse = self._exactly(games, g, inside[fitted])
            values[fitted] = scores.score_from_mse(mse, self._score, self._variance)
        return values

    def _exactly(self, games: gram.GramGames, g: int, inside: AnyArray) -> FloatArray:
        """Errors of coalitions (m, n) of a game with at least two records, in 32 digits."""
        errors = kernels.load("exact_fits").exact_errors
        members = np.ascontiguousarray(inside, dtype=np.uint8)
        anchors = games.anchors(g, len(self._scale))
        mse = errors(
            np.ascontiguousarray(games.exact(g)),
            anchors,
            members,
            self._alpha,
            DEPENDENT,
            *self._validation,
        )
        if np.isnan(mse).any():
            raise CoalitionFailed(row_masks(members[np.isnan(mse)][:1])[0], _UNDECIDED)
        return np.asarray(mse)

    @property
    def _dummy_score(self) -> float:
        return float(scores.score_from_mse(np.array(self._variance), self._score, self._variance))

    @property
    def _is_wide(self) -> bool:
        """Whether coalitions are solved one at a time."""
        return len(self._scale) >= WIDE

    def _keeps(self, draw_size: int) -> bool:
        """Whether the summaries of draws of a size are the records."""
        return self._alpha == 0 and draw_size <= len(self._scale)
