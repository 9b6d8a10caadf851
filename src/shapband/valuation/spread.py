"""The distribution of the values over the single games of a valuation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import check_level, check_number, printable
from shapband.errors import InvalidInput
from shapband.estimate import tails
from shapband.estimate.estimate import Estimate
from shapband.printing import Printed, PrintsTable, Table, with_digits

if TYPE_CHECKING:
    import pandas as pd

_SQUARE = 12  # correlations of up to this many providers are printed as a square table
_STRONGEST = 10  # pairs that are printed for more providers
_LEAST_GAMES = 4  # the variance of Fisher's z, 1 / (n - 3), is finite from 4 games on


@dataclass(frozen=True, eq=False, repr=False)
class Distribution(PrintsTable):
    """Quantiles and tails of every provider's value over games, with their intervals.

    The intervals are about these validation rows, and do not cover their choice.

    Attributes
    ----------
    names : the providers
    statistics : what was estimated: ``quantile 0.05`` and others, ``negative`` for the
        probability of a negative value, ``shortfall 0.1`` for the mean of the lowest tenth
    estimate, low, high : (n, n_statistics) estimates and the ends of their intervals; an end is
        infinite, or NaN for the shortfall, where there are too few games for it
    standard_error : (n, n_statistics) of the shortfall; NaN for the others, which have exact
        intervals instead
    level : confidence level of each interval
    n_games, n_played : number of games used, the first ones, and number of all games played

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=50,
    ...                      seed=0)
    >>> found = valuation.distribution(quantiles=(0.5,))
    >>> found.statistics, found.estimate.shape
    (('quantile 0.5', 'negative', 'shortfall 0.1'), (10, 3))
    """

    names: tuple[str, ...]
    statistics: tuple[str, ...]
    estimate: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    n_games: int
    n_played: int

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per provider and statistic."""
        import pandas as pd

        index = pd.MultiIndex.from_product(
            [self.names, self.statistics], names=["provider", "statistic"]
        )
        columns = ("estimate", "standard_error", "low", "high")
        return pd.DataFrame({name: getattr(self, name).ravel() for name in columns}, index=index)

    def _printed(self) -> Printed:
        columns = zip(self.estimate.T, self._precision().T, strict=True)
        cells = [with_digits(estimate, error) for estimate, error in columns]
        names = [printable(name) for name in self.names]
        rows = list(zip(names, *cells, strict=True))
        header = ("provider", *self.statistics)
        return Printed([_from_games(self.n_games, self.n_played)], (header, rows))

    def _precision(self) -> FloatArray:
        """Errors that set the digits: half of the interval, or what is known of it."""
        below, above = self.estimate - self.low, self.high - self.estimate
        known = np.where(np.isfinite(above), above, np.where(np.isfinite(below), below, np.nan))
        known = np.where(np.isfinite(below + above), (below + above) / 2, known)
        known = np.where(np.isnan(known), self.standard_error, known)
        return np.where(np.isnan(known), np.abs(self.estimate) / 10, known)

    def __repr__(self) -> str:
        return f"<Distribution of {len(self.names)} providers from {self.n_games:,} games>"


