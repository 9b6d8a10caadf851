"""The output of a run: a folder for each experiment, and one page of all claims."""

from __future__ import annotations

import datetime
import json
import os
import platform
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from reproduction.claims import DOES_NOT, HOLDS, IN_RELATION, Row
from reproduction.experiment import Experiment, Findings
from reproduction.latex import document, long_table

_COLUMNS = ("where", "what", "paper", "ours", "theory", "verdict", "reason")
_WIDTHS = (0.07, 0.2, 0.11, 0.14, 0.12, 0.08, 0.16)  # of these columns, in LaTeX
_PACKAGES = ("shapband", "numpy", "scipy", "scikit-learn", "numba")
_HEAD = """# Reproduction of the paper

Written by `python -m reproduction`; do not edit. Every row sets the paper's number beside ours and
beside what theory predicts for our utility, from a pilot with seeds of its own or in closed form.

- **holds**: our number agrees with the paper's, or with its claim.
- **holds in relation**: the absolute number does not follow from the paper's text, the relative
  claim does.
- **does not**: our measurement contradicts it, cannot see it above the scatter, or theory says
  otherwise.

Var(E) and Var(Var) are the variances across replications of the estimated expectation and of the
estimated variance, averaged over providers; lower is more stable. ± is one standard error."""


@dataclass(frozen=True)
class Report:
    """Findings as stored on disk, with the settings and versions of the run."""

    name: str
    title: str
    where: str
    profile: str
    sizes: str
    seed: int
    date: str
    machine: str
    versions: str
    seconds: float
    caption: str
    claims: list[Row]
    table: list[Row]
    beyond: list[Row]
    notes: list[str]
    changed: str = ""  # what was changed from the profile; empty if nothing was


def read_report(folder: Path) -> Report:
    """Read the report that `write` stored in the folder of an experiment."""
    document = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    for kind in ("claims", "table", "beyond"):
        document[kind] = [Row(**row) for row in document[kind]]
    return Report(**document)


def write(
    folder: Path,
    experiment: Experiment,
    findings: Findings,
    profile: str,
    seed: int,
    seconds: float,
    changed: str = "",
    *,
    latex: bool = False,
) -> Report:
    """Write data, figure and comparison of an experiment, and return its report.

    `changed` says what was changed from the profile, and `latex` writes the tables as .tex too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    report = Report(
        name=experiment.name,
        title=experiment.title,
        where=experiment.where,
        profile=profile,
        sizes=_sizes(experiment),
        seed=seed,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        machine=f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {platform.system()}",
        versions=", ".join(
            [f"Python {platform.python_version()}", *(f"{p} {version(p)}" for p in _PACKAGES)]
        ),
        seconds=round(seconds, 1),
        caption=findings.caption,
        claims=list(findings.claims),
        table=list(findings.table),
        beyond=list(findings.beyond),
        notes=list(findings.notes),
        changed=changed,
    )
    data = findings.data
    if changed:
        data = data.assign(changed=changed)
        findings.figure.text(0.01, 0.005, f"CHANGED: {changed}", color="tab:red", size=8)
    data.to_csv(folder / "data.csv", index=False)
    if latex:
        _write_latex(folder, report, data)
    findings.figure.savefig(folder / "figure.svg")
    findings.figure.savefig(folder / "figure.png", dpi=130)
    (folder / "comparison.md").write_text(_comparison(report), encoding="utf-8")
    document = json.dumps(asdict(report), indent=1, ensure_ascii=False)
    (folder / "findings.json").write_text(document, encoding="utf-8")
    return report


def write_page(
    reports: Sequence[Report], out: Path, page: Path, images: Path | None = None
) -> None:
    """Write the page of all claims; copy the figures from `out` to `images` if it is given."""
    page.parent.mkdir(parents=True, exist_ok=True)
    parts = [_HEAD, _runs(reports), _all_claims(reports)]
    parts += [_section(one, _figure(one.name, out, page, images)) for one in reports]
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _sizes(experiment: Experiment) -> str:
    """The sizes of this profile, in the order of the record's fields."""
    sizes = []
    for field in fields(experiment):  # type: ignore[arg-type]  # every experiment is a dataclass
        size = getattr(experiment, field.name)
        words = ", ".join(map(str, size)) if isinstance(size, tuple) else str(size)
        sizes.append(f"{field.name} {words}")
    return "; ".join(sizes)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def _comparison(report: Report) -> str:
    """Return the page of one experiment: claims, table and further results."""
    parts = [f"# {report.title}"]
    if report.changed:
        parts.append(notice(report.changed))
    parts.append(f"{report.where}. Profile `{report.profile}`.")
    for title, rows in _tables(report).items():
        parts += [f"## {title}", _markdown(rows)]
    return "\n\n".join([*parts, *report.notes]) + "\n"


