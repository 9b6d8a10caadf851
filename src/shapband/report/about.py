"""The sections of the report that are about the valuation: alerts, cost, method, origin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from shapband.report.names import named, shown
from shapband.report.payments import payouts_section
from shapband.report.purchases import next_batch_section
from shapband.report.section import Section, sentence
from shapband.report.tables import Table, names_of, numbers
from shapband.report.words import (
    DATA,
    SAMPLINGS,
    SOLVERS,
    digest,
    digest_of,
    explained,
    index_words,
)
from shapband.sampling.shared import compared
from shapband.valuation.text import caveats, on_few_rows, some_names
from shapband.valuation.valued import valued

if TYPE_CHECKING:
    from shapband.market.next_batch import NextBatch
    from shapband.market.payouts import Payouts
    from shapband.runs.read import RunStatus
    from shapband.valuation.valuation import Valuation

_ASKED = {"budget": "Budget", "stop": "Stopping rule", "keep_games": "Games to keep"}


def about(
    valuation: Valuation,
    payouts: Payouts | None,
    status: RunStatus | None,
    next_batch: NextBatch | None = None,
) -> list[Section]:
    """Make all sections about the valuation, in the order of the page."""
    sections = [alerts_section(valuation, status), access_section(valuation)]
    if payouts is not None:
        sections.append(payouts_section(valuation, payouts))
    if next_batch is not None:
        sections.append(next_batch_section(valuation, next_batch))
    return [*sections, method_section(valuation), origin_section(valuation, status)]


def alerts_section(valuation: Valuation, status: RunStatus | None) -> Section:
    """Points to check before the numbers are used."""
    alerts = [sentence(" ".join(_ended(lines))) for lines in caveats(valuation)]
    few = on_few_rows(valuation)
    if few:
        alerts.append(sentence(few))
    flags = np.array([name in valuation.one_label for name in valuation.names])
    alone = some_names(valuation.names, flags)
    if alone:
        alerts.append(f"All records have the same target, such as one class: {alone}.")
    if valuation.stopped_code == "unfinished":
        alerts.insert(0, _unfinished(valuation, status))
    if valuation.stopped_code in ("pools", "validation"):
        alerts.insert(0, sentence(f"the stopping rule was not met: {valuation.stopped}"))
    nothing = (
        "Nothing was found: no failed evaluation, no repeated records, no validation rows among "
        "the records of a provider, no provider of one class or with labels of its own, no label "
        "that a pool or draw may lack, no skewed or constant values, no variance that is not known."
    )
    tables = [*_repeats(valuation), *_copies(valuation), *_held(valuation)]
    lines = [] if alerts else [nothing]
    return Section("alerts", "Points to check", lines=lines, alerts=alerts, tables=tables)


def access_section(valuation: Valuation) -> Section:
    """Records, requests and time by provider."""
    used = [valuation.access.by_provider[name] for name in valuation.names]
    pools = valuation.pool_sizes
    columns: dict[str, Sequence[str]] = {
        "provider": names_of(valuation.names),
        "records bought": [f"{one.records:,}" for one in used],
        "requests": [f"{one.requests:,}" for one in used],
        "seconds": [f"{one.seconds:,.2f}" for one in used],
        "in a game": [f"{size:,}" for size in valuation.draw_sizes],
    }
    if pools is not None:
        columns["in the pool"] = [f"{size:,}" for size in pools]
    total = valuation.access.total
    foot: tuple[str, ...] = (
        "all",
        f"{total.records:,}",
        f"{total.requests:,}",
        f"{total.seconds:,.2f}",
    )
    foot += ("",) * (len(columns) - len(foot))
    table = Table.of("Records, requests and seconds by provider", columns, foot)
    return Section(
        "access",
        "What it cost",
        lines=[
            f"{total.records:,} records were bought in {total.requests:,} requests, with a total "
            f"request time of {total.seconds:,.2f} s. The valuation took {valuation.seconds:,.2f} "
            f"s and evaluated {valuation.evaluations:,} coalitions."
        ],
        tables=[table],
    )


def method_section(valuation: Valuation) -> Section:
    """How the numbers were made, in plain words."""
    setup = valuation.setup
    facts: list[tuple[str, str | Markup]] = [
        ("What is estimated", f"Expectation and variance of the value over {valuation.estimand}."),
        ("Index", index_words(valuation)),
        ("Model and score", sentence(valued(valuation.design))),
        ("Utility", f"{setup.get('utility', 'not known')}; a coalition of nobody is worth "
                    f"{setup.get('empty', 'an unknown value')}."),
        ("Sampling", explained(setup.get("sampling", "not known"), SAMPLINGS)),
        ("Solver", explained(setup.get("solver", "not known"), SOLVERS)),
    ]  # fmt: skip
    if "training" in setup:
        facts.append(("Training", sentence(setup["training"])))
    if "sampling_chosen" in setup:
        facts.append(("Why this sampling", sentence(setup["sampling_chosen"])))
    if "pools_bought" in setup:
        facts.append(("Pools", sentence(setup["pools_bought"])))
    if "left_out" in setup:
        facts.append(("Left out", sentence(setup["left_out"])))
    if "chosen" in setup:
        facts.append(("Why this solver", sentence(setup["chosen"])))
    if "participation" in setup:
        facts.append(("Participation", f"{setup['participation']}: absent providers are worth 0."))
    facts += [
        ("Games", f"{valuation.n_games:,}; {valuation.stopped}."),
        ("Intervals", "Each interval of an expectation holds at 95 %; the intervals of the ranks "
                      "hold at 95 % for all providers together."),
        ("Variance", "Solver noise is removed from it. An estimate may be negative by chance; it "
                     "is then shown as not known."),
        ("Seed", f"{valuation.seed}: the same seed gives the same valuation."),
    ]  # fmt: skip
    return Section("method", "How the numbers were made", facts=facts)


def origin_section(valuation: Valuation, status: RunStatus | None) -> Section:
    """Versions and digests, so that a reader can check where the page comes from."""
    from shapband import __version__

    facts: list[tuple[str, str | Markup]] = [
        ("Page written by", f"shapband {__version__}"),
        ("SHA-256 of the valuation", digest_of(valuation)),
    ]
    tables = []
    if status is not None:
        facts += _run_facts(status)
        tables = list(_fingerprints(status))
    return Section(
        "origin",
        "Where this page comes from",
        lines=["The digest of the valuation is the SHA-256 of what its to_json() returns."],
        facts=facts,
        tables=tables,
    )


def _run_facts(status: RunStatus) -> Iterator[tuple[str, str | Markup]]:
    manifest = status.manifest
    yield "Run", f"{status.state}, {status.done:,} of {status.n_games:,} games"
    yield "Begun", manifest["created"]
    for extension in status.extensions:
        yield "Extended", f"{extension.time}: {extension}"
    if status.unanswered:
        yield "Requests without an answer", f"{status.unanswered:,}"
    if status.refused:
        records = sum(answer.records for answer in status.refused)
        yield "Answers that could not be used", f"{len(status.refused):,}, {records:,} records"
    yield "Digest of the ledger", digest(status.digest)
    if manifest["config_sha256"]:
        yield "SHA-256 of the configuration", digest(manifest["config_sha256"])
    versions = manifest["versions"].items()
    yield "Versions", ", ".join(f"{name} {version}" for name, version in versions)
    asked = manifest["arguments"]
    for key, words in _ASKED.items():
        if asked.get(key, "None") != "None":
            yield words, asked[key]


def _fingerprints(status: RunStatus) -> Iterator[Table]:
    manifest = status.manifest
    found = [(name, manifest["arguments"].get(f"{DATA}{name!r}")) for name in manifest["providers"]]
    rows = [
        (named(name), digest(f"{mark}: not checked" if name in status.unchecked else mark))
        for name, mark in found
        if mark
    ]
    if rows:
        yield Table("Fingerprints of the providers' data", ("provider", "fingerprint"), rows)


def _repeats(valuation: Valuation) -> Iterator[Table]:
    """List the providers that repeat records."""
    found = np.flatnonzero(valuation.repeated_records)
    if len(found) and valuation.distinct_records is not None:
        distinct, pools = valuation.distinct_records[found], valuation.pool_sizes
        columns: dict[str, Sequence[str]] = {
            "provider": names_of(valuation.names[at] for at in found),
            "different records": [number.strip() for number in numbers(distinct, distinct / 10)],
            "in a game": [f"{size:,}" for size in valuation.draw_sizes[found]],
        }
        if pools is not None:
            columns["in the pool"] = [f"{size:,}" for size in pools[found]]
        yield Table.of("Providers that repeat records", columns)


def _copies(valuation: Valuation) -> Iterator[Table]:
    """List the providers that have the same records."""
    pairs = valuation.shared_records
    if pairs:
        columns: dict[str, Sequence[str]] = {
            "provider": names_of(pair.other for pair in pairs),
            "with": [named(pair.one) for pair in pairs],
            "equal records": [f"{pair.records:,}" for pair in pairs],
            "of": [f"{pair.smaller:,}" for pair in pairs],
            "by chance at most": ["" if pair.chance is None else f"{pair.chance:,.1f}"
                                  for pair in pairs],
            "compared": [shown(compared(pair).strip(" ()") or "as they are") for pair in pairs],
        }  # fmt: skip
        yield Table.of("Equal records", columns)


def _held(valuation: Valuation) -> Iterator[Table]:
    """List the providers that hold validation rows."""
    found = valuation.held_rows
    if found:
        columns: dict[str, Sequence[str]] = {
            "provider": names_of(one.name for one in found),
            "validation rows held": [f"{one.records:,}" for one in found],
            "of": [f"{one.rows:,}" for one in found],
            "by chance at most": [f"{one.chance:,.1f}" for one in found],
            "compared": [shown(compared(one).strip(" ()") or "as they are") for one in found],
        }
        yield Table.of("Validation rows that providers hold", columns)


def _unfinished(valuation: Valuation, status: RunStatus | None) -> str:
    asked = "" if status is None else f" of {status.n_games:,}"
    return (
        f"The run is not finished: these are the results of the first {valuation.n_games:,}{asked} "
        "games, and their single values are not kept yet."
    )


def _ended(lines: tuple[str, ...]) -> Iterator[str]:
    """The lines of a caveat, joined to sentences that end in full stops."""
    *first, last = lines
    yield from (f"{line}." for line in first)
    yield last if not first else last[:1].upper() + last[1:]
