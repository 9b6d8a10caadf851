"""A test of whether two valuations differ by more than chance.

Only valuations with the same estimand are tested: with other draws, an equal provider has another
value (`valuation.estimands`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shapband._typing import AnyArray, FloatArray
from shapband.checks import printable, written
from shapband.errors import InvalidInput
from shapband.estimate.differences import (
    independent_difference,
    may_be_paired,
    paired_difference,
    without_pools_error,
)
from shapband.estimate.joint import Statistic, student_interval, two_sided_p
from shapband.printing import Printed, PrintsTable, p_text, with_digits
from shapband.valuation.estimands import (
    differ,
    different_estimands,
    on_uncovered_rows,
    same_draws,
)
from shapband.valuation.text import REASONS
from shapband.valuation.valuation import Valuation

if TYPE_CHECKING:
    import pandas as pd

    from shapband.report.change_plots import ComparisonPlots

LABELS = ("first", "second")
_WIDEST_LABEL = 20  # characters of a label that still names a column of the printed table
_REASONS_OF_THEIR_OWN = ("index", "score", "target")  # if they differ, nothing is tested
LEVEL = 0.95  # a difference is beyond chance if its adjusted p-value is below 1 - LEVEL


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(PrintsTable):
    """Two valuations, provider by provider.

    Attributes
    ----------
    names : the providers that both valuations have
    first, second : (n,) expectations in the first and in the second valuation; over the paired
        games if there are any
    difference : (n,) second - first
    standard_error : (n,) of the difference
    interval : (n, 2) 95 % interval of the difference of each provider alone
    p_value : (n,) of a two-sided test for each provider alone
    adjusted_p_value : (n,) adjusted by Holm's method for the number of providers
    beyond_chance : (n,) whether the adjusted p-value is below 0.05; if no true
        expectation differs, at most 5 % of comparisons flag any provider. False for all providers
        if the valuations estimate different things
    paired_games : games that were compared one by one, or 0 for independent valuations
    notes : warnings about the comparison, such as different targets or settings
    labels : names of the two valuations
    tested : whether they estimate the same thing; if not, no provider is flagged

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> one = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=20, seed=0)
    >>> sb.compare(one, one).difference.max()
    np.float64(0.0)
    """

    names: tuple[str, ...]
    first: FloatArray
    second: FloatArray
    difference: FloatArray
    standard_error: FloatArray
    interval: FloatArray
    p_value: FloatArray
    adjusted_p_value: FloatArray
    beyond_chance: AnyArray
    paired_games: int
    notes: tuple[str, ...]
    labels: tuple[str, str] = LABELS
    tested: bool = True

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per provider."""
        import pandas as pd

        low, high = self.interval.T
        columns = {
            "first": self.first,
            "second": self.second,
            "difference": self.difference,
            "standard_error": self.standard_error,
            "low": low,
            "high": high,
            "p_value": self.p_value,
            "adjusted_p_value": self.adjusted_p_value,
            "beyond_chance": self.beyond_chance,
        }
        return pd.DataFrame(columns, index=pd.Index(self.names, name="provider"))

    @property
    def plot(self) -> ComparisonPlots:
        """Pictures of the comparison, drawn with matplotlib.

        ``comparison.plot()`` draws the changes with their intervals; ``.expectations`` draws both
        expectations, and ``.frame()`` has the numbers behind.
        """
        from shapband.report.change_plots import ComparisonPlots

        return ComparisonPlots(self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a report to one HTML file, which needs no connection and holds no script."""
        from shapband.report.changes import comparison_page
        from shapband.report.rendering import write_html

        write_html(path, lambda: comparison_page(self))

    def _printed(self) -> Printed:
        half = np.diff(self.interval, axis=1)[:, 0] / 2
        signs = ["+" if change >= 0 else "" for change in self.difference]
        changes = zip(signs, with_digits(self.difference, half), strict=True)
        columns = [
            [printable(name) for name in self.names],
            with_digits(self.first, half),
            with_digits(self.second, half),
            [f"{sign}{change}" for sign, change in changes],
            with_digits(half, half),
            [p_text(p) for p in self.p_value],
            [p_text(p) for p in self.adjusted_p_value],
            chance_words(self.beyond_chance, tested=self.tested),
        ]
        named = self._names_columns
        both = map(printable, self.labels) if named else LABELS
        header = (
            "provider", *both, "difference", "± 95 %", "p", "p (Holm)", "beyond chance",
        )  # fmt: skip
        headline = [
            f"{word + ':':<8}{printable(label)}"
            for word, label in zip(LABELS, self.labels, strict=True)
            if not named
        ]
        rows = list(zip(*columns, strict=True))
        return Printed(headline, (header, rows), [self.summary, *map(printable, self.notes)])

    @property
    def _names_columns(self) -> bool:
        """Whether the labels are short enough for columns, and different; paths may not be."""
        return len(set(self.labels)) == 2 and max(map(len, self.labels)) <= _WIDEST_LABEL

    @property
    def summary(self) -> str:
        """How many providers differ beyond chance, and what this means."""
        count, n = int(self.beyond_chance.sum()), len(self.names)
        if not self.tested:
            return "no difference was tested, because the valuations estimate different things"
        return (
            f"{count} of {n} differ beyond chance: p (Holm) is below 0.05, so where nothing "
            "differs, any would in at most 5 % of comparisons"
        )

    def __repr__(self) -> str:
        return (
            f"<Comparison of {len(self.names)} providers, {int(self.beyond_chance.sum())} "
            "differences beyond chance>"
        )


def compare(first: Valuation, second: Valuation, *, labels: Sequence[str] = LABELS) -> Comparison:
    """Compare the expectations of the providers that both valuations have.

    Valuations with the same seed and the same sampling are compared game by game, over as many
    games as the shorter one has: both chose the same rows, so that much of the random error is
    common to both and cancels. Other valuations, and valuations that did not keep the values of
    these games, are assumed to be independent and compared by Welch's test. The standard errors
    include the errors that are due to the choice of the pools and of the validation rows; if both
    valuations have the same validation rows, in the same order, their effects cancel. A note says
    if the errors of a valuation do not cover its rows, as with ``fixed_validation=True``.

    Valuations that estimate different things, such as parts of another score, values about another
    target, or draws of different sizes, are not tested: no provider is flagged, and a note says
    why. Another model under the same score is tested, with a note. `Stratified` chooses other draw
    sizes for other pools; play the second valuation with
    ``sb.Pooled(n_pool, first.sizes_by_name)`` instead.

    Parameters
    ----------
    first, second : the valuations
    labels : their names in tables, pictures and the report, such as ``("May", "June")``

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> early, late = (sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=50,
    ...                         seed=seed) for seed in (0, 1))
    >>> sb.compare(early, late).beyond_chance.any()
    np.False_
    """
    check_valuations("compare", [first, second])
    both = _check_labels(labels)
    names = common_names([first, second])
    change = change_between(first, second, names)
    p_value = two_sided_p(change.found, change.scale)
    adjusted = holm(p_value)
    reasons = different_estimands(first, second, names)
    return Comparison(
        names=names,
        first=change.first,
        second=change.second,
        difference=change.found.estimate,
        standard_error=change.found.standard_error,
        interval=np.stack(student_interval(change.found, LEVEL), axis=1),
        p_value=p_value,
        adjusted_p_value=adjusted,
        beyond_chance=(adjusted < 1 - LEVEL) & (not reasons),
        paired_games=change.paired_games,
        notes=(
            *(f"warning: no provider is flagged, because {reason}" for reason in reasons),
            *_notes(first, second, names, change.paired_games, both),
        ),
        labels=both,
        tested=not reasons,
    )


class Change(NamedTuple):
    """The expectations of two valuations, and their difference.

    Attributes
    ----------
    first, second : (n,) expectations; over the paired games if there are any
    found : the difference with its error
    paired_games : games that were compared one by one, or 0
    """

    first: FloatArray
    second: FloatArray
    found: Statistic
    paired_games: int

    @property
    def scale(self) -> FloatArray:
        """(n,) size of the numbers whose difference was taken."""
        return np.maximum(np.abs(self.first), np.abs(self.second))


def check_valuations(owner: str, valuations: Sequence[object]) -> None:
    """Raise InvalidInput unless all of them are valuations."""
    for place, one in enumerate(valuations, start=1):
        if not isinstance(one, Valuation):
            path = isinstance(one, str | os.PathLike)
            raise InvalidInput(
                f"{owner}: valuation {place} must be a Valuation; received "
                f"{written(one) if path else type(one).__name__}: pass what sb.value returns, or "
                f"sb.load({written(str(one)) if path else 'run'}).valuation"
            )


def chance_words(beyond_chance: AnyArray, *, tested: bool) -> list[str]:
    """Write the cells of the column "beyond chance"."""
    return [("yes" if flag else "no") if tested else "not tested" for flag in beyond_chance]


def _check_labels(labels: object) -> tuple[str, str]:
    pair = labels if isinstance(labels, tuple | list) else ()
    if len(pair) != 2 or not all(isinstance(label, str) and label for label in pair):
        raise InvalidInput(
            f"compare: labels must be two names; received {written(labels)}: pass a tuple or a "
            "list, such as ('May', 'June')"
        )
    return pair[0], pair[1]


def common_names(valuations: Sequence[Valuation]) -> tuple[str, ...]:
    """The providers that all valuations have, in the order of the first."""
    known = set(valuations[0].names).intersection(*(one.names for one in valuations))
    names = tuple(name for name in valuations[0].names if name in known)
    if not names:
        raise InvalidInput("the valuations have no provider in common: nothing can be compared")
    return names


def change_between(first: Valuation, second: Valuation, names: tuple[str, ...]) -> Change:
    """Difference of the expectations of some providers, game by game if games share draws."""
    rows = _rows(first, names), _rows(second, names)
    paired = _paired_games(first, second)
    if not paired:
        found = independent_difference(first.estimate, second.estimate, rows)
        return Change(first.expectation[rows[0]], second.expectation[rows[1]], found, 0)
    games = first.games[:paired, rows[0]], second.games[:paired, rows[1]]
    found = paired_difference(games[1] - games[0], first.estimate, second.estimate, rows)
    return Change(games[0].mean(axis=0), games[1].mean(axis=0), found, paired)


def holm(p_values: FloatArray) -> FloatArray:
    """Adjust p-values so that all tests together keep their level (Holm 1979).

    A p-value that is not known stays NaN and counts as a test.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)  # NaN is last
    multiplied = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(multiplied), 1.0)
    return adjusted


