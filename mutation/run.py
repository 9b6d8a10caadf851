"""`make mutants`: change the code one expression at a time, and see whether a test fails.

mutmut makes the changes and runs the tests; what it changes and which tests it runs is set under
``[tool.mutmut]`` in pyproject.toml. A mutant that no test notices survives. `survivors.toml` gives
the reason for each survivor that is left. A reason that begins with "equivalent" says that no test
can notice the change; such mutants are not counted. SQL in capitals or in small letters is
equivalent too.

All mutants take hours, so ``--sample`` tries some of each package, chosen at random with a fixed
seed: the same code and seed give the same sample. Mutants are chosen from the names that mutmut
made, and the others are marked as skipped in its records before it runs the tests.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from fnmatch import fnmatch
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from mutmut.__main__ import create_mutants
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir, walk_mutatable_files
from mutmut.utils.format_utils import (
    get_module_from_key,
    orig_function_and_class_names_from_key,
)

ROOT = Path(__file__).resolve().parent.parent
REASONS = ROOT / "mutation" / "survivors.toml"
MOST = 0.03  # survivors, as a part of all mutants that are not equivalent
NOTICED = {"killed", "timeout", "segfault"}
NOT_TRIED = {"not checked", "skipped"}
SKIPPED = 34  # mutmut's exit code of a mutant that was left out
BROKEN = 255  # its exit code if pytest could not run the tests, which it counts as a timeout


class Change(NamedTuple):
    """What identifies a mutant; it stays the same when code elsewhere is edited."""

    function: str
    was: str
    now: str


class Mutant(NamedTuple):
    """One mutant and what became of it: killed, survived or equivalent.

    A mutant whose tests could not be run has survived.
    """

    package: str
    outcome: str
    change: Change | None


def main() -> int:
    """Run mutmut, on all mutants or on those named, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help='such as "shapband.estimate*"; all if left out')
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--sample", type=int, help="mutants of each package; all if left out")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives another sample")
    arguments = parser.parse_args()
    names = arguments.names
    os.chdir(ROOT)
    started = time.perf_counter()
    if not names:
        # mutmut keeps results of functions that did not change, even if tests were added.
        shutil.rmtree("mutants", ignore_errors=True)
    mutmut = Path(sys.executable).with_name("mutmut")
    command = [mutmut, "run", f"--max-children={arguments.workers}"]
    if arguments.sample is None:
        command += names
    else:
        make_mutants(arguments.workers)
        skip_others(sample(list(matching(names)), arguments.sample, arguments.seed))
    subprocess.run(command, check=True)
    reasons = read_reasons()
    mutants = list(tried(reasons))
    survivors = [mutant.change for mutant in mutants if mutant.outcome == "survived"]
    print()
    for change in survivors:
        print(entry(change, reasons.get(change, "")))
    for change in sorted(reasons.keys() - set(changes_in({one.function for one in reasons}))):
        print(f"{REASONS.name}: no mutant makes this change any more: {change}")
    if not names and arguments.sample is None:
        for change in sorted(reasons.keys() - {mutant.change for mutant in mutants}):
            print(f"{REASONS.name}: this mutant does not survive: {change}")
    print("\n".join(table(mutants)))
    unexplained = len(set(survivors) - reasons.keys())
    print(f"{unexplained} survivors have no reason in {REASONS.name}")
    print(f"{(time.perf_counter() - started) / 60:.0f} minutes")
    counted = sum(mutant.outcome != "equivalent" for mutant in mutants)
    return 1 if len(survivors) > MOST * counted else 0


def make_mutants(workers: int) -> None:
    """Let mutmut write the mutants of all files; it lists each file, which nobody reads."""
    Path("mutants").mkdir(exist_ok=True)
    with redirect_stdout(StringIO()):
        copy_src_dir()
        copy_also_copy_files()
        create_mutants(workers)


def records() -> Iterator[SourceFileMutationData]:
    """What mutmut knows about the mutants of each file."""
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        yield data


def matching(patterns: list[str]) -> Iterator[str]:
    """Names of the mutants that match one of the patterns; all names if there are none."""
    for data in records():
        for name in data.exit_code_by_key:
            if not patterns or any(fnmatch(name, pattern) for pattern in patterns):
                yield name


