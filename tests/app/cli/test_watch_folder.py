"""`shapband watch` of a folder of runs: a list, the report of each run, and two side by side."""

import http.client
import os
import re
import shutil
import threading
from contextlib import contextmanager
from html.parser import HTMLParser
from urllib.parse import urlencode

import numpy as np
import pytest
from typer.testing import CliRunner

import shapband as sb
from shapband.app.cli import folder as listing
from shapband.app.cli.app import app
from shapband.app.cli.folder import RunFolder, find_runs, is_folder_of_runs
from shapband.app.cli.watch import WatchServer
from shapband.runs.store import RunStore

CONFIG = """
n_games = 4
seed = 0
providers = [{ source = { kind = "task", task = "wine" } }]
sampling = { kind = "fresh", n_sample = 30 }

[prices]
record = 0.02
request = "1.50"
"""
EVIL = '<img src=x onerror=alert(1)>"&'


def play(path, seed=0, n_games=20, size=30, names=None):
    task = sb.datasets.wine()
    providers = [
        sb.Provider(name, one.source)
        for name, one in zip(names or [p.name for p in task.providers], task.providers, strict=True)
    ]
    return sb.value(
        providers, task.utility, sampling=sb.Fresh(size), n_games=n_games, seed=seed, run=path
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs on two levels, one of them damaged, one interrupted, and links out of the folder."""
    home = tmp_path_factory.mktemp("watched")
    folder, outside = home / "runs", home / "outside"
    folder.mkdir()
    play(folder / "spring")
    play(folder / "archive" / "autumn", seed=1)
    play(folder / EVIL, seed=2)
    play(folder / "other sizes", size=40)
    play(folder / "strangers", names=[f"stranger {i}" for i in range(10)])
    play(outside)
    play(folder / "too" / "deep" / "here")
    os.symlink(outside, folder / "link")
    os.symlink(home, folder / "up")
    shutil.copytree(folder / "spring", folder / "damaged")
    file = folder / "damaged" / "run.db"
    file.write_bytes(file.read_bytes()[:40_000])
    (folder / "empty").mkdir()
    (folder / "notes.txt").write_text("run.db")
    shutil.copytree(folder / "spring", folder / "linked")
    (folder / "linked" / "run.db").unlink()
    (folder / "linked" / "run.db").symlink_to(outside / "run.db")
    return folder


NAMES = {"spring", "archive/autumn", EVIL, "other sizes", "strangers", "damaged", "linked"}


@contextmanager
def serving(folder):
    with WatchServer(folder, port=0, is_folder=True) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(10)


@pytest.fixture(scope="module")
def server(runs):
    with serving(runs) as one:
        yield one


def asked(server, **query):
    token = server.address.partition("token=")[2]
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request("GET", f"/?{urlencode({'token': token, **query}, errors='surrogateescape')}")
    answer = connection.getresponse()
    return answer, answer.read().decode()


class Words(HTMLParser):
    """The rows of the list as a reader sees them, and the tags of the page."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.inputs = [], set(), []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True
        elif tag == "input":
            self.inputs.append(dict(attrs))

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data.strip()


def lines(text):
    return {row[2]: row[3:] for row in Words(text).rows[1:]}


def keys(folder):
    return {name: key for key, name in find_runs(folder).runs.items()}


def test_runs_are_found_one_level_down_and_links_are_not_followed(runs):
    found = find_runs(runs)
    assert set(found.runs.values()) == NAMES
    assert found.left_out == ()


def test_the_last_changed_run_is_first(runs, tmp_path):
    for at, name in enumerate(("b", "a", "c")):
        shutil.copytree(runs / "spring", tmp_path / name)
        os.utime(tmp_path / name / "run.db", (1000 + at, 1000 + at))
    assert list(find_runs(tmp_path).runs.values()) == ["c", "a", "b"]


def test_every_line_says_what_show_says(server, runs):
    answer, text = asked(server)
    assert answer.status == 200
    assert answer.getheader("Refresh") is None
    shown = lines(text)
    assert set(shown) == NAMES
    status = sb.load(runs / "spring").status
    low, high = status.valuation.interval(0.95).T
    state, providers, games, error, records, requests, changed = shown["spring"]
    assert (state, providers, games) == ("finished", "10", "20")
    assert error == f"{np.max(high - low) / 2:.2g}"
    assert (records, requests) == (f"{status.access.records:,}", f"{status.access.requests:,}")
    last = sb.load(runs / "spring").ledger.time.iloc[-1]
    assert changed == last[:16].replace("T", " ")


def test_a_run_that_cannot_be_read_says_why(server):
    shown = lines(asked(server)[1])
    assert shown["damaged"][0] == shown["linked"][0] == "unreadable"
    assert "damaged" in shown["damaged"][1]
    assert "is a link to another file" in shown["linked"][1]


def test_names_are_words_and_never_markup(server):
    text = asked(server)[1]
    assert "<img" not in text
    assert not Words(text).tags & {"script", "img", "b"}
    assert "form-action 'self'" in text
    assert "style-src 'sha256-" in text


def test_the_name_leads_to_the_report_and_back(server, runs):
    key = keys(runs)["spring"]
    assert f"run={key}" in asked(server)[1]
    answer, text = asked(server, run=key)
    assert answer.status == 200
    assert "What each provider is worth" in text
    token = server.address.partition("token=")[2]
    assert f'<a href="/?token={token}">all runs</a>' in text


@pytest.mark.parametrize(
    "run",
    ["spring", "../outside", "..", "", "/etc/passwd", "link", "too/deep/here", "\x00", "\udcff"],
)
def test_a_request_never_becomes_a_path(server, run):
    answer, text = asked(server, run=run) if run else asked(server, run="x")
    assert answer.status == 404
    assert "What each provider is worth" not in text
    assert asked(server, first=run or "x", second=run or "x")[0].status == 404


def test_pages_need_the_token(server, runs):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request("GET", f"/?run={keys(runs)['spring']}&token=guessed")
    assert connection.getresponse().status == 403


def test_requests_change_nothing(server, runs):
    def files():
        return {path: path.read_bytes() for path in runs.rglob("*") if path.is_file()}

    before = files()
    asked(server)
    asked(server, run=keys(runs)["spring"])
    assert files() == before


def test_two_runs_are_compared_as_the_command_does(server, runs):
    found = keys(runs)
    answer, text = asked(server, first=found["spring"], second=found["archive/autumn"])
    assert answer.status == 200
    first, second = (sb.load(runs / name).valuation for name in ("spring", "archive/autumn"))
    expected = sb.compare(first, second)
    rows = {row[0]: row[1:] for row in Words(text).rows[1:]}
    assert sorted(rows) == sorted(expected.names)
    for at, name in enumerate(expected.names):
        difference, p = float(rows[name][2]), rows[name][4]
        assert difference == pytest.approx(expected.difference[at], abs=expected.standard_error[at])
        assert np.sign(difference) == np.sign(expected.difference[at])
        assert p == f"{expected.p_value[at]:.4f}"
    assert "From spring to archive/autumn" in text
    assert ">all runs</a>" in text


def test_runs_with_other_targets_are_not_tested(server, runs):
    found = keys(runs)
    text = asked(server, first=found["spring"], second=found["other sizes"])[1]
    assert "not tested, because the valuations estimate different things" in text


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("spring", None, "Choose two different runs"),
        ("spring", "spring", "Choose two different runs"),
        ("spring", "strangers", "no provider in common"),
        ("spring", "damaged", "is damaged"),
    ],
)
def test_a_wrong_choice_is_told_on_the_list(server, runs, first, second, message):
    found = keys(runs)
    query = {"first": found[first]} | ({} if second is None else {"second": found[second]})
    answer, text = asked(server, **query)
    assert answer.status == 200
    assert message in text
    assert "Compare the two chosen runs" in text
    checked = [one for one in Words(text).inputs if "checked" in one]
    assert {"first": found[first]}.items() <= {one["name"]: one["value"] for one in checked}.items()


