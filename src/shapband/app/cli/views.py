"""What the commands print: tables for people, JSON for programs, rows for other tools."""

from __future__ import annotations

import io
import math
import shlex
import sys
import textwrap
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband.checks import file_error, printable
from shapband.codec import encode
from shapband.errors import InvalidInput
from shapband.foreign import csv_cell, json_text
from shapband.runs.read import status_of
from shapband.valuation.text import some_names

if TYPE_CHECKING:
    import pandas as pd

    from shapband.market.bill import Bill
    from shapband.market.next_batch import NextBatch
    from shapband.market.payouts import Payouts
    from shapband.market.planning.proposals import Proposals
    from shapband.runs.read import Run, RunStatus
    from shapband.valuation.compare import Comparison
    from shapband.valuation.series import SeriesComparison
    from shapband.valuation.valuation import Valuation

_WIDTH = 80  # lines of prose are wrapped at this many characters
# Attributes of a valuation that its JSON shows besides the providers.
_FACTS = (
    *("n_games", "stopped", "stopped_code", "estimand", "estimand_code"),
    *("seed", "setup", "seconds", "evaluations", "failures"),
)


def shown(run: Path, *, as_json: bool, valuation: Valuation | None = None) -> str:
    """Show the run in a directory, as the command `show` does.

    `valuation` is the result of a run that has just finished; without it the result is read.
    """
    return (status_json if as_json else format_status)(run, status_of(run, valuation))


def format_status(run: Path, status: RunStatus) -> str:
    """Show a run: its state, and its valuation so far."""
    lines = [f"run {run}: {status.state}", ""]
    if status.valuation is None:
        lines.append(_wrapped(status.no_result))
    else:
        lines.append(str(status.valuation))
    if status.extensions:
        lines += ["", *(_wrapped(printable(f"extended: {one}")) for one in status.extensions)]
    if status.unanswered:
        lines += ["", f"requests without an answer: {status.unanswered:,}"]
    lines += [_wrapped(printable(line)) for line in _refused_lines(status)]
    if status.unchecked:
        lines += ["", _wrapped(f"data not checked for changes: {_unchecked(status)}")]
    if status.state == "interrupted":
        lines += ["", how_to_resume(run, from_python=status.manifest["config"] is None)]
    return "\n".join(lines)


def _refused_lines(status: RunStatus) -> list[str]:
    """Say how many answers could not be used, and why the last one could not."""
    if not status.refused:
        return []
    last, records = status.refused[-1], sum(one.records for one in status.refused)
    left = sum(not one.asked_again for one in status.refused)
    remedy = "; resume with --ask-again to request them again" if left else ""
    return [
        "",
        f"answers that could not be used: {len(status.refused):,}, with {records:,} records, which "
        f"are counted; the last is of provider {last.provider!r}: {last.reason}{remedy}",
    ]


def _unchecked(status: RunStatus) -> str:
    """Name the providers whose data a run cannot check."""
    return (
        f"{some_names(status.unchecked, np.ones(len(status.unchecked), dtype=bool))} (the sources "
        "state no version)"
    )


def how_to_resume(run: Path, *, from_python: bool = False) -> str:
    """Say how to resume a run.

    Examples
    --------
    >>> how_to_resume(Path("my run"))
    "resume it with: shapband resume 'my run'"
    """
    if from_python:
        return f"resume it from Python: value(..., run={str(run)!r}) with the same arguments"
    return f"resume it with: shapband resume {shlex.quote(str(run))}"


def format_verified(run: Run) -> str:
    """Describe the result of a verification."""
    status, entries = run.status, len(run.ledger)
    return (
        f"run {run.path}: verified, {entries:,} ledger entries and {status.done:,} games are as "
        f"they were written; digest {status.digest}"
    )


