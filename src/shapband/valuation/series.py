"""Changes over a series of valuations, such as one for each month."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.checks import check_level, printable
from shapband.codec import lock_arrays
from shapband.errors import InvalidInput
from shapband.estimate.joint import student_quantile
from shapband.estimate.many import at_least_rounding
from shapband.printing import Printed, PrintsTable, Table, with_digits
from shapband.valuation.compare import (
    Change,
    change_between,
    check_valuations,
    common_names,
)
from shapband.valuation.estimands import differ, different_estimands, on_uncovered_rows
from shapband.valuation.valuation import Valuation

if TYPE_CHECKING:
    import pandas as pd

    from shapband.report.change_plots import SeriesPlots

Since = Literal["first", "previous"]
_MARK = " *"


@dataclass(frozen=True, eq=False, repr=False)
class SeriesComparison(PrintsTable):
    """The changes of all providers over a series of T valuations, with a simultaneous band.

    Attributes
    ----------
    names : the providers that all valuations have
    labels : the valuations
    since : whether changes are from the first valuation, or from the one before
    level : probability that all intervals together hold the true changes
    expectation : (T, n) expectations
    change : (T - 1, n) change of every valuation but the first
    standard_error : (T - 1, n) of the change
    interval : (T - 1, n, 2) intervals of the changes, which all hold together
    beyond_chance : (T - 1, n) whether the interval excludes 0; if no true expectation changes, a
        share of at most ``1 - level`` of all series flags anything. False for valuations that
        estimate different things
    notes : warnings about the comparison
    tested : (T - 1,) whether the valuations of a change estimate the same thing

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> months = {month: sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=20,
    ...                           seed=seed) for seed, month in enumerate(["May", "June", "July"])}
    >>> found = sb.compare_series(months)
    >>> found.change.shape, found.beyond_chance.any()
    ((2, 10), np.False_)
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    since: Since
    level: float
    expectation: FloatArray
    change: FloatArray
    standard_error: FloatArray
    interval: FloatArray
    beyond_chance: BoolArray
    notes: tuple[str, ...]
    tested: BoolArray

    def __post_init__(self) -> None:
        lock_arrays(self)

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per provider and change."""
        import pandas as pd

        steps, n = self.change.shape
        before = self.labels[:1] * steps if self.since == "first" else self.labels[:-1]
        place = pd.MultiIndex.from_arrays(
            [
                np.repeat(self.labels[1:], n),
                np.tile(np.array(self.names, dtype=object), steps),
            ],
            names=["valuation", "provider"],
        )
        columns = {
            "since": np.repeat(before, n),
            "expectation": self.expectation[1:].ravel(),
            "change": self.change.ravel(),
            "standard_error": self.standard_error.ravel(),
            "low": self.interval[..., 0].ravel(),
            "high": self.interval[..., 1].ravel(),
            "beyond_chance": self.beyond_chance.ravel(),
        }
        return pd.DataFrame(columns, index=place)

    @property
    def plot(self) -> SeriesPlots:
        """The picture of the series, drawn with matplotlib: ``comparison.plot()``."""
        from shapband.report.change_plots import SeriesPlots

        return SeriesPlots(self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a report to one HTML file, which needs no connection and holds no script."""
        from shapband.report.changes import series_page
        from shapband.report.rendering import write_html

        write_html(path, lambda: series_page(self))

    def _printed(self) -> Printed:
        return Printed([self._headline()], self._table(), self._remarks())

    def __repr__(self) -> str:
        flagged = int(self.beyond_chance.sum())
        return (
            f"<SeriesComparison: {len(self.labels)} valuations, {len(self.names)} providers, "
            f"{flagged} changes beyond chance>"
        )

    def _headline(self) -> str:
        what = "the first valuation" if self.since == "first" else "the valuation before"
        return f"change from {what}; all intervals hold together at {100 * self.level:g} %"

    def _table(self) -> Table:
        half = np.diff(self.interval, axis=2)[..., 0] / 2
        columns = [with_digits(self.expectation[0], half[0])]
        header = ["provider", printable(self.labels[0])]
        for at, label in enumerate(self.labels[1:]):
            signs = ["+" if change >= 0 else "" for change in self.change[at]]
            changes = with_digits(self.change[at], half[at])
            columns.append([f"{a}{b}" for a, b in zip(signs, changes, strict=True)])
            marks = np.where(self.beyond_chance[at], _MARK, " " * len(_MARK))
            widths = with_digits(half[at], half[at])
            columns.append([f"{a}{b}" for a, b in zip(widths, marks, strict=True)])
            header += [printable(label), f"±{' ' * len(_MARK)}"]
        names = [printable(name) for name in self.names]
        return tuple(header), list(zip(names, *columns, strict=True))

    def _remarks(self) -> list[str]:
        count = int(self.beyond_chance.sum())
        return [
            f"{count} of {self.change.size} changes are beyond chance"
            f"{' and marked with *' * (count > 0)}: their interval excludes 0",
            *map(printable, self.notes),
        ]


