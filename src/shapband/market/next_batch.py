"""next_batch(): what one more draw of each provider would bring, and what it costs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.access.access import CONCURRENCY, TIMEOUT
from shapband.access.budget import Budget, Cost
from shapband.access.journal import PurchaseJournal
from shapband.access.meter import AccessReport
from shapband.checks import check_kind, printable
from shapband.engine.arguments import Arguments, check_arguments
from shapband.engine.play import Watch
from shapband.engine.workers.base import Workers
from shapband.engine.workers.local import LocalWorkers
from shapband.errors import InvalidInput
from shapband.estimate.estimate import Estimate
from shapband.estimate.intervals import expectation_interval
from shapband.inputs.convert import convert
from shapband.inputs.draws import chosen_sampling
from shapband.market.gains import WithOneMore, play_gains
from shapband.market.prices import Prices, check_prices
from shapband.progress import progress_display
from shapband.providers import Group, Provider, check_providers
from shapband.sampling.base import Sampling
from shapband.sampling.design import Design
from shapband.sampling.shared import HELD_REMEDY, format_held
from shapband.utilities.base import Utility
from shapband.valuation.text import (
    error_causes,
    html_table,
    reason_lines,
    table_lines,
    why_unknown,
    with_digits,
)

if TYPE_CHECKING:
    import pandas as pd

    from shapband.valuation.text import Table

# Games that are solved again without folds of the validation rows. The effect of a fold on a gain
# varies between games several times as much as between folds, so values, with 12, need fewer.
_FOLD_GAMES = 100


@dataclass(frozen=True, eq=False, repr=False)
class NextBatch:
    """What v(N), the value of all providers together, gains from one more draw of each provider.

    Attributes
    ----------
    design : how the games are made; they are the games of `value` with the same arguments
    estimate : expectation and variance of every gain, and their errors by cause
    now : mean of v(N) over the games
    prices : what the sources charge, or None
    access : requests, records and waiting time
    evaluations, failures : coalitions evaluated, and how many failed and count with `failed=`
    asked_games : the number of games asked for; a budget may end the games sooner
    seconds : wall time

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> sampling = sb.Pooled(n_pool=250, n_boot=60, replace=False)
    >>> found = sb.next_batch(task.providers, task.utility, sampling=sampling, seed=0)
    >>> found
    <NextBatch: 10 providers, 100 games>
    >>> bool(found.gain.max() < found.now / 50)
    True
    """

    design: Design
    estimate: Estimate
    now: float
    prices: Prices | None
    access: AccessReport
    evaluations: int
    failures: int
    asked_games: int
    seconds: float

    @property
    def names(self) -> tuple[str, ...]:
        """The providers, in the order of all arrays."""
        return self.design.names

    @property
    def n_games(self) -> int:
        """Number of games played."""
        return self.estimate.n_games

    @property
    def draw_sizes(self) -> IntArray:
        """(n,) records in one more draw of each provider."""
        return self.design.draw_sizes

    @property
    def gain(self) -> FloatArray:
        """(n,) expectation of what v(N) gains from one more draw of each provider."""
        return self.estimate.expectation

    @property
    def standard_error(self) -> FloatArray:
        """(n,) standard error of `gain`, all causes included."""
        return self.estimate.standard_error

    @property
    def standard_deviation(self) -> FloatArray:
        """(n,) standard deviation of the gain across draws of all providers; NaN if not known."""
        variance = self.estimate.variance
        return np.sqrt(np.where(variance >= 0, variance, np.nan))

    def interval(self, level: float = 0.95) -> FloatArray:
        """Confidence interval of every gain: (n, 2)."""
        return expectation_interval(self.estimate, level)

    @property
    def price(self) -> tuple[Decimal, ...] | None:
        """What one more draw of each provider costs in one request; None without prices."""
        if self.prices is None:
            return None
        return tuple(self.prices.of(Cost(1, size)) for size in self.draw_sizes.tolist())

    @property
    def gain_per_price(self) -> FloatArray | None:
        """(n,) gain per unit of money, NaN if a draw costs nothing; None without prices."""
        units = self._units
        return None if units is None else np.asarray(self.gain / units)

    @property
    def _units(self) -> FloatArray | None:
        """Prices as floats, NaN if a draw costs nothing."""
        if self.price is None:
            return None
        return np.array([float(price) or np.nan for price in self.price])

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return a data frame with one row per provider.

        Its index and columns are
        `provider, records, gain, standard_error, low, high, standard_deviation`, and with prices
        also `price, gain_per_price`.
        """
        import pandas as pd

        low, high = self.interval(level).T
        columns: dict[str, Any] = {
            "records": self.draw_sizes,
            "gain": self.gain,
            "standard_error": self.standard_error,
            "low": low,
            "high": high,
            "standard_deviation": self.standard_deviation,
        }
        if self.price is not None:
            columns |= {"price": self.price, "gain_per_price": self.gain_per_price}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="provider"))

    def __str__(self) -> str:
        notes = self._notes()
        return "\n".join([*self._headline(), "", *table_lines(*self.table()), "", *notes])

    def __repr__(self) -> str:
        n = len(self.names)
        return f"<NextBatch: {n} provider{'s' * (n > 1)}, {self.n_games:,} games>"

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return html_table(self._headline(), self.table(), self._notes())

    def table(self) -> Table:
        """Header and cells of the table, the largest gain, or gain per price, first."""
        per_price = self.gain_per_price
        key = self.gain if per_price is None else np.nan_to_num(per_price, nan=np.inf)
        order = np.argsort(-key, kind="stable")
        half = np.diff(self.interval(), axis=1)[:, 0] / 2
        deviation = self.standard_deviation
        header: tuple[str, ...] = ("provider", "records", "gain", "± 95 %", "sd of gain")
        columns = [
            [f"{size:,}" for size in self.draw_sizes[order].tolist()],
            with_digits(self.gain[order], half[order]),
            with_digits(half[order], half[order]),
            with_digits(deviation[order], (deviation / 2)[order]),
        ]
        if self.price is not None and per_price is not None and self._units is not None:
            error = half / self._units
            header = (*header, "price", "gain per price", "± 95 %")
            columns.append([f"{self.price[at]:,}" for at in order])
            columns.append(with_digits(per_price[order], error[order]))
            columns.append(with_digits(error[order], error[order]))
        names = [printable(self.names[at]) for at in order]
        return header, list(zip(names, *columns, strict=True))

    def _headline(self) -> list[str]:
        n, games = len(self.names), self.n_games
        ended = "" if games == self.asked_games else ", as many as the budget pays for"
        return [
            f"{n} provider{'s' * (n > 1)}, {games:,} games{ended}",
            f"what v(N) gains from one more draw of a provider; without it v(N) is {self.now:.4g}",
            f"of {printable(self.design.estimand)}",
        ]

    def _notes(self) -> list[str]:
        notes = []
        if self.failures:
            notes.append(
                f"{self.failures:,} of {self.evaluations:,} coalitions could not be evaluated and "
                "count with the value given by failed="
            )
        if held := format_held(self.design.held_rows):
            notes.append(f"{held}: {HELD_REMEDY}")
        if np.isinf(self.interval()).any():
            notes.append(
                "unbounded: a gain was the same in all games, which are too few to call it "
                "constant; play more games"
            )
        if self.estimate.errors.lasting and (causes := error_causes(self.estimate)):
            notes.append(f"error:   {causes} (shares of the squared error)")
        rows = self.design.validation
        if rows is not None and self.estimate.moments.validation is None:
            reason = rows.reason or why_unknown(self.design)
            notes.append(f"validation: the errors do not cover the choice of rows ({reason})")
        return [
            *notes,
            f"sources: {self.access.records:,} records in {self.access.requests:,} requests",
            f"time:    {self.seconds:.2f} s; {self.evaluations:,} coalitions evaluated",
            f"method:  {self.design.setup['sampling']}; seed {self.design.seed}",
            *reason_lines(self.design.setup, ("utility_chosen", "sampling_chosen")),
        ]


