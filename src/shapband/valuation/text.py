"""Valuations as text and HTML tables; the standard error sets how many digits are shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.checks import printable
from shapband.estimate.errors import CAUSES
from shapband.estimate.estimate import Estimate
from shapband.estimate.intervals import endless_half_widths
from shapband.estimate.joint import total_half_width
from shapband.estimate.shapes import Shape, games_to_be_constant
from shapband.indices import SHAPLEY
from shapband.printing import Table as Table
from shapband.printing import decimals as decimals
from shapband.printing import html_table as html_table
from shapband.printing import table_lines as table_lines
from shapband.printing import with_digits as with_digits
from shapband.sampling.distinct import REMEDY, format_repeats
from shapband.sampling.rare import label_caveats
from shapband.sampling.shared import HELD_REMEDY, format_held, format_shared
from shapband.sampling.targets import format_odd_labels
from shapband.sampling.validation import ENOUGH, NOT_DEFINED, Validation
from shapband.valuation.valued import loss_caveat, method_of_value

if TYPE_CHECKING:
    from shapband.sampling.design import Design
    from shapband.valuation.valuation import Valuation

_WIDE = 60  # characters after which a line of causes is broken
_WIDEST = 100  # characters after which a line on the method is broken
_DUMMY = "(a dummy model)"  # words after v(∅) that stay on one line
_DUMMY_KEPT = _DUMMY.replace(" ", "\N{NO-BREAK SPACE}")
_FEW_ROWS = (
    f"with fewer than {ENOUGH} rows or groups that vary, intervals hold less often than their level"
)
# Entries of a valuation's `setup` that give reasons for choices of the library, and their labels.
REASONS = {
    "presence": "presence: ",
    "training": "training: ",
    "utility_chosen": "utility: chosen because ",
    "sampling_chosen": "sampling: ",
    "pools_bought": "pools:   ",
    "chosen": "solver:  ",
    "certain": "games:   all are equal, because ",
    "left_out": "left out: ",
}


def valuation_text(valuation: Valuation) -> str:
    """Format a valuation as text: the providers sorted by value, then access, time and method."""
    return "\n".join(
        [
            *_headline(valuation),
            "",
            *table_lines(*valuation_table(valuation)),
            *(line for caveat in caveats(valuation) for line in caveat),
            "",
            *on_participation(valuation),
            *_on_pools(valuation),
            *on_validation(valuation),
            f"sources: {valuation.access.records:,} records in {valuation.access.requests:,} "
            f"requests, total request time {valuation.access.seconds:.2f} s",
            *_repeated(valuation),
            f"time:    {valuation.seconds:.2f} s; {valuation.evaluations:,} coalitions evaluated",
            *_wrapped(f"value:   {printable(_value(valuation))}"),
            *_wrapped(f"method:  {printable(_method(valuation))}; seed {valuation.seed}"),
            *reason_lines(valuation.setup),
        ]
    )


def _repeated(valuation: Valuation) -> list[str]:
    retries = valuation.access.retries
    if not retries:
        return []
    what = "1 failed request was" if retries == 1 else f"{retries:,} failed requests were"
    return [f"         {what} repeated"]


def valuation_html(valuation: Valuation) -> str:
    """Format a valuation as an HTML table for notebooks. All text in it is escaped."""
    notes = [line for caveat in caveats(valuation) for line in caveat]
    notes += [*on_participation(valuation), *_on_pools(valuation), *on_validation(valuation)]
    return html_table(_headline(valuation), valuation_table(valuation), notes)


def valuation_table(valuation: Valuation) -> Table:
    """Header and cells of a valuation's table, the largest expectation first.

    The members of a group are below it and indented.
    """
    rows = _Rows.of(valuation)
    names, order = _listed(valuation, rows.expectation)
    half = np.diff(rows.interval, axis=1)[:, 0] / 2
    total = float(valuation.expectation.sum())
    divisible = total > total_half_width(valuation.estimate, 0.95, valuation.games)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation_error = rows.variance_standard_error / (2 * rows.deviation)
    columns = [
        with_digits(rows.expectation[order], half[order]),
        with_digits(half[order], half[order]),
        [f"{100 * one / total:.1f} %" if divisible else "–" for one in rows.expectation[order]],
        with_digits(rows.deviation[order], np.fmin(deviation_error, rows.deviation)[order]),
    ]
    header: tuple[str, ...] = ("provider", "expectation", "± 95 %", "share", "sd of value")
    parts = valuation.estimate.participation
    if "rate_in_games" in parts:
        columns.append([f"{100 * rate:.1f} %" for rate in parts["rate"][order]])
        header = (*header, "in rounds")
    elif valuation.estimate.takes_part_at_random:
        mean, error = parts["expectation_present"], parts["standard_error_present"]
        columns.append([f"{100 * rate:.1f} %" for rate in parts["rate"][order]])
        columns.append(with_digits(mean[order], error[order]))
        columns.append(with_digits(error[order], error[order]))
        header = (*header, "takes part", "if present", "std. error")
    return header, list(zip(names, *columns, strict=True))


class _Rows(NamedTuple):
    """The numbers of the table: first of the providers, then of the groups."""

    expectation: FloatArray
    interval: FloatArray
    deviation: FloatArray
    variance_standard_error: FloatArray

    @staticmethod
    def of(valuation: Valuation) -> _Rows:
        parts = [
            _Rows(
                part.expectation,
                part.interval(0.95),
                part.standard_deviation,
                part.variance_standard_error,
            )
            for part in (valuation, valuation.groups)
            if part is not None
        ]
        return _Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _listed(valuation: Valuation, expectation: FloatArray) -> tuple[list[str], list[int]]:
    """Names in the order of the table, and their rows: groups come after the providers."""
    n, groups = len(valuation.names), valuation.groups
    members = {} if groups is None else dict(enumerate(groups.grouping.members, start=n))
    inside = {place for places in members.values() for place in places}
    names = [*valuation.names, *(() if groups is None else groups.names)]

    def sorted_by_value(rows: Iterable[int]) -> list[int]:
        return sorted(rows, key=lambda row: -expectation[row])

    listed: list[tuple[str, int]] = []
    for row in sorted_by_value(row for row in range(len(names)) if row not in inside):
        listed.append((printable(names[row]), row))
        below = sorted_by_value(members.get(row, ()))
        listed.extend((f"  {printable(names[member])}", member) for member in below)
    shown, order = zip(*listed, strict=True)
    return list(shown), list(order)


def _value(valuation: Valuation) -> str:
    """Say what a coalition is worth: the model, its score, the utility, and v(∅)."""
    setup = valuation.setup
    return ", ".join(filter(None, (method_of_value(setup), setup.get("empty"))))


def _method(valuation: Valuation) -> str:
    """Sampling, solver and participation; value, index and reasons have lines of their own."""
    of_value = ("utility", "model", "score", "target", "empty", "index", "validation")
    elsewhere = (*of_value, *REASONS)
    return ", ".join(text for word, text in valuation.setup.items() if word not in elsewhere)


def _wrapped(line: str) -> list[str]:
    """Break a line that is too wide for a terminal; later lines are indented like the first."""
    kept = line.replace("; seed ", "; seed\N{NO-BREAK SPACE}").replace(_DUMMY, _DUMMY_KEPT)
    lines = wrap(
        kept, _WIDEST, subsequent_indent=" " * 9, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def reason_lines(setup: Mapping[str, str], words: Collection[str] = tuple(REASONS)) -> list[str]:
    """How presence was treated, and why the library chose utility, sampling and solver."""
    reasons = dict(setup)
    if "chosen" in reasons:
        solver = reasons.get("solver", "").removesuffix("()")
        reasons["chosen"] = f"{solver}, because {reasons['chosen']}"
    if "sampling_chosen" in reasons:
        sampling = reasons.get("sampling", "").partition("(")[0]
        reasons["sampling_chosen"] = f"{sampling}, because {reasons['sampling_chosen']}"
    return [
        line
        for word, label in REASONS.items()
        if word in reasons and word in words
        for line in _wrapped(f"{label}{printable(reasons[word])}")
    ]


def _headline(valuation: Valuation) -> list[str]:
    n, groups, games = len(valuation.names), valuation.groups, valuation.n_games
    nested = ""
    if groups is not None:
        inside, count = sum(map(len, groups.grouping.members)), len(groups.names)
        some = "" if inside == n else f", {inside} of them"
        nested = f"{some} in {count} group{'s' * (count > 1)}"
    lines = [
        f"{n} provider{'s' * (n > 1)}{nested}, {games:,} game{'s' * (games > 1)} "
        f"({printable(valuation.stopped)})",
        f"of {printable(valuation.estimand)}",
    ]
    if valuation.index != repr(SHAPLEY):
        lines.append(
            f"values of the index {printable(valuation.index)}, which need not sum to v(N) − v(∅)"
        )
    return lines


def caveats(valuation: Valuation) -> list[tuple[str, ...]]:
    """Points to check before the numbers are used: the lines of each caveat."""
    found: list[tuple[str, ...]] = []
    if valuation.failures:
        found.append(
            (
                f"{valuation.failures:,} of {valuation.evaluations:,} coalitions could not be "
                "evaluated and count with the value given by failed=",
            )
        )
    if valuation.index == repr(SHAPLEY):
        half = total_half_width(valuation.estimate, 0.95, valuation.games)
        total = float(valuation.expectation.sum())
        found.extend(loss_caveat(valuation.setup, total, half))
    repeats = format_repeats(
        valuation.names, valuation.distinct_records, valuation.draw_sizes, valuation.pool_sizes
    )
    if repeats:
        found.append((repeats, REMEDY))
    shared = format_shared(valuation.shared_records)
    if shared:
        found.append((f"{shared}: a copy takes value from what it was copied from",))
    held = format_held(valuation.held_rows)
    if held:
        found.append((held, HELD_REMEDY))
    odd = format_odd_labels(valuation.odd_labels)
    if odd:
        found.append((odd, "a model treats them as a separate class: use the same labels"))
    found.extend(
        label_caveats(valuation.rare_labels, valuation.unseen_labels, fresh_draws(valuation))
    )
    found.extend((line,) for line in _shape_caveats(valuation))
    variance = valuation.variance
    if valuation.groups is not None:
        variance = np.concatenate([variance, valuation.groups.variance])
    if np.isnan(variance).any():
        found.append(
            ("not known: one permutation does not show the solver's noise; use two or more",)
        )
    if (variance < 0).any():
        found.append(
            (
                "not known: the estimate of the variance is negative; play more games, or use more "
                "evaluations",
            )
        )
    return found


def fresh_draws(valuation: Valuation) -> dict[str, int] | None:
    """Games in which each provider took part, each with a fresh draw of it; None with pools."""
    if valuation.pool_sizes is not None:
        return None
    presence, games = valuation.estimate.moments.presence, valuation.n_games
    counts = [games] * len(valuation.names) if presence is None else presence.count.tolist()
    return {name: int(count) for name, count in zip(valuation.names, counts, strict=True)}


def on_variance_parts(valuation: Valuation) -> list[str]:
    """Say which shares of the variances, over all providers, data, presence and training have."""
    found = valuation.variance_split
    if found is None:
        return []
    words = {"data": "the data", "participation": "who is present", "training": "the training"}
    sums = {word: max(float(getattr(found, part).sum()), 0.0) for part, word in words.items()}
    whole = sum(sums.values())
    if not whole > 0:
        return []
    shares = [f"{100 * part / whole:.0f} % from {word}" for word, part in sums.items() if part]
    return [f"variance: {', '.join(shares)}"]


def on_participation(valuation: Valuation) -> list[str]:
    """Say which shares of the variances, over all providers, each cause has."""
    if valuation.variance_split is not None:
        return on_variance_parts(valuation)
    parts = valuation.estimate.participation
    if not valuation.estimate.takes_part_at_random or "rate_in_games" in parts:
        return []
    whole = float(valuation.variance.sum())
    if not whole > 0:
        return []
    own = min(max(float(parts["variance_participation"].sum()) / whole, 0.0), 1.0)
    if "variance_between_draws" in parts:
        data = min(max(float(parts["variance_between_draws"].sum()) / whole, 0.0), 1.0 - own)
        first, last = round(100 * own), round(100 * data)
        return [
            f"variance: {first} % from the provider's own presence, {100 - first - last} % from "
            f"the presence of the others, {last} % from the data"
        ]
    return [
        f"variance: {100 * own:.0f} % from the provider's own presence, {100 * (1 - own):.0f} % "
        "from the data and the others"
    ]


def from_one_to_the_next(valuation: Valuation) -> str:
    """Say between what the values differ whose standard deviation is the spread."""
    causes = _what_varies(valuation)
    if len(causes) == 1:
        draw = "draw of the data" if valuation.estimand_code != "pools" else "draw out of the pools"
        return f"from one {draw} to the next"
    return f"from one game to the next, with {', '.join(causes[:-1])} and {causes[-1]}"


def _what_varies(valuation: Valuation) -> list[str]:
    """Name what is random in a game."""
    pools = valuation.estimand_code == "pools"
    causes = ["the draws out of the pools" if pools else "the draws of the data"]
    estimate = valuation.estimate
    if estimate.takes_part_at_random:
        in_rounds = "rate_in_games" in estimate.participation
        causes.append("who is present in each round" if in_rounds else "who takes part")
    if "training" in valuation.setup:
        causes.append("the random numbers of the training")
    return causes


def _on_pools(valuation: Valuation) -> list[str]:
    """Say where the errors of games from pools come from, the remedy, and what the sd refers to."""
    if not valuation.estimate.errors.lasting:
        return []
    causes, best = error_causes(valuation.estimate), best_of_more_games(valuation.estimate)
    shares = "(shares of the squared error)"
    gap = " " if len(causes) < _WIDE else "\n         "
    said = f"error:   {causes}{gap}{shares}"
    lines = []
    if causes:
        lines = [*f"{said};".splitlines(), f"         {best}"] if best else said.splitlines()
    if valuation.estimand_code == "pools":
        lines.append(
            "sd:      for draws with replacement; use replace=False for the sd of draws from the "
            "sources"
        )
    return lines


def on_validation(valuation: Valuation) -> list[str]:
    """Say whether the errors cover the choice of the validation rows."""
    rows = valuation.design.validation
    if rows is None:
        return []
    count = f"{_rows_words(rows)}; " if rows.rows else ""
    if valuation.estimate.moments.validation is not None:
        covered = "errors of expectations cover their choice, errors of variances do not"
        few = f", but {_FEW_ROWS}" if rows.few else ""
        return [f"validation: {count}{covered}{few}"]
    reason = rows.reason or why_unknown(valuation.design)
    return [f"validation: {count}the errors do not cover their choice ({printable(reason)})"]


def why_unknown(design: Design) -> str:
    """Say why the errors due to the validation rows are not known."""
    games = 0 if design.validation is None else design.validation.games
    present = design.present(range(games)).sum(axis=0)
    absent = some_names(design.names, present == 0) if games else ""
    if absent:
        return f"{absent} took part in none of the first {games} games, which would show them"
    return NOT_DEFINED


def on_few_rows(valuation: Valuation) -> str:
    """Say that there are too few validation rows for their errors; empty if there are enough."""
    rows = valuation.design.validation
    if rows is None or not rows.few or valuation.estimate.moments.validation is None:
        return ""
    return f"validation: {_rows_words(rows)}; {_FEW_ROWS}: use more rows"


def _rows_words(rows: Validation) -> str:
    """Say how many validation rows there are, and how many of them vary independently."""
    said = f"{rows.rows:,} row{'s' * (rows.rows != 1)}"
    if rows.different:
        said += f", {rows.different:,} of them different"
    if rows.groups:
        said += f", in {rows.groups:,} groups"
    parts = rows.groups or rows.different or rows.rows
    if rows.few and rows.effective < 0.9 * parts:
        said += f" that count as {rows.effective:.2g} of equal size"
    return said


def error_causes(estimate: Estimate) -> str:
    """Say what share of the squared errors each cause has; empty if no error is known."""
    errors = estimate.errors
    total = float(np.nansum(errors.total))
    if not total > 0:  # one game shows the errors of some causes, but not how large the whole is
        return ""
    unknown = [cause for cause, part in errors.by_cause.items() if np.isnan(part).any()]
    squares = {
        CAUSES[cause]: float(part.sum())
        for cause, part in errors.by_cause.items()
        if cause not in unknown
    }
    if unknown:  # a single permutation does not show how much of the error is due to the solver
        together = " and the ".join(CAUSES[cause] for cause in unknown)
        squares = {together: max(total - sum(squares.values()), 0.0), **squares}
    seen = [(cause, square) for cause, square in squares.items() if square > 0]
    return ", ".join(f"{100 * square / total:.0f} % from the {cause}" for cause, square in seen)


def best_of_more_games(estimate: Estimate) -> str:
    """Say which half width would remain after infinitely many games; empty if none.

    It is the largest of all providers, to be compared with the largest ± in the table.
    """
    left = float(np.nanmax(endless_half_widths(estimate, 0.95), initial=0.0))
    return f"more games alone reach ±{left:.{decimals(left, left)}f} at best" if left > 0 else ""


def _shape_caveats(valuation: Valuation) -> list[str]:
    """Say which intervals are infinite or not yet reliable, because of the values' distribution."""
    lines = []
    absent = _flagged(valuation, lambda shape: shape.never_present)
    if absent:
        lines.append(f"unbounded: {absent} took part in no game; play more games")
    same = _flagged(valuation, lambda shape: shape.maybe_constant(0.95) & ~shape.never_present)
    if same:
        lines.append(
            f"unbounded: the values of {same} were the same in all "
            f"{valuation.n_games} games, which does not exclude a rare event; play "
            f"{games_to_be_constant(0.95)} games or more"
        )
    skewed = _flagged(valuation, lambda shape: shape.very_skewed)
    if skewed:
        lines.append(
            f"the values of {skewed} are very skewed for "
            f"{valuation.n_games:,} games: the intervals may hold too rarely; play more games"
        )
    return lines


def _flagged(valuation: Valuation, test: Callable[[Shape], BoolArray]) -> str:
    """Name up to three providers and groups for which a test is true, and count the others."""
    flags, names, groups = test(valuation.estimate.shape), valuation.names, valuation.groups
    if groups is not None:
        flags = np.concatenate([flags, test(groups.found.whole.shape)[len(names) :]])
        names += groups.names
    return some_names(names, flags)


def some_names(names: Iterable[str], flags: BoolArray) -> str:
    """Name up to three whose flag is set, and count the others; empty if no flag is set."""
    found = [printable(name) for name, one in zip(names, flags, strict=True) if one]
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return ", ".join(found[:3]) + more
