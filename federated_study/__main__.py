"""The command: ``python -m federated_study``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from coverage_study.store import Store
from federated_study.measure import measure
from federated_study.odd_clients import measure_odd, odd_settings
from federated_study.page import page
from federated_study.settings import METHODS, settings
from federated_study.summary import measured_rows
from shapband.codec import encode


def main(arguments: list[str] | None = None) -> None:
    """Measure how far values from recorded updates are from exact ones, and write a page of it."""
    parser = argparse.ArgumentParser(prog="python -m federated_study", description=main.__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="few runs, to see that everything works")
    add("--out", type=Path, metavar="DIR", help="folder for results (default: out/federated)")
    add("--docs", type=Path, metavar="FILE", help="also write the page here")
    add("--package", type=Path, metavar="FILE", help="also write the numbers of the library here")
    add("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    add("--fresh", action="store_true", help="measure again what the folder has already")
    given = parser.parse_args(arguments)
    if given.jobs < 1:
        parser.error("--jobs must be 1 or more")
    out = given.out or Path("out/federated-quick" if given.quick else "out/federated")
    store = Store(out, given.jobs, fresh=given.fresh)
    every, odd = settings(quick=given.quick), odd_settings(quick=given.quick)
    for one in every:
        store.measure(one.name, one, measure)
    for kind in odd:
        store.measure(kind.name, kind, measure_odd)
    names = [one.name for one in every] + [one.name for one in odd]
    documents: dict[str, Any] = {name: store.read(name) for name in names}
    records = {one: documents[one.name]["records"] for one in every}
    facts = {
        "command": "make federated" if not given.quick else "python -m federated_study --quick",
        "date": max(one["date"] for one in documents.values()),
        "versions": "; ".join(sorted({one["versions"] for one in documents.values()})),
        "pools": str(every[0].pools),
        "games": str(every[0].games),
    }
    text = page(records, {one: documents[one.name]["records"] for one in odd}, facts)
    numbers = {**facts, "rows": encode(measured_rows(records, METHODS))}
    for target in {out / "federated-errors.md", given.docs} - {None}:
        target.write_text(text, encoding="utf-8")
    for target in {out / "measured.json", given.package} - {None}:
        target.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    print(f"see {out / 'federated-errors.md'}")


if __name__ == "__main__":
    main()
