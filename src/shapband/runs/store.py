"""The run directory: the arguments of a run, its purchases, its games and its result."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from shapband.access.meter import Usage
from shapband.checks import one_line
from shapband.errors import RunDamaged, RunError, RunExists, RunLocked
from shapband.runs import database, extensions, ledger, purchases, solved
from shapband.runs.extensions import Extension
from shapband.runs.ledger import Ledger, canonical, chained, hash_of, stored
from shapband.runs.lock import NAME as LOCK
from shapband.runs.lock import is_locked, locked
from shapband.runs.plausible import (
    check_manifest,
    check_valuation,
    has_interactions,
    is_averaged,
    readable,
)
from shapband.runs.purchases import StoredPurchases
from shapband.runs.solved import StoredGames
from shapband.valuation.valuation import Valuation

_TABLES = (
    *ledger.TABLES,
    purchases.TABLE,
    solved.TABLE,
    "CREATE TABLE result (id INTEGER PRIMARY KEY CHECK (id = 1), json TEXT NOT NULL, "
    "kept_games INTEGER NOT NULL)",
)

_COUNT = {
    "purchases": "SELECT COUNT(*) FROM (SELECT DISTINCT provider, purpose, game FROM purchases)",
    "games": "SELECT COUNT(*) FROM games",
}


class RunStore:
    """One run: a directory with a SQLite database, which is never half written after a crash.

    It is made by `RunStore.create` or `RunStore.open`.

    Attributes
    ----------
    run : the directory
    manifest : the arguments of the run after its extensions, and the versions and data it was
        begun with
    start : the digest of the manifest as it was begun, which the first entry of the ledger is
        chained to
    extensions : what was changed since the run was begun
    ledger : every request to a source
    games : the solved games
    """

    def __init__(self, run: Path, connection: sqlite3.Connection) -> None:
        self.run = run
        self._connection = connection
        self._begun = _read_manifest(run, connection)
        self.start = chained("", dict(self._begun))
        self._purchases: StoredPurchases | None = None
        self._load()

    def _load(self) -> None:
        self._close_purchases()
        self.ledger = Ledger(self.run, self._connection, self.start)
        self.ledger.check_first()
        with readable(self.run, "the note of the extensions"):
            self.extensions = extensions.read_extensions(self.ledger.noted(extensions.NOTE))
            self.manifest: Mapping[str, Any] = self._manifest_after(len(self.extensions))
        n_providers = len(self.manifest["providers"])
        n_groups = len(set(self.manifest.get("groups") or ()) - {""})
        sizes = n_providers, n_groups, self.manifest.get("folds", 0)
        self.games = StoredGames(
            self.ledger,
            *sizes,
            averaged=is_averaged(self.manifest),
            interactions=has_interactions(self.manifest),
            n_rounds=self.manifest.get("by_round", 0),
            n_replays=self.manifest.get("replays", 0),
        )

    def _manifest_after(self, number: int) -> Mapping[str, Any]:
        """The manifest after so many extensions."""
        changed = extensions.extended(self._begun, self.extensions[:number])
        manifest = _Manifest(self.run, changed)
        check_manifest(manifest)
        return MappingProxyType(manifest)

    @staticmethod
    def create(run: Path, manifest: Mapping[str, Any]) -> RunStore:
        """Begin a run in a directory that does not exist or is empty."""
        database.check_name(run)
        texts = _written({"format": database.FORMAT, **manifest})
        with database.errors(run, begun=False):
            made = [path for path in (run, *run.parents) if not path.exists()]
        try:
            _make_directory(run)
            with locked(run):
                database.create(run, _TABLES, texts)
            for path in made:
                with suppress(PermissionError):  # the directory can be written but not read
                    database.sync_directory(path.parent)
        except (RunExists, RunLocked):
            raise
        except BaseException:
            _remove(run, made)
            raise
        return RunStore.open(run, write=True)

    @staticmethod
    def open(run: Path, *, write: bool = False) -> RunStore:
        """Open a run, to read it or to resume it."""
        connection = database.connect(run, _TABLES, write=write)
        try:
            with readable(run, "the database"):
                return RunStore(run, connection)
        except BaseException:
            connection.close()
            raise

    def __enter__(self) -> RunStore:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes out; raise RunLocked if one is already at work."""
        with locked(self.run):
            self._load()  # another process may have added to the run before the lock was free
            yield

    def mark_format(self) -> None:
        """Mark a run that this version adds to, so that older versions do not misread it."""
        database.mark_format(self.run, self._connection)

    @property
    def is_locked(self) -> bool:
        """Whether a process is at work in the run."""
        return is_locked(self.run)

    def purchases(self) -> StoredPurchases:
        """Open the journal of purchases, to add to it. `close` waits for its open requests."""
        self._purchases = self._purchases or StoredPurchases(self.ledger)
        return self._purchases

    def usage(self) -> Mapping[str, Usage]:
        """What was received so far, by provider."""
        return purchases.usage_of(self.ledger)

    def unanswered(self) -> int:
        """Requests that were asked and neither received nor failed since."""
        return purchases.count_unanswered(self.ledger)

    def extend(self, extension: Extension) -> None:
        """Record an extension, after which the run is not finished.

        An earlier result is kept as a note. Games that are played again are removed.
        """
        every = [*self.extensions, extension]
        notes = {extensions.NOTE: extensions.written_extensions(every)}
        for (text,) in self.ledger.query("SELECT json FROM result"):
            notes[f"{extensions.RESULT} {len(every)}"] = text

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM result")
            if extension.replays:
                connection.execute("DELETE FROM games")

        self.ledger.note_all(notes, write)
        self._load()

    def earlier_results(self) -> list[Valuation]:
        """The results before the extensions of a finished run, without values of single games."""
        results = []
        with readable(self.run, "an earlier result"):
            for at in range(len(self.extensions)):
                text = self.ledger.noted(f"{extensions.RESULT} {at + 1}")
                if text is not None:
                    results.append(Valuation.from_json(text))
                    check_valuation(results[-1], self._manifest_after(at))
        return results

    def finish(self, valuation: Valuation) -> None:
        """Store the result. Its games are stored already."""
        text = replace(valuation, games=valuation.games[:0]).to_json()
        kept = len(valuation.games)

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT INTO result VALUES (1, ?, ?)", (text, kept))

        self.ledger.enter([stored("finished", "result", 0, _result_hash(text, kept))], write)

    def finished(self) -> Valuation | None:
        """The result, or None while the run is not finished.

        It must match the last entry of the ledger, which is quick to check; `verify` checks
        everything.
        """
        with readable(self.run, "the result"):
            with self.ledger.lock, database.errors(self.run), database.snapshot(self._connection):
                rows = self.ledger.query("SELECT json, kept_games FROM result")
                last = self.ledger.last()
            if not rows and (last is None or last.outcome != "finished"):
                return None
            if last is None or not rows or _result_hash(*rows[0]) != last.note:
                raise ValueError("it, or the end of the ledger, was altered or removed")
            text, kept = rows[0]
            valuation = Valuation.from_json(text)
            check_valuation(valuation, self.manifest)
            games, *_ = self.games.read(range(kept))
            if len(games) < kept:
                raise ValueError(f"the values of games from {len(games)} on are missing")
            return replace(valuation, games=games)

    def verify(self) -> None:
        """Raise RunDamaged, naming the first broken entry, unless everything is intact."""
        with readable(self.run, "the ledger"):
            self._check_pages()
            due, chunks, since = 0, 0, extensions.first_entry(self.extensions)
            answers: set[object] = set()
            notes: dict[str, str] = {}
            for entry in self.ledger.verified():
                if entry.outcome in ("received", "refused"):
                    answers.add(purchases.verify_purchase(self.ledger, entry))
                elif entry.outcome == "solved" and entry.id > since:
                    due = self.games.verify(entry, due)
                    chunks += 1
                elif entry.outcome == "noted":
                    notes[entry.purpose] = entry.note
            self.ledger.verify_notes(notes)
            self._check_count("purchases", len(answers - {None}))
            self._check_count("games", chunks)
            self.finished()  # raises unless the last entry holds the hash of the result

    def close(self) -> None:
        """Close the database once all requests under way are stored."""
        self._close_purchases()
        self._connection.close()

    def _close_purchases(self) -> None:
        if self._purchases is not None:
            self._purchases.close()
            self._purchases = None

    def _check_pages(self) -> None:
        ((report,),) = self.ledger.query("PRAGMA quick_check(1)")
        if report != "ok":
            raise RunDamaged(f"{self.run / database.NAME} is damaged: restore it from a copy")

    def _check_count(self, table: str, accounted: int) -> None:
        ((count,),) = self.ledger.query(_COUNT[table])
        if count != accounted:
            raise RunDamaged(
                f"the ledger is broken: it accounts for {accounted:,} of {count:,} {table}"
            )


