"""The ledger by itself: what is written, how it is chained, and how it fails."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shapband.errors import RunDamaged, RunError
from shapband.runs import database
from shapband.runs.ledger import TABLES, Ledger, LedgerEntry, Request, hash_of, stored

START = "the digest of the manifest"
ASKED = Request(("north",), "draw", 3, 1, 60, 0.0, "asked", "")
RECEIVED = Request(("north",), "draw", 3, 1, 60, 0.25, "received", "the hash of the records")
TAKEN = Request(("east", "süd"), "pool", 0, 1, 250, 0.0, "taken", "")


@pytest.fixture
def connection():
    with sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False) as opened:
        for table in TABLES:
            opened.execute(table)
        yield opened
    opened.close()


@pytest.fixture
def ledger(connection):
    return Ledger(Path("my-run"), connection, START)


def requests_of(ledger):
    """What the entries say, without their places in the ledger."""
    return [
        Request(**{name: value for name, value in asdict(entry).items() if name not in PLACE})
        for entry in ledger.entries()
    ]


PLACE = ("id", "time", "digest")


def test_entries_are_kept_as_they_were_made(ledger):
    before = datetime.now(UTC)
    ledger.enter([ASKED])
    ledger.enter([RECEIVED, TAKEN])
    after = datetime.now(UTC)
    assert requests_of(ledger) == [ASKED, RECEIVED, TAKEN]
    entries = list(ledger.entries())
    assert all(isinstance(entry, LedgerEntry) for entry in entries)
    assert [entry.id for entry in entries] == [1, 2, 3]
    for entry in entries:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", entry.time)
        assert before - timedelta(0, 0, 1) <= datetime.fromisoformat(entry.time) <= after


def test_the_chain_can_be_checked_without_this_library(ledger, connection):
    ledger.enter([ASKED, TAKEN])
    ledger.enter([RECEIVED])
    digest = START
    for row in connection.execute(
        "SELECT id, time, providers, purpose, first_game, requests, records, seconds, outcome, "
        "note, digest FROM ledger ORDER BY id"
    ):
        text = json.dumps(row[:-1], separators=(",", ":"), ensure_ascii=False)
        digest = hashlib.sha256((digest + text).encode()).hexdigest()
        assert row[-1] == digest
    assert json.loads(row[2]) == ["north"]


def test_a_ledger_goes_on_where_it_was(ledger, connection):
    ledger.enter([ASKED])
    again = Ledger(Path("my-run"), connection, START)
    again.enter([RECEIVED])
    assert [entry.id for entry in again.verified()] == [1, 2]


def test_what_may_wait_is_entered_before_what_is_next_and_once(ledger):
    ledger.enter_later(TAKEN)
    ledger.enter_later(ASKED)
    assert requests_of(ledger) == []
    ledger.enter([RECEIVED])
    ledger.enter()
    assert requests_of(ledger) == [TAKEN, ASKED, RECEIVED]


def test_what_belongs_to_an_entry_is_written_with_it_or_not_at_all(ledger, connection):
    connection.execute("CREATE TABLE other (number INTEGER)")

    def write(used):
        used.execute("INSERT INTO other VALUES (7)")

    def fail(used):
        write(used)
        raise KeyboardInterrupt

    ledger.enter([ASKED], write)
    ledger.enter_later(TAKEN)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            ledger.enter([RECEIVED], fail)
    assert requests_of(ledger) == [ASKED]
    ledger.enter([RECEIVED], write)
    assert requests_of(ledger) == [ASKED, TAKEN, RECEIVED]
    assert connection.execute("SELECT number FROM other").fetchall() == [(7,), (7,)]


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_whose_end_was_not_seen_is_looked_up(ledger, connection, committed):
    ledger.enter([ASKED])
    ledger.enter_later(TAKEN)
    entered, seen = ledger._entered, []

    def interrupted(head):
        if not seen:
            seen.append(head)
            raise KeyboardInterrupt
        entered(head)

    ledger._entered = interrupted
    also = None if committed else (lambda used: used.execute("no statement"))
    with pytest.raises(KeyboardInterrupt if committed else RunError):
        ledger.enter([RECEIVED], also)
    ledger._entered = entered
    ledger.enter_later(ASKED)
    ledger.enter()
    assert requests_of(ledger) == (
        [ASKED, TAKEN, RECEIVED, ASKED] if committed else [ASKED, TAKEN, ASKED]
    )
    assert len(list(ledger.verified())) == len(requests_of(ledger))


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "UPDATE ledger SET records = 61 WHERE id = 2",
            "the ledger is broken at entry 2: it, or the manifest before it, was altered",
        ),
        ("DELETE FROM ledger WHERE id = 1", "the ledger is broken: entry 1 is missing"),
        ("DELETE FROM ledger WHERE id = 2", "the ledger is broken: entry 2 is missing"),
        (
            "UPDATE ledger SET providers = 'north' WHERE id = 3",
            "the ledger is broken at entry 3: it, or the manifest before it, was altered",
        ),
    ],
)
def test_the_first_entry_that_was_altered_is_named(ledger, connection, statement, said):
    ledger.enter([ASKED, RECEIVED, TAKEN])
    assert connection.execute(statement).rowcount == 1
    with pytest.raises(RunDamaged, match=f"^{re.escape(said)}$"):
        list(ledger.verified())


def test_a_ledger_of_another_manifest_is_broken_from_its_first_entry(ledger, connection):
    ledger.enter([ASKED])
    other = Ledger(Path("my-run"), connection, "another digest")
    with pytest.raises(RunDamaged, match=r"at entry 1\b"):
        list(other.verified())


@pytest.mark.parametrize("providers", ["north", "", "7"])
def test_providers_that_cannot_be_read_are_damage(ledger, connection, providers):
    ledger.enter([ASKED])
    connection.execute("UPDATE ledger SET providers = ?", (providers,))
    said = "^the ledger is broken: the providers of an entry were altered$"
    for read in (
        lambda: list(ledger.entries()),
        lambda: list(ledger.select("SELECT providers FROM ledger")),
    ):
        with pytest.raises(RunDamaged, match=said):
            read()


def test_a_query_gives_names_and_the_other_columns(ledger):
    ledger.enter([ASKED, TAKEN])
    found = list(ledger.select("SELECT providers, records, purpose FROM ledger ORDER BY id"))
    assert found == [(("north",), (60, "draw")), (("east", "süd"), (250, "pool"))]


def test_notes_are_kept_and_replaced_and_every_one_is_entered(ledger):
    assert ledger.noted("versions") is None
    ledger.note("versions", {"numpy": "2.1", "ä": [1, 0.5]})
    assert ledger.noted("versions") == {"numpy": "2.1", "ä": [1, 0.5]}
    ledger.note("versions", None)
    ledger.note("other", 3)
    assert ledger.noted("versions") is None
    assert ledger.noted("other") == 3
    texts = ('{"numpy":"2.1","ä":[1,0.5]}', "null", "3")
    assert requests_of(ledger) == [
        Request((), key, 0, 0, 0, 0.0, "noted", sha256_of(text))
        for key, text in zip(("versions", "versions", "other"), texts, strict=True)
    ]


def sha256_of(text):
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def test_notes_are_verified_by_their_hashes(ledger):
    ledger.note("versions", 2)
    ledger.note("other", 3)
    hashes = {"versions": sha256_of("2"), "other": sha256_of("3")}
    ledger.verify_notes(hashes)
    for wrong in ({"versions": sha256_of("2")}, {**hashes, "other": sha256_of("4")}, {}):
        with pytest.raises(RunDamaged, match=r"^the notes of the run my-run were altered$"):
            ledger.verify_notes(wrong)


def test_the_last_entry_and_its_digest(ledger):
    assert ledger.last() is None
    assert ledger.digest == START
    ledger.enter([ASKED, TAKEN])
    *_, last = ledger.verified()
    assert ledger.last() == last
    assert ledger.digest == last.digest
    assert last.id == 2


def test_what_is_stored_has_an_entry_without_providers():
    assert stored("solved", "games", 5, "a hash") == Request(
        (), "games", 5, 0, 0, 0.0, "solved", "a hash"
    )
    assert hash_of("ä", b"\x00", memoryview(b"b")) == sha256_of("ä\x00b")


@pytest.mark.parametrize(
    "use",
    [
        lambda ledger: ledger.enter([ASKED]),
        lambda ledger: ledger.note("key", 1),
        lambda ledger: ledger.noted("key"),
        lambda ledger: ledger.verify_notes({}),
        lambda ledger: ledger.last(),
        lambda ledger: list(ledger.entries()),
        lambda ledger: list(ledger.verified()),
        lambda ledger: list(ledger.select("SELECT providers FROM ledger")),
    ],
    ids=["enter", "note", "noted", "verify_notes", "last", "entries", "verified", "select"],
)
def test_an_error_of_the_database_names_the_run(ledger, connection, use):
    connection.execute("DROP TABLE ledger")
    connection.execute("DROP TABLE notes")
    with pytest.raises(RunError, match=r"\bmy-run\b"):
        use(ledger)


def test_an_error_while_a_transaction_is_looked_up_names_the_run(ledger, connection):
    connection.execute("DROP TABLE ledger")
    with pytest.raises(RunError):
        ledger.enter([ASKED])
    with pytest.raises(RunError, match=r"\bmy-run\b"):
        ledger.enter_later(TAKEN)


def test_a_database_without_a_ledger_names_the_run(connection):
    connection.execute("DROP TABLE ledger")
    with pytest.raises(RunError, match=r"\bmy-run\b"):
        Ledger(Path("my-run"), connection, START)


def test_a_transaction_that_was_left_open_is_taken_back(ledger, connection, monkeypatch):
    @contextmanager
    def left_open(used, durable):
        used.execute("BEGIN")
        yield
        raise KeyboardInterrupt

    ledger.enter([ASKED])
    ledger.enter_later(TAKEN)
    with monkeypatch.context() as patch:
        patch.setattr(database, "transaction", left_open)
        with pytest.raises(KeyboardInterrupt):
            ledger.enter([RECEIVED])
    assert connection.in_transaction
    ledger.enter()
    assert requests_of(ledger) == [ASKED, TAKEN]
    assert not connection.in_transaction
