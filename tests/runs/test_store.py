"""What a run directory holds, what it refuses, and how damage shows."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from shapband.access.journal import Asked, Failed, Received
from shapband.access.meter import Usage
from shapband.errors import RunDamaged, RunError, RunExists, RunFull, RunLocked
from shapband.records.batch import Batch
from shapband.runs import database
from shapband.runs.ledger import hash_of
from shapband.runs.purchases import PaidGames
from shapband.runs.reserve import Reserve
from shapband.runs.store import RunStore
from shapband.solvers.base import Solution
from tests.conftest import PATIENCE
from tests.runs.small import SmallConfig, assert_same, ignore, look, resume, start

QUICK = {"delay": 0.0, "think": 0.0}
NAMED = {"providers": ["p"]}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished run, to be copied and never altered."""
    base = tmp_path_factory.mktemp("store")
    start(SmallConfig.of(**QUICK), base, base / "run", ignore)
    return base / "run"


@pytest.fixture
def run(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    return tmp_path / "run"


def alter(run: Path, statement: str, *values: str) -> None:
    connection = sqlite3.connect(run / "run.db")
    with connection:
        assert connection.execute(statement, values).rowcount == 1
    connection.close()


def unfinish(run: Path) -> None:
    """Take away all that was stored from game 12 on, as if the run had been killed before."""
    connection = sqlite3.connect(run / "run.db")
    with connection:
        connection.execute("DELETE FROM result")
        connection.execute("DELETE FROM games WHERE first_game >= 12")
        connection.execute(
            "DELETE FROM ledger WHERE id >= "
            "(SELECT id FROM ledger WHERE outcome = 'solved' AND first_game >= 12)"
        )
        connection.execute(
            "DELETE FROM purchases WHERE game > (SELECT MAX(first_game) FROM ledger "
            "WHERE outcome = 'received' AND providers = json_array(provider))"
        )
    connection.close()


def test_the_manifest_comes_back(tmp_path):
    manifest = {"seed": 2**62 + 1, "providers": ["ä", "b"], "x": 0.1}
    with RunStore.create(tmp_path / "run", manifest) as store:
        assert dict(store.manifest) == {"format": database.FORMAT, **manifest}
        with pytest.raises(TypeError):
            store.manifest["seed"] = 1


def test_an_existing_run_is_never_overwritten(run):
    with pytest.raises(RunExists, match="already holds a run: resume it"):
        start(SmallConfig.of(**QUICK), run.parent, run, ignore)
    RunStore.open(run).verify()


def test_a_directory_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match=r"is not a run: it holds 'thesis.txt'"):
        RunStore.create(tmp_path, NAMED)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_empty_directory_and_an_unbegun_run_will_do(tmp_path):
    (tmp_path / "run.db.new").write_bytes(b"half")
    (tmp_path / "lock").touch()
    RunStore.create(tmp_path, {**NAMED, "a": 1}).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "run.db"]


def test_what_is_not_a_run_cannot_be_resumed(tmp_path):
    with pytest.raises(RunError, match=r"is not a run: it holds no run.db"):
        resume(tmp_path, ignore, SmallConfig)
    with pytest.raises(RunError, match="is not a run"):
        resume(tmp_path / "nothing", ignore, SmallConfig)
    connection = sqlite3.connect(tmp_path / "run.db")
    connection.execute("PRAGMA application_id = 7")
    connection.execute("CREATE TABLE a (b)")
    connection.close()
    with pytest.raises(RunError, match="of another program"):
        resume(tmp_path, ignore, SmallConfig)


def test_a_run_of_a_newer_format_asks_for_an_upgrade(run):
    newer = database.FORMAT + 1
    connection = sqlite3.connect(run / "run.db")
    connection.execute(f"PRAGMA user_version = {newer}")
    connection.close()
    said = f"format {newer}.*reads formats up to {database.FORMAT}: upgrade"
    for use in (look, lambda path: resume(path, ignore, SmallConfig)):
        with pytest.raises(RunError, match=said) as caught:
            use(run)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [0, 50, 4096, 20_000])
