"""Nobody gets in by way of a run directory or the texts of a source: numbers 11 to 14."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import shutil
import sqlite3
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import shapband as sb
from shapband.access.journal import Asked
from shapband.app.cli.app import app
from shapband.app.config.config import Config
from shapband.app.config.imports import load_object
from shapband.errors import InvalidInput, RunDamaged, RunError
from shapband.runs.ledger import COLUMNS, canonical, chained, hash_of
from shapband.runs.store import RunStore, _result_hash
from shapband.secrets import hide, reveal
from tests.runs.small import SmallConfig, start

CONFIG = """
n_games = 6
seed = 0
providers = [{ source = { kind = "task", task = "wine" } }]
sampling = { kind = "pooled", n_pool = 100, n_boot = 20 }
solver = { kind = "permutation", n_iter = 2 }
"""
READERS = {
    "show": ["show", "RUN"],
    "json": ["show", "RUN", "--json"],
    "verify": ["verify", "RUN"],
    "csv": ["export", "RUN", "--format", "csv"],
    "valuation": ["export", "RUN", "--format", "valuation"],
    "compare": ["compare", "RUN", "RUN"],
}
WORTH = sb.FunctionUtility(lambda X, y: float(y.sum()))


def called(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def read(how, run):
    return called(*(run if word == "RUN" else word for word in READERS[how]))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A finished run and one that was interrupted; both are copied and never altered."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "run.toml").write_text(CONFIG)
    result = called("run", folder / "run.toml", "--out", folder / "finished", "--quiet")
    assert result.exit_code == 0, result.output
    shutil.copytree(folder / "finished", folder / "unfinished")
    execute(folder / "unfinished", "DELETE FROM result")
    execute(folder / "unfinished", "DELETE FROM ledger WHERE outcome = 'finished'")
    return folder


@pytest.fixture
def finished(kept, tmp_path):
    shutil.copytree(kept / "finished", tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def unfinished(kept, tmp_path):
    shutil.copytree(kept / "unfinished", tmp_path / "run")
    return tmp_path / "run"


def execute(run, statement, *values):
    connection = sqlite3.connect(run / "run.db")
    with connection:
        rows = connection.execute(statement, values).fetchall()
    connection.close()
    return rows


def chain_anew(run):
    """Compute all hashes anew, as somebody who altered the run could do."""
    connection = sqlite3.connect(run / "run.db")
    try:
        manifest = dict(connection.execute("SELECT key, json FROM manifest").fetchall())
        digest = chained("", {key: json.loads(text) for key, text in manifest.items()})
        rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM ledger ORDER BY id").fetchall()  # noqa: S608
        with connection:
            for row in rows:
                entry = dict(zip(COLUMNS[:-1], row, strict=False))
                entry["note"] = _hash_anew(connection, entry)
                digest = chained(digest, tuple(entry.values()))
                connection.execute(
                    "UPDATE ledger SET note = ?, digest = ? WHERE id = ?",
                    (entry["note"], digest, entry["id"]),
                )
    except (ValueError, TypeError, RecursionError):
        pass  # what cannot be hashed is left as it is
    finally:
        connection.close()


def _hash_anew(connection, entry):
    if entry["outcome"] == "noted":
        select = "SELECT json FROM notes WHERE key = ?"
        return hash_of(*connection.execute(select, (entry["purpose"],)).fetchone())
    if entry["outcome"] == "finished":
        return _result_hash(*connection.execute("SELECT json, kept_games FROM result").fetchone())
    if entry["outcome"] == "solved":
        select = "SELECT * FROM games WHERE first_game = ?"
        row = connection.execute(select, (entry["first_game"],)).fetchone()
        return entry["note"] if row is None else hash_of(canonical(row[:-2]), *row[-2:])
    return entry["note"]


def assert_damage_or_fine(run, *, how=tuple(READERS)):
    for one in how:
        result = read(one, run)
        assert result.exception is None or isinstance(result.exception, SystemExit), one
        assert "this is a bug in shapband" not in result.stderr, (one, result.stderr)
        assert "\x1b" not in result.output
        if result.exit_code:
            assert result.stderr.splitlines()[-1].startswith("error: ")


# Objects that a run names.

NAMING = """
n_games = 4
seed = 0
sampling = { kind = "fresh", n_sample = 2 }
utility = { kind = "additive" }
[[providers]]
name = "a"
[providers.source]
kind = "object"
object = "MODULE:Source"
"""
MODULE = """
import pathlib, numpy as np, shapband as sb
pathlib.Path(__file__).with_suffix(".imported").touch()
class Source(sb.sources.base.GenerativeSource):
    schema = None
    def draw(self, size, rng):
        if pathlib.Path(__file__).with_suffix(".fail").exists():
            raise ConnectionError("no")
        return sb.Batch(np.ones((size, 1)), np.ones(size))