def notice(changed: str) -> str:
    """Say in Markdown that an experiment does not have the paper's settings."""
    return (
        f"> **CHANGED: {changed}.** These are not the settings of the profile. A verdict compares "
        "the paper with another experiment than the paper's, and remarks on sizes may refer to "
        "the unchanged experiment."
    )


def _tables(report: Report) -> dict[str, list[Row]]:
    """The tables of an experiment that have rows, by title."""
    tables = {
        "Claims": report.claims,
        "Numbers of the paper's table": report.table,
        "Beyond the paper": report.beyond,
    }
    return {title: rows for title, rows in tables.items() if rows}


def _write_latex(folder: Path, report: Report, data: pd.DataFrame) -> None:
    """Write comparison.tex and data.tex beside the files that have the same numbers."""
    ending = f" (CHANGED: {report.changed})" if report.changed else ""
    compared = [
        long_table(
            f"{report.title}: {title.lower()}{ending}",
            _COLUMNS,
            [[getattr(row, name) for name in _COLUMNS] for row in rows],
            _WIDTHS,
        )
        for title, rows in _tables(report).items()
    ]
    cells = [[_cell(value) for value in row] for row in data.itertuples(index=False, name=None)]
    measured = long_table(f"{report.title}: data{ending}", list(data.columns), cells)
    for name, tables in (("comparison", compared), ("data", [measured])):
        (folder / f"{name}.tex").write_text(document(tables, report.changed), encoding="utf-8")


def _cell(value: object) -> str:
    """Write a number of the data to four digits."""
    if value is None or value != value:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _markdown(rows: Sequence[Row]) -> str:
    """Rows as a table in Markdown."""
    cells = [_COLUMNS, ["---"] * len(_COLUMNS)]
    cells += [[getattr(row, name) for name in _COLUMNS] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def _figure(name: str, out: Path, page: Path, images: Path | None) -> str:
    """Path of the figure, relative to the page."""
    figure = out / name / "figure.png"
    if images is not None:
        images.mkdir(parents=True, exist_ok=True)
        figure = Path(shutil.copyfile(figure, images / f"{name}.png"))
    return Path(os.path.relpath(figure, page.parent)).as_posix()


def _runs(reports: Sequence[Report]) -> str:
    lines = [
        "## The runs",
        "",
        "| experiment | paper | profile | seed | date | time |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| [`{one.name}`](#{one.name}) | {one.where} | {one.profile} | {one.seed} | "
        f"{one.date} | {in_words(one.seconds)} |"
        for one in reports
    ]
    machines = sorted({f"{one.machine}; {one.versions}" for one in reports})
    return "\n".join([*lines, "", *(f"Machine: {text}." for text in machines)])


def _all_claims(reports: Sequence[Report]) -> str:
    rows = [row for one in reports for row in one.claims]
    rows.sort(key=lambda row: (row.where != "Abstract", row.where))
    title = "## All claims, one by one"
    return f"{title}\n\n{len(rows)} claims: {_verdicts(rows)}.\n\n{_markdown(rows)}"


def _section(one: Report, figure: str) -> str:
    parts = [
        f"## {one.name}",
        f"{one.title}. {one.where}. Profile `{one.profile}`, seed {one.seed}: {one.sizes}.",
        *(f"- {note}" for note in one.notes),
        f"![{one.title}]({figure})",
        one.caption,
    ]
    if one.table:
        summary = f"The {len(one.table)} numbers of the paper beside ours: {_verdicts(one.table)}"
        table = _markdown(one.table)
        parts.append(f"<details><summary>{summary}</summary>\n\n{table}\n\n</details>")
    if one.beyond:
        parts += ["Beyond the paper:", _markdown(one.beyond)]
    return "\n\n".join(parts)


def _verdicts(rows: Sequence[Row]) -> str:
    count = Counter(row.verdict for row in rows)
    return ", ".join(f"{count[word]} × {word}" for word in (HOLDS, IN_RELATION, DOES_NOT))


def in_words(seconds: float) -> str:
    """Format a duration in words.

    Examples
    --------
    >>> in_words(4.2), in_words(75), in_words(4000)
    ('4 s', '1 min 15 s', '1 h 6 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
