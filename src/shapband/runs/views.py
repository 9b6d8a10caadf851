"""What the commands print: tables for people, JSON for programs, rows for other tools."""

from __future__ import annotations

import io
import json
import math
import shlex
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from shapband.errors import InvalidInput
from shapband.runs.compare import Comparison
from shapband.valuation import Valuation

_WIDTH = 80  # characters of a line of prose
Format = Literal["csv", "json", "parquet"]


class Status(Protocol):
    """What there is to show of a run."""

    @property
    def state(self) -> Any:
        """Whether the run is finished, in a word."""

    @property
    def valuation(self) -> Valuation | None:
        """The result, or what is known so far; None before there are two games."""

    @property
    def unanswered(self) -> int:
        """Requests that have no answer."""

    @property
    def digest(self) -> str | None:
        """What all that is stored leads up to; None before the end."""


def status_text(run: Path, status: Status) -> str:
    """Show a run: its state, and its valuation so far."""
    lines = [f"run {run}: {status.state}", ""]
    if status.valuation is None:
        lines.append("fewer than two games are done: nothing can be said yet")
    else:
        lines.append(str(status.valuation))
    if status.unanswered:
        lines += ["", f"requests without an answer: {status.unanswered:,}"]
    if str(status.state) == "interrupted":
        lines += ["", goes_on(run)]
    return "\n".join(lines)


def goes_on(run: Path) -> str:
    """Say how to go on with a run.

    Examples
    --------
    >>> goes_on(Path("my run"))
    "shapband resume 'my run'  goes on from here"
    """
    return f"shapband resume {shlex.quote(str(run))}  goes on from here"


def status_json(run: Path, status: Status) -> str:
    """Show a run to a program: everything but the values of single games."""
    document: dict[str, Any] = {"run": str(run), "state": str(status.state)}
    if status.unanswered:
        document["unanswered"] = status.unanswered
    if status.digest is not None:
        document["digest"] = status.digest
    valuation = status.valuation
    if valuation is not None:
        used = valuation.access.total
        document |= {
            "n_games": valuation.n_games,
            "stopped": valuation.stopped,
            "target": valuation.target,
            "seed": valuation.seed,
            "setup": dict(valuation.setup),
            "seconds": valuation.seconds,
            "evaluations": valuation.evaluations,
            "access": {
                "requests": used.requests,
                "records": used.records,
                "seconds": used.seconds,
            },
            "providers": rows_of(valuation),
        }
    return _dumps(document)


def rows_of(valuation: Valuation) -> list[dict[str, Any]]:
    """One row per provider, of plain values; what is not known, or not bounded, is None."""
    rows = valuation.to_frame().reset_index().to_dict(orient="records")
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def exported(valuation: Valuation, form: Format) -> bytes:
    """Write one row per provider in a format of other tools."""
    if form == "json":
        return (_dumps(rows_of(valuation)) + "\n").encode()
    frame = valuation.to_frame()
    if form == "csv":
        return frame.to_csv().encode()
    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, engine="pyarrow")
    except ImportError as cause:
        raise InvalidInput(
            "--format parquet needs pyarrow: pip install 'shapband[parquet]'"
        ) from cause
    return buffer.getvalue()


def write_export(content: bytes, form: Format, out: Path | None) -> None:
    """Write to a file, or to standard output unless that is a terminal and would be garbled."""
    if out is not None:
        try:
            out.write_bytes(content)
        except OSError as cause:
            reason = (cause.strerror or str(cause)).lower()
            raise InvalidInput(f"--out {out} cannot be written: {reason}") from cause
        return
    if form == "parquet" and sys.stdout.isatty():
        raise InvalidInput("--format parquet is not for reading: name a file with --out")
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.flush()


def comparison_text(one: Path, other: Path, comparison: Comparison) -> str:
    """Show two runs side by side."""
    header = ("provider", "first", "second", "difference", "std. error", "beyond chance")
    rows = [
        (
            name,
            f"{comparison.one[at]:.6f}",
            f"{comparison.other[at]:.6f}",
            f"{comparison.difference[at]:+.6f}",
            f"{comparison.standard_error[at]:.6f}",
            "yes" if comparison.beyond_chance[at] else "no",
        )
        for at, name in enumerate(comparison.names)
    ]
    expected = len(rows) / 20
    lines = [f"first:  {one}", f"second: {other}", "", *table_lines(header, rows), ""]
    lines.append(
        _wrapped(
            f"{int(comparison.beyond_chance.sum())} of {len(rows)} differ beyond chance "
            f"(two-sided, 95 %; where nothing differs, about {expected:.2g} would)"
        )
    )
    return "\n".join([*lines, *map(_wrapped, comparison.notes)])


def comparison_json(one: Path, other: Path, comparison: Comparison) -> str:
    """Show two runs side by side to a program."""
    rows = [
        {
            "provider": name,
            "first": _plain(float(comparison.one[at])),
            "second": _plain(float(comparison.other[at])),
            "difference": _plain(float(comparison.difference[at])),
            "standard_error": _plain(float(comparison.standard_error[at])),
            "beyond_chance": bool(comparison.beyond_chance[at]),
        }
        for at, name in enumerate(comparison.names)
    ]
    notes = list(comparison.notes)
    return _dumps({"first": str(one), "second": str(other), "providers": rows, "notes": notes})


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Align a table: the first column to the left, the others to the right.

    Examples
    --------
    >>> table_lines(("name", "n"), [("a", "10"), ("long one", "1")])
    ['name       n', 'a         10', 'long one   1']
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="  ")


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _dumps(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