"""


@pytest.fixture
def foreign(tmp_path, monkeypatch, request):
    """An interrupted run that names a class, and that this user did not begin."""
    name = f"m{abs(hash(request.node.name))}"
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / f"{name}.fail").touch()
    (tmp_path / "run.toml").write_text(NAMING.replace("MODULE", name))
    assert called("run", tmp_path / "run.toml", "--out", tmp_path / "run").exit_code == 1
    (tmp_path / f"{name}.fail").unlink()
    (tmp_path / f"{name}.imported").unlink()
    sys.modules.pop(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    return tmp_path / "run", tmp_path / f"{name}.imported"


def test_11_a_foreign_run_that_names_objects_is_resumed_only_with_trust(
    foreign, tmp_path, monkeypatch
):
    """Number 11."""
    run, imported = foreign
    for how in READERS:
        read(how, run)
    result = called("resume", run)
    assert result.exit_code == 1
    assert "was not begun by you on this machine" in result.stderr
    assert ":Source" in result.stderr
    assert "--trust" in result.stderr
    assert not imported.exists()
    shutil.copytree(run, tmp_path / "again")
    assert called("resume", run, "--trust").exit_code == 0
    assert imported.exists()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert called("resume", tmp_path / "again").exit_code == 0  # one's own needs none


def test_11_readers_of_a_finished_run_import_nothing_that_it_names(foreign, monkeypatch):
    """Number 11."""
    run, imported = foreign
    called("resume", run, "--trust")
    sys.modules.pop(imported.stem)
    imported.unlink()
    for how in READERS:
        assert read(how, run).exit_code == 0
    assert called("resume", run).exit_code == 0  # of a finished run only the result is shown
    assert not imported.exists()
    assert imported.stem not in sys.modules


def test_11_an_altered_configuration_is_not_one_s_own(foreign, tmp_path, monkeypatch):
    """Number 11."""
    run, _ = foreign
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ((text,),) = execute(run, "SELECT json FROM manifest WHERE key = 'base'")
    assert json.loads(text) == str(tmp_path)
    execute(run, "UPDATE manifest SET json = '\"/elsewhere\"' WHERE key = 'base'")
    chain_anew(run)
    result = called("resume", run)
    assert result.exit_code == 1
    assert "--trust" in result.stderr


def test_11_a_cluster_of_a_foreign_run_needs_trust_too():
    """Number 11: what a cluster sends is unpickled."""
    config = Config.parse('workers = "dask"\nscheduler = "tcp://there:8786"\n' + CONFIG)
    assert config.objects == ["the cluster tcp://there:8786"]


@pytest.mark.parametrize("base", [Path("/nowhere"), Path("/")])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("subprocess:run", {"args": "touch CALLED", "shell": True}),
        ("subprocess:Popen", {"args": "touch CALLED", "shell": True}),
        ("os:system", {"command": "touch CALLED"}),
        ("builtins:exec", {}),
        ("pathlib:Path", {}),
        ("shutil:rmtree", {"path": "CALLED"}),
        ("sklearn.utils:check_random_state", {}),
        ("shapband:value", {}),
    ],
)
def test_11_nothing_is_called_before_its_type_is_known(tmp_path, monkeypatch, base, name, options):
    """Number 11: also if Python is installed below the folder of the file."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    options = {k: str(v).replace("CALLED", str(tmp_path / "called")) for k, v in options.items()}
    (tmp_path / "called").mkdir() if name == "shutil:rmtree" else None
    before = sorted(tmp_path.iterdir())
    if name != "shapband:value" or base != Path("/"):  # its sources are below / in these tests
        with pytest.raises(InvalidInput, match=r"is not called|are called"):
            load_object(name, options, base, "a.object", lambda kind: issubclass(kind, sb.Utility))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "addition",
    [
        "CREATE VIEW spy AS SELECT * FROM ledger",
        "CREATE TRIGGER spy AFTER INSERT ON ledger BEGIN DELETE FROM purchases; END",
        "CREATE INDEX spy ON ledger (note)",
        "CREATE TABLE spy (x)",
        "CREATE VIRTUAL TABLE spy USING fts5(x)",
        "ALTER TABLE result ADD COLUMN spy TEXT DEFAULT 'x'",
    ],
)
def test_11_additions_to_the_tables_are_refused(finished, addition):
    """Number 11."""
    execute(finished, addition)
    for how in READERS:
        result = read(how, finished)
        assert result.exit_code == 1
        assert "the tables of" in result.stderr
        assert "were altered" in result.stderr


