"""What an experiment leaves in its folder: data, figure, comparison."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path

from shapband.experiments.base import Experiment
from shapband.experiments.findings import Findings, Row, Written

FOUR_COLUMNS = ("paper", "ours", "theory", "verdict")
_PACKAGES = ("shapband", "numpy", "scipy", "scikit-learn", "numba")


def write(
    folder: Path,
    experiment: Experiment,
    findings: Findings,
    profile: str,
    seed: int,
    seconds: float,
) -> Written:
    """Write everything, and give back what the page needs."""
    folder.mkdir(parents=True, exist_ok=True)
    written = Written(
        name=experiment.name,
        title=experiment.title,
        where=experiment.where,
        profile=profile,
        sizes=_sizes(experiment),
        seed=seed,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        machine=machine(),
        versions=versions(),
        seconds=round(seconds, 1),
        caption=findings.caption,
        claims=list(findings.claims),
        table=list(findings.table),
        beyond=list(findings.beyond),
        notes=list(findings.notes),
    )
    findings.data.to_csv(folder / "data.csv", index=False)
    findings.figure.savefig(folder / "figure.svg")
    findings.figure.savefig(folder / "figure.png", dpi=130)
    (folder / "comparison.md").write_text(comparison(written), encoding="utf-8")
    (folder / "findings.json").write_text(written.to_json(), encoding="utf-8")
    return written


def comparison(written: Written) -> str:
    """Claims, table and what lies beyond, as a page of their own."""
    parts = [f"# {written.title}", f"{written.where}. Profile `{written.profile}`."]
    for title, rows in (
        ("Claims", written.claims),
        ("Numbers of the paper's table", written.table),
        ("Beyond the paper", written.beyond),
    ):
        if rows:
            parts += [f"## {title}", markdown_table(rows)]
    return "\n\n".join([*parts, *written.notes]) + "\n"


def markdown_table(rows: Sequence[Row]) -> str:
    """Rows as a table in Markdown."""
    head = ("where", "what", *FOUR_COLUMNS, "reason")
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    lines += ["| " + " | ".join(getattr(row, name) for name in head) + " |" for row in rows]
    return "\n".join(lines)


def machine() -> str:
    """Name the processor and the number of cores that this run may use."""
    return f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {platform.system()}"


def versions() -> str:
    """Name Python and the packages that numbers depend on."""
    found = [f"{name} {version(name)}" for name in _PACKAGES]
    return ", ".join([f"Python {platform.python_version()}", *found])


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def _sizes(experiment: Experiment) -> str:
    """The sizes of this profile, in the order of the record's fields."""
    sizes = []
    for field in fields(experiment):  # type: ignore[arg-type]  # every experiment is a dataclass
        size = getattr(experiment, field.name)
        words = ", ".join(map(str, size)) if isinstance(size, tuple) else str(size)
        sizes.append(f"{field.name} {words}")
    return "; ".join(sizes)
