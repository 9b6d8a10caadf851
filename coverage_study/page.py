"""The page with the measured levels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from coverage_study import several
from coverage_study.levels import (
    Level,
    expectation_levels,
    expectation_misses,
    variance_levels,
    variance_misses,
    variance_range,
    variance_ratio,
)
from coverage_study.settings import SAMPLINGS, Setting, sampling_title
from coverage_study.store import Store
from coverage_study.tasks import task
from coverage_study.truth import Results, expectation_target
from coverage_study.validation import RowsSetting, rows_table

HEAD = """# Levels of the intervals

Written by `{command}`; do not edit. {when} with {versions}.

A 95 % interval should hold the truth in 95 of 100 cases. Each row below plays up to {games} games
from each of many independent pools, every pool with a seed of its own, and counts how often the
library's intervals hold the truth of the population. Up to the section on validation rows, all
valuations have `fixed_validation=True` and the truth is about the rows of the task. The numbers
follow from seeds and do not depend on the machine. The command keeps the results of every setting
in `out/coverage` and reuses them; `python -m coverage_study --fresh` measures everything again.
"""

TRUTH = """## The truth

- `Fresh` and `Pooled(replace=False)`: mean and variance of all games that `Fresh`
  played with the same game and draw size; for `Fresh` itself, of all plays but the one that is
  judged.
- `Pooled`: draws with replacement from a pool have an expectation of their own. The truth is its
  mean over all pools but the one that is judged. The error of that mean is independent of the
  judged pool, and its variance is at most 1 / (pools − 1) of that of the estimate. It lowers a
  measured level of 95 % by at most 0.04 points with 300 pools. The variance of a game is
  that within pools plus that between pools.
- `Stratified`: the same at the draw sizes that the judged pool chose. Every pool was also played
  at the sizes of another one. The expectation is taken to be linear in the logarithms of the
  sizes; its slopes follow from the change within pools, its level from what the other pools gave at
  foreign sizes.
- Oracle: 1.96 × √(V / games + B), with the true variance V of games of one pool and the true
  variance B of the mean over pools: the variance over pools of the mean of all games, minus V
  divided by their number. For `Pooled(replace=False)`, which deals its draws, it is 1.96 ×
  the standard deviation of the estimate over pools.
- Endless sources are asked once for the fresh draws of many games; the draws have the same
  distribution.
"""

EXPECTATION = """## Expectation

Coverage of 95 % intervals in percent, with 30, 50, 200 and 1,000 games. *Lowest* is the provider
with the lowest coverage. *Width* is the median width over that of an oracle that knows the true
variance between pools. *Error* is the reported standard error over the true one, as root mean
squares, averaged over providers. *Games alone* is the control: intervals from the spread of the
games, as if each had records of its own. It must fail for samplings with pools.

Target: 93 to 97 averaged over providers, each provider at least 90, width at most 1.35 with 30
and 50 games and 1.25 from 200 on; for the synthetic task at least 92 averaged over providers; for
skewed values (lognormal, ridge, naive Bayes, breast cancer) at least 92, each provider at least
88. ± is the largest standard error of the averages. The digits, sine and count tasks were not used
to choose any constant of the library. The synthetic task is slow: its games end at 200.
"""

VARIANCE = """## Variance