def test_a_truncated_database_is_damage(run, size):
    whole_size = (run / "run.db").stat().st_size
    assert size < whole_size
    os.truncate(run / "run.db", size)
    with pytest.raises(RunDamaged, match="restore it from a copy"), RunStore.open(run) as store:
        store.verify()


def test_overwritten_bytes_are_damage(run):
    with (run / "run.db").open("r+b") as file:
        file.seek(16_384)
        file.write(os.urandom(65_536))
    with pytest.raises(RunDamaged), RunStore.open(run) as store:
        store.verify()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE ledger SET records = 1 WHERE id = 9", "broken at entry 9"),
        ("UPDATE ledger SET time = '2020' WHERE id = 3", "broken at entry 3"),
        ("UPDATE ledger SET seconds = seconds + 1e-9 WHERE id = 40", "broken at entry 40"),
        ("UPDATE ledger SET digest = 'x' WHERE id = 1", "broken at entry 1"),
        (
            "UPDATE ledger SET providers = replace(providers, 'near', 'far') "
            "WHERE id = (SELECT MIN(id) FROM ledger WHERE outcome = 'taken')",
            "broken at entry",
        ),
        ("UPDATE ledger SET providers = providers || ' ' WHERE id = 2", "broken at entry 2"),
        ("UPDATE ledger SET providers = '12' WHERE id = 2", "broken at entry 2"),
        ("DELETE FROM ledger WHERE id = 5", "entry 5 is missing"),
        ("DELETE FROM ledger WHERE id = (SELECT MAX(id) FROM ledger)", "broken|altered"),
        ("UPDATE manifest SET json = '12' WHERE key = 'seed'", "broken at entry 1: .*manifest"),
        ("DELETE FROM manifest WHERE key = 'base'", "broken at entry 1: "),
        ("UPDATE purchases SET blob = x'00' WHERE rowid = 4", "the records that entry .* altered"),
        ("DELETE FROM purchases WHERE rowid = 4", "the records that entry .* missing"),
        (
            "INSERT INTO purchases VALUES ('stock', 'draw', 999, 0, x'00')",
            "accounts for 48 of 49 purchases",
        ),
        ("UPDATE games SET evaluations = 1 WHERE first_game = 3", "games 3 to 3 were altered"),
        ("UPDATE games SET seconds = seconds + 1e-9 WHERE first_game = 3", "3 to 3 were altered"),
        ('UPDATE games SET "values" = noise WHERE first_game = 2', "games 2 to 2 were altered"),
        ("DELETE FROM games WHERE first_game = 7", "games from 7 on are missing"),
        (
            "INSERT INTO games SELECT 999, n_games, evaluations, 0, seconds, noise, noise "
            "FROM games WHERE first_game = 0",
            "accounts for 24 of 25 games",
        ),
        ("UPDATE notes SET json = replace(json, 'sources', 'pools')", "the notes of the run"),
        ("INSERT INTO notes VALUES ('versions', '[]')", "the notes of the run"),
        ("DELETE FROM notes", "the notes of the run"),
        ("DELETE FROM result", "the result"),
        ("UPDATE result SET kept_games = 3", "the result"),
        ("UPDATE result SET json = replace(json, '11', '12')", "the result"),
        ("UPDATE result SET json = x'ff00'", "the result"),
    ],
)
def test_every_alteration_shows(run, statement, said):
    alter(run, statement)
    with pytest.raises(RunDamaged, match=said) as caught, RunStore.open(run) as store:
        store.verify()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE result SET kept_games = 3",
        "UPDATE result SET json = replace(json, '11', '12')",
        "UPDATE result SET json = substr(json, 1, 100)",
        "UPDATE result SET json = x'ff00'",
        "DELETE FROM result",
        "DELETE FROM ledger WHERE id = (SELECT MAX(id) FROM ledger)",
        "DELETE FROM games WHERE first_game = (SELECT MAX(first_game) FROM games)",
    ],
)
def test_a_result_that_does_not_fit_is_not_shown(run, statement):
    alter(run, statement)
    with pytest.raises(RunDamaged, match=r"the result of the run .*run is damaged.*from a copy"):
        look(run)


