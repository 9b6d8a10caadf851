"""`HTTPSource` and servers that break the protocol, lie, or send without end."""

import gzip
import json
import struct
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pyarrow as pa
import pytest

import shapband as sb
from shapband.sources.base import UnusableAnswer
from shapband.sources.http.tables import ARROW, JSON, read_table

SCHEMA = {
    "size": 100,
    "replace": False,
    "columns": [{"name": "x", "type": "float64"}, {"name": "n", "type": "int64"}],
    "named": True,
    "target": {"name": "y", "type": "string"},
    "version": "v7",
    "methods": ["take"],
    "max_draws": 10,
    "max_records": 1000,
}
GOOD = {"x": [0.5, None], "n": [1, 2], "y": ["a", "b"]}


def as_json(**changes):
    return json.dumps({"columns": {**GOOD, **changes}}).encode()


@contextmanager
def answering(reply, schema=SCHEMA):
    """Run a server that calls `reply(handler)` for draws; give its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            if callable(schema):
                schema(self)
            else:
                send(self, 200, JSON, json.dumps(schema).encode())

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            reply(self)

        def log_message(self, *arguments):
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *arguments: None  # clients leave early
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def send(handler, status, kind, content, **headers):
    handler.close_connection = True
    handler.send_response(status)
    handler.send_header("Connection", "close")
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(content)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(content)


def failure(reply, schema=SCHEMA, **options):
    """The error of a draw of two records."""
    with answering(reply, schema) as url:
        source = sb.HTTPSource(url, **options)
        with pytest.raises(sb.errors.ShapbandError) as caught:
            source.take(np.array([0, 1]))
    return caught.value


def test_a_good_answer_is_read():
    with answering(lambda handler: send(handler, 200, f"{JSON}; charset=utf-8", as_json())) as url:
        batch = sb.HTTPSource(url).take(np.array([0, 1]))
    assert batch.X["n"].tolist() == [1, 2]
    assert batch.y.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (as_json(x=[0.5]), "column 'x' has 1 records where 2 were asked"),
        (as_json(x=[0.5, 1.0, 2.0]), "column 'x' has 3 records where 2 were asked"),
        (as_json(x=["1", "2"]), "column 'x' must hold float64; received '1'"),
        (as_json(x=[True, 2.0]), "column 'x' must hold float64; received True"),
        (as_json(x=[[1.0], [2.0]]), r"column 'x' must hold float64; received \[1.0\]"),
        (as_json(x=2.0), "column 'x' must be a list; received 2.0"),
        (as_json(x=[2**53 + 1, 0.5]), r"integers beyond 2\*\*53"),
        (as_json(x=[10**400, 0.5]), r"integers beyond 2\*\*53"),
        (as_json(n=[2**63, 1]), "column 'n' must hold int64, and holds a larger integer"),
        (as_json(n=[1.0, 2]), "column 'n' must hold int64; received 1.0"),
        (as_json(n=[1, None]), "column 'n' must hold int64; received None"),
        (as_json(n=[1, True]), "column 'n' must hold int64; received True"),
        (as_json(y=["a", 1]), "column 'y' must hold string; received 1"),
        (as_json(z=[1, 2]), "other columns: it must have x, n, y; received x, n, y, z"),
        (b'{"columns": {"x": [1, 2], "y": ["a", "b"]}}', "lacks the column 'n'"),
        (as_json()[:-2] + b', "x": [9.0, 9.0]}}', "an object has the name 'x' twice"),
        (as_json()[:-1] + b', "columns": {}}', "an object has the name 'columns' twice"),
        (as_json()[:-1] + b', "more": [{"a": 1, "\\u0061": 2}]}', "has the name 'a' twice"),
        (as_json(x=[float("nan"), 1.0]), "NaN is not JSON: use null"),
        (as_json(x=[float("inf"), 1.0]), "Infinity is not JSON"),
        (as_json().replace(b"0.5", b"1e999"), "beyond the largest float64"),
        (as_json().replace(b"0.5", b"9" * 5000), "cannot be read as JSON .*4300"),
        (b"\xff\xfe" + as_json(), "is not UTF-8"),
        (as_json()[:-5], "cannot be read as JSON"),
        (b"[" * 100_000, "cannot be read as JSON .*Recursion"),
        (b"[]", "must be a JSON object"),
        (b"", "cannot be read as JSON"),
    ],
)
def test_an_answer_in_json_that_breaks_a_rule_is_refused(content, told):
    error = failure(lambda handler: send(handler, 200, JSON, content))
    assert isinstance(error, UnusableAnswer)
    assert str(error).startswith("http://127.0.0.1:")
    with pytest.raises(UnusableAnswer, match=told):
        raise error


def arrow_stream(columns=None, options=None):
    """A stream of the good columns with some changes."""
    made = {"x": pa.array([0.5, None]), "n": pa.array([1, 2]), "y": pa.array(["a", "b"])}
    made.update(columns or {})
    batch = pa.record_batch(list(made.values()), names=list(made))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def test_a_good_arrow_answer_is_read():
    content = arrow_stream()
    with answering(lambda handler: send(handler, 200, ARROW, content)) as url:
        batch = sb.HTTPSource(url).take(np.array([0, 1]))
    assert batch.X["x"].tolist()[0] == 0.5
    assert np.isnan(batch.X["x"].tolist()[1])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (arrow_stream({"x": pa.array([1, 2])}), "column 'x' must hold float64; received int64"),
        (arrow_stream({"x": pa.array([1.0, np.inf])}), "column 'x' holds infinite values"),
        (arrow_stream({"n": pa.array([1, None])}), "'n' must hold int64, and holds missing"),
        (
            arrow_stream({"y": pa.array(["a", "b"]).dictionary_encode()}),
            "record batches only, not a dictionary",
        ),
        (arrow_stream({"z": pa.array([1, 2])}), "has other columns"),
        (
            arrow_stream({"x": pa.array([0.5]), "n": pa.array([1]), "y": pa.array(["a"])}),
            "has 1 records where 2 were asked",
        ),
        (arrow_stream(options=pa.ipc.IpcWriteOptions(compression="zstd")), "be compressed"),
        (arrow_stream(options=pa.ipc.IpcWriteOptions(compression="lz4")), "be compressed"),
        (arrow_stream()[:200], "cannot be read as an Arrow stream"),
        (arrow_stream()[:-60], "cannot be read as an Arrow stream"),
        (b"no arrow at all", "cannot be read as an Arrow stream"),
        (b"", "cannot be read as an Arrow stream"),
        (struct.pack("<iI", -1, 2**31 - 1), "cannot be read as an Arrow stream"),
    ],
)
def test_an_arrow_answer_that_breaks_a_rule_is_refused(content, told):
    error = failure(lambda handler: send(handler, 200, ARROW, content))
    with pytest.raises(UnusableAnswer, match=told):
        raise error


def test_damaged_arrow_streams_never_crash():
    good, rng = arrow_stream(), np.random.default_rng(0)
    columns = {"x": "float64", "n": "int64", "y": "string"}
    refused = 0
    for _ in range(300):
        damaged = bytearray(good)
        for place in rng.integers(0, len(good), rng.integers(1, 6)):
            damaged[place] = rng.integers(256)
        try:
            arrays = read_table(bytes(damaged), ARROW, columns, 2)
        except sb.errors.InvalidInput:
            refused += 1
        else:
            assert [len(arrays[name]) for name in columns] == [2, 2, 2]
    assert refused > 30


@pytest.mark.parametrize("zipped", [False, True])
def test_an_endless_answer_is_cut(zipped):
    sent = []

    def reply(handler):
        handler.close_connection = True
        handler.send_response(200)
        handler.send_header("Content-Type", JSON)
        if zipped:
            handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        piece = gzip.compress(bytes(10**8)) if zipped else bytes(10**5)
        for _ in range(10_000):
            sent.append(len(piece))
            handler.wfile.write(piece)

    error = failure(reply, max_bytes=10**6)
    assert "sent more than 1,000,000 bytes" in str(error)
    assert "raise max_bytes" in str(error)
    # Buffers of the sockets hold a few megabytes, which the server may send before it notices.
    assert sum(sent) < 10**8


def test_an_answer_that_drips_is_given_up():
    def reply(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)

    began = time.monotonic()
    error = failure(reply, timeout=0.5)
    assert isinstance(error, sb.errors.TemporaryFailure)
    assert "has not sent its whole answer within 0.5 seconds" in str(error)
    assert time.monotonic() - began < 4


def test_an_answer_that_ends_early_may_pass():
    def reply(handler):
        handler.close_connection = True
        handler.send_response(200)
        handler.send_header("Content-Type", JSON)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(as_json())

    assert isinstance(failure(reply), sb.errors.TemporaryFailure)


@pytest.mark.parametrize(
    ("content", "encoding", "kind"),
    [
        (gzip.compress(as_json())[:-10], "gzip", sb.errors.TemporaryFailure),
        (b"no gzip", "gzip", UnusableAnswer),
        (as_json(), "br", UnusableAnswer),
    ],
    ids=["cut off", "not compressed", "unknown"],
)
def test_bad_encodings_are_refused(content, encoding, kind):
    error = failure(lambda one: send(one, 200, JSON, content, Content_Encoding=encoding))
    assert isinstance(error, kind)


def test_gzip_is_read():
    content = gzip.compress(as_json())
    with answering(lambda one: send(one, 200, JSON, content, Content_Encoding="gzip")) as url:
        assert len(sb.HTTPSource(url).take(np.array([0, 1]))) == 2


@pytest.mark.parametrize(
    ("status", "retry_after", "waits"),
    [
        (429, "7", 7.0),
        (503, "Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        (500, "soon", None),
        (502, None, None),
        (504, None, None),
        (408, None, None),
        (409, None, None),
    ],
)
def test_failures_that_may_pass_say_so(status, retry_after, waits):
    headers = {} if retry_after is None else {"Retry_After": retry_after}
    error = failure(lambda one: send(one, status, "text/html", b"<h1>no</h1>", **headers))
    assert isinstance(error, sb.errors.TemporaryFailure)
    assert error.retry_after == waits
    assert f"answered {status} " in str(error)
    assert "<h1>" not in str(error)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (400, "answered 400 Bad Request: too \\\\x1b bad"),
        (401, "check the token"),
        (403, "check the token"),
        (404, "check the url"),
        (501, "501 Not Implemented"),
        (799, "answered 799 unknown status"),
        (204, "answered 204 No Content"),
    ],
)
def test_failures_for_good_name_the_remedy(status, told):
    content = b"" if status == 204 else json.dumps({"error": "too \x1b bad"}).encode()
    error = failure(lambda one: send(one, status, JSON, content))
    assert not isinstance(error, sb.errors.TemporaryFailure)
    with pytest.raises(sb.errors.SourceError, match=told):
        raise error


def test_an_html_page_with_status_200_is_refused():
    error = failure(lambda one: send(one, 200, "text/html", b"<html>log in</html>"))
    assert "must be application/json" in str(error)
    assert "'text/html'" in str(error)


def test_redirects_are_not_followed():
    asked = []
    with answering(lambda one: asked.append(one)) as other:
        error = failure(lambda one: send(one, 307, JSON, b"{}", Location=f"{other}/v1/take"))
    assert asked == []
    assert f"use the new address, {other}/v1/take" in str(error)


# Schemas


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"size": None}, "size must be given"),
        ({"size": 0}, "size must be at least 1"),
        ({"size": 1.5}, "size must be a whole number"),
        ({"size": 10**30}, "size must be at"),
        ({"columns": []}, "at least one column"),
        ({"columns": [{"name": "y", "type": "float64"}]}, "all names must differ"),
        ({"columns": [{"name": "x", "type": "date"}]}, "must be one of float64, int64"),
        ({"columns": [{"type": "float64"}]}, r"columns\[0\]: name is missing"),
        ({"columns": {}}, "columns must be a list"),
        ({"target": "y"}, "target must be a column"),
        ({"target": {"name": "y", "type": "bool"}}, "one of float64, string"),
        ({"named": False}, "must name columns"),
        ({"methods": ["steal"]}, "methods must hold take or draw"),
        ({"version": 7}, "version must be a string"),
        ({"version": ""}, "version must not be empty"),
        ({"max_draws": 0}, "max_draws must be at least 1"),
        ({"replace": "no"}, "replace must be true or false"),
    ],
)
def test_a_schema_that_breaks_a_rule_is_refused(changes, told):
    with answering(None, {**SCHEMA, **changes}) as url:
        with pytest.raises(sb.errors.SourceError, match=told) as caught:
            sb.HTTPSource(url)
        assert f"{url}/v1/schema" in str(caught.value)


@pytest.mark.parametrize("more", ['"size": 90', '"target": {"name": "y", "name": "x"}, "a": 1'])
def test_a_schema_with_a_repeated_name_is_refused(more):
    content = f"{json.dumps(SCHEMA)[:-1]}, {more}}}".encode()
    with (
        answering(None, lambda one: send(one, 200, JSON, content)) as url,
        pytest.raises(sb.errors.SourceError, match=r"an object has the name '.*' twice"),
    ):
        sb.HTTPSource(url)


def test_a_schema_is_asked_again_after_failures_that_may_pass():
    asked = []

    def schema(handler):
        asked.append(handler)
        good = len(asked) > 2
        send(handler, 200 if good else 503, JSON, json.dumps(SCHEMA).encode())

    with answering(None, schema) as url:
        assert sb.HTTPSource(url).size == 100
    assert len(asked) == 3


def test_a_schema_of_a_server_that_is_not_there(monkeypatch):
    monkeypatch.setattr("shapband.sources.http.source._WAITS", (0.01, 0.01))
    with answering(None) as url:
        pass
    with pytest.raises(sb.errors.TemporaryFailure, match=f"{url}/v1/schema could not be asked"):
        sb.HTTPSource(url)


# Accounts


def test_an_answer_that_cannot_be_used_is_counted_and_the_provider_named(tmp_path):
    with answering(lambda one: send(one, 200, JSON, as_json(x=[1.0]))) as url:
        providers = [sb.Provider("north", sb.HTTPSource(url))]
        with pytest.raises(sb.errors.SourceError, match=r"provider 'north': .*where 2 were asked"):
            sb.value(
                providers, sb.FunctionUtility(lambda X, y: len(y)), sampling=sb.Fresh(2),
                n_games=2, seed=0, run=tmp_path / "run",
            )  # fmt: skip
    (refused,) = sb.load(tmp_path / "run").status.refused
    assert (refused.provider, refused.records) == ("north", 2)