JSON = {
    "number": "1", "text": '"a"', "null": "null", "flag": "true", "list": "[]", "object": "{}",
    "nested": '{"a": [[1]]}', "nan": "NaN", "infinite": "1e999", "negative": "-1",
    "surrogate": '"\\ud800"', "deep": "[" * 100_000 + "]" * 100_000, "huge": "9" * 4_000,
    "escape": '"\\u001b]0;x\\u0007"', "zero": "0", "broken": "{",
}  # fmt: skip
CELLS = (
    -1,
    2**63 - 1,
    1.5,
    float("inf"),
    "abc",
    b"abc",
    "[[1]]",
    "[1]",
    "{}",
    "\x1b]0;x",
    "9" * 400,
)


@pytest.mark.parametrize("value", JSON)
def test_11_malformed_json_is_damage(kept, tmp_path, value):
    """Number 11, with hashes computed anew."""
    keys = [key for (key,) in execute(kept / "finished", "SELECT key FROM manifest")]
    for state, table, key in (
        *(("finished", "manifest", key) for key in keys),
        ("unfinished", "manifest", "setup"),
        ("unfinished", "notes", "games"),
        ("finished", "result", None),
    ):
        run = tmp_path / f"{state} {table} {key}"
        shutil.copytree(kept / state, run)
        where = "" if key is None else f" WHERE key = '{key}'"
        execute(run, f"UPDATE {table} SET json = ?{where}", JSON[value])  # noqa: S608
        chain_anew(run)
        assert_damage_or_fine(run, how=("show",) if table == "manifest" else ("show", "verify"))


@pytest.mark.parametrize(
    ("state", "table", "key"),
    [
        ("finished", "result", "moments"),
        ("finished", "result", None),
        ("unfinished", "notes", None),
    ],
)
def test_11_malformed_parts_of_documents_are_damage(kept, tmp_path, state, table, key):
    """Number 11, with hashes computed anew."""
    ((text,),) = execute(kept / state, f"SELECT json FROM {table}")  # noqa: S608
    document = json.loads(text)
    part = document if key is None else document[key]
    run = tmp_path / "run"
    shutil.copytree(kept / state, run)
    rng = np.random.default_rng(0)
    for name in part:
        before = part[name]
        for value in rng.choice(list(JSON), 2, replace=False):
            part[name] = "@@"
            changed = json.dumps(document).replace('"@@"', JSON[value])
            execute(run, f"UPDATE {table} SET json = ?", changed)  # noqa: S608
            chain_anew(run)
            assert_damage_or_fine(run, how=("show", "valuation"))
        part[name] = before


def test_11_malformed_cells_are_damage(kept, tmp_path):
    """Number 11, with hashes computed anew."""
    cells = [("ledger", column) for column in COLUMNS[1:]]
    games = ("n_games", "evaluations", "seconds", '"values"', "noise")
    cells += [("games", column) for column in games]
    rng = np.random.default_rng(0)
    for at, (table, column) in enumerate(cells):
        for value in rng.permutation(len(CELLS))[:2]:
            run = tmp_path / f"{at} {value}"
            shutil.copytree(kept / "unfinished", run)
            execute(run, f"UPDATE {table} SET {column} = ?", CELLS[value])  # noqa: S608
            chain_anew(run)
            assert_damage_or_fine(run, how=("json", "verify"))


# Permissions.


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_12_only_the_owner_can_read_a_run(tmp_path, umask):
    """Number 12."""
    seen = {}

    def watch(progress):
        for path in (tmp_path / "run").iterdir():
            seen[path.name] = stat.S_IMODE(path.stat().st_mode)

    before = os.umask(umask)
    try:
        config = SmallConfig.of(delay=0.0, think=0.0, n_games=4)
        start(config, tmp_path, tmp_path / "run", watch)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700
    names = ("run.db", "run.db-wal", "run.db-shm", "lock", "reserve")
    assert seen == dict.fromkeys(names, 0o600)