def test_a_result_of_other_make_is_damage(run):
    """Even if the chain was worked out anew."""
    text = '{"format": 1}'
    forged = hash_of(text, "24")
    alter(run, "UPDATE result SET json = ?", text)
    alter(run, "UPDATE ledger SET note = ? WHERE outcome = 'finished'", forged)
    with pytest.raises(RunDamaged, match=r"the result of the run .* is damaged"):
        look(run)


def test_an_altered_finished_run_is_not_given_by_resume(run):
    alter(run, 'UPDATE games SET "values" = noise WHERE first_game = 2')
    with pytest.raises(RunDamaged, match="games 2 to 2 were altered"):
        resume(run, ignore, SmallConfig)


@pytest.mark.parametrize("key", ["providers", "n_games", "seed", "setup", "config"])
def test_a_manifest_that_lost_a_key_is_damage(run, key):
    unfinish(run)
    alter(run, "DELETE FROM manifest WHERE key = ?", key)
    with pytest.raises(RunDamaged):
        resume(run, ignore, SmallConfig)
    if key != "config":  # which a look does not need
        with pytest.raises(RunDamaged, match=f"has lost its '{key}'|manifest before it"):
            look(run)


def test_a_look_tells_the_digest_of_the_last_entry_at_any_time(run):
    """Whoever noted the digest notices that the end of a run was removed: number 13."""
    digests = []
    for _ in range(2):
        with RunStore.open(run) as store:
            store.verify()
            *_, last = store.ledger.entries()
        assert look(run).digest == last.digest
        digests.append(last.digest)
        unfinish(run)
    assert digests[0] != digests[1]


def test_an_untouched_run_verifies(run):
    with RunStore.open(run) as store:
        store.verify()
        ids = [entry.id for entry in store.ledger.entries()]
        assert ids == list(range(1, len(ids) + 1))


def test_a_damaged_run_is_not_resumed(run):
    unfinish(run)
    alter(run, "UPDATE ledger SET records = 1 WHERE id = 9")
    before = (run / "run.db").read_bytes()
    with pytest.raises(RunDamaged, match="entry 9"):
        resume(run, ignore, SmallConfig)
    assert (run / "run.db").read_bytes() == before


def _hold(run: str, ready: object) -> None:
    with RunStore.open(Path(run), write=True) as store, store.lock():
        ready.set()
        signal.pause()  # until it is killed


def test_two_processes_cannot_run_the_same_run(run):
    unfinish(run)
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    other = context.Process(target=_hold, args=(str(run), ready))
    other.start()
    try:
        assert ready.wait(PATIENCE)
        assert look(run).state == "running"
        with pytest.raises(RunLocked, match="another process is at work"):
            resume(run, ignore, SmallConfig)
        other.kill()  # leaves no lock behind
        other.join()
        assert look(run).state == "interrupted"
        assert resume(run, ignore, SmallConfig).n_games == 24
    finally:
        other.kill()
        other.join()
    assert look(run).state == "finished"


