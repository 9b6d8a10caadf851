"""`make mutants`: change the code one expression at a time, and see whether a test fails.

mutmut makes the changes and runs the tests; what it changes and which tests it runs is set under
``[tool.mutmut]`` in pyproject.toml. A mutant that no test notices survives. `survivors.toml` gives
the reason for each survivor that is left. A reason that begins with "equivalent" says that no test
can notice the change; such mutants are not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files
from mutmut.utils.format_utils import (
    get_module_from_key,
    orig_function_and_class_names_from_key,
)

ROOT = Path(__file__).resolve().parent.parent
REASONS = ROOT / "mutation" / "survivors.toml"
MOST = 0.05  # survivors, as a part of all mutants that are not equivalent
NOTICED = {"killed", "timeout", "segfault"}


class Change(NamedTuple):
    """What identifies a mutant; it stays the same when code elsewhere is edited."""

    function: str
    was: str
    now: str


class Mutant(NamedTuple):
    """One mutant and what became of it: killed, survived or equivalent."""

    package: str
    outcome: str
    change: Change | None


def main() -> int:
    """Run mutmut, on all mutants or on those named, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help='such as "shapband.estimate*"; all if left out')
    parser.add_argument("--workers", default=os.cpu_count(), help="processes at a time")
    arguments = parser.parse_args()
    names = arguments.names
    os.chdir(ROOT)
    started = time.perf_counter()
    if not names:
        # mutmut keeps results of functions that did not change, even if tests were added.
        shutil.rmtree("mutants", ignore_errors=True)
    mutmut = Path(sys.executable).with_name("mutmut")
    workers = f"--max-children={arguments.workers}"
    subprocess.run([mutmut, "run", workers, *names], check=True)
    reasons = read_reasons()
    mutants = [mutant for mutant in tried(reasons) if mutant.outcome != "not checked"]
    survivors = [mutant.change for mutant in mutants if mutant.outcome == "survived"]
    seen = {mutant.change for mutant in mutants}
    print()
    for change in survivors:
        print(entry(change, reasons.get(change, "")))
    for change in sorted(reasons.keys() - seen) if not names else ():
        print(f"{REASONS.name}: this mutant does not survive: {change}")
    print("\n".join(table(mutants)))
    unexplained = len(set(survivors) - reasons.keys())
    print(f"{unexplained} survivors have no reason in {REASONS.name}")
    print(f"{(time.perf_counter() - started) / 60:.0f} minutes")
    counted = sum(mutant.outcome != "equivalent" for mutant in mutants)
    return 1 if len(survivors) > MOST * counted else 0


def read_reasons() -> dict[Change, str]:
    """Why each survivor in the list is left."""
    listed = tomllib.loads(REASONS.read_text(encoding="utf-8"))["survivor"]
    return {
        Change(one["function"], one["was"], now): one["reason"]
        for one in listed
        for now in one["now"]
    }


def tried(reasons: dict[Change, str]) -> Iterator[Mutant]:
    """All mutants that mutmut made."""
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        for name, code in data.exit_code_by_key.items():
            package = name.split(".")[1]
            status = status_by_exit_code[code]
            if status in NOTICED:
                yield Mutant(package, "killed", None)
            elif status == "not checked":
                yield Mutant(package, status, None)
            else:
                change = change_of(name, path)
                equivalent = reasons.get(change, "").startswith("equivalent")
                yield Mutant(package, "equivalent" if equivalent else "survived", change)


def change_of(name: str, path: Path) -> Change:
    """Say what a mutant changes: the function, and the lines before and after."""
    function, owner = orig_function_and_class_names_from_key(name)
    module = get_module_from_key(name).removeprefix("shapband.")
    place = ".".join(part for part in (module, owner, function) if part)
    lines = get_diff_for_mutant(name, path=path).splitlines()[2:]
    was, now = (
        " ".join(line[1:].strip() for line in lines if line.startswith(mark)) for mark in "-+"
    )
    return Change(place, was, now)


def entry(change: Change, reason: str) -> str:
    """A survivor as it is written in the list of reasons."""
    quoted = {name: json.dumps(text, ensure_ascii=False) for name, text in change._asdict().items()}
    return (
        f"[[survivor]]\nfunction = {quoted['function']}\nwas = {quoted['was']}\n"
        f"now = [{quoted['now']}]\nreason = {json.dumps(reason, ensure_ascii=False)}\n"
    )


def table(mutants: list[Mutant]) -> Iterator[str]:
    """Counts of mutants, by package and in total."""
    yield f"{'package':<12}{'mutants':>9}{'killed':>9}{'survived':>10}{'equivalent':>12}"
    for package in [*sorted({mutant.package for mutant in mutants}), "all"]:
        outcomes = [mutant.outcome for mutant in mutants if package in (mutant.package, "all")]
        killed, survived, equivalent = map(outcomes.count, ("killed", "survived", "equivalent"))
        counted = killed + survived
        yield f"{package:<12}{counted:>9,}{killed:>9,}{survived:>10,}{equivalent:>12,}"


if __name__ == "__main__":
    sys.exit(main())
