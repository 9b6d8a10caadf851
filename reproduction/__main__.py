"""The command: ``python -m reproduction``."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import shapband as sb
from reproduction.changes import change
from reproduction.report import Report
from reproduction.run import EXPERIMENTS, reproduce, run_changed


def main(arguments: list[str] | None = None) -> None:
    """Run the experiments of the paper and compare with its numbers."""
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=main.__doc__)
    add = parser.add_argument
    add("name", nargs="?", choices=EXPERIMENTS, help="the experiment; all of them by default")
    add(
        "--profile",
        choices=("quick", "paper"),
        default="quick",
        help="sizes that take minutes in all, or the paper's own (default: %(default)s)",
    )
    add(
        "--out",
        type=Path,
        default=Path("out/reproduction"),
        metavar="DIR",
        help="folder for results; a run begun there goes on (default: %(default)s)",
    )
    add("--seed", type=int, default=0, help="every random stream follows from it")
    add("--docs", type=Path, metavar="DIR", help="also write the page and its figures here")
    add(
        "--set",
        action="append",
        metavar="KEY=VALUE",
        help="change a size of the experiment; results go to DIR/changed, never to the page",
    )
    add("--latex", action="store_true", help="also write the tables as LaTeX, with booktabs")
    given = parser.parse_args(arguments)
    if given.seed < 0:
        parser.error("--seed must be 0 or more")
    if given.set:
        _run_changed(parser, given)
        return
    names = [] if given.name is None else [given.name]
    settings = {"profile": given.profile, "out": given.out, "seed": given.seed}
    for report in reproduce(names, docs=given.docs, latex=given.latex, **settings):
        _print_verdicts(report)
    print(f"see {given.out / 'reproduction.md'}")


def _run_changed(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Run one experiment with other sizes, and say so before and after."""
    if given.name is None:
        parser.error("--set changes one experiment: give its name")
    if given.docs is not None:
        parser.error("--set cannot write the page of the documentation: leave out --docs")
    try:
        changed = change(EXPERIMENTS[given.name][given.profile], given.set)
    except ValueError as cause:
        parser.error(str(cause))
    print(f"CHANGED: {changed.words}; not the settings of the profile {given.profile}")
    settings = {"profile": given.profile, "out": given.out, "seed": given.seed}
    try:
        report, folder = run_changed(changed, latex=given.latex, **settings)
    except sb.errors.ShapbandError as cause:
        parser.exit(1, f"error: {changed.words}: {cause}\n")
    if report is not None:
        _print_verdicts(report)
    else:
        print("the paper's claims cannot be compared with these sizes; the data are written")
    print(f"CHANGED: {changed.words}; see {folder / 'comparison.md'}")


def _print_verdicts(report: Report) -> None:
    verdicts = Counter(row.verdict for row in report.claims)
    told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    print(f"{report.name}: {len(report.claims)} claims ({told})")


if __name__ == "__main__":
    main()
