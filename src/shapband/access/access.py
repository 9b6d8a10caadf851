"""Requests to the sources."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from shapband.access.budget import Budget, Cost
from shapband.access.meter import AccessReport, Usage
from shapband.checks import one_line
from shapband.draws import Draws, Given, Stream, WithoutReplacement, WithReplacement
from shapband.errors import BudgetExceeded, ShapbandError, SourceError
from shapband.providers import Provider
from shapband.records import Batch, Schema, concat
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
        self._spent = Cost()

    @property
    def report(self) -> AccessReport:
        """The account so far."""
        return AccessReport(self._usage)

    def require(self, cost: Cost, what: str) -> None:
        """Raise unless the budget still pays for `cost`."""
        spent = self._spent
        if not self.budget.allows(spent, cost):
            raise BudgetExceeded(
                f"{what} take {cost.records:,} records in {cost.requests:,} requests, but the "
                f"budget is {self.budget} and {spent.records:,} records in {spent.requests:,} "
                "requests are spent: raise the budget, or ask for less"
            )

    def affordable_games(self, per_game: Cost) -> int | None:
        """How many whole games the rest of the budget pays for; None if any number."""
        return self.budget.games_within(self._spent, per_game)

    def fetch(self, provider: Provider, purpose: str, games: range, size: int) -> Draws:
        """Fetch one draw of `size` records for each game: one request a game."""
        cost = Cost(len(games), len(games) * size)
        self.require(cost, f"draws of {provider.name!r}")
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
        self._usage[provider.name] += Usage(cost.requests, cost.records, seconds)
        self._spent += cost
        return draws

    def _ask(self, provider: Provider, purpose: str, games: range, size: int) -> Draws:
        source = provider.source
        stream = Stream(self.seeds, purpose, provider.name, games)
        if isinstance(source, FiniteSource):
            choose = WithReplacement if source.replace else WithoutReplacement
            choice = choose(stream, size, source.size)
            if source.records is not None:
                return Draws(source.records, choice)
            return _stack([source.take(rows) for rows in choice.rows()], size)
        if isinstance(source, GenerativeSource):
            streams = [self.seeds.generator(purpose, provider.name, game) for game in games]
            return _stack([source.draw(size, rng) for rng in streams], size)
        raise SourceError("a source must be a FiniteSource or a GenerativeSource")

    def _check_schema(self, name: str, schema: Schema) -> None:
        """Check that a provider gives the features it gave before, and those expected of all."""
        before = self._seen.setdefault(name, schema)
        if schema != before:
            raise SourceError(f"the source gave {schema} after it had given {before}")
        self._schema = self._schema or schema
        if not schema.fits(self._schema):
            raise SourceError(f"the source gave {schema} where {self._schema} were expected")


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
    return Draws(concat(batches), Given(places))