def _paired_games(first: Valuation, second: Valuation) -> int:
    """Number of games to compare one by one: all games of the shorter valuation, or 0.

    It is 0 if the games do not share their draws, if nothing in them is random, or if the values of
    some of them were not kept.
    """
    same = same_draws(first, second) and may_be_paired(first.estimate, second.estimate)
    both = min(first.n_games, second.n_games)
    return both if same and min(len(first.games), len(second.games)) >= both else 0


def _rows(valuation: Valuation, names: tuple[str, ...]) -> list[int]:
    place = {name: at for at, name in enumerate(valuation.names)}
    return [place[name] for name in names]


def _notes(
    one: Valuation,
    other: Valuation,
    names: tuple[str, ...],
    paired: int,
    labels: tuple[str, str],
) -> Iterator[str]:
    for word, setting in one.setup.items():
        if word not in (*_REASONS_OF_THEIR_OWN, *REASONS) and differ(one.setup, other.setup, word):
            yield f"note: the {word} differs: {setting} and {other.setup[word]}"
    common = set(names)
    runs = [f"the {label} run" if labels == LABELS else label for label in labels]
    yield from on_uncovered_rows((one, other), runs)
    for where, mine in zip(runs, (one, other), strict=True):
        alone = [name for name in mine.names if name not in common]
        if alone:
            yield f"note: only in {where}, and left out: {', '.join(alone)}"
    if any(
        each.pool_sizes is not None and without_pools_error(each.estimate) for each in (one, other)
    ):
        yield (
            "note: the errors include the choice of games, but not the choice of pools: runs that "
            "bought other pools differ by more than these errors say"
        )
    if paired:
        yield (
            f"note: both runs have the same seed and sampling, so they were compared game by game "
            f"over {paired:,} games"
        )
    elif one.seed == other.seed:
        yield (
            "note: both runs have the same seed and may share draws: the standard error is then "
            "too large, and small differences are missed"
        )