@pytest.mark.parametrize("name", ["lock", "reserve"])
def test_12_links_in_a_run_directory_are_not_followed(tmp_path, name):
    """Number 12: a directory that came from elsewhere may name any file."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    with RunStore.create(tmp_path / "run", {"providers": ["a"]}) as store:
        (store.run / name).unlink(missing_ok=True)
        (store.run / name).symlink_to(victim)
        with pytest.raises(RunError), store.lock():
            store.purchases().record([Asked("a", "draw", 0, 1)])
    assert victim.read_text() == "mine"


# Forgery.


def digest_of(run):
    return json.loads(read("json", run).stdout)["digest"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE notes SET json = replace(json, '20', '21')",
        "DELETE FROM notes",
        "INSERT INTO notes VALUES ('more', '1')",
        "DELETE FROM result",
        "UPDATE result SET json = replace(json, '\"seed\": 0', '\"seed\": 1')",
        "DELETE FROM games",
        "UPDATE games SET evaluations = evaluations + 1",
        "DELETE FROM ledger WHERE outcome = 'finished'",
        "DELETE FROM ledger WHERE outcome = 'solved'",
        "DELETE FROM ledger",
        "UPDATE ledger SET records = records + 1 WHERE outcome = 'taken'",
        "UPDATE manifest SET json = '7' WHERE key = 'n_games'",
        "INSERT INTO manifest VALUES ('more', '1')",
        "INSERT INTO purchases VALUES ('more', 'draw', 0, 0, x'00')",
    ],
)
def test_13_verify_notices_a_forgery(finished, statement):
    """Number 13."""
    assert read("verify", finished).exit_code == 0
    execute(finished, statement)
    with pytest.raises(RunDamaged):
        sb.load(finished).verify()


def test_13_a_tail_that_was_cut_off_shows_in_the_digest(finished):
    """Number 13."""
    digests = [digest_of(finished)]
    assert digests[0] in read("verify", finished).stdout
    for table, outcome in (("result", "finished"), ("games", "solved")):
        execute(finished, f"DELETE FROM {table}")  # noqa: S608
        execute(finished, "DELETE FROM ledger WHERE outcome = ?", outcome)
        assert read("verify", finished).exit_code == 0
        digests.append(digest_of(finished))
    assert len(set(digests)) == 3


# Texts and secrets.

EVIL = "\x1b]0;title\x07\x1b[2J\u202egnp.exe\u2066\x9b31m"


def is_neutral(text):
    return not set("\x1b\x07\x00\u202e\u2066\x9b") & set(text)


def test_14_names_and_errors_cannot_steer_a_terminal(tmp_path, capsys):
    """Number 14."""
    records = sb.ArraySource([[1.0], [2.0]], [1.0, 2.0])
    providers = [sb.Provider(f"{EVIL}{i}", records) for i in range(2)]
    sb.value(
        providers, WORTH, sampling=sb.Fresh(1), n_games=4, seed=0, run=tmp_path / "run",
        progress=True,
    )  # fmt: skip
    assert is_neutral(capsys.readouterr().err)
    for how in ("show", "compare", "verify"):
        result = read(how, tmp_path / "run")
        assert result.exit_code == 0
        assert is_neutral(result.output)
    assert "\\x1b]0;title" in read("show", tmp_path / "run").stdout

    def fail(size, rng):
        raise ConnectionError(f"{EVIL}\0 refused")

    failing = [sb.Provider(EVIL, sb.FunctionSource(fail))]
    with pytest.raises(sb.errors.SourceError) as raised:
        sb.value(failing, WORTH, sampling=sb.Fresh(1), n_games=4, run=tmp_path / "failed")
    assert is_neutral(str(raised.value))
    (note,) = sb.load(tmp_path / "failed").ledger.query("outcome == 'failed'").note
    assert is_neutral(note)
    execute(tmp_path / "failed", "UPDATE manifest SET json = ? WHERE key = 'seed'", f'"{EVIL}"')
    assert is_neutral(read("show", tmp_path / "failed").output)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
def test_14_a_spreadsheet_gets_no_formulas(tmp_path, start):
    """Number 14."""
    records = sb.ArraySource([[1.0], [2.0]], [1.0, 2.0])
    name = f"{start}cmd|' /C calc'!A0"
    sb.value(
        [sb.Provider(name, records)], WORTH, sampling=sb.Fresh(1), n_games=4, seed=0,
        run=tmp_path / "run",
    )  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(read("csv", tmp_path / "run").stdout)))
    shown = name.replace("\t", "\\t")  # a tab is written as an escape, which is no formula
    assert [row["provider"] for row in rows] == [shown if start == "\t" else f"'{name}"]


def test_14_long_errors_are_cut(tmp_path):
    """Number 14."""

    def fail(size, rng):
        raise ConnectionError("long " * 400_000)

    with pytest.raises(sb.errors.SourceError) as raised:
        sb.value(
            [sb.Provider("a", sb.FunctionSource(fail))], WORTH, sampling=sb.Fresh(1), n_games=4,
            run=tmp_path / "run",
        )  # fmt: skip
    assert len(str(raised.value)) < 5_000
    (note,) = sb.load(tmp_path / "run").ledger.query("outcome == 'failed'").note
    assert 1_000 < len(note) <= 2_000


SECRET = "correct horse/battery+staple"  # noqa: S105


@pytest.fixture
def revealed(monkeypatch):
    monkeypatch.setenv("A_SECRET", SECRET)
    monkeypatch.setattr("shapband.secrets._revealed", set())
    reveal({"env": "A_SECRET"}, "key")


@pytest.mark.parametrize("user", ["", "u", "us", "use", "user", "a much longer user"])
@pytest.mark.parametrize("after", ["", "\n", "@host"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_14_secrets_are_hidden_in_base64(revealed, user, after, encode):
    """Number 14."""
    text = encode(f"{user}:{SECRET}{after}".encode()).decode()
    hidden = hide(f"Authorization: Basic {text}")
    assert "***" in hidden
    left = hidden.removeprefix("Authorization: Basic ").replace("***", "")
    # Only the characters around the secret are left, and those that share bits with its ends.
    assert len(left) <= len(base64.b64encode(f"{user}:{after}".encode())) + 4


HOLDING = """
import base64, os, warnings, numpy as np, shapband as sb
where, secret = os.environ["WHERE"], os.environ["A_SECRET"]
basic = base64.b64encode(b"user:" + secret.encode()).decode()
if where == "module":
    raise SystemExit("bye " + secret + " " + basic)
