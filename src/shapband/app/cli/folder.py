"""The runs in a folder: found without following links, summarised, listed and compared.

A request names a run by a key that is computed from the run's name. The key is looked up among the
runs that were found, and no part of a request ever becomes a path.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from shapband.access.budget import Cost
from shapband.app.config.limits import PricesTable
from shapband.checks import file_error, one_line
from shapband.errors import InvalidInput, RunError, ShapbandError
from shapband.progress import widest
from shapband.report.changes import comparison_page
from shapband.report.listing import PLACES, Choice, RunLine, address, runs_page
from shapband.runs.database import NAME as DATABASE
from shapband.runs.lock import is_locked
from shapband.runs.read import RunStatus, load, status_of
from shapband.runs.store import RunStore
from shapband.valuation.compare import compare
from shapband.valuation.valuation import Valuation

_PER_PAGE = 50  # runs on one page of the list; every one of them is opened to show it
_PAGE = re.compile("[1-9][0-9]{0,5}")
_MOST_ENTRIES = 20_000  # entries of folders that are looked at, so that a huge folder ends too


@dataclass(frozen=True)
class Found:
    """The runs in a folder.

    Attributes
    ----------
    runs : by key, the name of every run within the folder; the last changed is first
    left_out : why other runs may be missing
    """

    runs: Mapping[str, str]
    left_out: tuple[str, ...] = ()


def is_folder_of_runs(path: Path) -> bool:
    """Whether a path is a folder that is no run but holds some; raise an error if it is neither."""
    if path.is_dir() and not os.path.lexists(path / DATABASE) and find_runs(path).runs:
        return True
    try:
        load(path)
    except RunError as cause:
        if path.is_dir() and not os.path.lexists(path / DATABASE):
            raise RunError(f"{cause}, and neither it nor its folders hold runs") from cause
        raise
    return False


def find_runs(folder: Path) -> Found:
    """Find the runs in a folder and in its folders, without following links."""
    entries, unreadable = _MOST_ENTRIES, 0
    names: list[str] = []
    level = [""]
    for deep in (False, True):
        below: list[str] = []
        for parent in level:
            try:
                inside, used = _folders(folder / parent, entries)
            except OSError:
                unreadable += 1
                continue
            entries -= used
            for name in inside:
                path = os.path.join(parent, name)
                is_run = os.path.lexists(folder / path / DATABASE)
                (names if is_run else below).append(path)
        level = [] if deep else below
    times = {name: _stamp(folder / name) for name in names}
    names.sort(key=lambda name: (times[name], name), reverse=True)
    return Found({_key(name): name for name in names}, _left_out(entries, unreadable))


def _left_out(entries: int, unreadable: int) -> tuple[str, ...]:
    reasons = []
    if entries <= 0:
        reasons.append(
            f"Only the first {_MOST_ENTRIES:,} entries of the folder and its folders were looked "
            "at, so runs may be missing: watch a smaller folder."
        )
    if unreadable:
        words = "folder cannot" if unreadable == 1 else "folders cannot"
        reasons.append(f"{unreadable:,} {words} be read and may hold runs.")
    return tuple(reasons)


def _folders(path: Path, most: int) -> tuple[list[str], int]:
    """Names of the folders in a folder, of at most so many entries, and the entries looked at."""
    names, looked = [], 0
    with os.scandir(path) as entries:
        for entry in entries:
            if looked == most:
                break
            looked += 1
            if entry.is_dir(follow_symlinks=False):
                names.append(entry.name)
    return names, looked


def _stamp(run: Path) -> tuple[tuple[int, int], ...]:
    """Times and sizes of the files of a run that change with it; the latest time is first."""
    found = []
    for name in (DATABASE, f"{DATABASE}-wal"):
        try:
            seen = os.lstat(run / name)
        except OSError:  # it has just been removed, or there is no log
            continue
        found.append((seen.st_mtime_ns, seen.st_size))
    return tuple(sorted(found, reverse=True))


def _key(name: str) -> str:
    """Name a run in addresses, whatever characters its own name has."""
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:24]


class RunFolder:
    """The pages of the runs in a folder.

    Attributes
    ----------
    path : the folder
    token : what every address must hold
    """

    def __init__(self, path: Path, token: str) -> None:
        self.path = path
        self.token = token
        self._lines: dict[str, tuple[object, RunLine]] = {}

    def run(self, key: str) -> Path | None:
        """The directory of a run that was found, by its key."""
        name = find_runs(self.path).runs.get(key)
        return None if name is None else self.path / name

    def page(self, query: Mapping[str, str]) -> tuple[str, bool] | None:
        """Make the list, or the page of two chosen runs; and whether one is still being played.

        None if the query names a run that is not in the folder.
        """
        found = find_runs(self.path)
        chosen = {place: query[place] for place in PLACES if place in query}
        if not all(key in found.runs for key in chosen.values()):
            return None
        self._lines = {key: line for key, line in self._lines.items() if key in found.runs}
        message = ""
        if "page" not in query and chosen:
            try:
                return self._compared(found, chosen), False
            except ShapbandError as cause:
                message = one_line(cause)
        return self._listed(found, chosen, query.get("page", "1"), message)

    def _compared(self, found: Found, chosen: Mapping[str, str]) -> str:
        if len(set(chosen.values())) < len(PLACES):
            raise InvalidInput("Choose two different runs to compare, a first and a second.")
        first, second = (found.runs[chosen[place]] for place in PLACES)
        comparison = compare(
            self._valuation(first), self._valuation(second), labels=(first, second)
        )
        return comparison_page(comparison, home=address(self.token))

    def _valuation(self, name: str) -> Valuation:
        status = status_of(self.path / name)
        if status.valuation is None:
            raise InvalidInput(f"{name}: {status.no_result}")
        return status.valuation

    def _listed(
        self, found: Found, chosen: Mapping[str, str], page: str, message: str
    ) -> tuple[str, bool]:
        n_pages = max(1, -(-len(found.runs) // _PER_PAGE))
        number = min(int(page), n_pages) if _PAGE.fullmatch(page) else 1
        keys = list(found.runs)[(number - 1) * _PER_PAGE : number * _PER_PAGE]
        lines = [self._line(key, found.runs[key]) for key in keys]
        choice = Choice(
            runs={place: self._line(key, found.runs[key]) for place, key in chosen.items()},
            page=number,
            n_pages=n_pages,
            n_runs=len(found.runs),
            message=message,
        )
        at_work = any(line.state == "running" for line in lines)
        notes = [
            *found.left_out,
            *([f"Page {number:,} of {n_pages:,}."] if n_pages > 1 else []),
            "Runs in this folder and in its folders, the last changed first. Links to other "
            "folders are not followed. The largest ± 95 % is the half width of the widest "
            "interval of an expectation; compare it only between runs with the same utility.",
        ]
        name = self.path.resolve().name or str(self.path.resolve())
        return runs_page(name, lines, choice, notes, self.token), at_work

    def _line(self, key: str, name: str) -> RunLine:
        """Summarise a run, which is read again only if it changed."""
        run = self.path / name
        stamp = _stamp(run)
        kept = self._lines.get(key)
        if kept is not None and kept[0] == stamp and _is_current(kept[1], run):
            return kept[1]
        line = _summary(key, name, run)
        self._lines[key] = stamp, line
        return line


def _is_current(line: RunLine, run: Path) -> bool:
    """Whether the state of a run whose files did not change is still as it was."""
    if line.state == "finished":
        return True
    if line.state == "unreadable":  # its permissions may have changed, which leaves no trace
        return False
    try:
        return is_locked(run) == (line.state == "running")
    except RunError:  # reading it again gives the reason
        return False


def _summary(key: str, name: str, run: Path) -> RunLine:
    try:
        status = status_of(run)
        with RunStore.open(run) as store:
            last = store.ledger.last()
    except ShapbandError as cause:
        return RunLine(key, name, "unreadable", reason=one_line(cause))
    except OSError as cause:
        return RunLine(key, name, "unreadable", reason=file_error(cause))
    valuation = status.valuation
    more = "" if status.state == "finished" else f" of {status.n_games:,}"
    return RunLine(
        key,
        name,
        status.state,
        providers=len(status.manifest["providers"]),
        games=f"{status.done:,}{more}",
        error=float("nan") if valuation is None else widest(valuation.estimate),
        records=status.access.records,
        requests=status.access.requests,
        money=_money(status),
        changed=None if last is None else _time(last.time),
        has_result=valuation is not None,
    )


def _money(status: RunStatus) -> Decimal | None:
    """What the sources charge by the prices in the configuration of the run, if it has any."""
    try:
        table: Any = tomllib.loads(status.manifest["config"] or "").get("prices")
        if table is None:
            return None
        prices = PricesTable.model_validate(table).prices
    except (tomllib.TOMLDecodeError, ValidationError, InvalidInput):  # it was altered
        return None
    used = status.access
    return prices.of(Cost(requests=used.requests, records=used.records))


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:  # it was altered
        return None
