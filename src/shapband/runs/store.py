"""The run directory: what a run was asked to do, what it bought and what it found."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from shapband.access.meter import Usage
from shapband.checks import one_line
from shapband.errors import RunDamaged, RunError, RunExists, RunLocked
from shapband.runs import batches, database
from shapband.runs.book import Book
from shapband.runs.journal import StoredJournal
from shapband.runs.ledger import Head, LedgerEntry, canonical, chained, entry_of, verified
from shapband.runs.lock import NAME as LOCK
from shapband.runs.lock import is_locked, locked
from shapband.runs.solved import SolvedGames
from shapband.valuation import Valuation

# In one statement, because a process at work in the run may finish it between two.
_SELECT_RESULT = """
SELECT json, kept_games, digest,
    (SELECT digest FROM ledger ORDER BY id DESC LIMIT 1),
    (SELECT digest FROM games ORDER BY first_game DESC LIMIT 1)
FROM result
"""
# What was received is found by its index; few requests are left to look for a failure of.
_COUNT_UNANSWERED = """
SELECT COUNT(*) FROM ledger AS request
WHERE outcome = 'asked'
AND NOT EXISTS (
    SELECT 1 FROM purchases
    WHERE provider = json_extract(request.providers, '$[0]')
    AND purpose = request.purpose AND game = request.first_game
)
AND NOT EXISTS (
    SELECT 1 FROM ledger AS answer
    WHERE answer.id > request.id AND answer.outcome = 'failed'
    AND answer.providers = request.providers
    AND answer.purpose = request.purpose AND answer.first_game = request.first_game
)
"""


class RunStore:
    """One run: a directory with a SQLite database that no crash leaves half written.

    Made by `RunStore.create` or `RunStore.open`.

    Attributes
    ----------
    run : the directory
    manifest : what the run was asked to do, and with what
    games : the solved games
    """

    def __init__(self, run: Path, connection: sqlite3.Connection) -> None:
        self.run = run
        self._connection = connection
        self.manifest = _read_manifest(run, connection)
        self._start = chained("", dict(self.manifest))
        self._journals: list[StoredJournal] = []
        self._load()

    def _load(self) -> None:
        self._book = Book(self.run, self._connection, self._start)
        self.games = SolvedGames(self.run, self._connection, self._start)

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
                database.create(run, texts)
        except (RunExists, RunLocked):
            raise
        except BaseException:
            _remove(run, made)
            raise
        return RunStore.open(run, write=True)

    @staticmethod
    def open(run: Path, *, write: bool = False) -> RunStore:
        """Open a run, to read it or to go on with it."""
        connection = database.connect(run, write=write)
        try:
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
        """Keep other processes out; raise RunLocked if one is already in."""
        with locked(self.run):
            self._load()  # another process may have gone on before this one got in
            yield

    @property
    def is_locked(self) -> bool:
        """Whether a process is at work in the run."""
        return is_locked(self.run)

    def journal(self, names: Sequence[str]) -> StoredJournal:
        """The side of the store that the engine sees; `names` are the providers in order."""
        journal = StoredJournal(self.run, self._connection, self._book, self.games, names)
        self._journals.append(journal)
        return journal

    def usage(self) -> Mapping[str, Usage]:
        """What was received so far, by provider."""
        return self._book.usage()

    def ledger(self) -> Iterator[LedgerEntry]:
        """Every request to a source, in order."""
        return map(entry_of, self._book.rows())

    def note(self, key: str, content: Any) -> None:
        """Keep something beside the manifest that was not known when the run began."""

        def write(connection: sqlite3.Connection, head: Head) -> None:  # noqa: ARG001
            row = (key, canonical(content))
            connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", row)

        self._book.enter(also=write)

    def noted(self, key: str) -> Any:
        """Give what was noted, or None."""
        with database.errors(self.run):
            select = "SELECT json FROM notes WHERE key = ?"
            row = self._connection.execute(select, (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def finish(self, valuation: Valuation) -> None:
        """Store the result; its games are stored already."""
        text = replace(valuation, games=valuation.games[:0]).to_json()
        kept = len(valuation.games)

        def write(connection: sqlite3.Connection, head: Head) -> None:
            digest = _result_digest(head.digest, self.games.digest, text, kept)
            connection.execute("INSERT INTO result VALUES (1, ?, ?, ?)", (text, kept, digest))

        self._book.enter(also=write)

    def finished(self) -> Valuation | None:
        """The result, or None while the run is not finished.

        It must fit the ends of the ledger and of the games, which is quick to see; `verify`
        looks at everything.
        """
        row = self._result()
        if row is None:
            return None
        try:
            if row.digest != row.expected(self._start):
                raise ValueError("it, or the end of the ledger or of the games, was altered")
            valuation = Valuation.from_json(row.text)
        except (KeyError, TypeError, ValueError) as cause:
            raise RunDamaged(
                f"the result of the run {self.run} is damaged ({one_line(cause)}): restore "
                f"{database.NAME} from a copy"
            ) from cause
        games, _ = self.games.read(range(row.kept), len(valuation.names))
        return replace(valuation, games=games)

    def unanswered(self) -> int:
        """Requests that were asked and neither received nor failed since."""
        with database.errors(self.run):
            (count,) = self._connection.execute(_COUNT_UNANSWERED).fetchone()
        return int(count)

    def digest(self) -> str | None:
        """The last digest of a finished run, which all that is stored leads up to."""
        row = self._result()
        return None if row is None else row.digest

    def verify(self) -> None:
        """Raise RunDamaged, naming the first broken entry, unless all is as it was written."""
        self._check_pages()
        wanted = self.games.ledger_entries()
        digests = {0: self._start}
        received = 0
        for entry in verified(self._book.rows(), self._start):
            if entry.id in wanted:
                digests[entry.id] = entry.digest
            if entry.outcome == "received":
                received += 1
                self._check_purchase(entry)
        self._check_purchases(received)
        self.games.verify(digests)
        self.finished()  # fits the ends of what fits up to there

    def close(self) -> None:
        """Let go of the database, when all requests on their way are stored."""
        for journal in self._journals:
            journal.close()
        self._connection.close()

    def _result(self) -> _Result | None:
        with database.errors(self.run):
            row = self._connection.execute(_SELECT_RESULT).fetchone()
        return None if row is None else _Result(*row)

    def _check_pages(self) -> None:
        with database.errors(self.run):
            (report,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        if report != "ok":
            raise RunDamaged(f"{self.run / database.NAME} is damaged: restore it from a copy")

    def _check_purchase(self, entry: LedgerEntry) -> None:
        (name,) = entry.providers
        with database.errors(self.run):
            blob = database.purchase(self._connection, name, entry.purpose, entry.first_game)
        if blob is None or batches.mark(blob) != entry.note:
            fate = "missing" if blob is None else "altered"
            raise RunDamaged(
                f"the records that entry {entry.id} of the ledger received (provider "
                f"{name!r}, {entry.purpose} {entry.first_game}) are {fate}"
            )

    def _check_purchases(self, received: int) -> None:
        with database.errors(self.run):
            (count,) = self._connection.execute("SELECT COUNT(*) FROM purchases").fetchone()
        if count != received:
            raise RunDamaged(
                f"the ledger is broken: it accounts for {received:,} of {count:,} purchases"
            )


class _Result(NamedTuple):
    """The result as it is stored, and the ends of the ledger and of the games."""

    text: str
    kept: int
    digest: str
    ledger: str | None
    games: str | None

    def expected(self, start: str) -> str:
        """The digest, if nothing was altered; what is empty ends with its start."""
        return _result_digest(self.ledger or start, self.games or start, self.text, self.kept)


class _Manifest(dict[str, Any]):
    """A manifest that says what it means if a key is not there."""

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
    """Remove a run in which nothing was asked and no game played; `keep` its directory if told."""
    with RunStore.open(run) as store:
        untouched = store.games.count == 0 and next(store.ledger(), None) is None
    if untouched:
        for path in run.iterdir():
            path.unlink()
        if not keep:
            run.rmdir()


def _remove(run: Path, made: Sequence[Path]) -> None:
    """Leave no trace of a run that could not be begun, and of the directories made for it."""
    with suppress(OSError):
        if {path.name for path in run.iterdir()} == {LOCK}:
            (run / LOCK).unlink()
        for path in made:
            path.rmdir()


def _make_directory(run: Path) -> None:
    with database.errors(run, begun=False):
        if run.exists() and not run.is_dir():
            raise RunError(f"{run} is a file, and a run needs a directory: choose another")
        run.mkdir(parents=True, exist_ok=True)
        if (run / database.NAME).exists():
            return  # told by what creates the database
        strangers = [path.name for path in run.iterdir() if not _is_ours(path.name)]
    if strangers:
        raise RunError(
            f"{run} exists and is not a run: it holds {min(strangers)!r}; choose a new or empty "
            "directory"
        )


def _is_ours(name: str) -> bool:
    return name == LOCK or name.startswith(database.NAME)


def _read_manifest(run: Path, connection: sqlite3.Connection) -> Mapping[str, Any]:
    with database.errors(run):
        rows = connection.execute("SELECT key, json FROM manifest").fetchall()
    try:
        manifest = _Manifest(run, {key: json.loads(text) for key, text in rows})
    except ValueError as cause:
        raise RunDamaged(
            f"the manifest of the run {run} cannot be read ({cause}): restore {database.NAME} "
            "from a copy"
        ) from cause
    if not manifest:
        raise RunDamaged(f"the run {run} has lost its manifest: restore it from a copy")
    return MappingProxyType(manifest)


def _result_digest(ledger: str, games: str, text: str, kept: int) -> str:
    return chained(ledger, [games, text, kept])
