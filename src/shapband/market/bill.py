"""bill(): what a valuation will ask of the sources and evaluate, counted without asking anyone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband._typing import BoolArray, IntArray
from shapband.access.budget import Budget, Cost
from shapband.checks import check_kind, printable
from shapband.engine.arguments import Arguments, check_arguments
from shapband.errors import BudgetExceeded, InvalidInput
from shapband.indices import Index
from shapband.inputs.convert import convert
from shapband.inputs.draws import chosen_sampling
from shapband.market.gains import WithOneMore
from shapband.market.next_batch import check_further
from shapband.market.planning.solvers import count_evaluations
from shapband.market.prices import Prices, check_prices
from shapband.providers import Group, Provider
from shapband.sampling.base import Sampling
from shapband.sampling.participation import Participation
from shapband.solvers.base import Solver
from shapband.solvers.exact import Exact
from shapband.solvers.trial import Trial
from shapband.valuation.text import html_table, reason_lines, table_lines

if TYPE_CHECKING:
    import pandas as pd

    from shapband.valuation.text import Table

_TOLD = ("sampling", "sampling_chosen")  # entries of the setup that a bill keeps
_COUNTED = 64  # coalitions are counted in this many games, and scaled up to all games


@dataclass(frozen=True, eq=False, repr=False)
class Bill:
    """What a valuation takes if no stopping rule ends it sooner.

    Attributes
    ----------
    names : the providers, in the order of all arrays
    n_games : games that are played, as far as the budget goes
    requests, records : (n,) asked of each provider
    evaluations : coalitions evaluated
    exactly : whether `evaluations` is exact; otherwise it is scaled up from the first 64 games
    money : what the sources charge, or None without prices
    setup : the sampling, and why the library chose it if none was named, as in a valuation

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> bill = sb.bill(task.providers, task.utility, sampling=sb.Pooled(250, 60), n_games=200)
    >>> int(bill.records.sum()), int(bill.requests.sum()), bill.evaluations
    (2477, 10, 204600)
    """

    names: tuple[str, ...]
    n_games: int
    requests: IntArray
    records: IntArray
    evaluations: int
    exactly: bool
    money: Decimal | None
    setup: Mapping[str, str]

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per provider."""
        import pandas as pd

        columns = {"requests": self.requests, "records": self.records}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="provider"))

    def __str__(self) -> str:
        return "\n".join([*self._headline(), "", *table_lines(*self._table()), "", *self._notes()])

    def __repr__(self) -> str:
        total = int(self.records.sum()), int(self.requests.sum())
        return "<Bill: {:,} records in {:,} requests>".format(*total)

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return html_table(self._headline(), self._table(), self._notes())

    def _headline(self) -> list[str]:
        n = len(self.names)
        return [f"{n} provider{'s' * (n > 1)}, {self.n_games:,} games"]

    def _table(self) -> Table:
        rows = [
            (printable(name), f"{requests:,}", f"{records:,}")
            for name, requests, records in zip(self.names, self.requests, self.records, strict=True)
        ]
        total = ("total", f"{self.requests.sum():,}", f"{self.records.sum():,}")
        return ("provider", "requests", "records"), [*rows, total]

    def _notes(self) -> list[str]:
        about = "" if self.exactly else "about "
        notes = [f"coalitions to evaluate: {about}{self.evaluations:,}"]
        if self.money is not None:
            notes.append(f"money: {self.money:,}")
        return [*notes, *reason_lines(self.setup, ("sampling_chosen",))]


def bill(
    providers: Mapping[str, Any] | Iterable[Provider | Group | tuple[str, Any]],
    utility: Any,
    *,
    target: str | int | None = None,
    validation: Any = None,
    score: Any = None,
    sampling: Sampling | None = None,
    solver: Solver | None = None,
    index: Index | None = None,
    participation: Participation | None = None,
    n_games: int = 100,
    seed: int | None = None,
    budget: Budget | None = None,
    prices: Prices | None = None,
    next_batch: bool = False,
) -> Bill:
    """Count the requests, records and evaluations of a valuation, without asking a source.

    Parameters
    ----------
    providers, utility, target, validation, score, sampling : as in `value`
    solver, index, participation, n_games, seed, budget : as in `value`
    prices : what the sources charge
    next_batch : count what `next_batch` takes with these arguments, further draws included, instead
        of what `value` takes; it has no solver, index or participation

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> sb.bill(task.providers, task.utility, sampling=sb.Fresh(60), n_games=200)
    <Bill: 120,000 records in 2,000 requests>
    """
    check_kind("next_batch", next_batch, bool, "True or False")
    inputs = convert(
        providers, utility, target=target, validation=validation, score=score, seed=seed
    )
    draws, why = chosen_sampling(sampling, inputs.providers)
    known: dict[str, Any] = {
        "sampling": draws,
        "sampling_reason": why,
        "n_games": n_games,
        "seed": inputs.seed,
        "budget": budget,
    }
    of_value: dict[str, Any] = {"solver": solver, "index": index, "participation": participation}
    if not next_batch:
        given = check_arguments(inputs.providers, inputs.utility, **of_value, **known)
    else:
        for name, part in of_value.items():
            if part is not None:
                raise InvalidInput(f"{name}: next_batch has none; received {part!r}: leave it out")
        given = check_further(inputs.providers, inputs.utility, **known)
    return foresee(given, check_prices(prices))