Coverage of 95 % intervals in percent, averaged over providers; the provider with the lowest
coverage in brackets. *Estimate* is the mean estimate over the truth. Targets: at least 93, each
provider at least 85, for `Fresh` and `Pooled(replace=False)` from 30 games on; at least 89 with
heavy tails or rare events (lognormal, ridge, naive Bayes). Other rows have no target: their level
is as measured.
"""

LACKING = "Not measured, because this version of the library has no p-values in `compare`."


def page(
    settings: Sequence[Setting], store: Store, command: str, rows: Sequence[RowsSetting] = ()
) -> str:
    """The page of everything that the store has."""
    tables = Tables([s for s in settings if store.has(s.name)], store)
    parts = [
        HEAD.format(
            when=tables.when, versions=tables.versions, games=tables.games, command=command
        ),
        *_not_measured([s for s in settings if not store.has(s.name)]),
        EXPECTATION,
        *tables.expectation(),
        "",
        VARIANCE,
        *tables.variance(),
        "",
        *several_tables(store, tables),
        "",
        *rows_table(list(rows), store),
        "",
        TRUTH,
    ]
    return "\n".join(parts)


class Tables:
    """The tables of the settings that were measured."""

    def __init__(self, settings: list[Setting], store: Store) -> None:
        documents = {s.name: store.read(s.name) or {} for s in settings}
        dates = sorted({str(one["date"]) for one in documents.values()}) or ["no date"]
        self.when = "Measured " + (
            "on " + dates[0] if len(dates) == 1 else f"from {dates[0]} to {dates[-1]}"
        )
        self.versions = "; ".join(sorted({one["versions"] for one in documents.values()}))
        self.settings = settings
        self.results = {s.name: Results(s.sampling, documents[s.name]) for s in settings}
        self.games = f"{max((results.last for results in self.results.values()), default=0):,}"

    def fresh(self, setting: Setting) -> Results | None:
        """The fresh games of the same task, which give the truth."""
        return self.results.get(f"{setting.task}-fresh")

    def expectation(self) -> Iterator[str]:
        """The rows of the table of the expectation."""
        yield (
            "| game | sampling | pools | coverage | ± | lowest | width | error | games alone "
            "| meets |"
        )
        yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        for setting in self.settings:
            fresh, results = self.fresh(setting), self.results[setting.name]
            if fresh is None:
                continue
            levels = expectation_levels(results, fresh)
            misses = expectation_misses(setting.task, levels)
            control = [level.control for level in levels]
            cells = [
                _percents([level.mean for level in levels]),
                f"{100 * max(level.error for level in levels):.1f}",
                _percents([level.worst for level in levels]),
                ", ".join(f"{level.width:.2f}" for level in levels),
                ", ".join(f"{level.reported:.2f}" for level in levels),
                "—" if setting.sampling == "fresh" else _percents(control),
                _verdict(misses),
            ]
            yield _row([*_labels(setting), str(results.pools), *cells])

    def variance(self) -> Iterator[str]:
        """The rows of the table of the variance."""
        yield (
            "| game | sampling | 10 games | 10 shuffles | 30 games | 200 games | 1,000 games "
            "| estimate | target | meets |"
        )
        yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        for setting in self.settings:
            fresh, results = self.fresh(setting), self.results[setting.name]
            if fresh is None:
                continue
            levels = variance_levels(results, fresh)
            cells = {level.games: _cell(level) for level in levels}
            shuffles = "" if results.group is None else cells.get(10 * results.group, "")
            first = cells[10] if setting.sampling == "fresh" else ""
            looks = [first, shuffles, *(cells.get(games, "") for games in (30, 200, 1000))]
            misses = variance_misses(setting.task, results, levels)
            verdict = "as measured" if misses is None else _verdict(misses)
            ratio = f"{variance_ratio(results, fresh):.2f}"
            yield _row([*_labels(setting), *looks, ratio, _range(setting), verdict])

    def truth_of(self, sampling: str) -> list[float] | None:
        """The true expectations of wine from the stock, or None if there is no common truth."""
        results = self.results.get(f"wine-stock-{sampling}")
        fresh = self.results.get("wine-stock-fresh")
        if results is None or fresh is None or sampling == "stratified":
            return None
        return [float(x) for x in expectation_target(results, fresh).mean(axis=0)]


def several_tables(store: Store, tables: Tables) -> Iterator[str]:
    """The tables of statements about several providers."""
    lacks = several.missing()
    documents = {one: store.read(f"several-{one}") for one in SAMPLINGS}
    titles = {one: f"`{sampling_title(one, task('wine-stock'))}`" for one in SAMPLINGS}
    records = {one: found["records"] for one, found in documents.items() if found is not None}
    yield "## Comparison of equal providers\n"
    yield (
        "Two valuations of wine from the stock with independent seeds, 200 games each: percent of\n"
        "providers that `compare` flags one by one, and of pairs of valuations in which it flags\n"
        "any of ten after Holm's adjustment. The second valuation of `Stratified` draws as many\n"
        "records as the first. Target: at most 6 each.\n"
    )
    yield from _compare_rows(records, titles, lacks=lacks["compare"])
    yield "\n## Several providers at once\n"
    yield (
        "Wine from the stock, 200 games, in percent of valuations: all ten simultaneous 95 %\n"
        "intervals hold; the 95 % interval of a difference holds, averaged over the 45 pairs;\n"
        "all ten rank intervals hold. Target: 93 to 97, and at least 93 for ranks, which are\n"
        "integers.\n"
        "`Stratified` is left out, because its truth differs from pool to pool.\n"
    )
    yield from _joint_rows(records, titles, tables, lacks)


def _compare_rows(
    records: dict[str, list[several.Record]], titles: dict[str, str], *, lacks: bool
) -> Iterator[str]:
    measured = {one: found for one, found in records.items() if "p_value" in found[0]}
    if lacks or not measured:
        yield f"**{LACKING}**" if lacks else "**Not measured yet.**"
        return
    yield "| sampling | pairs | one by one | any of ten | meets |"
    yield "| --- | --- | --- | --- | --- |"
    for one, found in measured.items():
        flags = several.flags(found)
        numbers = {"one by one": flags.single, "any of ten": flags.any_of_all}
        misses = [f"{name} {100 * x:.1f}" for name, x in numbers.items() if x > 0.06]
        cells = [f"{100 * x:.1f}" for x in numbers.values()]
        yield _row([titles[one], str(len(found)), *cells, _verdict(misses)])


def _joint_rows(
    records: dict[str, list[several.Record]],
    titles: dict[str, str],
    tables: Tables,
    lacks: dict[str, bool],
) -> Iterator[str]:
    names = ("simultaneous", "difference", "ranks")
    absent = [name for name in names if lacks[name]]
    if absent:
        listed = ", ".join(absent)
        yield f"**Not measured, because this version of the library lacks it: {listed}.**\n"
    if len(absent) == len(names):
        return
    yield "| sampling | valuations | simultaneous | differences | ranks | meets |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for one, found in records.items():
        truth = tables.truth_of(one)
        if truth is None:
            continue
        levels = several.joint_levels(found, truth)
        misses = [
            f"{name} {100 * x:.1f}"
            for name, x in levels.items()
            if x < 0.93 or (x > 0.97 and name != "ranks")
        ]
        cells = [f"{100 * levels[name]:.1f}" if name in levels else "—" for name in names]
        yield _row([titles[one], str(len(found)), *cells, _verdict(misses)])


def _not_measured(settings: list[Setting]) -> Iterator[str]:
    """One line for each game whose samplings were not all measured."""
    for name in dict.fromkeys(setting.task for setting in settings):
        lacking = ", ".join(one.sampling for one in settings if one.task == name)
        yield f"**Not measured yet:** {task(name).title}: {lacking}.\n"


def _labels(setting: Setting) -> list[str]:
    played = task(setting.task)
    return [played.title, f"`{sampling_title(setting.sampling, played)}`"]


def _range(setting: Setting) -> str:
    wanted = variance_range(setting.task, setting.sampling)
    if wanted is None:
        return "—"
    low, high = wanted
    return f"at least {low:g}" if high == 100 else f"{low:g} to {high:g}"


def _cell(level: Level) -> str:
    return f"{100 * level.mean:.1f} ({100 * level.worst:.1f})"


def _percents(values: Sequence[float]) -> str:
    return ", ".join("—" if math.isnan(x) else f"{100 * x:.1f}" for x in values)


def _verdict(misses: list[str]) -> str:
    return "yes" if not misses else f"**no**: {'; '.join(misses)}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
