"""Record the results of all cases, and compare two records.

``python -m tests.golden.record out/before.json`` plays every case and writes its numbers with all
digits. ``python -m tests.golden.record out/after.json --beside out/before.json`` also lists the
cases that differ, with the largest relative difference. Bits are the same on one machine only: on
another, compilers and libraries may round in another way.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from shapband.errors import ShapbandError
from tests.golden.cases import Case, cases


def result(case: Case, directory: Path) -> dict[str, Any]:
    """All numbers of a valuation, or the kind of error that refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            valuation = case.play(directory)
        except ShapbandError as error:
            return {"refused": type(error).__name__}
        numbers = {
            "games": valuation.games,
            "expectation": valuation.expectation,
            "variance": valuation.variance,
            "solver_variance": valuation.solver_variance,
            "standard_error": valuation.standard_error,
            "interval": valuation.interval(0.9),
            "simultaneous": valuation.interval(0.9, simultaneous=True),
            "variance_interval": valuation.variance_interval(0.9),
            "error": valuation.error.to_numpy(),
            "ranks": valuation.ranks(0.9).above,
            "evaluations": valuation.evaluations,
            "records": [valuation.access.by_provider[name].records for name in valuation.names],
        }
        if valuation.groups is not None:
            numbers["groups"] = valuation.groups.expectation
            numbers["groups_interval"] = valuation.groups.interval(0.9)
        if case.participation != "everybody":
            numbers["participation"] = valuation.participation.to_numpy()
    return {
        name: np.asarray(found, dtype=np.float64).ravel().tolist()
        for name, found in numbers.items()
    }


def record() -> dict[str, Any]:
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        for number, case in enumerate(cases()):
            found[str(case)] = result(case, Path(place) / str(number))
            if number % 20 == 0:
                sys.stderr.write(f"{number} cases\n")
    return found


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """One line for each case whose numbers differ."""
    lines = []
    for case in sorted(before.keys() | after.keys()):
        one, other = before.get(case), after.get(case)
        if one is None or other is None:
            lines.append(f"{case}: only in one of the records")
        elif one.keys() != other.keys():
            lines.append(f"{case}: {sorted(one.keys() ^ other.keys())} only in one of the records")
        else:
            worst = {name: _difference(one[name], other[name]) for name in one}
            changed = [f"{name} {gap:.1e}" for name, gap in worst.items() if gap > 0]
            if changed:
                lines.append(f"{case}: {', '.join(changed)}")
    return lines


def _difference(one: Any, other: Any) -> float:
    """Largest difference relative to the largest number; 0 only if all bits are the same."""
    if isinstance(one, str) or isinstance(other, str):
        return 0.0 if one == other else np.inf
    a, b = np.array(one), np.array(other)
    if a.shape != b.shape or (np.isfinite(a) != np.isfinite(b)).any():
        return np.inf
    if a.tobytes() == b.tobytes():
        return 0.0
    known = np.isfinite(a)
    scale = max(np.abs(a[known]).max(initial=0.0), np.finfo(float).tiny)
    return max(float(np.abs(a[known] - b[known]).max(initial=0.0) / scale), np.finfo(float).tiny)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--beside", type=Path, help="a record made before")
    arguments = parser.parse_args()
    found = record()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(found))
    refused = sum("refused" in numbers for numbers in found.values())
    sys.stdout.write(f"{len(found)} cases, {refused} of them refused\n")
    if arguments.beside is not None:
        lines = differences(json.loads(arguments.beside.read_text()), json.loads(json.dumps(found)))
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.write(f"{len(lines)} cases differ\n")


if __name__ == "__main__":
    main()
