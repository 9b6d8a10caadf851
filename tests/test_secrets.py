"""Secrets do not show: not in errors, not in traces, and not in the run."""

import base64
import functools
import hashlib
import json
import sys
from urllib.parse import quote_plus

import pytest
from typer.testing import CliRunner

import shapband as sb
from shapband import secrets
from shapband.app.cli.app import app
from shapband.secrets import hide, learn, reveal

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


URL = "postgresql://reader:s3cret%2Fsauce@db.example.org:5432/north?sslmode=require&token=tk-0123456789"
USER_AND_PASSWORD = base64.b64encode(b"reader:s3cret/sauce").decode()
# Ways in which drivers and HTTP clients repeat an address, and what must not be in the message.
REPEATED = {
    "whole": f"cannot connect to {URL}",
    "password": 'password authentication failed for "s3cret/sauce"',
    "quoted password": "bad userinfo s3cret%2Fsauce",
    "netloc": "no route to reader:s3cret%2Fsauce@db.example.org:5432",
    "basic auth": f"401 for Authorization: Basic {USER_AND_PASSWORD}",
    "basic auth alone": f"rejected {USER_AND_PASSWORD}",
    "cut off": f"timeout at {URL[:32]}...",
    "cut off at the front": f"timeout at ...{URL[16:]}",
    "keywords": "user=reader password=s3cret/sauce host=db",
    "token": "403 for /north?token=tk-0123456789",
    "repr": repr({"dsn": URL}),
}
LEAKS = ("s3cret", "sauce", "tk-0123", USER_AND_PASSWORD[:-4])


class Repeats(sb.GenerativeSource):
    """A source whose errors repeat what it was given."""

    schema = None

    def __init__(self, url, message):
        self._settings = {"url": url}
        self._message = message

    def draw(self, size, rng):
        raise ConnectionError(self._message)


@pytest.fixture
def forgotten(monkeypatch):
    monkeypatch.setattr("shapband.secrets._revealed", set())


@pytest.mark.parametrize("how", REPEATED)
def test_the_password_of_a_source_made_in_python_is_in_no_error_and_not_in_the_run(
    how, forgotten, tmp_path
):
    providers = [sb.Provider("north", Repeats(URL, REPEATED[how]))]
    with pytest.raises(sb.errors.SourceError) as caught:
        sb.value(
            providers, sb.AdditiveUtility(), sampling=sb.Fresh(2), n_games=2, seed=0,
            run=tmp_path / "run",
        )  # fmt: skip
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("run/run.db*"))
    assert stored
    assert "***" in str(caught.value)
    for leak in LEAKS:
        assert leak not in str(caught.value)
        assert leak.encode() not in stored


@pytest.mark.parametrize("how", REPEATED)
def test_a_secret_address_is_hidden_in_its_parts(how, forgotten, monkeypatch):
    monkeypatch.setenv("A_SECRET", URL)
    reveal({"env": "A_SECRET"}, "key")
    shown = hide(REPEATED[how])
    assert "***" in shown
    assert not [leak for leak in LEAKS if leak in shown]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at https://me:hush@h.org/x", "at https://me:***@h.org/x"),
        ("at https://me:a:b@h.org:80", "at https://me:***@h.org:80"),
        ("at https://me:a@b@h.org:80", "at https://me:***@h.org:80"),
        ("at postgresql://me:a/b@h.org/x", "at postgresql://me:***@h.org/x"),
        ("at postgresql://me:a/b@c/d@h.org", "at postgresql://me:***@h.org"),
        ("at postgresql://me:a@b/c@h.org", "at postgresql://me:***@h.org"),
        ("at https://me:a/b@h.org/x", "at https://me:***@h.org/x"),
        ("at https://me:a@h.org/@b", "at https://me:***@h.org/@b"),
        ("ftp://:pw@h and amqp://u:pw@h", "ftp://:***@h and amqp://u:***@h"),
        ("key: api_key=abc123 is wrong", "key: api_key=*** is wrong"),
        ("?access_token=x.y.z&n=5", "?access_token=***&n=5"),
        ("Authorization: Bearer abcdefgh1234", "Authorization: Bearer ***"),
    ],
)
def test_passwords_that_nobody_declared_are_hidden_by_their_place(text, shown, forgotten):
    assert hide(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "see https://example.org/a:b for help",
        "see https://example.org:80/a@b for help",
        "see s3://example.org:80/a@b for help",
        "a basic authentication is needed",
        "n_sample=60 and keys=3 are fine",
        "compass=north",
        "provider 'north': 3 tokens were left",
        "mail me@example.org",
    ],
)
def test_ordinary_words_are_left_as_they_are(text, forgotten):
    assert hide(text) == text


@pytest.mark.parametrize("told", ["host 'ssw0rd@db'", "host 'ssw0rd'", "P@ssw0rd", "u:P@ssw0rd"])
def test_the_parts_of_a_password_that_is_split_at_its_at_are_hidden(told, forgotten):
    learn("postgresql://u:P@ssw0rd@db:1/x")
    assert "ssw0rd" not in hide(f"failed to resolve {told}")


def _closure():
    password = "open-sesame-1"  # noqa: S105
    return lambda size, rng: password


HOLDERS = {
    "attribute": lambda: type(
        "S", (), {"__init__": lambda self: vars(self).update({"token": "open-sesame-1"})}
    )(),
    "closure": _closure,
    "partial": lambda: functools.partial(print, api_key="open-sesame-1"),
    "default": lambda: lambda size, rng, secret="open-sesame-1": secret,
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_secrets_are_found_where_python_keeps_them(holder, forgotten):
    made = HOLDERS[holder]()
    learn(sb.FunctionSource(made) if callable(made) else made)
    assert hide("wrong: open-sesame-1") == "wrong: ***"


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg", "https"])
def test_an_address_that_is_a_secret_does_not_uncover_the_passwords_of_others(monkeypatch, scheme):
    monkeypatch.setattr(secrets, "_revealed", set())
    secrets._register(f"{scheme}://boss:open-sesame-1001@db.example.org/clinic")
    other = f"no answer from {scheme}://reader:other-word@db.example.org/north"
    assert secrets.hide(other) == f"no answer from {scheme}://reader:***@db.example.org/north"
    cut = f"{scheme}://boss:open-sesame-10"
    assert "open-sesame" not in secrets.hide(f"could not connect to {cut}")
