"""The command: ``python -m coverage_study``."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from coverage_study.page import page
from coverage_study.play import play_pool
from coverage_study.settings import settings
from coverage_study.several import missing, name_of, play_pair, several_settings
from coverage_study.store import Store
from coverage_study.validation import measure_rows, rows_settings


def main(arguments: list[str] | None = None) -> None:
    """Measure how often the library's intervals hold the truth, and write a page of it."""
    parser = argparse.ArgumentParser(prog="python -m coverage_study", description=main.__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="few pools and games, to see that everything runs")
    add(
        "--only",
        nargs="+",
        default=[""],
        metavar="NAME",
        help="measure the settings whose names begin so, such as wine-stock or gaussian-pooled",
    )
    add("--out", type=Path, metavar="DIR", help="folder for results (default: out/coverage)")
    add("--docs", type=Path, metavar="FILE", help="also write the page here")
    add("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    add("--fresh", action="store_true", help="measure again what the folder has already")
    add("--again", action="store_true", help="as --fresh, with the games that the folder has")
    given = parser.parse_args(arguments)
    if given.jobs < 1:
        parser.error("--jobs must be 1 or more")
    out = given.out or Path("out/coverage-quick" if given.quick else "out/coverage")
    store = Store(out, given.jobs, fresh=given.fresh, again=given.again)
    for only in given.only:
        measure(store, only, quick=given.quick)
    command = "make coverage" if not given.quick else "python -m coverage_study --quick"
    rows = rows_settings(quick=given.quick)
    text = page(settings(quick=given.quick), store, command, rows)
    for target in {out / "coverage.md", given.docs} - {None}:
        target.write_text(text, encoding="utf-8")
    print(f"see {out / 'coverage.md'}")


def measure(store: Store, only: str, *, quick: bool) -> None:
    """Measure the settings whose name begins with `only`."""
    measure_rows(store, only, quick=quick)
    for setting in settings(quick=quick):
        if setting.name.startswith(only):
            store.measure(setting.name, setting, partial(play_pool, folder=store.games))
    if not all(missing().values()):
        for setting in several_settings(quick=quick):
            if name_of(setting).startswith(only):
                store.measure(name_of(setting), setting, play_pair)


if __name__ == "__main__":
    main()
