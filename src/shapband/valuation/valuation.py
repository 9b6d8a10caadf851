"""The result of a valuation: expectation and variance of each value, and their errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.access.meter import AccessReport
from shapband.codec import lock_arrays
from shapband.estimate import intervals, joint
from shapband.estimate.estimate import Estimate
from shapband.estimate.grouped import GroupEstimate
from shapband.estimate.paired import PairEstimate
from shapband.estimate.rounds import RoundEstimate
from shapband.estimate.split import VarianceSplit
from shapband.sampling.design import Design
from shapband.sampling.distinct import repeated
from shapband.valuation import conversions, several, spread
from shapband.valuation.by_round import RoundFacts
from shapband.valuation.facts import DesignFacts
from shapband.valuation.groups import Groups
from shapband.valuation.interactions import InteractionFacts
from shapband.valuation.labels import LabelFacts
from shapband.valuation.old_names import OldNames
from shapband.valuation.provider import ProviderValue, provider_value
from shapband.valuation.text import valuation_html, valuation_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import xarray as xr

    from shapband.market.next_batch import NextBatch
    from shapband.market.payouts import Payouts
    from shapband.report.plots import Plots

StopCode = Literal["n_games", "budget", "rule", "pools", "validation", "interrupted", "unfinished"]


class Stopped(NamedTuple):
    """Why no further games were played: a code for programs and a sentence for readers."""

    code: StopCode
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Valuation(DesignFacts, LabelFacts, InteractionFacts, RoundFacts, OldNames):
    """The moments of every provider's value, and how they were obtained.

    With groups of providers the values are Owen values, which add up to the values of the groups.

    Two uncertainties are kept apart: `variance` is the spread of the value from one data draw
    to the next, which is real and does not shrink with work; `standard_error` and the intervals
    say how well the estimates are known, which does.

    A valuation is a mapping from names to the numbers of one provider: ``valuation["north"]`` is a
    `ProviderValue`, ``"north" in valuation`` says whether it was valued, and ``len`` and ``for``
    count and name the providers. All arrays are in the order of `names`.

    Attributes
    ----------
    design : how the games were made, and what is known about the records
    estimate : both moments of every value, and their errors by cause
    games : (n_games, n) per-game values; expected values given the draws of a game, if
        ``setup["presence"]`` says that presence was averaged over
    access : requests, records and seconds, in total and per provider
    evaluations : distinct coalitions evaluated, over all games
    failures : how many evaluations failed and were given the utility's `failed` value
    stopped : why no further games were played
    stopped_code : the same for programs: ``n_games``, ``budget``, ``rule``, ``pools`` if the
        rule cannot be met with these pools, ``interrupted`` by Ctrl-C, or ``unfinished`` in a run
        that is not finished
    seconds : wall time with access; in a run, the sum over sessions, without the pauses
    group_estimate : the same as `estimate` for groups of providers, or None without groups
    pair_estimate : the same for interactions of pairs of providers, or None if not asked for
    round_estimate : the same by round of training, or None if not asked for
    variance_split : the variance of every value by its causes, or None if not asked for

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Pooled(250, 60),
    ...                      n_games=20, seed=0)
    >>> valuation.expectation.shape, valuation.access.records
    ((10,), 2477)
    """

    design: Design
    estimate: Estimate
    games: FloatArray
    access: AccessReport
    evaluations: int
    failures: int
    stopped: str
    stopped_code: StopCode
    seconds: float
    group_estimate: GroupEstimate | None = None
    pair_estimate: PairEstimate | None = None
    round_estimate: RoundEstimate | None = None
    variance_split: VarianceSplit | None = None

    def __post_init__(self) -> None:
        lock_arrays(self)

    @property
    def n_games(self) -> int:
        """Number of games played."""
        return self.estimate.n_games

    def __getitem__(self, name: str) -> ProviderValue:
        """The numbers of one provider, by name."""
        return provider_value(self, name)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def keys(self) -> tuple[str, ...]:
        """The names of the providers, so that ``dict(valuation)`` has the numbers of each."""
        return self.names

    @property
    def groups(self) -> Groups | None:
        """The moments of the groups of providers, or None without groups."""
        if self.design.grouping is None or self.group_estimate is None:
            return None
        return Groups(self.design.grouping, self.names, self.group_estimate)

    @property
    def expectation(self) -> FloatArray:
        """(n,) estimate of E[φ]."""
        return self.estimate.expectation

    @property
    def variance(self) -> FloatArray:
        """(n,) estimate of Var(φ), solver noise removed. It may be negative by chance."""
        return self.estimate.variance

    @property
    def raw_variance(self) -> FloatArray:
        """(n,) sample variance of `games`, solver noise included."""
        return self.estimate.raw_variance

    @property
    def solver_variance(self) -> FloatArray:
        """(n,) the part of `raw_variance` that is solver noise."""
        return self.estimate.solver_variance

    @property
    def negative_variance(self) -> FloatArray:
        """(n,) whether the estimate is negative, so that the variance is smaller than its error."""
        return np.asarray(self.variance < 0)

    @property
    def repeated_records(self) -> BoolArray:
        """(n,) whether over a third of a pool, or of a draw larger than the pool, are repeats."""
        if self.distinct_records is None:
            return np.zeros(len(self.names), dtype=bool)
        return repeated(self.distinct_records, self.draw_sizes, self.pool_sizes)

    @property
    def standard_deviation(self) -> FloatArray:
        """(n,) square root of `variance`, NaN where `variance` is negative."""
        return np.sqrt(np.where(self.negative_variance, np.nan, self.variance))

    @property
    def standard_error(self) -> FloatArray:
        """(n,) standard error of the expectation."""
        return self.estimate.standard_error

    @property
    def variance_standard_error(self) -> FloatArray:
        """(n,) standard error of the variance; the choice of the validation rows is not in it."""
        return self.estimate.variance_standard_error

    @property
    def error(self) -> pd.DataFrame:
        """The standard error of every expectation, split by cause; the squares add up.

        More games lower the errors in the columns of the games and of the solver. Only larger
        pools lower the error in the column of the pools.
        """
        import pandas as pd

        columns = {"standard_error": self.standard_error}
        columns |= {cause: np.sqrt(part) for cause, part in self.estimate.errors.by_cause.items()}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="provider"))

    @property
    def participation(self) -> pd.DataFrame:
        """How often every provider took part, its value if present, and its variance by cause.

        `rate` is the share of games in which the provider was present. `expectation_present` and
        `variance_present` are the moments of its value in these games, with the standard error of
        the first, which has all causes of `error`. The variance over all games is the sum of
        `variance_participation`, which its own presence and absence cause, and `variance_data`,
        which the data and the presence of the others cause: p (1 - p) E[φ | present]² and
        p Var(φ | present). If presence was averaged
        over, the variance is also the sum of `variance_within_draws`, E[Var(φ | draws)], which
        the presence of all providers causes, and `variance_between_draws`, Var(E[φ | draws]).

        If providers come and go in the rounds of a game (``per="round"``), `rate` is the share of
        all rounds in which the provider was present, and `rate_in_games` the share of games in
        which it was present in at least one round; there are no other columns.
        """
        import pandas as pd

        return pd.DataFrame(
            self.estimate.participation, index=pd.Index(self.names, name="provider")
        )

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> FloatArray:
        """(n, 2) confidence interval for the expectation.

        The level holds for each interval, or with `simultaneous` for all of them together.
        """
        if simultaneous:
            return joint.simultaneous_interval(self.estimate, level)
        return intervals.expectation_interval(self.estimate, level)

    def variance_interval(self, level: float = 0.95) -> FloatArray:
        """(n, 2) confidence interval for the variance of games scored on these validation rows.

        It covers the choice of games and of pools, but not the choice of the validation rows: with
        other rows the variance itself is another one.
        """
        return intervals.variance_interval(self.estimate, level)

    def difference(self, a: str, b: str, level: float = 0.95) -> several.Difference:
        """Difference of expectations, `a` minus `b`, with its interval and p-value.

        With more than 500 providers, whose covariances are not kept, the standard error comes from
        the values in `games`. If these values do not show the correlation, it is an upper bound:
        the sum of both standard errors.
        """
        return several.difference(self.names, self.estimate, self.games, a, b, level)

    def ranks(self, level: float = 0.95) -> several.Ranks:
        """Ranks of the expectations, with intervals that hold together.

        With more than 500 providers, the errors of differences come from the values in `games`,
        and the intervals are a little wider than necessary.
        """
        return several.ranks(self.names, self.estimate, self.games, level)

    def top(self, k: int) -> pd.Series[float]:
        """Probability that each provider's expectation is among the `k` largest.

        It follows from the distribution of the errors around the estimates, and is simulated:
        its standard error is at most 0.004.
        """
        return several.top(self.names, self.estimate, self.games, k)

    def shares(self, level: float = 0.95) -> pd.DataFrame:
        """Shares of the total of all expectations, with standard errors and intervals.

        An error is raised if the total may be zero at this level.
        """
        return several.shares(self.names, self.estimate, self.games, level)

    def distribution(
        self,
        level: float = 0.95,
        quantiles: tuple[float, ...] = (0.05, 0.5, 0.95),
        tail: float = 0.1,
    ) -> spread.Distribution:
        """Quantiles of the values, probability of a negative value, and expected shortfall.

        They describe the values in single games, solver noise included: with `Fresh`, draws from
        the sources; with all other samplings, draws from the pools that were bought, whose own
        error is not in the intervals. The expected shortfall is the mean of the lowest `tail` of
        the values; it has an interval if at least 50 games are in the tail. All intervals are about
        these validation rows, and do not cover their choice. Games that were averaged over who
        takes part do not show single values, and are refused.
        """
        spread.check_single_games(self.estimate, "distribution")
        games, n_played = self.games, self.n_games
        return spread.distribution(self.names, games, n_played, quantiles, tail, level)

    def correlation(self, level: float = 0.95) -> spread.Correlation:
        """Correlations of the providers' values over games, with errors and intervals.

        They describe the values in single games, like `distribution`, scored on these validation
        rows, whose choice the errors do not cover. Solver noise is included and changes the
        correlations.
        """
        spread.check_single_games(self.estimate, "correlation")
        return spread.correlation(self.names, self.games, self.n_games, level)

    @property
    def plot(self) -> Plots:
        """Pictures of the valuation, drawn with matplotlib.

        ``valuation.plot()`` draws the forest plot; there are also ``.ranks``, ``.convergence``,
        ``.distribution``, ``.variance_sources``, ``.waterfall``, ``.beeswarm``,
        ``.interactions`` and ``.by_round``, and ``.frame(name)`` for the numbers behind.
        """
        from shapband.report.plots import Plots  # matplotlib is loaded when a picture is drawn

        return Plots(self)

    @overload
    def to_frame(
        self, library: Literal["pandas"] = "pandas", *, level: float = 0.95
    ) -> pd.DataFrame: ...

    @overload
    def to_frame(self, library: Literal["polars"], *, level: float = 0.95) -> pl.DataFrame: ...

    def to_frame(self, library: str = "pandas", *, level: float = 0.95) -> Any:
        """Return a data frame with one row per provider, of pandas or with "polars" of polars.

        In pandas the names of the providers are the index, in polars the first column.
        """
        return conversions.frame(self, library, level)

    def to_xarray(self, level: float = 0.95) -> xr.Dataset:
        """Return an xarray dataset: the columns of `to_frame` by provider, and `games` by both.

        The values of single games have the dimensions ``game`` and ``provider``. It needs
        ``pip install 'shapband[xarray]'``.
        """
        return conversions.dataset(self, level)

    def to_latex(self) -> str:
        r"""Return the printed table as a LaTeX ``tabular`` with the rules of booktabs.

        Names are escaped. The document needs ``\usepackage{booktabs}``.
        """
        return conversions.latex(self)

    def to_json(self) -> str:
        """Return the whole valuation as JSON; no digits are lost."""
        from shapband.valuation.document import write

        return write(self)

    @staticmethod
    def from_json(text: str) -> Valuation:
        """Make a valuation from the string that `to_json` returned."""
        from shapband.valuation.document import read

        return read(text)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        payouts: Payouts | None = None,
        next_batch: NextBatch | None = None,
        provider: str | None = None,
        title: str | None = None,
    ) -> None:
        """Write a report to one HTML file, which needs no connection and holds no script.

        It shows the values with charts and tables, points to check, cost, method, and results of
        `sb.payouts` and `sb.next_batch`. For one `provider` it shows nothing about the others.
        """
        from shapband.report.page import write_page

        write_page(
            path, self, payouts=payouts, next_batch=next_batch, provider=provider, title=title
        )

    def __str__(self) -> str:
        return valuation_text(self)

    def __repr__(self) -> str:
        return (
            f"<Valuation of {len(self.names)} providers from {self.n_games:,} games, "
            f"stopped by {self.stopped_code}>"
        )

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return valuation_html(self)
