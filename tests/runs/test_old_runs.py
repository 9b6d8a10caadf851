"""Run directories of format 1, which no released version wrote, are refused with a way out."""

import json
import sqlite3

import pytest

import shapband as sb
from shapband.config.config import Config
from shapband.errors import RunError

CONFIG = """
n_games = 4
seed = 3
sampling = { kind = "fresh", n_sample = 20 }
providers = [{ source = { kind = "task", task = "wine" } }]
"""


def test_an_old_run_is_refused_and_its_configuration_can_be_had(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    connection = sqlite3.connect(run / "run.db")
    with connection:
        connection.execute("PRAGMA application_id = 0x53484250")
        connection.execute("PRAGMA user_version = 1")
        connection.execute("CREATE TABLE manifest (key TEXT PRIMARY KEY, json TEXT NOT NULL)")
        connection.execute("INSERT INTO manifest VALUES ('config', ?)", (json.dumps(CONFIG),))
    with pytest.raises(RunError, match="begin the run again from its configuration"):
        sb.load(run)
    (text,) = connection.execute("SELECT json FROM manifest WHERE key = 'config'").fetchone()
    connection.close()
    assert Config.parse(json.loads(text)).n_games == 4
