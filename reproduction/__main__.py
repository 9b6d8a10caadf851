"""The command: ``python -m reproduction``."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from reproduction.run import EXPERIMENTS, reproduce


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
    given = parser.parse_args(arguments)
    if given.seed < 0:
        parser.error("--seed must be 0 or more")
    names = [] if given.name is None else [given.name]
    settings = {"profile": given.profile, "out": given.out, "seed": given.seed, "docs": given.docs}
    for report in reproduce(names, **settings):
        verdicts = Counter(row.verdict for row in report.claims)
        told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        print(f"{report.name}: {len(report.claims)} claims ({told})")
    print(f"see {given.out / 'reproduction.md'}")


if __name__ == "__main__":
    main()