class _Manifest(dict[str, Any]):
    """A manifest that reports a missing key as damage."""

    def __init__(self, run: Path, rows: Mapping[str, Any]) -> None:
        super().__init__(rows)
        self._run = run

    def __missing__(self, key: str) -> Any:
        raise RunDamaged(
            f"the manifest of the run {self._run} has lost its {key!r}: restore "
            f"{database.NAME} from a copy"
        )


def _written(manifest: Mapping[str, Any]) -> dict[str, str]:
    try:
        return {key: canonical(value) for key, value in manifest.items()}
    except ValueError as cause:
        raise RunError(
            f"the run cannot be described in UTF-8 ({one_line(cause)}): rename the folders or "
            "providers that have other names"
        ) from cause


def discard_untouched(run: Path, *, keep: bool) -> None:
    """Remove a run without any request or game; `keep` leaves the empty directory."""
    with RunStore.open(run) as store:
        untouched = store.games.solved() == 0 and next(store.ledger.entries(), None) is None
    if untouched:
        for path in run.iterdir():
            path.unlink()
        if not keep:
            run.rmdir()


def _remove(run: Path, made: Sequence[Path]) -> None:
    """Remove the traces of a run that could not be begun, and the directories made for it."""
    with suppress(OSError):
        if {path.name for path in run.iterdir()} == {LOCK}:
            (run / LOCK).unlink()
        for path in made:
            path.rmdir()


def _make_directory(run: Path) -> None:
    with database.errors(run, begun=False):
        if run.exists() and not run.is_dir():
            raise RunError(f"{run} is a file, and a run needs a directory: choose another")
        run.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (run / database.NAME).exists():
            return  # `database.create` refuses a directory with a run
        database.check_remains(run)
        run.chmod(0o700)
        strangers = [path.name for path in run.iterdir() if not _is_ours(path.name)]
    if strangers:
        raise RunError(
            f"{run} exists and is not a run: it holds {min(strangers)!r}; choose a new or empty "
            "directory"
        )


def _is_ours(name: str) -> bool:
    return name == LOCK or name.startswith(f"{database.NAME}.new")


def _read_manifest(run: Path, connection: sqlite3.Connection) -> Mapping[str, Any]:
    with database.errors(run):
        rows = connection.execute("SELECT key, json FROM manifest").fetchall()
    with readable(run, "the manifest"):
        manifest = _Manifest(run, {key: json.loads(text) for key, text in rows})
        check_manifest(manifest)
    return MappingProxyType(manifest)


def _result_hash(text: str, kept: int) -> str:
    return hash_of(text, canonical(kept))
