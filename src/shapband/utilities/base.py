"""The interface of a utility, and the defaults of its optional methods."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from shapband._facts import WithFacts
from shapband._typing import BoolArray, FloatArray, IntArray, MemberArray
from shapband.checks import check_whole, concerning
from shapband.coalitions import arc_rows, mask_rows, row_masks
from shapband.providers import Provider
from shapband.records.batch import Batch, Schema
from shapband.records.draws import Draws
from shapband.seeds import Seeds
from shapband.sources.base import FiniteSource
from shapband.utilities.checking import check_schema, check_values
from shapband.utilities.rows import Folded

# Summaries of many games, indexed as games[game][provider]. A utility may use nested lists or an
# array with these two axes first.
GameSummaries: TypeAlias = Any
# A subclass that overrides one of these methods may have other values than its base class.
_VALUES = {
    *("summarise", "summarise_games", "evaluate", "evaluate_all", "evaluate_rows", "in_games"),
    "score",
}
ROWS_AT_ONCE = 4096  # largest number of arcs per call, which limits the memory of a call


class CoalitionFailed(Exception):
    """A coalition could not be evaluated; the caller adds the names of its members."""

    def __init__(self, coalition: int, reason: str) -> None:
        super().__init__(coalition, reason)
        self.coalition = coalition
        self.reason = reason


class _Failures(threading.local):
    """The number of failed coalitions of each thread: workers may share one utility."""

    count: int = 0


_failed = _Failures()


class Utility(WithFacts, ABC):
    """The value of a coalition.

    Attributes
    ----------
    schema : the features that records must have, or None if any are accepted; an attribute or
        a property
    empty : value of the coalition without members, and of one that has too little data
    baseline : whether `empty` is the score of a dummy model
    empty_name : the model whose score `empty` is, if it is no dummy, such as "the initial model"
    mergeable : whether summaries are small statistics, so that a coalition costs microseconds
    threaded : whether evaluating releases the interpreter lock, so that `n_jobs` workers can be
        threads of one process; otherwise the workers are processes
    summaries_travel : whether summaries are sent to other processes instead of records if the
        summaries are smaller
    exact_up_to : number of providers up to which evaluating all coalitions costs no more than a
        sample that leaves little noise; up to there `Exact` is used if no solver is given. By
        default 6, and 11 for mergeable utilities
    uses_records : whether a coalition's value depends on the records of its members
    any_order : whether the same records in another order have the same value, up to rounding.
        If so, games whose draws are whole stocks are equal, and one game is enough
    scored_by_log_loss : whether a label that a coalition lacks costs 36 per validation row
    failures : coalitions that failed and were given a fixed value. A utility that gives such values
        adds 1 for each. Every thread has its own count, so that a chunk counts its own failures
    model_name : what is valued, for readers of a result, such as "logistic regression"; an
        attribute or a property. A subclass with other values than its base class names its own
    score_name : what the model is scored by, such as "accuracy"; empty if there is no score
    chosen : why `utility_for` chose this utility; empty if the user did
    remedy : advice that ends the error message of a coalition that by chance cannot be evaluated
    training : what is random in the fit of a model, as a sentence; empty if nothing is
    rounds : rounds of federated training in one game; 0 for utilities without rounds
    validation_records : the rows on which models are scored, as they were given, or None if there
        are none or they are not known. They are compared with the records of providers, who should
        hold none of them. `on_rows` does not change them

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> class Largest(sb.Utility):
    ...     mergeable = True
    ...     def summarise(self, batch):
    ...         return batch.y.max()
    ...     def evaluate(self, summaries, coalitions):
    ...         inside = [[summaries[i] for i in sb.extend.members(c)] for c in coalitions]
    ...         return np.array([max(found, default=self.empty) for found in inside])
    >>> sb.testing.check_utility(Largest())
    """

    schema: Schema | None = None
    empty: float = 0.0
    baseline: bool = False
    empty_name: str = ""
    mergeable: bool = False
    threaded: bool = False
    summaries_travel: bool = False
    uses_records: bool = True
    any_order: bool = False
    scored_by_log_loss: bool = False
    model_name: str = ""
    score_name: str = ""
    chosen: str = ""
    remedy: str = ""
    training: str = ""
    rounds: int = 0
    validation_records: Batch | None = None
    # Attributes that fingerprints leave out: they change during a valuation, or do not affect
    # values.
    _counters: tuple[str, ...] = (
        "failures",
        "empty_name",
        "model_name",
        "score_name",
        "chosen",
        "training",
        "validation_records",
        "_warned",
    )

    @property
    def failures(self) -> int:
        """Coalitions that this thread could not evaluate and gave a fixed value."""
        return _failed.count

    @failures.setter
    def failures(self, count: int) -> None:
        _failed.count = check_whole(f"{type(self).__name__}.failures", count, 0, most=None)

    @property
    def exact_up_to(self) -> int:
        """Number of providers up to which `Exact` is the default solver."""
        return 11 if self.mergeable else 6

    def operations(self, n_providers: int) -> float:  # noqa: ARG002
        """Rough number of arithmetic operations to evaluate a coalition of half of the providers.

        With more than `exact_up_to` providers this decides which solvers are tried if none is
        given: many evaluations if they cost little, few if they cost much. It also decides whether
        `Strata` may fit a regression on the overlap of coalitions. By default 2,000 for mergeable
        utilities, and ten million for all others.
        """
        return 2e3 if self.mergeable else 1e7

    def kernels_ahead(self, solver: str, draw_size: int) -> tuple[str, ...]:  # noqa: ARG002
        """Compiled kernels that games will need, to be compiled before the first game.

        Parameters
        ----------
        solver : name of the class of the solver
        draw_size : records in the smallest draw
        """
        return ()

    @property
    def knows_values(self) -> bool:
        """Whether `exact_values` is meant for this class, and not for one that it changed."""
        return self._is_meant("exact_values")

    @property
    def knows_rows(self) -> bool:
        """Whether `on_rows` is meant for this class, and not for one that it changed."""
        return self._is_meant("on_rows")

    @property
    def knows_model(self) -> bool:
        """Whether `model_name` is meant for this class, and not for one that it changed."""
        return self._is_meant("model_name")

    def _is_meant(self, method: str) -> bool:
        classes = type(self).__mro__
        defined = next(at for at, one in enumerate(classes) if method in vars(one))
        changed = next(at for at, one in enumerate(classes) if _VALUES & vars(one).keys())
        return classes[defined] is not Utility and defined <= changed

    def exact_values(self, games: GameSummaries) -> FloatArray:
        """Return the Shapley values of games, if they follow from the form: (n_games, n).

        A utility that overrides this is exact for any number of providers.

        Parameters
        ----------
        games : summaries, games[game][provider]
        """
        raise NotImplementedError(f"{type(self).__name__} does not know its Shapley values")

    def check(self, providers: Sequence[Provider]) -> None:
        """Raise InvalidInput if this utility cannot value these providers."""
        check_schema(self.schema, providers)
        for provider in providers:
            source = provider.source
            if isinstance(source, FiniteSource) and source.records is not None:
                with concerning(f"provider {provider.name!r}"):
                    self.check_batch(source.records)

    @property
    def labels(self) -> Sequence[Any] | None:
        """Labels of the validation rows, or None if targets are not labels or are not known."""
        return None

    @property
    def validation_rows(self) -> int | None:
        """Number of rows on which models are scored; 0 if there are none, None if not known."""
        return None

    def on_rows(self, rows: IntArray) -> Utility:
        """Return this utility with only some of its validation rows, for the same summaries."""
        raise NotImplementedError(f"{type(self).__name__} does not give its validation rows")

    def without_folds(self, kept: Sequence[IntArray]) -> Folded:
        """Return this utility on all rows, and on each of some parts of its validation rows.

        A utility that fits models may override this to score each fit on all parts at once.
        """
        return Folded(self, [self.on_rows(rows) for rows in kept], lambda: None)

    def with_presence(self, games: GameSummaries, present: BoolArray) -> GameSummaries:
        """Add to the summaries who is present in each round of each game.

        All coalitions of a game share its mask: a member that is absent in a round takes no part
        in it. Without this call everybody is present in all rounds. Only for utilities with rounds.

        Parameters
        ----------
        games : summaries, games[game][provider]
        present : (n_games, rounds, n) whether each provider is present in each round
        """
        raise NotImplementedError(f"{type(self).__name__} has no rounds")

    def after_rounds(self) -> Folded:
        """Return this utility, and this utility scored after each of its rounds.

        Part r - 1 scores the models after r rounds, so the last part has the values of `whole`.
        All of them are scored from one training, until `forget` is called (as in
        `without_folds`). Only for utilities with rounds.
        """
        raise NotImplementedError(f"{type(self).__name__} has no rounds")

    def restricted(self, places: Sequence[int]) -> Utility:  # noqa: ARG002
        """Return the utility of games in which only the providers at these places take part.

        It is the utility itself, unless the utility treats providers by their position.
        """
        return self

    def check_batch(self, batch: Batch) -> None:
        """Raise InvalidInput if these records are of a kind that this utility cannot use."""

    def check_draw_size(self, size: int) -> None:
        """Raise InvalidInput if this utility cannot use draws of this many records."""

    def fault(self, names: Sequence[str], batches: Sequence[Batch]) -> str:  # noqa: ARG002
        """Say why all providers together cannot be evaluated; empty if they can.

        It is called with some records of every provider after a coalition could not be evaluated.
        A single coalition may fail by chance, but if all providers together fail, there is a fault
        in the records or the model. By default no fault is looked for.
        """
        return ""

    def features_used(self, batch: Batch) -> FloatArray | None:  # noqa: ARG002
        """Return the transformed features that the model uses (n_records, k), or None if unknown.

        The search for copied records compares these numbers, too.
        """
        return None

    @abstractmethod
    def summarise(self, batch: Batch) -> Any:
        """Reduce one provider's draw to the summary that `evaluate` needs."""

    @abstractmethod
    def evaluate(self, summaries: Sequence[Any], coalitions: Sequence[int]) -> FloatArray:
        """Return the values of some coalitions (bitmasks) of one game: (n_coalitions,)."""

    def in_games(
        self,
        games: GameSummaries,
        names: Sequence[str],  # noqa: ARG002
        indices: range,  # noqa: ARG002
        seeds: Seeds,  # noqa: ARG002
    ) -> GameSummaries:
        """Return the summaries in the form in which the evaluating methods receive them.

        By default they do not change. A utility that needs random numbers adds them here, because
        they must be addressed by the game.

        Parameters
        ----------
        games : summaries, games[game][provider]
        names : the providers that take part
        indices : the numbers of these games in the valuation
        seeds : the random streams of the valuation
        """
        return games

    def summary_floats(self, draw_size: int) -> int:
        """Approximate number of floats in one summary, from which chunk sizes are computed."""
        features = self.schema.n_features if self.schema else 1
        return draw_size * (features + 1)

    def summarise_games(self, draws: Sequence[Draws]) -> GameSummaries:
        """Summarise consecutive games: result[game][provider]."""
        by_provider = [[self.summarise(batch) for batch in drawn.batches()] for drawn in draws]
        return list(zip(*by_provider, strict=True))

    def evaluate_all(self, games: GameSummaries) -> FloatArray:
        """Return the values of all coalitions: (n_games, 2**n), indexed by bitmask."""
        n = len(games[0])
        inside = mask_rows(range(1, 1 << n), n)
        table = np.empty((len(games), 1 << n))
        table[:, 0] = self.empty
        for g in range(len(games)):
            table[g, 1:] = self.evaluate_rows(games, inside, np.full(len(inside), g))
        return table

    def evaluate_prefixes(
        self, games: GameSummaries, orders: IntArray, first: IntArray
    ) -> FloatArray:
        """Return the values of the coalitions along permutations: (n_games, n_iter, n).

        Parameters
        ----------
        games : summaries, games[game][provider]
        orders : (n_games, n_iter, n) permutations
        first : (n_games, n_iter, n), see `shapband.kernels.walks.first_occurrences`; only first
            occurrences are evaluated
        """
        values = np.empty(orders.shape)
        new = first == np.arange(orders.shape[1])[:, None]
        for g, order in enumerate(orders):
            joined = order[:, :, None] == np.arange(orders.shape[2])
            inside = np.cumsum(joined, axis=1, dtype=np.uint8)[new[g]]
            values[g][new[g]] = self.evaluate_rows(games, inside, np.full(len(inside), g))
        return np.take_along_axis(values, first, axis=1)

    def evaluate_rows(
        self, games: GameSummaries, inside: MemberArray, of_game: IntArray
    ) -> FloatArray:
        """Return the values of chosen coalitions: (n_rows,).

        Parameters
        ----------
        games : summaries, games[game][provider]
        inside : (n_rows, n) a coalition in each row, 1 for members
        of_game : (n_rows,) the game of each row, ascending
        """
        owner = f"{type(self).__name__}.evaluate"
        values = np.empty(len(inside))
        for g in np.unique(of_game):
            rows = slice(*np.searchsorted(of_game, [g, g + 1]))
            found = self.evaluate(games[g], row_masks(inside[rows]))
            values[rows] = check_values(found, values[rows].shape, owner)
        return values

    def evaluate_arcs(self, games: GameSummaries, circles: IntArray, arcs: IntArray) -> FloatArray:
        """Return the values of all arcs of some sizes on circles of the providers: (n_arcs, n).

        Parameters
        ----------
        games : summaries, games[game][provider]
        circles : (n_games, n_circles, n) the providers in their order on each circle
        arcs : (n_arcs, 3) the game, ascending, the circle, and the size of the arcs; entry [a, p]
            of the result is the value of the arc that begins at position p
        """
        n = circles.shape[2]
        values = np.empty((len(arcs), n))
        at_once = max(1, ROWS_AT_ONCE // n)
        for start in range(0, len(arcs), at_once):
            part = arcs[start : start + at_once]
            rows = arc_rows(circles[part[:, 0], part[:, 1]], part[:, 2]).reshape(-1, n)
            found = self.evaluate_rows(games, rows, np.repeat(part[:, 0], n))
            values[start : start + at_once] = found.reshape(-1, n)
        return values


class MergeableUtility(Utility):
    """A utility of small summaries, whose loops release the interpreter lock."""

    mergeable = True
    threaded = True
    summaries_travel = True


class RowsUtility(Utility):
    """A utility that overrides `evaluate_rows`; its loops release the interpreter lock."""

    threaded = True
    summaries_travel = True

    def evaluate(self, summaries: Sequence[Any], coalitions: Sequence[int]) -> FloatArray:
        inside = mask_rows(coalitions, len(summaries))
        return self.evaluate_rows([summaries], inside, np.zeros(len(inside), dtype=np.int64))