def sample(names: Iterable[str], size: int, seed: int) -> set[str]:
    """Choose `size` mutants of each package at random, or all if it has fewer."""
    by_package: dict[str, list[str]] = {}
    for name in sorted(names):
        by_package.setdefault(package_of(name), []).append(name)
    chosen: set[str] = set()
    for package, mutants in by_package.items():
        # A stream per package: code added to one leaves the samples of the others as they are.
        rng = random.Random(f"{seed} {package}")  # noqa: S311
        chosen.update(rng.sample(mutants, min(size, len(mutants))))
    return chosen


def skip_others(chosen: set[str]) -> None:
    """Mark all mutants but the chosen ones as skipped, and forget results of earlier runs."""
    for data in records():
        for name in data.exit_code_by_key:
            data.exit_code_by_key[name] = None if name in chosen else SKIPPED
        data.save()


def package_of(name: str) -> str:
    """The package of a mutant, such as ``market`` of ``shapband.market.plan.x_plan__mutmut_1``."""
    return name.split(".")[1]


def read_reasons() -> dict[Change, str]:
    """Why each survivor in the list is left."""
    listed = tomllib.loads(REASONS.read_text(encoding="utf-8"))["survivor"]
    return {
        Change(one["function"], one["was"], now): one["reason"]
        for one in listed
        for now in one["now"]
    }


def tried(reasons: dict[Change, str]) -> Iterator[Mutant]:
    """All mutants that the tests were run on."""
    for data in records():
        for name, code in data.exit_code_by_key.items():
            package = package_of(name)
            status = "broken" if code == BROKEN else status_by_exit_code[code]
            if status in NOTICED:
                yield Mutant(package, "killed", None)
            elif status not in NOT_TRIED:
                change = change_of(name, Path(data.path))
                equivalent = is_sql_case(change) or reasons.get(change, "").startswith("equivalent")
                yield Mutant(package, "equivalent" if equivalent else "survived", change)


def is_sql_case(change: Change) -> bool:
    """Whether only the case of SQL changed, and not of strings in it, whose case matters."""
    sql = re.search(r'"(SELECT|INSERT|WHERE|AND|PRAGMA|BEGIN|COMMIT|ROLLBACK)\b', change.was)
    was, now = (re.findall("'[^']*'", text) for text in (change.was, change.now))
    return bool(sql) and was == now and change.was.lower() == change.now.lower()


def changes_in(functions: set[str]) -> Iterator[Change]:
    """All changes that mutmut makes in these functions."""
    for data in records():
        for name in data.exit_code_by_key:
            if place_of(name) in functions:
                yield change_of(name, Path(data.path))


def place_of(name: str) -> str:
    """The function that a mutant changes, with its module and class."""
    function, owner = orig_function_and_class_names_from_key(name)
    module = get_module_from_key(name).removeprefix("shapband.")
    return ".".join(part for part in (module, owner, function) if part)


def change_of(name: str, path: Path) -> Change:
    """Say what a mutant changes: the function, and the lines before and after."""
    lines = get_diff_for_mutant(name, path=path).splitlines()[2:]
    was, now = (
        " ".join(line[1:].strip() for line in lines if line.startswith(mark)) for mark in "-+"
    )
    return Change(place_of(name), was, now)


def entry(change: Change, reason: str) -> str:
    """A survivor as it is written in the list of reasons."""
    quoted = {name: json.dumps(text, ensure_ascii=False) for name, text in change._asdict().items()}
    return (
        f"[[survivor]]\nfunction = {quoted['function']}\nwas = {quoted['was']}\n"
        f"now = [{quoted['now']}]\nreason = {json.dumps(reason, ensure_ascii=False)}\n"
    )


def table(mutants: list[Mutant]) -> Iterator[str]:
    """Counts of mutants, by package and in total."""
    titles = f"{'package':<12}{'mutants':>9}{'killed':>9}{'survived':>10}{'rate':>8}"
    yield f"{titles}{'equivalent':>12}"
    for package in [*sorted({mutant.package for mutant in mutants}), "all"]:
        outcomes = [mutant.outcome for mutant in mutants if package in (mutant.package, "all")]
        killed, survived, equivalent = map(outcomes.count, ("killed", "survived", "equivalent"))
        counted = killed + survived
        rate = f"{survived / counted:.1%}" if counted else "-"
        counts = f"{package:<12}{counted:>9,}{killed:>9,}{survived:>10,}{rate:>8}"
        yield f"{counts}{equivalent:>12,}"


if __name__ == "__main__":
    sys.exit(main())