class Source(sb.sources.base.GenerativeSource):
    schema = None
    def __init__(self, key):
        if where == "init":
            raise SystemExit("bye " + key + " " + basic)
    def draw(self, size, rng):
        if where == "draw":
            raise SystemExit("bye " + secret + " " + basic)
        if where == "cut":
            raise OSError("x" * 3990 + secret)
        if where == "repeated":
            raise OSError((secret + " ") * 1000)
        if where == "warning":
            warnings.warn("careful with " + secret + " " + basic)
        return sb.Batch(np.ones((size, 1)), np.ones(size))
@sb.FunctionUtility
def worth(X, y):
    if where == "utility":
        raise SystemExit("bye " + secret + " " + basic)
    return float(len(y))
"""
HOLDING_CONFIG = """
n_games = 4
seed = 0
sampling = { kind = "fresh", n_sample = 2 }
utility = { kind = "object", object = "MODULE:worth" }
[[providers]]
name = "a"
[providers.source]
kind = "object"
object = "MODULE:Source"
options = { key = { env = "A_SECRET" } }
"""


@pytest.mark.filterwarnings("default:careful")
@pytest.mark.parametrize("debug", [[], ["--debug"]])
@pytest.mark.parametrize(
    "where", ["module", "init", "draw", "utility", "warning", "cut", "repeated"]
)
def test_14_secrets_are_hidden_wherever_they_appear(tmp_path, monkeypatch, where, debug):
    """Number 14."""
    name = f"holding_{where}_{len(debug)}"
    (tmp_path / f"{name}.py").write_text(HOLDING)
    (tmp_path / "run.toml").write_text(HOLDING_CONFIG.replace("MODULE", name))
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setenv("A_SECRET", SECRET)
    monkeypatch.setenv("WHERE", where)
    monkeypatch.setattr("shapband.secrets._revealed", set())
    result = called("run", tmp_path / "run.toml", "--out", tmp_path / "run", *debug)
    assert result.exit_code == (0 if where == "warning" else 1), result.output
    if where != "cut":
        assert "***" in result.stderr
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("run/run.db*"))
    basic = base64.b64encode(b"user:" + SECRET.encode()).decode()
    for part in ("horse", "battery", "correct", basic[8:20]):
        assert part not in result.output
        assert part.encode() not in stored


def test_11_a_database_that_is_a_link_is_not_opened(tmp_path):
    """Number 11: writing to a run must not write to another file."""
    start(SmallConfig.of(), tmp_path, tmp_path / "run", lambda _: None)
    (tmp_path / "run" / "run.db").rename(tmp_path / "elsewhere.db")
    (tmp_path / "run" / "run.db").symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(RunError, match=r"run\.db is a link to another file"):
        sb.load(tmp_path / "run")
