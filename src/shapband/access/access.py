"""Requests to the sources."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from shapband._typing import IntArray
from shapband.access.budget import Budget, Cost
from shapband.access.meter import AccessReport, Usage
from shapband.checks import one_line
from shapband.errors import BudgetExceeded, ShapbandError, SourceError
from shapband.kernels import rows
from shapband.providers import Provider
from shapband.records import Batch, Draws, Schema, concat
from shapband.seeds import Seeds
from shapband.sources.base import FiniteSource, GenerativeSource


class Access:
    """Asks the sources, within the budget, and keeps the account.

    One request fetches all that a provider gives to one draw or one pool. Which records it
    fetches is addressed by the purpose, the provider's name and the game.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        seeds: Seeds,
        budget: Budget,
        schema: Schema | None = None,
    ) -> None:
        self.providers = tuple(providers)
        self.seeds = seeds
        self.budget = budget
        self._schema = schema
        self._seen: dict[str, Schema] = {}
        self._usage = {provider.name: Usage() for provider in providers}

    @property
    def report(self) -> AccessReport:
        """The account so far."""
        return AccessReport(self._usage)

    def require(self, cost: Cost, what: str) -> None:
        """Raise unless the budget still pays for `cost`."""
        spent = self.report.cost
        if not self.budget.allows(spent, cost):
            raise BudgetExceeded(
                f"{what} take {cost.records:,} records in {cost.requests:,} requests, but the "
                f"budget is {self.budget} and {spent.records:,} records in {spent.requests:,} "
                "requests are spent: raise the budget, or ask for less"
            )

    def affordable_games(self, per_game: Cost) -> int | None:
        """How many whole games the rest of the budget pays for; None if any number."""
        return self.budget.games_within(self.report.cost, per_game)

    def fetch(self, provider: Provider, purpose: str, games: range, size: int) -> Draws:
        """Fetch one draw of `size` records for each game: one request a game."""
        self.require(Cost(len(games), len(games) * size), f"draws of {provider.name!r}")
        started = time.perf_counter()
        try:
            draws = self._ask(provider, purpose, games, size)
            self._check_schema(provider.name, draws.batch.schema)
        except ShapbandError as cause:
            raise SourceError(f"provider {provider.name!r}: {cause}") from cause
        except Exception as cause:
            raise SourceError(
                f"provider {provider.name!r}: the source failed with "
                f"{type(cause).__name__}: {one_line(cause)}"
            ) from cause
        seconds = time.perf_counter() - started
        self._usage[provider.name] += Usage(len(games), len(games) * size, seconds)
        return draws

    def _ask(self, provider: Provider, purpose: str, games: range, size: int) -> Draws:
        source = provider.source
        if isinstance(source, FiniteSource):
            chosen = self._choose(provider.name, source, purpose, games, size)
            if source.records is not None:
                return Draws(source.records, chosen)
            return _stack([source.take(game) for game in chosen], size)
        if isinstance(source, GenerativeSource):
            streams = [self.seeds.generator(purpose, provider.name, game) for game in games]
            return _stack([source.draw(size, stream) for stream in streams], size)
        raise SourceError("a source must be a FiniteSource or a GenerativeSource")

    def _check_schema(self, name: str, schema: Schema) -> None:
        """Check that a provider gives the features it gave before, and those expected of all."""
        before = self._seen.setdefault(name, schema)
        if schema != before:
            raise SourceError(f"the source gave {schema} after it had given {before}")
        self._schema = self._schema or schema
        if not schema.fits(self._schema):
            raise SourceError(f"the source gave {schema} where {self._schema} were expected")

    def _choose(
        self, name: str, source: FiniteSource, purpose: str, games: range, size: int
    ) -> IntArray:
        uniforms = self.seeds.uniforms(purpose, name, games, size)
        if source.replace:
            return rows.with_replacement(uniforms, source.size)
        return rows.without_replacement(uniforms, source.size)


def _stack(batches: Sequence[Batch], size: int) -> Draws:
    """Join the draws of several games, after checking that they fit together."""
    for batch in batches:
        if len(batch) != size:
            raise SourceError(f"the source gave {len(batch)} records where {size} were asked")
        if batch.schema != batches[0].schema:
            raise SourceError(
                f"the source gave {batch.schema} after it had given {batches[0].schema}"
            )
        if not batch.is_frame and not np.isfinite(batch.X).all():
            raise SourceError("the source gave features that are NaN or infinite")
        if batch.y.dtype.kind == "f" and not np.isfinite(batch.y).all():
            raise SourceError("the source gave targets that are NaN or infinite")
    places = np.arange(len(batches) * size, dtype=np.int64).reshape(len(batches), size)
    return Draws(concat(batches), places)
