"""`make bench`: make the environment, measure everything in it, write `RESULTS.md`.

With the names of groups as arguments it measures only those, prints their page, and puts them into
`RESULTS.md` in the place of what a whole run measured before.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "benchmarks"
ENVIRONMENT = ROOT / ".venv-bench"
PYTHON = ENVIRONMENT / "bin" / "python"
PINS = (HERE / "requirements.txt", HERE / "requirements-without-dependencies.txt")
GROUPS = (
    "peers",
    "models",
    "linear",
    "wide",
    "neighbors",
    "additive",
    "defaults",
    "choices",
    "growth",
    "workers",
    "processes",
    "distant",
    "memory",
    "startup",
    "blackbox",
    "errors",
    "federated",
    "solvers",
)
BESIDE_PEERS = ("peers", "models")
KEPT = ROOT / "out" / "benchmarks"  # what each group measured last
# Rows and tables of one group, and the run in which it was measured.
Measured = dict[str, Any]
ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA")
}
VERSIONS = ("shapband", "pyDVL", "shapiq", "numpy", "scipy", "scikit-learn", "numba")


def main(chosen: list[str]) -> int:
    unknown = [group for group in chosen if group not in GROUPS]
    if unknown:
        print(f"no group {', '.join(unknown)}: choose from {', '.join(GROUPS)}", file=sys.stderr)
        return 2
    peers = make_environment()
    when = f"{datetime.now(UTC):%d %B %Y, %H:%M} UTC"
    load = os.getloadavg()[0]
    if not chosen:
        shutil.rmtree(KEPT, ignore_errors=True)
    measured = {
        group: measure(group, when, load) if peers or group not in BESIDE_PEERS else None
        for group in GROUPS
        if group in chosen or not chosen
    }
    print(document(measured))
    whole = {group: kept(group) for group in GROUPS}
    if not chosen or None not in whole.values():
        (HERE / "RESULTS.md").write_text(document(whole), encoding="utf-8")
    return 1 if None in measured.values() else 0


def make_environment() -> bool:
    """Make `.venv-bench`, or reuse it if its inputs are unchanged; return whether it has peers."""
    stamp = ENVIRONMENT / "made-from"
    wanted = "".join(path.read_text() for path in (*PINS, ROOT / "pyproject.toml"))
    if stamp.exists() and stamp.read_text() == wanted:
        return True
    print("making .venv-bench ...", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--editable", str(ROOT)], check=True)
    everything, alone = (str(path) for path in PINS)
    installs = [[*pip, "--requirement", everything], [*pip, "--no-deps", "--requirement", alone]]
    if any(subprocess.run(install, check=False).returncode for install in installs):
        print("!" * 72 + "\nTHE PEERS COULD NOT BE INSTALLED: they are not measured.\n" + "!" * 72)
        return False
    stamp.write_text(wanted)
    return True


def measure(group: str, when: str, load: float) -> Measured | None:
    """Run one group in a fresh process on one thread, and keep it; None if it fails."""
    print(f"measuring {group} ...", flush=True)
    started = time.perf_counter()
    done = subprocess.run(
        [str(PYTHON), "-m", f"benchmarks.{group}"],
        cwd=ROOT,
        env=os.environ | ONE_THREAD | {"PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    took = time.perf_counter() - started
    print(f"  {took:.0f} s", flush=True)
    if done.returncode:
        print("!" * 72 + f"\n{group} FAILED: it is not measured.\n" + "!" * 72)
        return None
    parts: Measured = json.loads(done.stdout) | {"run": when, "load": load, "seconds": took}
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{group}.json").write_text(json.dumps(parts), encoding="utf-8")
    return parts


def kept(group: str) -> Measured | None:
    """What was measured last, so that a group can be measured again without all others."""
    file = KEPT / f"{group}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def document(measured: dict[str, Measured | None]) -> str:
    """Write the results as one page."""
    found = {group: parts for group, parts in measured.items() if parts is not None}
    rows = [row for parts in found.values() for row in parts["rows"]]
    tables = [table for parts in found.values() for table in parts["tables"]]
    judged = [row for row in rows if row["met"] is not None]
    missed = [row for row in judged if not row["met"]]
    took = sum(parts["seconds"] for parts in found.values())
    lines = [
        "# Benchmarks",
        "",
        f"Written by `make bench`, in {took / 60:.0f} minutes. "
        f"{len(judged) - len(missed)} of {len(judged)} targets are met.",
        "",
        f"- Processor: {processor()}, {os.cpu_count()} cores; one thread a worker.",
        f"- {versions()}.",
        *runs(found),
        "- Numbers are medians with quartiles in brackets. What is compared is measured in turns, "
        "round by round; ratios are taken within a round.",
        "",
        *failures(measured),
        "## Targets",
        "",
        "| work | measured | result | target | |",
        "| --- | --- | --- | --- | --- |",
        *(table_row(row, "met" if row["met"] else "**missed**") for row in judged),
        "",
        "## Where a target is missed",
        "",
        *([f"- **{row['work']}**: {row['limit']}" for row in missed] or ["Nowhere."]),
        "",
        "## Without a target",
        "",
        "| work | measured | result |",
        "| --- | --- | --- |",
        *(table_row(row) for row in rows if row["met"] is None),
        "",
        *(line for table in tables for line in table_lines(table)),
    ]
    return "\n".join(lines)


def runs(found: dict[str, Measured]) -> list[str]:
    """When the groups were measured, and with what load; those measured apart are named."""
    groups: dict[tuple[str, float], list[str]] = {}
    for group, parts in found.items():
        groups.setdefault((parts["run"], parts["load"]), []).append(group)
    lines = []
    for (when, load), names in sorted(groups.items(), key=lambda one: -len(one[1])):
        what = f"Measured apart, {', '.join(names)}" if lines else "Measured in one run"
        lines.append(f"- {what}: {when}, load when it began {load:.1f}.")
    lines.append(
        "- With a load above 0.5 other work disturbed the measurements: then the times, and two "
        "workers above all, say little."
    )
    return lines


def table_lines(table: dict[str, Any]) -> list[str]:
    cells = [table["header"], ["---"] * len(table["header"]), *table["lines"]]
    lines = ["| " + " | ".join(line) + " |" for line in cells]
    return [f"## {table['title']}", "", table["text"], "", *lines, ""]


def table_row(row: dict[str, Any], verdict: str | None = None) -> str:
    cells = [row["work"], row["measured"], row["result"]]
    if verdict is not None:
        cells += [row["target"], verdict]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def failures(measured: dict[str, Measured | None]) -> list[str]:
    failed = [group for group, parts in measured.items() if parts is None]
    if not failed:
        return []
    return [f"**Not measured, because it failed: {', '.join(failed)}.**", ""]


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown"


def versions() -> str:
    """Return the versions of the measured packages in the environment."""
    code = (
        "import platform, importlib.metadata as m\n"
        "found = {d.metadata['Name'].lower(): d.version for d in m.distributions()}\n"
        f"names = [n for n in {VERSIONS!r} if n.lower() in found]\n"
        "parts = [f'{n} {found[n.lower()]}' for n in names]\n"
        "print(', '.join([f'Python {platform.python_version()}', *parts]))"
    )
    return subprocess.run(
        [str(PYTHON), "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