def test_a_full_database_is_a_clear_error_and_loses_nothing(tmp_path):
    with RunStore.create(tmp_path / "run", {**NAMED, "seed": 1}) as store:
        store.games.store_games(range(1), Solution(np.ones((1, 1)), np.ones((1, 1)), 3), 0.5)
        (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        large = np.ones((100_000, 1))
        for _ in range(2):
            with pytest.raises(RunFull, match=r"full.*safe: make room, then resume"):
                store.games.store_games(range(1, 100_001), Solution(large, large, 3), 0.5)
        assert store.games.solved() == 1
        store._connection.execute(f"PRAGMA max_page_count = {pages + 1000}")
        store.games.store_games(range(1, 100_001), Solution(large, large, 3), 0.5)
    with RunStore.open(tmp_path / "run") as store:
        store.verify()
        assert store.games.solved() == 100_001


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_run_that_cannot_be_begun_leaves_nothing_behind(tmp_path, monkeypatch, code):
    def fail(connection, tables, manifest):
        connection.execute("CREATE TABLE a (b)")
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(database, "_write_new", fail)
    (tmp_path / "empty").mkdir()
    for run in (tmp_path / "a" / "b" / "run", tmp_path / "empty"):
        with pytest.raises(RunError) as caught:
            RunStore.create(run, {**NAMED, "seed": 1})
        assert "resume" not in str(caught.value)
    assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]


def test_a_run_on_a_full_disk_is_not_begun(small_disk):
    with pytest.raises(OSError, match="space"):
        fill_up(small_disk / "filler")
    with pytest.raises(RunError) as caught:
        RunStore.create(small_disk / "run", {**NAMED, "seed": 1, "config": "x" * 100_000})
    assert "resume" not in str(caught.value)
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


def test_a_name_that_is_no_utf_8_is_refused(tmp_path):
    run = tmp_path / os.fsdecode(b"run\xff")
    with pytest.raises(RunError, match=r"must be UTF-8; received b'.*run.xff'"):
        start(SmallConfig.of(**QUICK), tmp_path, run, ignore)
    with pytest.raises(RunError, match="must be UTF-8"):
        look(run)
    base = tmp_path / os.fsdecode(b"base\xff")
    with pytest.raises(RunError, match="cannot be described in UTF-8"):
        start(SmallConfig.of(**QUICK), base, tmp_path / "run", ignore)
    assert not list(tmp_path.iterdir())


def test_room_is_set_aside_where_the_system_has_no_call_for_it(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    reserve = Reserve(tmp_path)
    reserve.hold(500)
    assert (tmp_path / "reserve").stat().st_size == 8_000_500
    reserve.give_up()
    assert not list(tmp_path.iterdir())


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 12 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False).returncode != 0:  # noqa: S603
        pytest.skip("only the superuser can make a small disk")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)  # noqa: S603, S607


def fill_up(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def test_what_was_paid_for_is_stored_even_when_the_disk_is_full(small_disk):
    store = RunStore.create(small_disk / "run", {**NAMED, "seed": 1})
    journal = store.purchases()
    journal.record([Asked("a", "draw", 0, 9)])
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="space"):
        fill_up(filler)
    bought = Batch(np.random.default_rng(0).normal(size=(9, 20_000)), np.ones(9))
    journal.record([Received("a", "draw", 0, bought, 0.1)])
    with pytest.raises(RunFull, match="make room"):
        journal.record([Asked("a", "draw", 1, 9)])
    store.close()
    filler.unlink()
    with RunStore.open(small_disk / "run", write=True) as store:
        store.verify()
        journal = store.purchases()
        found = journal.recall("a", "draw", 0)
        assert found.X.tobytes() == bought.X.tobytes()
        assert journal.unpaid(["a"], "draw", range(2)) == [range(1, 2)]
        assert journal.usage()["a"].records == 9


def test_a_whole_run_on_a_full_disk_can_be_resumed(small_disk, whole):
    run = small_disk / "run"
    filler = small_disk / "filler"

    def fill(standing):
        if standing.done == 10 and not filler.exists():
            with contextlib.suppress(OSError):
                fill_up(filler)

    config = SmallConfig.of(**QUICK)
    with pytest.raises(RunFull, match="full"):
        start(config, small_disk, run, fill)
    rest = small_disk / "rest"  # of what the end of the run set free
    with contextlib.suppress(OSError):
        fill_up(rest)
    with pytest.raises(RunError, match=r"full|disk I/O error"):  # SQLite may not get to open it
        resume(run, ignore, SmallConfig)
    filler.unlink()
    rest.unlink()
    assert look(run).done >= 10
    assert_same(resume(run, ignore, SmallConfig), resume(whole, ignore, SmallConfig))


