"""The table of a plan: the predicted errors and bill of each method, and a recommendation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapband._typing import FloatArray
from shapband.access.budget import Budget
from shapband.engine.arguments import Arguments
from shapband.market.planning.pilot import Pilot
from shapband.market.planning.search import Candidate, Limits
from shapband.market.planning.text import proposals_html, proposals_text
from shapband.sampling.base import Sampling
from shapband.solvers.base import Solver

if TYPE_CHECKING:
    import pandas as pd

    from shapband.valuation.valuation import Valuation


@dataclass(frozen=True, eq=False)
class Proposal:
    """One row of a plan: a way to value the providers, with its predicted errors and bill.

    All bills and times include the pilot's. Records of the pilot that the method uses again are
    counted once.

    Attributes
    ----------
    sampling, solver, n_games : what to pass to `value`
    standard_error : (n,) of the expectation of each provider
    half_width : (n,) of its 95 % interval
    variance_standard_error, variance_half_width : (n,) of the variance, likewise
    pools : share of the squared error of the expectation that is due to the choice of the pools
    records, requests : numbers for all sources together
    money : their cost, or None without prices
    seconds : wall time
    evaluations : coalitions evaluated, not counting the pilot
    seed : seed of the pilot, so that its draws are used again

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> found = sb.plan(task.providers, task.utility, n_sample=60, minutes=1,
    ...                 budget=sb.Budget(records=2500), seed=0)
    >>> found.recommended.records <= 2500
    True
    """

    sampling: Sampling
    solver: Solver
    n_games: int
    standard_error: FloatArray
    half_width: FloatArray
    variance_standard_error: FloatArray
    variance_half_width: FloatArray
    pools: float
    records: int
    requests: int
    money: Decimal | None
    seconds: float
    evaluations: int
    seed: int

    @staticmethod
    def of(candidate: Candidate, evaluations: float, limits: Limits, seed: int) -> Proposal:
        """Make the row of a candidate."""
        return Proposal(
            sampling=candidate.method.make(candidate.n_pool),
            solver=candidate.family.make(candidate.work),
            n_games=candidate.n_games,
            **candidate.errors._asdict(),
            records=candidate.cost.records,
            requests=candidate.cost.requests,
            money=None if limits.prices is None else limits.prices.of(candidate.cost),
            seconds=candidate.seconds,
            evaluations=round(evaluations * candidate.n_games),
            seed=seed,
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for `value`. The budget is the bill, so that no more is asked."""
        return {
            "sampling": self.sampling,
            "solver": self.solver,
            "n_games": self.n_games,
            "seed": self.seed,
            "budget": Budget(records=self.records, requests=self.requests),
        }


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
        from shapband.market.planning.execute import execute

        return execute(self, row or self.recommended, run, progress)

    def engine_arguments(self, row: Proposal) -> Arguments:
        """All arguments of the valuation that a row proposes."""
        from dataclasses import replace

        return replace(
            self.pilot.arguments,
            sampling=row.sampling,
            solver=row.solver,
            n_games=row.n_games,
            budget=row.arguments["budget"],
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one line per row, with the worst and the mean error."""
        import pandas as pd

        return pd.DataFrame([_line(row, row is self.recommended) for row in self.rows])

    def __str__(self) -> str:
        return proposals_text(self)

    def __repr__(self) -> str:
        return f"<Proposals: {len(self.rows)} rows, {len(self.out_of_reach)} out of reach>"

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return proposals_html(self)


def _line(row: Proposal, recommended: bool) -> Mapping[str, Any]:
    return {
        "recommended": recommended,
        "sampling": repr(row.sampling),
        "solver": repr(row.solver),
        "n_games": row.n_games,
        "half_width_worst": row.half_width.max(),
        "half_width_mean": row.half_width.mean(),
        "standard_error_worst": row.standard_error.max(),
        "standard_error_mean": row.standard_error.mean(),
        "variance_half_width_worst": row.variance_half_width.max(),
        "variance_half_width_mean": row.variance_half_width.mean(),
        "variance_standard_error_worst": row.variance_standard_error.max(),
        "variance_standard_error_mean": row.variance_standard_error.mean(),
        "records": row.records,
        "requests": row.requests,
        "money": row.money,
        "seconds": row.seconds,
        "evaluations": row.evaluations,
    }


def merged(refused: Sequence[tuple[str, str, str]]) -> tuple[OutOfReach, ...]:
    """Join refusals of one sampling that have the same reason: (sampling, solver, reason)."""
    solvers: dict[tuple[str, str], list[str]] = {}
    for sampling, solver, reason in refused:
        solvers.setdefault((sampling, reason), []).append(solver)
    return tuple(
        OutOfReach(f"{sampling} with {' or '.join(names)}", reason)
        for (sampling, reason), names in solvers.items()
    )