@dataclass(frozen=True, eq=False, repr=False)
class Correlation(PrintsTable):
    """Correlations of the providers' values over games, with their errors.

    The errors are about these validation rows, and do not cover their choice.

    Attributes
    ----------
    names : the providers, in the order of all rows and columns
    estimate : (n, n) correlations, NaN for a provider whose value never changes
    standard_error : (n, n) of the correlations
    low, high : (n, n) ends of their intervals
    level : confidence level of each interval
    n_games, n_played : number of games used, the first ones, and number of all games played

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=50,
    ...                      seed=0)
    >>> valuation.correlation().estimate.shape
    (10, 10)
    """

    names: tuple[str, ...]
    estimate: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    n_games: int
    n_played: int

    def to_frame(self) -> pd.DataFrame:
        """Return the correlations as a square data frame."""
        import pandas as pd

        index = pd.Index(self.names, name="provider")
        return pd.DataFrame(self.estimate, index=index, columns=index)

    def _printed(self) -> Printed:
        many = len(self.names) > _SQUARE
        headline = [_from_games(self.n_games, self.n_played)]
        return Printed(headline, *(self._strongest() if many else self._square()))

    def __repr__(self) -> str:
        return f"<Correlation of {len(self.names)} providers from {self.n_games:,} games>"

    def _square(self) -> tuple[Table, list[str]]:
        """All correlations; the columns have the numbers of the rows, because names are long."""
        rows = [
            (f"{at} {printable(name)}", *("not known" if np.isnan(r) else f"{r:.2f}" for r in row))
            for at, (name, row) in enumerate(zip(self.names, self.estimate, strict=True), start=1)
        ]
        return (("correlation", *(str(at + 1) for at in range(len(rows)))), rows), []

    def _strongest(self) -> tuple[Table, list[str]]:
        """The pairs with the largest correlations, and what was left out."""
        one, other = np.triu_indices(len(self.names), k=1)
        strength = np.nan_to_num(np.abs(self.estimate[one, other]), nan=-1.0)
        chosen = np.argsort(-strength, kind="stable")[:_STRONGEST]
        rows = [
            (
                f"{printable(self.names[a])}, {printable(self.names[b])}",
                *(f"{part[a, b]:.2f}" for part in (self.estimate, self.low, self.high)),
            )
            for a, b in zip(one[chosen], other[chosen], strict=True)
        ]
        left = f"the {len(rows)} strongest of {len(one):,} pairs; to_frame() has all of them"
        return (("pair", "correlation", "low", "high"), rows), [left]


def distribution(
    names: tuple[str, ...],
    games: FloatArray,
    n_played: int,
    quantiles: tuple[float, ...],
    tail: float,
    level: float,
) -> Distribution:
    """Estimate quantiles and tails from the games that were kept."""
    check_level(level)
    _check_games("distribution", games)
    for probability in quantiles:
        _check_probability("quantiles", probability)
    _check_probability("tail", tail)
    found = {
        **{f"quantile {p:g}": tails.quantile(games, p, level) for p in quantiles},
        "negative": tails.probability_below(games, 0.0, level),
        f"shortfall {tail:g}": tails.shortfall(games, tail, level),
    }
    table = np.stack([np.stack(statistic, axis=1) for statistic in found.values()], axis=1)
    return Distribution(
        names=names,
        statistics=tuple(found),
        estimate=table[..., 0],
        standard_error=table[..., 1],
        low=table[..., 2],
        high=table[..., 3],
        level=level,
        n_games=len(games),
        n_played=n_played,
    )


def correlation(
    names: tuple[str, ...], games: FloatArray, n_played: int, level: float
) -> Correlation:
    """Estimate the correlations from the games that were kept."""
    check_level(level)
    _check_games("correlation", games)
    found = tails.correlation(games, level)
    return Correlation(names, *found, level=level, n_games=len(games), n_played=n_played)


def check_single_games(estimate: Estimate, question: str) -> None:
    """Refuse games that were averaged over who takes part, because they have no single values."""
    if not estimate.shows_single_games:
        raise InvalidInput(
            f"{question}: presence was averaged over, so the values with some providers absent are "
            "not known: use Fresh, or a solver such as Strata, with which presence is drawn"
        )


def _check_games(question: str, games: FloatArray) -> None:
    if len(games) < _LEAST_GAMES:
        raise InvalidInput(
            f"{question}: this needs the values of at least {_LEAST_GAMES} games; the valuation "
            f"keeps {len(games)}: finish the run, play more games, or raise keep_games"
        )


def _check_probability(name: str, probability: float) -> None:
    if not 0 < check_number(name, probability) < 1:
        raise InvalidInput(f"{name} must lie strictly between 0 and 1; received {probability!r}")


def _from_games(n_games: int, n_played: int) -> str:
    if n_games == n_played:
        return f"values in {n_games:,} games"
    return f"values in the first {n_games:,} games, which were kept, of {n_played:,}"