def test_a_read_only_directory_can_be_looked_at_and_is_a_clear_error_to_resume(small_disk, run):
    unfinish(run)
    shutil.copytree(run, small_disk / "run")
    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    subprocess.run(remount, check=True)  # noqa: S603
    assert look(small_disk / "run").done == 12
    with pytest.raises(RunError, match=r"cannot be written .* is the directory read-only"):
        resume(small_disk / "run", ignore, SmallConfig)
    with pytest.raises(RunError, match="Read-only"):
        start(SmallConfig.of(**QUICK), small_disk, small_disk / "new", ignore)


def test_a_file_in_the_way_is_a_clear_error(tmp_path):
    (tmp_path / "run").write_text("a file")
    with pytest.raises(RunError, match="is a file, and a run needs a directory"):
        start(SmallConfig.of(**QUICK), tmp_path, tmp_path / "run", ignore)
    with pytest.raises(RunError, match="cannot be used: Not a directory"):
        start(SmallConfig.of(**QUICK), tmp_path, tmp_path / "run" / "below", ignore)


def test_requests_without_an_answer_are_counted(tmp_path):
    batch = Batch(np.ones((1, 1)), np.ones(1))
    with RunStore.create(tmp_path / "run", NAMED) as store:
        journal = store.purchases()
        counts = [store.unanswered()]
        for step in (
            lambda: journal.taken(["q"], "draw", range(3), 1),
            lambda: journal.record([Asked("p", "draw", 0, 1)]),
            lambda: journal.record([Asked("q", "draw", 0, 1)]),
            lambda: journal.record([Received("p", "draw", 0, batch, 0.0)]),
            lambda: journal.record([Asked("p", "draw", 1, 1)]),
            lambda: journal.record([Failed("p", "draw", 1, "no")]),
            lambda: journal.record([Asked("p", "draw", 1, 1)]),
            lambda: journal.record([Received("q", "draw", 0, batch, 0.0)]),
        ):
            step()
            counts.append(store.unanswered())
        assert counts == [0, 0, 1, 2, 1, 2, 1, 2, 1]


class Interrupted(sqlite3.Connection):
    """Raises KeyboardInterrupt right after a statement, as Ctrl-C may in the main thread."""

    after = ""

    def execute(self, statement, *arguments):
        found = super().execute(statement, *arguments)
        if statement == self.after:
            self.after = ""
            raise KeyboardInterrupt
        return found


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """A store whose connection can be interrupted."""
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Interrupted))
    with RunStore.create(tmp_path / "run", NAMED) as store:
        yield store


@pytest.mark.parametrize("after", ["BEGIN IMMEDIATE", "COMMIT"])
def test_an_interrupted_entry_loses_no_answer_of_another_thread(interrupted, after):
    store = interrupted
    journal = store.purchases()
    batch = Batch(np.ones((1, 1)), np.ones(1))
    journal.record([Asked("far", "draw", 0, 1)])
    journal.taken(["near"], "draw", range(1), 1)
    store._connection.after = after
    with pytest.raises(KeyboardInterrupt):
        store.ledger.note("key", 1)
    journal.taken(["near"], "draw", range(1, 2), 1)
    journal.record([Received("far", "draw", 0, batch, 0.1)])
    store.verify()
    committed = [("noted", 0)] if after == "COMMIT" else []
    assert [(e.outcome, e.first_game) for e in store.ledger.entries()] == [
        ("asked", 0), ("taken", 0), *committed, ("taken", 1), ("received", 0),
    ]  # fmt: skip
    assert store.ledger.noted("key") == (1 if after == "COMMIT" else None)