def test_long_lists_have_pages_and_keep_the_choice(runs, monkeypatch):
    monkeypatch.setattr(listing, "_PER_PAGE", 3)
    chosen = keys(runs)["spring"]
    with serving(runs) as server:
        seen = []
        for page in (1, 2, 3):
            text = asked(server, page=str(page), first=chosen)[1]
            seen += lines(text)
            assert f"Page {page} of 3." in text
            values = [one["value"] for one in Words(text).inputs if "checked" in one]
            assert values == [chosen]
        assert sorted(seen) == sorted(NAMES)
        for page in ("0", "-1", "x", "9" * 5000, "99"):
            assert asked(server, page=page)[0].status == 200


def test_a_huge_folder_is_not_read_to_its_end(runs, tmp_path, monkeypatch):
    for at in range(12):
        (tmp_path / f"{at}").mkdir()
    shutil.copytree(runs / "spring", tmp_path / "run")
    monkeypatch.setattr(listing, "_MOST_ENTRIES", 5)
    (reason,) = find_runs(tmp_path).left_out
    assert "Only the first 5 entries" in reason
    monkeypatch.setattr(listing, "_MOST_ENTRIES", 100)
    assert find_runs(tmp_path).left_out == ()


def test_a_folder_that_cannot_be_read_is_counted(runs, tmp_path, monkeypatch):
    shutil.copytree(runs / "spring", tmp_path / "spring")
    (tmp_path / "closed").mkdir()
    scan = os.scandir

    def refuse(path):
        if os.fspath(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = find_runs(tmp_path)
    assert list(found.runs.values()) == ["spring"]
    assert found.left_out == ("1 folder cannot be read and may hold runs.",)


def test_running_and_interrupted_runs_and_their_cost(tmp_path):
    (tmp_path / "priced.toml").write_text(CONFIG)
    run = tmp_path / "priced"
    ran = CliRunner().invoke(app, ["run", str(tmp_path / "priced.toml"), "--out", str(run)])
    assert ran.exit_code == 0
    with RunStore.open(run, write=True) as store:
        connection = store._connection
        connection.execute("DELETE FROM ledger WHERE outcome = 'finished'")
        connection.execute("DELETE FROM result")
    shown = RunFolder(tmp_path, "token")

    def line():
        return lines(shown.page({})[0])["priced"]

    assert line()[0] == "interrupted"
    with RunStore.open(run, write=True) as store, store.lock():
        text, at_work = shown.page({})
        assert (lines(text)["priced"][0], at_work) == ("running", True)
    assert line()[0] == "interrupted"
    assert line()[2] == "4 of 4"
    used = sb.load(run).status.access
    assert float(line()[6].replace(",", "")) == 0.02 * used.records + 1.5 * used.requests


def test_a_run_that_is_gone_is_no_longer_listed(runs, tmp_path):
    for name in ("one", "two"):
        shutil.copytree(runs / "spring", tmp_path / name)
    shown = RunFolder(tmp_path, "token")
    assert set(lines(shown.page({})[0])) == {"one", "two"}
    shutil.rmtree(tmp_path / "two")
    assert set(lines(shown.page({})[0])) == {"one"}


def test_names_that_are_not_utf_8_are_listed(runs, tmp_path):
    shutil.copytree(runs / "spring", os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    shutil.copytree(runs / "spring", tmp_path / "line\nbreak")
    text = RunFolder(tmp_path, "token").page({})[0]
    text.encode()
    rows = lines(text)
    assert rows["line\\nbreak"][0] == "finished"
    assert "must be UTF-8" in rows["\\udcff\\udcfe"][1]


def test_what_is_a_folder_of_runs(runs, tmp_path):
    assert is_folder_of_runs(runs)
    assert not is_folder_of_runs(runs / "spring")
    assert is_folder_of_runs(runs / "archive")
    with pytest.raises(sb.errors.RunError, match="neither it nor its folders hold runs"):
        is_folder_of_runs(tmp_path)
    with pytest.raises(sb.errors.RunError, match="is not a run"):
        is_folder_of_runs(tmp_path / "nothing")
    with pytest.raises(sb.errors.RunError, match="damaged"):
        is_folder_of_runs(runs / "damaged")


def test_tokens_are_in_links_but_not_guessable(server):
    token = server.address.partition("token=")[2]
    text = asked(server)[1]
    assert set(re.findall(r"token=([^&\"]+)", text)) == {token}