def foresee(given: Arguments, prices: Prices | None = None) -> Bill:
    """Count what a valuation will take."""
    asked = given.sampling.purchases(given.providers)
    if asked is None:
        raise InvalidInput(
            f"{type(given.sampling).__name__} does not say what it will ask for: give it a method "
            "`purchases`"
        )
    once, per_game = (np.array(part, dtype=np.int64) for part in asked)
    further = np.zeros_like(per_game)
    if isinstance(given.solver, WithOneMore):
        further += np.array(given.sampling.further_purchases(given.providers), dtype=np.int64)
    if given.draws_presence:
        present = _attended_games(given, once, per_game)
        n_games, attended = len(present), present.sum(axis=0)
        sizes: Mapping[int, int] = Counter(present.sum(axis=1).tolist())
    else:
        n_games = _everybodys_games(given, _cost(once), _cost(per_game) + _cost(further))
        attended = np.full(len(given.names), n_games)
        sizes = {len(given.names): n_games}
    evaluations, exactly = _evaluations(given, sizes)
    requests = (once > 0) + (1 * (per_game > 0) + (further > 0)) * attended
    records = once + (per_game + further) * attended
    cost = Cost(int(requests.sum()), int(records.sum()))
    return Bill(
        names=given.names,
        n_games=n_games,
        requests=requests,
        records=records,
        evaluations=evaluations,
        exactly=exactly,
        money=None if prices is None else prices.of(cost),
        setup={word: given.setup[word] for word in _TOLD if word in given.setup},
    )


def _everybodys_games(given: Arguments, once: Cost, per_game: Cost) -> int:
    """Games that the budget pays for, if everybody takes part in all of them."""
    limit = given.budget.games_within(once, per_game)
    games = given.n_games if limit is None else min(given.n_games, limit)
    if games < 2 or not given.budget.allows(Cost(), once):
        raise _too_dear(given, once + per_game + per_game)
    return games


def _attended_games(given: Arguments, once: IntArray, per_game: IntArray) -> BoolArray:
    """Who takes part in the games that the budget pays for, which follows from the seed."""
    present = given.present(range(given.n_games))
    games = given.budget.games_of(_cost(once), (_cost(per_game * row) for row in present))
    if games is not None and games < 2:
        raise _too_dear(
            given, _cost(once) + _cost(per_game * present[0]) + _cost(per_game * present[1])
        )
    return present[:games]


def _too_dear(given: Arguments, cost: Cost) -> BudgetExceeded:
    return BudgetExceeded(
        f"the budget of {given.budget} does not pay for the pools and two games: they take at "
        f"least {cost.records:,} records in {cost.requests:,} requests"
    )


def _cost(records: IntArray) -> Cost:
    return Cost(int((records > 0).sum()), int(records.sum()))


def _evaluations(given: Arguments, sizes: Mapping[int, int]) -> tuple[int, bool]:
    """Coalitions of all games, and whether each of them was counted.

    Parameters
    ----------
    sizes : number of games by the number of providers in them. How many coalitions a solver
        evaluates depends only on the number of providers, not on which providers they are
    """
    if isinstance(given.solver, WithOneMore):
        return sum((size + 1) * games for size, games in sizes.items()), True
    nested = given.grouping if given.grouping is not None and given.grouping.nested else None
    total, exactly = 0, True
    for size, games in sizes.items():
        if size == 0:
            continue
        solver = given.solver if size == len(given.names) else given.solver.for_size(size)
        counted = range(1 if isinstance(solver, Exact) else min(games, _COUNTED))
        found = count_evaluations(given, solver, size, counted, nested)
        exactly &= isinstance(solver, Exact) or (len(sizes) == 1 and len(counted) == games)
        exactly &= not isinstance(solver, Trial)
        total += round(found * games / len(counted))
    return total, exactly