def compare_series(
    valuations: Sequence[Valuation] | Mapping[str, Valuation],
    *,
    since: Since = "first",
    level: float = 0.95,
) -> SeriesComparison:
    """Compare a series of valuations, such as one for each month, for all providers at once.

    Every change is the difference of two expectations, with the standard error of `compare`. The
    half widths are Student's quantiles at the level ``1 - (1 - level) / M`` for M changes
    (Bonferroni), so that all intervals hold together, whatever the correlations: the changes since
    the first valuation share its error.

    Parameters
    ----------
    valuations : two or more, in the order of time; the keys of a mapping are their labels
    since : "first" for changes from the first valuation, "previous" for changes from one
        valuation to the next
    level : probability that all intervals together hold the true changes

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> months = [sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=20,
    ...                    seed=seed) for seed in range(3)]
    >>> sb.compare_series(months, since="previous").interval.shape
    (2, 10, 2)
    """
    labels, series = _labelled(valuations)
    check_valuations("compare_series", series)
    if len(series) < 2:
        raise InvalidInput(f"compare_series: pass two valuations or more; received {len(series)}")
    check_since(since)
    check_level(level)
    names = common_names(series)
    starts = series[:1] * (len(series) - 1) if since == "first" else series[:-1]
    pairs = list(zip(starts, series[1:], strict=True))
    changes = [change_between(*pair, names) for pair in pairs]
    reasons = [different_estimands(*pair, names) for pair in pairs]
    half = _half_widths(changes, level)
    change = np.stack([one.found.estimate for one in changes])
    comparable = np.array([not each for each in reasons])
    return SeriesComparison(
        names=names,
        labels=labels,
        since=since,
        level=level,
        expectation=np.stack([_expectations(one, names) for one in series]),
        change=change,
        standard_error=np.stack([one.found.standard_error for one in changes]),
        interval=np.stack([change - half, change + half], axis=2),
        beyond_chance=(np.abs(change) > half) & comparable[:, None],
        notes=(*_notes(labels, pairs, names, reasons), *on_uncovered_rows(series, labels)),
        tested=comparable,
    )


def check_since(since: str) -> Since:
    """Check what changes are counted from."""
    for known in get_args(Since):
        if since == known:
            found: Since = known
            return found
    raise InvalidInput(f'since must be "first" or "previous"; received {since!r}')


def _half_widths(changes: Sequence[Change], level: float) -> FloatArray:
    """Half widths of intervals that hold together: (T - 1, n)."""
    each = 1 - (1 - level) / (len(changes) * len(changes[0].first))
    return np.stack(
        [
            student_quantile(one.found.freedom, each)
            * at_least_rounding(one.found.standard_error, one.scale)
            for one in changes
        ]
    )


def _labelled(
    valuations: Sequence[Valuation] | Mapping[str, Valuation],
) -> tuple[tuple[str, ...], list[Valuation]]:
    given: object = valuations  # a valuation is neither of the two, which mypy knows
    if isinstance(given, Valuation):
        raise InvalidInput("compare_series: pass a list of valuations; received one valuation")
    if isinstance(valuations, Mapping):
        return tuple(map(str, valuations)), list(valuations.values())
    series = list(valuations)
    return tuple(str(number) for number in range(1, len(series) + 1)), series


def _expectations(valuation: Valuation, names: Sequence[str]) -> FloatArray:
    place = {name: at for at, name in enumerate(valuation.names)}
    return valuation.expectation[[place[name] for name in names]]


def _notes(
    labels: Sequence[str],
    pairs: Sequence[tuple[Valuation, Valuation]],
    names: Sequence[str],
    reasons: Sequence[Sequence[str]],
) -> tuple[str, ...]:
    notes = [
        f"warning: no provider of {label} is flagged, because {reason}"
        for label, each in zip(labels[1:], reasons, strict=True)
        for reason in each
    ]
    notes += [
        f"note: the model of {label} differs: {one.setup['model']} and {other.setup['model']}"
        for label, (one, other) in zip(labels[1:], pairs, strict=True)
        if differ(one.setup, other.setup, "model")
    ]
    everybody = dict.fromkeys(name for pair in pairs for one in pair for name in one.names)
    alone = [name for name in everybody if name not in set(names)]
    if alone:
        notes.append(f"note: left out, because not all valuations have them: {', '.join(alone)}")
    return tuple(notes)
