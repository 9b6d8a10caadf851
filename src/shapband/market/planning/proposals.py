"""The table of a plan: the predicted errors and bill of each method, and a recommendation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband._typing import FloatArray
from shapband.access.budget import Budget
from shapband.checks import check_whole, one_line, printable
from shapband.engine.play import play
from shapband.engine.workers.local import LocalWorkers
from shapband.errors import InvalidInput
from shapband.indices import SHAPLEY, Index
from shapband.market.planning.pilot import Pilot
from shapband.market.planning.presence import arguments_with
from shapband.market.planning.search import Limits
from shapband.progress import duration, progress_display
from shapband.sampling.base import Sampling
from shapband.sampling.participation import Participation, who_is_present
from shapband.sampling.rare import label_caveats, rare_labels
from shapband.sampling.shared import HELD_REMEDY, format_held, format_shared
from shapband.sampling.sizes import format_sizes
from shapband.solvers.base import Solver
from shapband.valuation.text import Table, html_table, table_lines

if TYPE_CHECKING:
    import pandas as pd

    from shapband.market.next_batch import NextBatch
    from shapband.valuation.valuation import Valuation

_MARK = "→ "


@dataclass(frozen=True, eq=False, repr=False)
class Proposal:
    """One row of a plan: a way to value the providers, with its predicted errors and bill.

    All bills and times include the pilot's. Records of the pilot that the method uses again are
    counted once.

    Attributes
    ----------
    names : the providers, in the order of all arrays
    sampling, solver, n_games : what to pass to `value`
    standard_error : (n,) of the expectation of each provider
    half_width : (n,) of its 95 % interval
    variance_standard_error, variance_half_width : (n,) of the variance, likewise
    pools : share of the squared error of the expectation that is due to the choice of the pools
    validation : share that is due to the choice of the validation rows
    records, requests : numbers for all sources together
    money : their cost, or None without prices
    seconds : wall time
    evaluations : coalitions evaluated, not counting the pilot
    seed : seed of the pilot, so that its draws are used again
    index : the weights of coalition sizes
    participation : who takes part in the games, or None if everybody does

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> found = sb.plan(task.providers, task.utility, n_sample=60, minutes=1,
    ...                 budget=sb.Budget(records=2500), seed=0)
    >>> found.recommended.records <= 2500
    True
    """

    names: tuple[str, ...]
    sampling: Sampling
    solver: Solver
    n_games: int
    standard_error: FloatArray
    half_width: FloatArray
    variance_standard_error: FloatArray
    variance_half_width: FloatArray
    pools: float
    validation: float
    records: int
    requests: int
    money: Decimal | None
    seconds: float
    evaluations: int
    seed: int
    index: Index = SHAPLEY
    participation: Participation | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for `value`. The budget is the bill, so that no more is asked."""
        arguments = {
            "sampling": self.sampling,
            "solver": self.solver,
            "n_games": self.n_games,
            "seed": self.seed,
            "budget": Budget(records=self.records, requests=self.requests),
        }
        if self.index != SHAPLEY:
            arguments["index"] = self.index
        if self.participation is not None:
            arguments["participation"] = self.participation
        return arguments

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per provider and its predicted errors."""
        import pandas as pd

        errors = ("standard_error", "half_width", "variance_standard_error", "variance_half_width")
        columns = {error: getattr(self, error) for error in errors}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="provider"))

    def __str__(self) -> str:
        return "\n".join([*self._headline(), "", *table_lines(*self._table()), "", *self._notes()])

    def __repr__(self) -> str:
        return (
            f"<Proposal: {short_sampling(self.sampling)} with {self.solver!r}, "
            f"{self.n_games:,} games, ±{self.half_width.max():.2g}>"
        )

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return html_table(self._headline(), self._table(), self._notes())

    def _headline(self) -> list[str]:
        n = len(self.names)
        return [
            f"{n} provider{'s' * (n > 1)}, {self.n_games:,} games",
            printable(f"{short_sampling(self.sampling)} with {self.solver!r}"),
        ]

    def _table(self) -> Table:
        header: tuple[str, ...] = ("provider", "± 95 %", "variance ± 95 %")
        columns = [
            [f"{one:.2g}" for one in self.half_width],
            [f"{one:.2g}" for one in self.variance_half_width],
        ]
        pools = getattr(self.sampling, "n_pool", None)
        if isinstance(pools, Mapping):
            header = (*header, "pool")
            columns.append([f"{pools[name]:,}" for name in self.names])
        return header, list(zip(map(printable, self.names), *columns, strict=True))

    def _notes(self) -> list[str]:
        shares = {"pools": self.pools, "validation rows": self.validation}
        causes = [f"{cause} {100 * share:.0f} %" for cause, share in shares.items() if share > 0]
        money = "" if self.money is None else f", {self.money:,} of money"
        others = [] if self.index == SHAPLEY else [f"index:   {self.index!r}"]
        if self.participation is not None:
            others.append(f"participation: {self.participation!r}")
        return [
            "± 95 %:  predicted half width of the interval of an expectation, and of a variance",
            *([f"error:   {', '.join(causes)} of the squared error"] if causes else []),
            *map(printable, others),
            f"sources: {self.records:,} records in {self.requests:,} requests{money}; the pilot's "
            "are included",
            f"time:    {duration(self.seconds)}; {self.evaluations:,} coalitions to evaluate",
        ]


@dataclass(frozen=True)
class OutOfReach:
    """A method that exceeds the limits or cannot reach the error, and the reason."""

    method: str
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Proposals:
    """The predicted errors and bills of all methods within the limits, from a pilot.

    Attributes
    ----------
    rows : the methods that are possible, the smallest error or bill first
    recommended : the row to play
    reason : why it is recommended, in a sentence
    out_of_reach : the methods that are not possible
    limits : the limits and the error that were asked for
    pilot : the purchases and estimates of the pilot
    draws_reason : how many records a provider gives to a game and why, if `n_sample` was not given

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> found = sb.plan(task.providers, task.utility, n_sample=60, error=0.01, seed=0)
    >>> valuation = found.value()
    >>> valuation.access.records == found.recommended.records
    True
    """

    rows: tuple[Proposal, ...]
    recommended: Proposal
    reason: str
    out_of_reach: tuple[OutOfReach, ...]
    limits: Limits
    pilot: Pilot
    n_jobs: int
    draws_reason: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The providers, in the order of all arrays."""
        return self.pilot.arguments.names

    def value(
        self,
        row: Proposal | None = None,
        *,
        run: str | Path | None = None,
        progress: bool | None = None,
    ) -> Valuation:
        """Play the recommended row, or another; the pilot's records are not bought again.

        Parameters
        ----------
        row : one of `rows`; the recommended one by default
        run : a directory that keeps everything, as in `value`
        progress : as in `value`
        """
        from shapband.runs.run import value_in_run

        chosen = row or self.recommended
        given = arguments_with(
            self.pilot.arguments,
            sampling=chosen.sampling,
            solver=chosen.solver,
            n_games=chosen.n_games,
            budget=chosen.arguments["budget"],
        )
        workers = LocalWorkers(self.n_jobs, threads=given.utility.threaded)
        held = self.pilot.purchases
        with progress_display(progress) as watch:
            if run is not None:
                return value_in_run(Path(run), given, workers, watch, seed_given=True, held=held)
            with workers:
                return play(given, workers, watch, held)

    def next_batch(self, n_games: int = 400, *, progress: bool | None = None) -> NextBatch:
        """Estimate what one more draw of each provider adds, from the records of the pilot.

        Nothing is bought. The pilot's pools must hold four draws; if they hold fewer, an error says
        how to buy larger ones. Groups and the index do not change what a draw adds. A plan with a
        participation is refused, because everybody takes part in these games.
        """
        from shapband.market.next_batch import find_gains, with_further

        check_whole("n_games", n_games, 2, " (a variance needs two games)")
        given, pools = self.pilot.arguments, self.pilot.pool_sizes
        try:
            if pools is None:
                raise InvalidInput("the pilot has fresh draws")
            if given.participation is not None:
                raise InvalidInput("they are for games in which not everybody takes part")
            alone = replace(given, grouping=None, index=SHAPLEY)
            given = replace(with_further(alone), n_games=int(n_games))
        except InvalidInput as cause:
            raise InvalidInput(
                f"next_batch: the records of the pilot do not serve ({one_line(cause)}): call "
                "sb.next_batch, which buys the records that it needs"
            ) from cause
        workers = LocalWorkers(self.n_jobs, threads=given.utility.threaded)
        with progress_display(progress) as watch, workers:
            return find_gains(given, self.limits.prices, workers, watch, self.pilot.purchases)

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one line per row, with the worst and the mean error."""
        import pandas as pd

        return pd.DataFrame([_line(row, row is self.recommended) for row in self.rows])

    def __str__(self) -> str:
        return "\n".join([*self._headline(), "", *table_lines(*self._table()), "", *self._notes()])

    def __repr__(self) -> str:
        return f"<Proposals: {len(self.rows)} rows, {len(self.out_of_reach)} out of reach>"

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return html_table(self._headline(), self._table(), self._notes())

    def _headline(self) -> list[str]:
        n, error = len(self.names), self.limits.error
        wanted = "the smallest error" if error is None else f"an error of ±{error:g}"
        return [f"{n} provider{'s' * (n > 1)}: {wanted} within {self.limits}"]

    def _table(self) -> Table:
        money = () if self.limits.prices is None else ("money",)
        header = (
            "  sampling", "solver", "games", "± 95 %", "mean", "variance ± 95 %",
            "records", "requests", *money, "time",
        )  # fmt: skip
        return header, [_cells(row, row is self.recommended) for row in self.rows]

    def _notes(self) -> list[str]:
        pilot, copies = self.pilot, self.pilot.copies
        shared, held = format_shared(copies.shared), format_held(copies.held)
        return [
            f"{_MARK}{self.reason}",
            *(f"out of reach: {printable(one.method)}: {printable(one.reason)}"
              for one in self.out_of_reach),
            *([f"{shared}: a copy takes value from what it was copied from"] if shared else []),
            *([f"{held}: {HELD_REMEDY}"] if held else []),
            *("; ".join(caveat) for caveat in self._label_caveats()),
            f"pilot:   {pilot.cost.records:,} records in {pilot.cost.requests:,} requests, "
            f"{pilot.n_games:,} games, {pilot.seconds:.2f} s; included in every row",
            *([f"draws:   {printable(self.draws_reason)}"] if self.draws_reason else []),
            "± 95 %:  half width of the widest interval of an expectation, and the mean of all",
        ]  # fmt: skip

    def _label_caveats(self) -> list[tuple[str, str]]:
        """Labels that pools and draws of the recommended row may lack."""
        pilot, row = self.pilot, self.recommended
        bought = row.sampling.purchases(pilot.arguments.providers)
        if bought is None:
            return label_caveats((), pilot.unseen_labels, None)
        pooled = any(bought.once)
        sizes = dict(zip(self.names, bought.once if pooled else bought.per_game, strict=True))
        rare = rare_labels(
            pilot.labels,
            pilot.arguments.utility.labels,
            [sizes[one.name] for one in pilot.labels],
        )
        # The pools of the pilot are smaller, so what they lack says little about larger ones.
        known = [one for one in rare if one.records > 0]
        if pooled or not known:
            return label_caveats(known, pilot.unseen_labels, None)
        given = pilot.arguments
        # Games of pools may be averaged over presence, but fresh draws are made by who is present.
        drawn = given.participation if given.rounds == 0 else None
        present = who_is_present(drawn, given.seeds, self.names, range(row.n_games))
        draws = dict(zip(self.names, present.sum(axis=0).tolist(), strict=True))
        return label_caveats(known, pilot.unseen_labels, draws)


def short_sampling(sampling: Sampling) -> str:
    """The `repr` of a sampling, with the range of sizes that are given by provider name.

    Examples
    --------
    >>> import shapband as sb
    >>> short_sampling(sb.Pooled({"north": 900, "south": 60}, 0.1, replace=False))
    'Pooled(n_pool=60 to 900, n_boot=0.1, replace=False)'
    """
    text = repr(sampling)
    for size in (getattr(sampling, name, None) for name in ("n_pool", "n_boot", "n_sample")):
        if isinstance(size, Mapping):
            text = text.replace(repr(size), format_sizes(np.array(list(size.values()))))
    return text


def _cells(row: Proposal, recommended: bool) -> tuple[str, ...]:
    """A row of the printed table."""
    return (
        (_MARK if recommended else " " * len(_MARK)) + printable(short_sampling(row.sampling)),
        repr(row.solver),
        f"{row.n_games:,}",
        f"{row.half_width.max():.2g}",
        f"{row.half_width.mean():.2g}",
        f"{row.variance_half_width.mean():.2g}",
        f"{row.records:,}",
        f"{row.requests:,}",
        *([] if row.money is None else [f"{row.money:,}"]),
        duration(row.seconds),
    )


def _line(row: Proposal, recommended: bool) -> Mapping[str, Any]:
    """A line of the data frame."""
    errors = ("half_width", "standard_error", "variance_half_width", "variance_standard_error")
    plain = ("records", "requests", "money", "seconds", "evaluations")
    line = {
        "recommended": recommended,
        "sampling": repr(row.sampling),
        "solver": repr(row.solver),
        "n_games": row.n_games,
    }
    for error in errors:
        found = getattr(row, error)
        line |= {f"{error}_worst": found.max(), f"{error}_mean": found.mean()}
    return line | {name: getattr(row, name) for name in plain}