@pytest.mark.parametrize(("after", "stored"), [("BEGIN IMMEDIATE", 0), ("COMMIT", 1)])
def test_interrupted_solved_games_are_stored_or_not(interrupted, after, stored):
    store = interrupted
    one = np.ones((1, 1))
    store._connection.after = after
    with pytest.raises(KeyboardInterrupt):
        store.games.store_games(range(1), Solution(one, one, 3), 0.5)
    assert store.games.solved() == stored
    store.games.store_games(range(stored, stored + 1), Solution(one, one, 3), 0.5)
    store.verify()
    assert store.games.solved() == stored + 1


def test_records_that_cannot_be_stored_name_the_provider(tmp_path):
    with RunStore.create(tmp_path / "run", NAMED) as store:
        journal = store.purchases()
        journal.record([Asked("p", "draw", 0, 1)])
        odd = Batch(np.ones((1, 1)), np.array([object()], dtype=object))
        with pytest.raises(RunError, match=r"provider 'p': .*of the type object"):
            journal.record([Received("p", "draw", 0, odd, 0.0)])


def test_paid_games_are_a_set():
    paid = PaidGames()
    for games in (range(3), range(5, 7), range(8, 9), range(3, 5)):
        paid.add(games)
    assert paid.missing(range(2, 11)) == (7, 9, 10)
    assert paid.missing(range(7)) == ()
    paid.add(range(7, 8))
    assert paid.missing(range(2, 11)) == range(9, 11)
    assert not paid.missing(range(9))


def test_taken_draws_are_entered_by_contiguous_ranges(tmp_path):
    with RunStore.create(tmp_path / "run", NAMED) as store:
        journal = store.purchases()
        journal.taken(["p"], "draw", (0, 1, 2, 5, 6), 4)
        assert journal.unpaid(["p", "q"], "draw", range(8)) == [(3, 4, 7), range(8)]
        store.games.store_games(range(1), Solution(np.ones((1, 2)), np.ones((1, 2)), 1), 0.5)
        found = [(e.outcome, e.first_game, e.requests, e.records) for e in store.ledger.entries()]
        assert found == [("taken", 0, 3, 12), ("taken", 5, 2, 8), ("solved", 0, 0, 0)]


def test_providers_that_are_alike_share_an_entry_and_are_counted_each(tmp_path):
    odd = 'a "quoted",\nbroken ñame'
    with RunStore.create(tmp_path / "run", NAMED) as store:
        journal = store.purchases()
        journal.taken(["p", odd], "draw", range(2), 4)
        journal.taken(["p"], "draw", range(2, 3), 4)
        store.games.store_games(range(1), Solution(np.ones((1, 2)), np.ones((1, 2)), 1), 0.5)
        assert [entry.providers for entry in store.ledger.entries()] == [("p", odd), ("p",), ()]
    with RunStore.open(tmp_path / "run") as store:
        store.verify()
        assert store.usage() == {"p": Usage(3, 12), odd: Usage(2, 8)}
        journal = store.purchases()
        assert journal.unpaid(["p", odd], "draw", range(4)) == [range(3, 4), range(2, 4)]


def test_a_look_at_a_ledger_with_altered_providers_says_so(run):
    alter(
        run,
        "UPDATE ledger SET providers = 'x' "
        "WHERE id = (SELECT MIN(id) FROM ledger WHERE outcome = 'taken')",
    )
    with pytest.raises(RunDamaged, match="the providers of an entry were altered"):
        look(run)


@pytest.mark.parametrize("begun", [True, False])
def test_errors_of_the_database_say_what_is_safe_and_what_to_do(tmp_path, begun):
    remedies = {
        sqlite3.SQLITE_BUSY: (
            "what was stored is safe, resume later",
            "nothing was begun, try again",
        ),
        sqlite3.SQLITE_FULL: (
            "all that was stored is safe: make room, then resume",
            "nothing was begun: make room, then run it again",
        ),
    }
    for code, (later, again) in remedies.items():
        failure = sqlite3.OperationalError("no luck")
        failure.sqlite_errorcode = code
        with pytest.raises(RunError) as refused, database.errors(tmp_path, begun=begun):
            raise failure
        assert str(refused.value).endswith(later if begun else again)