def next_batch(
    providers: Mapping[str, Any] | Iterable[Provider | tuple[str, Any]],
    utility: Any,
    *,
    target: str | int | None = None,
    validation: Any = None,
    score: Any = None,
    sampling: Sampling | None = None,
    n_games: int = 100,
    seed: int | None = None,
    prices: Prices | None = None,
    budget: Budget | None = None,
    n_jobs: int = 1,
    workers: Workers | None = None,
    fixed_validation: bool = False,
    validation_groups: Any = None,
    chunk_size: int | None = None,
    concurrency: int = CONCURRENCY,
    timeout: float = TIMEOUT,
    progress: bool | None = None,
) -> NextBatch:
    """Estimate what v(N) gains from one more draw of each provider.

    The games are the games of `value` with the same providers, sampling and seed. In every game
    each provider makes a further draw of the same size. The gain of provider i is the value of all
    draws of the game together with the further draw of i, minus their value without it. A game
    takes n + 1 evaluations for n providers.

    Further draws without replacement have none of the records that the provider already gave to
    the game; draws with replacement are independent. Samplings with pools draw them from the pools,
    without further purchases: a pool without replacement must hold four draws, unless it is the
    whole stock. `Fresh` buys them, in as many further requests.

    Parameters
    ----------
    providers, utility, target, validation, score, sampling : as in `value`; everybody takes part in
        every game. Groups, and utilities that treat providers by their position, are refused
    n_games, seed : as in `value`
    prices : what the sources charge; the table then has the gain per unit of money
    budget : limits on the records and requests of all games, the further draws included
    n_jobs, workers, chunk_size, concurrency, timeout, progress : as in `value`
    fixed_validation, validation_groups : as in `value`

    Returns
    -------
    The expected gain of every provider with its error, and the price of one more draw.

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(900, 2)); y = X @ [1.0, -1.0] + rng.normal(size=900)
    >>> providers = [sb.Provider("north", sb.ArraySource(X[:400], y[:400])),
    ...              sb.Provider("south", sb.ArraySource(X[400:800], y[400:800]))]
    >>> utility = sb.LinearUtility(X[800:], y[800:])
    >>> found = sb.next_batch(providers, utility, sampling=sb.Fresh(10), n_games=200, seed=0,
    ...                       prices=sb.Prices(record="0.50"))
    >>> bool((found.interval()[:, 0] > 0).all()), found.price
    (True, (Decimal('5.00'), Decimal('5.00')))
    """
    inputs = convert(
        providers,
        utility,
        target=target,
        validation=validation,
        validation_groups=validation_groups,
        score=score,
        seed=seed,
    )
    draws, why = chosen_sampling(sampling, inputs.providers)
    given = check_further(
        inputs.providers,
        inputs.utility,
        sampling=draws,
        sampling_reason=why,
        n_games=n_games,
        seed=inputs.seed,
        budget=budget,
        chunk_size=chunk_size,
        concurrency=concurrency,
        timeout=timeout,
        fixed_validation=fixed_validation,
        validation_groups=validation_groups,
    )
    charged = check_prices(prices)
    known = "DaskWorkers(...), RayWorkers(...) or None"
    check_kind("workers", workers, Workers | None, known, "n_jobs={} for workers on this machine")
    chosen = workers or LocalWorkers(n_jobs, threads=given.utility.threaded)
    with progress_display(progress) as watch, chosen:
        return find_gains(given, charged, chosen, watch)


