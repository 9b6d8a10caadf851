"""Tables of what ends a run: stopping rules, the budget, and prices.

They make their own objects, which need no data.
"""

from __future__ import annotations

from functools import cached_property, reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from shapband.access.budget import Budget
from shapband.app.config.tables import Above, Count, Price, Table, broken
from shapband.errors import InvalidInput
from shapband.estimate.stopping import Precision, Seconds, StableRanking, StoppingRule

if TYPE_CHECKING:
    from shapband.market.prices import Prices


class RulesTable(Table):
    """Stopping rules, checked every 32 games; the time is checked after every chunk of games."""

    absolute: Above | None = Field(
        None, description="Largest half width of an interval for an expectation."
    )
    relative: Above | None = Field(
        None, description="The same as a fraction of the expectation; of both, one must be met."
    )
    ranking: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Stop at a stable ranking; pairs closer than this need not be decided."
    )
    seconds: Above | None = Field(None, description="Stop after this many seconds.")
    level: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.95, description="Confidence level of the intervals and comparisons."
    )

    def rules(self) -> list[StoppingRule]:
        """Make the rules that are given."""
        made: list[StoppingRule] = []
        if self.absolute is not None or self.relative is not None:
            made.append(Precision(self.absolute, self.relative, self.level))
        if self.ranking is not None:
            made.append(StableRanking(self.ranking, self.level))
        if self.seconds is not None:
            made.append(Seconds(self.seconds))
        return made


class StopTable(RulesTable):
    """When to end before `n_games`: as soon as any of these rules is met."""

    all: RulesTable | None = Field(None, description="Rules that must all be met at the same time.")

    @cached_property
    def rule(self) -> StoppingRule:
        """All rules joined into one."""
        together = [] if self.all is None else self.all.rules()
        if self.all is not None and not together:
            raise broken(_NO_RULE, "all")
        alternatives = self.rules() + ([reduce(and_, together)] if together else [])
        if not alternatives:
            raise broken(_NO_RULE)
        return reduce(or_, alternatives)

    @model_validator(mode="after")
    def _check_rule(self) -> StopTable:
        _ = self.rule
        return self


_NO_RULE = "must hold at least one of absolute, relative, ranking, seconds"


class BudgetTable(Table):
    """Limits on the records and requests of a run."""

    records: Count | None = None
    requests: Count | None = None

    def make(self) -> Budget:
        """Make the budget."""
        return Budget(self.records, self.requests)


class PricesTable(Table):
    """What the sources charge; `plan` and `run --dry-run` say what a run costs."""

    record: Price = Field(0, description="For a record.")
    request: Price = Field(0, description="For a request.")

    @cached_property
    def prices(self) -> Prices:
        """The prices as exact amounts."""
        from shapband.market.prices import Prices

        try:
            return Prices(self.record, self.request)
        except InvalidInput as cause:
            key, _, rule = str(cause).removeprefix("Prices: ").partition(" ")
            raise broken(rule, key) from None

    @model_validator(mode="after")
    def _check_amounts(self) -> PricesTable:
        _ = self.prices
        return self