def status_json(run: Path, status: RunStatus) -> str:
    """Show a run as JSON: everything except the values of single games."""
    document: dict[str, Any] = {"run": str(run), "state": status.state, "digest": status.digest}
    if status.unanswered:
        document["unanswered"] = status.unanswered
    if status.refused:
        document["refused"] = [asdict(answer) for answer in status.refused]
    if status.extensions:
        document["extensions"] = [encode(one) for one in status.extensions]
    if status.unchecked:
        document["unchecked"] = list(status.unchecked)
    valuation = status.valuation
    if valuation is not None:
        document |= {
            **{key: getattr(valuation, key) for key in _FACTS},
            "setup": dict(valuation.setup),  # a mapping of another type is not JSON
            "access": asdict(valuation.access.total),
            "providers": rows_of(valuation.to_frame().reset_index()),
        }
        if valuation.groups is not None:
            document["groups"] = rows_of(valuation.groups.to_frame().reset_index())
    return json_text(document)


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as plain values; NaN and infinite values become None."""
    rows = frame.to_dict(orient="records")
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def exported(valuation: Valuation, form: str) -> bytes:
    """Write one row per provider in a format of other tools, or the whole valuation."""
    if form == "valuation":
        return (valuation.to_json() + "\n").encode()
    if form == "json":
        return (json_text(rows_of(valuation.to_frame().reset_index())) + "\n").encode()
    frame = valuation.to_frame()
    if form == "csv":
        harmless = frame.map(lambda cell: csv_cell(cell) if isinstance(cell, str) else cell)
        return harmless.rename(index=csv_cell).to_csv().encode()
    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, engine="pyarrow")
    except ImportError as cause:
        raise InvalidInput(
            "--format parquet needs pyarrow: pip install 'shapband[parquet]'"
        ) from cause
    return buffer.getvalue()


def write_export(content: bytes, form: str, out: Path | None) -> None:
    """Write to a file or to standard output; binary output to a terminal is refused."""
    if out is not None:
        try:
            out.write_bytes(content)
        except OSError as cause:
            raise InvalidInput(f"--out {out} cannot be written: {file_error(cause)}") from cause
        return
    if form == "parquet" and sys.stdout.isatty():
        raise InvalidInput("--format parquet is not for reading: name a file with --out")
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.flush()


def comparison_json(comparison: Comparison) -> str:
    """Show two runs side by side, as JSON."""
    columns = (
        "first", "second", "difference", "standard_error", "p_value", "adjusted_p_value",
        "beyond_chance",
    )  # fmt: skip
    rows = [
        {"provider": name, **{key: _plain(getattr(comparison, key)[at].item()) for key in columns}}
        for at, name in enumerate(comparison.names)
    ]
    notes = list(comparison.notes)
    document = {**dict(zip(("first", "second"), comparison.labels, strict=True)), "providers": rows}
    about = {"tested": comparison.tested, "paired_games": comparison.paired_games, "notes": notes}
    return json_text(document | about)


def series_json(found: SeriesComparison) -> str:
    """Show the changes over a series of runs, as JSON."""
    document = {
        "since": found.since,
        "level": found.level,
        "changes": rows_of(found.to_frame().reset_index()),
        "tested": dict(zip(found.labels[1:], found.tested.tolist(), strict=True)),
        "notes": list(found.notes),
    }
    return json_text(document)


def proposals_json(found: Proposals) -> str:
    """Show a plan as JSON."""
    pilot = found.pilot
    document = {
        "rows": rows_of(found.to_frame()),
        "reason": found.reason,
        "out_of_reach": [asdict(one) for one in found.out_of_reach],
        "pilot": {**asdict(pilot.cost), "n_games": pilot.n_games, "seconds": pilot.seconds},
        "seed": found.recommended.seed,
    }
    return json_text(document)


def next_batch_json(found: NextBatch) -> str:
    """Show what one more draw of each provider adds, as JSON."""
    document = {
        "n_games": found.n_games,
        "now": found.now,
        "providers": rows_of(found.to_frame().reset_index()),
        "requests": found.access.requests,
        "records": found.access.records,
        "evaluations": found.evaluations,
        "failures": found.failures,
        "estimand": found.design.estimand,
        "seed": found.design.seed,
    }
    return json_text(document)


def bill_json(bill: Bill) -> str:
    """Show the bill of a run as JSON."""
    document = {
        "n_games": bill.n_games,
        "providers": rows_of(bill.to_frame().reset_index()),
        "requests": int(bill.requests.sum()),
        "records": int(bill.records.sum()),
        "evaluations": bill.evaluations,
        "exactly": bill.exactly,
        "money": None if bill.money is None else str(bill.money),
    }
    return json_text(document)


def payouts_json(paid: Payouts) -> str:
    """Show payouts as JSON; amounts are strings, so that no digit is lost."""
    document = {
        "amount": str(paid.amount),
        "currency": paid.currency,
        "policy": paid.policy,
        "rule": paid.rule,
        "providers": rows_of(paid.to_frame().reset_index()),
        "notes": list(paid.notes),
    }
    return json_text(document)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="  ")


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
