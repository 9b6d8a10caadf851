"""The door every utility has, and the defaults of its wider doors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.coalitions import members, prefix_masks
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.records import Batch, Draws, Schema, concat, numeric_features, numeric_targets
from shapband.sources.base import FiniteSource

# Summaries of many games: games[game][provider], nested lists or an array with those two axes
# first, as suits the utility that made them.
GameSummaries: TypeAlias = Any


class CoalitionFailed(Exception):
    """A coalition could not be evaluated; who that is in words is known further up."""

    def __init__(self, coalition: int, reason: str) -> None:
        super().__init__(coalition, reason)
        self.coalition = coalition
        self.reason = reason


class Utility(ABC):
    """The value of a coalition.

    Attributes
    ----------
    empty : value of the coalition without members, and of one that has too little data
    mergeable : whether summaries are small statistics, so that a coalition costs microseconds
    """

    empty: float = 0.0
    mergeable: bool = False

    @property
    def schema(self) -> Schema | None:
        """The features that records must have, or None if any will do."""
        return None

    def check(self, providers: Sequence[Provider]) -> None:
        """Raise InvalidInput if these providers cannot be valued."""
        check_features(self.schema, providers)

    @abstractmethod
    def summarise(self, batch: Batch) -> Any:
        """Reduce one provider's draw to what this utility needs of it."""

    @abstractmethod
    def evaluate(self, summaries: Sequence[Any], coalitions: Sequence[int]) -> FloatArray:
        """Give the values of some coalitions (bitmasks) of one game: (n_coalitions,)."""

    def summary_floats(self, draw_size: int) -> int:
        """Roughly how many numbers one summary holds, to size chunks of games."""
        features = self.schema.n_features if self.schema else 1
        return draw_size * (features + 1)

    def summarise_games(self, draws: Sequence[Draws]) -> GameSummaries:
        """Summarise consecutive games: result[game][provider]."""
        n_games = len(draws[0].rows)
        return [[self.summarise(drawn.game(g)) for drawn in draws] for g in range(n_games)]

    def evaluate_all(self, games: GameSummaries) -> FloatArray:
        """Give the values of all coalitions: (n_games, 2**n), indexed by bitmask."""
        coalitions = range(1, 2 ** len(games[0]))
        table = np.empty((len(games), len(coalitions) + 1))
        table[:, 0] = self.empty
        for g, summaries in enumerate(games):
            table[g, 1:] = self.evaluate(summaries, coalitions)
        return table

    def evaluate_prefixes(
        self, games: GameSummaries, orders: IntArray, first: IntArray
    ) -> FloatArray:
        """Give the values of the coalitions that grow along permutations: (n_games, n_iter, n).

        Parameters
        ----------
        games : summaries, games[game][provider]
        orders : (n_games, n_iter, n) permutations
        first : (n_games, n_iter, n), see `shapband.coalitions.first_occurrences`; only first
            occurrences are evaluated
        """
        values = np.empty(orders.shape)
        for g, summaries in enumerate(games):
            masks = [prefix_masks(order) for order in orders[g]]
            at = np.nonzero(first[g] == np.arange(orders.shape[1])[:, None])
            new = [masks[t][k] for t, k in zip(*at, strict=True)]
            values[g][at] = self.evaluate(summaries, new)
            values[g] = np.take_along_axis(values[g], first[g], axis=0)
        return values


class RecordsUtility(Utility):
    """A utility that sees the records of the whole coalition: the batch is the summary."""

    @abstractmethod
    def score(self, batch: Batch) -> float:
        """Give the value of a coalition's joined records."""

    def summarise(self, batch: Batch) -> Batch:
        """Keep the draw itself."""
        return batch

    def evaluate(self, summaries: Sequence[Batch], coalitions: Sequence[int]) -> FloatArray:
        """Join the members' records and score them, coalition by coalition."""
        return np.array([self._worth(summaries, mask) for mask in coalitions], dtype=np.float64)

    def _worth(self, summaries: Sequence[Batch], coalition: int) -> float:
        if coalition == 0:
            return self.empty
        try:
            return float(self.score(concat([summaries[i] for i in members(coalition)])))
        except Exception as cause:
            reason = f"{type(cause).__name__}: {cause}"
            raise CoalitionFailed(coalition, reason) from cause


def check_empty(empty: float) -> float:
    """Check the value of the empty coalition."""
    if not isinstance(empty, int | float | np.number) or not math.isfinite(empty):
        raise InvalidInput(f"empty must be a finite number; received {empty!r}")
    return float(empty)


def check_validation(X_val: Any, y_val: Any, owner: str) -> Batch:
    """Check numeric validation rows and give them as a batch of floats."""
    if isinstance(X_val, np.ndarray) or not hasattr(X_val, "columns"):
        features = np.asarray(X_val)
        features = features.reshape(-1, 1) if features.ndim == 1 else features
    else:
        features = X_val
    try:
        X = numeric_features(features)
    except (TypeError, ValueError) as cause:
        raise InvalidInput(f"{owner}: X_val must be numeric ({cause})") from cause
    if X.ndim != 2 or 0 in X.shape:
        raise InvalidInput(
            f"{owner}: X_val must have the shape (n_rows, n_features); received {X.shape}"
        )
    if not np.isfinite(X).all():
        raise InvalidInput(f"{owner}: X_val holds NaN or infinite values: remove or impute them")
    return Batch(X, check_validation_targets(y_val, len(X), owner))


def check_validation_targets(y_val: Any, n_rows: int, owner: str) -> Any:
    """Check that there is one finite target for each validation row."""
    y = np.asarray(y_val)
    if y.shape != (n_rows,):
        raise InvalidInput(
            f"{owner}: y_val must be one target for each of the {n_rows} rows of X_val; "
            f"received the shape {y.shape}"
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise InvalidInput(f"{owner}: y_val holds NaN or infinite values: remove those rows")
    return y


def check_features(schema: Schema | None, providers: Sequence[Provider]) -> None:
    """Check that all sources whose features are known have those of the validation rows."""
    for provider in providers:
        own = provider.source.schema
        if schema is not None and own is not None and not own.fits(schema):
            raise InvalidInput(
                f"provider {provider.name!r} has {own}, but X_val has {schema}: they must be "
                "the same features in the same order"
            )


def check_numeric(providers: Sequence[Provider], features: bool) -> None:
    """Check that targets, and features if they are used, are finite numbers where known."""
    for provider in providers:
        source = provider.source
        if not isinstance(source, FiniteSource) or source.records is None:
            continue
        try:
            numeric_targets(source.records.y)
            if features and source.records.is_frame:
                finite = np.isfinite(source.records.numeric()).all()
                if not finite:
                    raise InvalidInput("the features hold missing values: impute them")
        except InvalidInput as cause:
            raise InvalidInput(f"provider {provider.name!r}: {cause}") from cause
