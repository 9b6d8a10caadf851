"""Secrets do not show: not in errors, not in traces, and not in the run."""

import hashlib
import json
import sys
from urllib.parse import quote_plus

import pytest
from typer.testing import CliRunner

from shapband.cli.app import app
from shapband.secrets import hide, reveal

PEM = (
    "-----BEGIN KEY-----\nMIIEvQIBADANBgkq+/h\n  hkiG9w0BAQEFAASC\nBKcwggSj==\n-----END KEY-----\n"
)
SECRETS = {
    "pem": (PEM, ["MIIEvQIBADANBgkq", "hkiG9w0BAQEFAASC", "BKcwggSj"]),
    "spaces": ("two  spaces\tand a tab", ["spaces"]),
    "quotes": ('it\'s a "quoted" back\\slash', ["quoted", "slash"]),
    "letters": ("pässwörd/with sign&", ["sswörd", "with sign", "sign&", "sign%26"]),
}
MODULE = """
import os
import shapband as sb

if os.environ.get("FAIL_AT") == "import":
    raise ImportError("no driver for " + os.environ["A_SECRET"])

class Vault(sb.sources.base.GenerativeSource):
    schema = None
    def __init__(self, key):
        self.key = key
        if os.environ["FAIL_AT"] == "init":
            raise KeyError(key)
    def draw(self, size, rng):
        if os.environ["FAIL_AT"] == "draw":
            raise KeyError(f"the vault refused {self.key!r}")
        raise ConnectionError(self.key)
"""
CONFIG = """
n_games = 4
seed = 0
sampling = {{ kind = "fresh", n_sample = 2 }}
utility = {{ kind = "additive" }}
[[providers]]
name = "vault"
[providers.source]
kind = "object"
object = "{module}:Vault"
options = {{ key = {{ env = "A_SECRET" }} }}
"""


@pytest.mark.parametrize("debug", [[], ["--debug"]], ids=["plain", "debug"])
@pytest.mark.parametrize("where", ["import", "init", "draw", "answer"])
@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_in_no_error_and_not_in_the_run(
    tmp_path, monkeypatch, request, kind, where, debug
):
    secret, parts = SECRETS[kind]
    digest = hashlib.sha1(request.node.name.encode(), usedforsecurity=False).hexdigest()
    (tmp_path / f"vault_{digest}.py").write_text(MODULE)
    (tmp_path / "run.toml").write_text(CONFIG.format(module=f"vault_{digest}"))
    monkeypatch.setenv("A_SECRET", secret)
    monkeypatch.setenv("FAIL_AT", where)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr("shapband.secrets._revealed", set())
    arguments = ["run", str(tmp_path / "run.toml"), "--out", str(tmp_path / "run"), *debug]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "***" in result.stderr.splitlines()[-1]
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("run/run.db*"))
    assert bool(stored) == (where in ("draw", "answer"))
    for part in parts:
        assert part not in result.output
        assert part.encode() not in stored


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_hidden_however_it_is_written(monkeypatch, kind):
    secret, _ = SECRETS[kind]
    monkeypatch.setenv("A_SECRET", secret)
    monkeypatch.setattr("shapband.secrets._revealed", set())
    reveal({"env": "A_SECRET"}, "key")
    forms = (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quote_plus(secret))
    for form in forms:
        assert hide(f"the key {form} is wrong") == "the key *** is wrong"


def test_a_secret_that_is_no_utf_8_can_be_revealed(monkeypatch):
    monkeypatch.setenv("A_SECRET", b"p\xffssword".decode(errors="surrogateescape"))
    monkeypatch.setattr("shapband.secrets._revealed", set())
    reveal({"env": "A_SECRET"}, "key")
    assert hide("at host?key=p%FFssword") == "at host?key=***"
