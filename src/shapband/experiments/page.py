"""docs/reproduction.md: all claims with their verdicts, the figures, the machine and the seeds."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

from shapband.experiments import EXPERIMENTS
from shapband.experiments.findings import DOES_NOT, HOLDS, IN_RELATION, Row, Written
from shapband.experiments.progress import in_words
from shapband.experiments.write import markdown_table

_HEAD = """# Reproduction of the paper

Written by `shapband reproduce`; do not edit. Every row sets the paper's number beside ours and
beside what theory predicts for our utility, from a pilot with seeds of its own or in closed form.

- **holds**: our number agrees with the paper's, or with its claim.
- **holds in relation**: the absolute number does not follow from the paper's text, the relative
  claim does.
- **does not**: our measurement contradicts it, cannot see it above the scatter, or theory says
  otherwise.

Var(E) and Var(Var) are the variances across replications of the estimated expectation and of the
estimated variance, averaged over providers; lower is more stable. ± is one standard error."""


def write_page(out: Path, page: Path, images: Path | None = None) -> None:
    """Write the page from all that the runs in a folder have written.

    Parameters
    ----------
    out : the folder that `reproduce` wrote
    page : where the page goes
    images : a folder to copy the figures to; by default they stay where they are
    """
    found = [
        Written.from_json((out / name / "findings.json").read_text(encoding="utf-8"))
        for name in EXPERIMENTS
        if (out / name / "findings.json").exists()
    ]
    shown = {one.name: _figure(one.name, out, page, images) for one in found}
    parts = [_HEAD, _runs(found), _summary(found)]
    parts += [_section(one, shown[one.name]) for one in found]
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _figure(name: str, out: Path, page: Path, images: Path | None) -> str:
    """The figure's address as seen from the page."""
    figure = out / name / "figure.png"
    if images is not None:
        images.mkdir(parents=True, exist_ok=True)
        figure = Path(shutil.copyfile(figure, images / f"{name}.png"))
    return Path(os.path.relpath(figure, page.parent)).as_posix()


def _runs(found: list[Written]) -> str:
    lines = [
        "## The runs",
        "",
        "| experiment | paper | profile | seed | date | time |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| [`{one.name}`](#{one.name}) | {one.where} | {one.profile} | {one.seed} | "
        f"{one.date} | {in_words(one.seconds)} |"
        for one in found
    ]
    machines = sorted({f"{one.machine}; {one.versions}" for one in found})
    return "\n".join([*lines, "", *(f"Machine: {text}." for text in machines)])


def _summary(found: list[Written]) -> str:
    rows: list[Row] = [row for one in found for row in one.claims]
    rows.sort(key=lambda row: (row.where != "Abstract", row.where))
    count = Counter(row.verdict for row in rows)
    told = ", ".join(f"{count[word]} × {word}" for word in (HOLDS, IN_RELATION, DOES_NOT))
    return f"## All claims, one by one\n\n{len(rows)} claims: {told}.\n\n{markdown_table(rows)}"


def _section(one: Written, figure: str) -> str:
    parts = [
        f"## {one.name}",
        f"{one.title}. {one.where}. Profile `{one.profile}`, seed {one.seed}: {one.sizes}.",
        *(f"- {note}" for note in one.notes),
        f"![{one.title}]({figure})",
        one.caption,
    ]
    if one.table:
        count = Counter(row.verdict for row in one.table)
        told = ", ".join(f"{count[word]} × {word}" for word in (HOLDS, IN_RELATION, DOES_NOT))
        table = markdown_table(one.table)
        summary = f"The {len(one.table)} numbers of the paper beside ours: {told}"
        parts.append(f"<details><summary>{summary}</summary>\n\n{table}\n\n</details>")
    if one.beyond:
        parts += ["Beyond the paper:", markdown_table(one.beyond)]
    return "\n\n".join(parts)
