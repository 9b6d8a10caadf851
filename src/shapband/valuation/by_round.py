"""Values by round of training, and the variance by its causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import printable
from shapband.estimate import intervals
from shapband.estimate.estimate import Estimate
from shapband.estimate.rounds import RoundEstimate
from shapband.estimate.split import VarianceSplit
from shapband.sampling.design import Design
from shapband.valuation.text import Table, html_table, table_lines, with_digits

if TYPE_CHECKING:
    import pandas as pd

_PRINTED = 12  # rounds in the printed table


@dataclass(frozen=True, eq=False, repr=False)
class RoundValues:
    """Expected values of every provider in a row of rounds, with their errors.

    Attributes
    ----------
    found : one estimate for every round

    Examples
    --------
    >>> import shapband as sb
    >>> first = sb.Estimate.of([[1.0, 2.0], [3.0, 2.5]])
    >>> sb.RoundValues((first,)).expectation.tolist()
    [[2.0, 2.25]]
    """

    found: tuple[Estimate, ...]

    @property
    def expectation(self) -> FloatArray:
        """(n_rounds, n) estimates of the expectations."""
        return np.stack([one.expectation for one in self.found])

    @property
    def standard_error(self) -> FloatArray:
        """(n_rounds, n) standard errors of the expectations, all causes included."""
        return np.stack([one.standard_error for one in self.found])

    def interval(self, level: float = 0.95) -> FloatArray:
        """(n_rounds, n, 2) confidence intervals; the level holds for each of them."""
        return np.stack([intervals.expectation_interval(one, level) for one in self.found])

    def __repr__(self) -> str:
        n_rounds, n = self.expectation.shape
        return f"<RoundValues of {n} provider{'s' * (n > 1)} in {n_rounds} rounds>"


@dataclass(frozen=True, eq=False, repr=False)
class ByRound(RoundValues):
    """The expected value of every round of training, and the values after each round.

    The value of round r is the value for "score after r rounds minus score after r - 1 rounds". The
    values of all rounds add up to the value of the game. The arrays have one row for each round and
    one column for each provider.

    Attributes
    ----------
    names : the providers, in the order of all arrays
    found : one estimate for every round
    after : values after each round, the sums of the rounds up to it; the last ones are the values
        of the valuation

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2)); y = X @ [1.0, -1.0] > 0
    >>> data = {"north": (X[:100], y[:100]), "south": (X[100:200], ~y[100:200])}
    >>> utility = sb.FederatedUtility("logistic", X[200:], y[200:], rounds=3)
    >>> valuation = sb.value(data, utility, n_games=5, seed=0, by_round=True)
    >>> rounds = valuation.by_round
    >>> rounds.expectation.shape, len(rounds.to_frame())
    ((3, 2), 6)
    >>> np.allclose(rounds.expectation.sum(axis=0), valuation.expectation)
    True
    """

    names: tuple[str, ...]
    after: RoundValues

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return len(self.found)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return a data frame with one row per round, counted from 1, and provider.

        `low` and `high` are the ends of the interval. The columns that begin with ``after`` are
        about the values after the round.
        """
        import pandas as pd

        n = len(self.names)
        columns: dict[str, Sequence[str] | FloatArray] = {
            "round": np.repeat(np.arange(1, self.n_rounds + 1), n),
            "provider": np.tile(np.array(self.names, dtype=object), self.n_rounds),
        }
        for opening, part in (("", self), ("after_", self.after)):
            low, high = np.moveaxis(part.interval(level), 2, 0)
            columns |= {
                f"{opening}expectation": part.expectation.ravel(),
                f"{opening}standard_error": part.standard_error.ravel(),
                f"{opening}low": low.ravel(),
                f"{opening}high": high.ravel(),
            }
        return pd.DataFrame(columns)

    def __str__(self) -> str:
        return "\n".join([*self._headline, "", *table_lines(*self._table), "", *self._notes])

    def __repr__(self) -> str:
        return f"<ByRound: {len(self.names)} providers, {self.n_rounds} rounds>"

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return html_table(self._headline, self._table, self._notes)

    @property
    def _headline(self) -> list[str]:
        n_games = self.found[0].n_games
        plural = "s" * (self.n_rounds > 1)
        return [f"values of {self.n_rounds} round{plural} of training from {n_games:,} games"]

    @property
    def _table(self) -> Table:
        """Header and cells: a row for each provider, the largest total first."""
        shown = shown_rounds(self.n_rounds)
        order = np.argsort(-self.after.expectation[-1], kind="stable")
        columns: list[list[str]] = [[printable(self.names[at]) for at in order]]
        header = ["provider"]
        for at in shown:
            half = _half_widths(self.found[at])[order]
            pairs = zip(
                with_digits(self.expectation[at, order], half), with_digits(half, half), strict=True
            )
            columns.append([f"{value} ± {width.strip()}" for value, width in pairs])
            header.append(f"round {at + 1}")
        half = _half_widths(self.after.found[-1])[order]
        columns.append(with_digits(self.after.expectation[-1, order], half))
        columns.append(with_digits(half, half))
        return (*header, "total", "± 95 %"), list(zip(*columns, strict=True))

    @property
    def _notes(self) -> list[str]:
        notes = ["rounds add up to the total; ± is half the width of a 95 % interval"]
        if self.n_rounds > _PRINTED:
            notes.append(f"{_PRINTED} of {self.n_rounds} rounds are shown; to_frame() has all")
        return notes


def shown_rounds(n_rounds: int) -> list[int]:
    """Rounds that a printed table shows: all, or some from the first to the last.

    Examples
    --------
    >>> shown_rounds(3), len(shown_rounds(100)), shown_rounds(100)[-1]
    ([0, 1, 2], 12, 99)
    """
    if n_rounds <= _PRINTED:
        return list(range(n_rounds))
    found: list[int] = np.linspace(0, n_rounds - 1, _PRINTED).round().astype(int).tolist()
    return found


def _half_widths(estimate: Estimate) -> FloatArray:
    return np.asarray(np.diff(intervals.expectation_interval(estimate, 0.95), axis=1)[:, 0] / 2)


class RoundFacts:
    """The properties of `Valuation` that are about rounds of training."""

    design: Design
    round_estimate: RoundEstimate | None
    variance_split: VarianceSplit | None

    @property
    def by_round(self) -> ByRound | None:
        """Expected values by round of training; None unless ``value(..., by_round=True)``."""
        if self.round_estimate is None:
            return None
        each, after = self.round_estimate
        return ByRound(each, self.design.names, RoundValues(after))

    @property
    def variance_parts(self) -> pd.DataFrame | None:
        """The variance by cause; None unless ``value(..., variance_parts=True)``.

        `data` is Var(E[φ | draws]), `participation` what the presence in rounds adds for given
        draws, and `training` what the random numbers of the training add for given draws and
        presence. The three add up to `variance`; a small part may come out negative. Columns that
        end with ``_error`` are standard errors.
        """
        if self.variance_split is None:
            return None
        import pandas as pd

        columns = {name: np.array(part) for name, part in vars(self.variance_split).items()}
        return pd.DataFrame(columns, index=pd.Index(self.design.names, name="provider"))
