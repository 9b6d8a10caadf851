"""`shapband watch`: a page for this machine alone, that follows a run and changes nothing."""

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import shapband as sb
from shapband.app.cli.watch import WatchServer, _Handler


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run of a provider with a dangerous name."""
    task = sb.datasets.wine()
    first, *others = task.providers
    providers = [sb.Provider("<script>alert(1)</script>", first.source), *others]
    folder = tmp_path_factory.mktemp("watched") / "run"
    sb.value(providers, task.utility, sampling=sb.Fresh(30), n_games=20, seed=0, run=folder)
    return folder


@pytest.fixture
def server(run):
    with WatchServer(run, port=0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(10)


def asked(server, method="GET", path=None, host=None):
    path = server.address.partition(str(server.server_port))[2] if path is None else path
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request(method, path, headers={"Host": host or f"127.0.0.1:{server.server_port}"})
    answer = connection.getresponse()
    return answer, answer.read().decode()


def test_the_page_is_the_report_of_the_run(server, run):
    answer, text = asked(server)
    assert answer.status == 200
    assert answer.getheader("Refresh") is None  # finished
    assert "What each provider is worth" in text
    assert "<script>" not in text
    again = asked(server)[1]
    assert again == text


def test_a_request_changes_nothing_in_the_run(server, run):
    before = {path: path.read_bytes() for path in run.iterdir() if path.is_file()}
    asked(server)
    assert {path: path.read_bytes() for path in run.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "evil.example:80"}, 403),
        ({"path": "/"}, 403),
        ({"path": "/?token="}, 403),
        ({"path": "/?token=guessed"}, 403),
        ({"path": "/?token=%ff%fe"}, 403),
        ({"path": "/run.db"}, 404),
        ({"path": "/../run.db"}, 404),
        ({"path": "http://127.0.0.1/"}, 404),
        ({"method": "POST"}, 501),
        ({"method": "DELETE"}, 501),
    ],
)
def test_everything_else_is_refused(server, request_, status):
    answer, text = asked(server, **request_)
    assert answer.status == status
    assert "worth" not in text


def test_the_head_has_no_body(server):
    answer, text = asked(server, method="HEAD")
    assert (answer.status, text) == (200, "")
    assert int(answer.getheader("Content-Length")) > 10_000


def test_only_this_machine_can_reach_it(server):
    assert server.server_address[0] == "127.0.0.1"


def test_the_token_is_long_and_another_for_every_server(server, run):
    token = parse_qs(urlsplit(server.address).query)["token"][0]
    assert len(token) >= 20
    with WatchServer(run, port=0) as other:
        assert token not in other.address


def test_a_connection_that_sends_nothing_is_closed(server, monkeypatch):
    assert _Handler.timeout == 30
    monkeypatch.setattr(_Handler, "timeout", 0.2)
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as idle:
        assert idle.recv(1) == b""


def test_more_connections_than_a_browser_needs_are_closed_at_once(server):
    idle = [socket.create_connection(("127.0.0.1", server.server_port)) for _ in range(16)]
    one_more = socket.create_connection(("127.0.0.1", server.server_port), timeout=30)
    assert one_more.recv(1) == b""
    for connection in [*idle, one_more]:
        connection.close()
    wait_for(lambda: True if status_of(server) == 200 else None)


def status_of(server):
    try:
        return asked(server)[0].status
    except (ConnectionError, http.client.HTTPException):
        return None


def test_a_port_in_use_is_told(server, run):
    with pytest.raises(sb.errors.InvalidInput, match="cannot be used"):
        WatchServer(run, server.server_port)


def test_a_run_that_went_away_is_told(run, tmp_path):
    shutil.copytree(run, tmp_path / "copy")
    with WatchServer(tmp_path / "copy", port=0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        shutil.rmtree(tmp_path / "copy")
        assert asked(server)[0].status == 503
        server.shutdown()


SLOW = """
n_games = 1000000
seed = 0
providers = [{ source = { kind = "task", task = "wine" } }]
sampling = { kind = "fresh", n_sample = 30 }
"""


def test_a_run_at_work_is_followed(tmp_path):
    (tmp_path / "slow.toml").write_text(SLOW)
    command = [sys.executable, "-m", "shapband"]
    at_work = subprocess.Popen(  # noqa: S603
        [*command, "run", "slow.toml", "--out", "slow", "--quiet"], cwd=tmp_path
    )
    try:
        wait_for(lambda: (tmp_path / "slow" / "run.db").exists() or None)
        with subprocess.Popen(  # noqa: S603
            [*command, "watch", "slow"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        ) as watching:
            try:
                line = watching.stdout.readline()
                address = urlsplit(line.split(" at ")[1].split(" ")[0])
                assert wait_for(lambda: refreshing(address)) == "3"
                os.kill(watching.pid, signal.SIGTERM)
                assert watching.wait(60) == 130  # a program that is told to end never ends with 0
            finally:
                watching.kill()  # `with` would wait for ever after a failed assertion
    finally:
        at_work.kill()
        at_work.wait(20)


def refreshing(address):
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=30)
    connection.request("GET", f"/?{address.query}")
    answer = connection.getresponse()
    text = answer.read().decode()
    return answer.getheader("Refresh") if "not finished" in text else None


def wait_for(look, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = look()
        if found is not None:
            return found
        time.sleep(0.1)
    raise AssertionError(f"nothing within {seconds} s")


def test_a_directory_that_is_no_run_is_refused(tmp_path):
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "shapband", "watch", str(Path(tmp_path))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 1
    assert result.stderr.startswith("error: ")