def find_gains(
    given: Arguments,
    prices: Prices | None,
    workers: Workers,
    watch: Watch,
    purchases: PurchaseJournal | None = None,
) -> NextBatch:
    """Play the games of arguments that `with_further` returned."""
    started = time.perf_counter()
    found = play_gains(given, workers, watch, purchases)
    return NextBatch(
        design=found.design,
        estimate=found.estimate,
        now=found.now,
        prices=prices,
        access=found.access,
        evaluations=found.evaluations,
        failures=found.failures,
        asked_games=given.n_games,
        seconds=time.perf_counter() - started,
    )


def check_further(
    providers: Sequence[Provider | Group], utility: Utility, *, sampling: Sampling, **others: Any
) -> Arguments:
    """Check all arguments before any source is asked; they are those of `check_arguments`."""
    checked, grouping = check_providers(providers)
    if grouping is not None:
        raise InvalidInput(
            "next_batch: groups do not change what one more draw adds: pass their providers alone"
        )
    given = check_arguments(checked, utility, sampling=sampling, solver=WithOneMore(), **others)
    return with_further(given)


def with_further(given: Arguments) -> Arguments:
    """Check that games can have further draws, and complete the arguments for them."""
    utility, sampling, checked = given.utility, given.sampling, given.providers
    owner = type(utility).__name__
    if not utility.uses_records:
        raise InvalidInput(
            f"next_batch: {owner} does not depend on the records, so one more draw adds nothing: "
            "pass a utility of the records"
        )
    if utility.restricted(range(len(checked))) is not utility:
        raise InvalidInput(
            f"next_batch: {owner} treats providers by their position, and a further draw has none: "
            "pass a utility that depends on the records alone, such as AdditiveUtility() without "
            "weights"
        )
    if sampling.further_purchases(checked) is None:
        raise InvalidInput(
            f"next_batch: {type(sampling).__name__} has no further draws: use Fresh, Pooled or "
            "Stratified, or give it the methods `further_purchases` and `Realisation.further`"
        )
    rows = given.validation
    if rows is not None and rows.folds > 0:
        rows = rows._replace(games=_FOLD_GAMES)
    return replace(given, solver=WithOneMore(), validation=rows)
