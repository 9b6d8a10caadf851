"""A small server of the HTTP protocol, for tests and examples: ``with serve(source) as server``.

It serves sources of this process at an address of this machine, by the protocol of
docs/connect-http.md. Each draw has a key; the server remembers the answer to it, so that a repeated
request is neither drawn nor charged again.
"""

from __future__ import annotations

import hmac
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from shapband.access.answers import check_answer
from shapband.access.budget import Cost
from shapband.checks import check_number, check_whole
from shapband.errors import InvalidInput
from shapband.records.batch import Batch, concat
from shapband.sources.base import FiniteSource, GenerativeSource, Source
from shapband.sources.http.layout import Announcement, Layout
from shapband.sources.http.tables import ARROW, JSON, has_arrow, write_arrow, write_json
from shapband.testing.faults import Faults

_MAX_DRAWS, _MAX_RECORDS = 100, 1_000_000  # limits of one request
_LONGEST_REQUEST = 2**26  # bytes


@dataclass(eq=False)
class Server:
    """A running server.

    Attributes
    ----------
    url : its address, which is the address of the source if only one is served
    urls : the address of each source, if they have names
    charged : requests and records that each source has charged so far, by name; a single source
        has the name ""
    faults : how many faults of each kind were made

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> with sb.testing.serve({"north": sb.ArraySource([[1.0]], [2.0])}) as server:
    ...     _ = sb.HTTPSource(server.urls["north"]).take(np.array([0, 0]))
    >>> server.charged["north"].records
    2
    """

    url: str
    urls: dict[str, str]
    faults: Counter[str]
    _served: Mapping[str, _Served]

    @property
    def charged(self) -> dict[str, Cost]:
        """Requests and records charged so far, by the name of the source."""
        return {name: source.charged for name, source in self._served.items()}


@contextmanager
def serve(
    sources: Source | Mapping[str, Source],
    *,
    token: str | None = None,
    arrow: bool = True,
    faults: float = 0.0,
    seed: int = 0,
) -> Iterator[Server]:
    """Serve sources over HTTP on this machine, for tests and examples of `HTTPSource`.

    The server is meant for tests: it keeps all answers in memory and does not encrypt.

    Parameters
    ----------
    sources : a source, or several by name. They are asked from threads, so they must be safe to
        call from any thread
    token : requests must send this token
    arrow : whether records are sent as Arrow to clients that accept it; otherwise as JSON
    faults : share of the requests that fail, in one of five ways: the connection is refused, or
        reset in the middle of the answer, no answer comes for a second, the answer is 500, or it
        is 429
    seed : of the faults; the same request fails in the same way, whatever comes between

    Examples
    --------
    >>> import shapband as sb
    >>> with sb.testing.serve(sb.ArraySource([[1.0], [2.0]], [0.0, 1.0])) as server:
    ...     sb.testing.check_source(sb.HTTPSource(server.url))
    """
    check_number("serve: faults", faults, least=0)
    check_whole("serve: seed", seed, 0)
    named = dict(sources) if isinstance(sources, Mapping) else {"": sources}
    served = {name: _Served(source) for name, source in named.items()}
    with _listening(served, token, arrow, Faults(faults, seed)) as (port, counted):
        url = f"http://127.0.0.1:{port}"
        urls = {name: f"{url}/{quote(name, safe='')}" for name in named if name}
        yield Server(url, urls, counted, served)


class _Refused(Exception):
    """A request cannot be answered; the status and the reason are sent."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class _Served:
    """One source, the answers it has given by key, and what it has charged for them."""

    def __init__(self, source: Source) -> None:
        at_once = source.concurrent if getattr(source, "waits", False) else 1
        self._slots = threading.Semaphore(at_once)
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._answers: dict[str, tuple[Any, Batch]] = {}
        self.charged = Cost()
        size = None
        if isinstance(source, FiniteSource):
            first, method, size = self._take(source, [0]), "take", source.size
        elif isinstance(source, GenerativeSource):
            first, method = self._draw(source, 1, "0"), "draw"
        else:
            raise InvalidInput(
                "serve: sources must be a source, or sources by name; received "
                f"{type(source).__name__}"
            )
        self._source = source
        self.announced = Announcement(
            Layout.of(first), (method,), size, getattr(source, "replace", False), source.version,
            _MAX_DRAWS, _MAX_RECORDS,
        )  # fmt: skip

    def answer(self, method: str, request: Any) -> dict[str, Any]:
        """Answer a request for draws: the columns of all records."""
        if method not in self.announced.methods:
            raise _Refused(404, f"this source has {self.announced.methods[0]} only")
        try:
            draws = [self._checked(draw) for draw in request["draws"]]
            version = request["version"]
        except (TypeError, KeyError, ValueError) as cause:
            raise _Refused(400, f"the request cannot be read: {cause!r}") from cause
        if version != self.announced.version:
            raise _Refused(412, "the records have another version now: read the schema again")
        records = sum(size for _, _, size, _ in draws)
        if not 1 <= len(draws) <= _MAX_DRAWS or records > _MAX_RECORDS:
            raise _Refused(413, f"at most {_MAX_DRAWS} draws and {_MAX_RECORDS} records at once")
        whole = concat([self._once(*draw) for draw in draws])
        return self.announced.layout.arrays(whole)

    def _checked(self, draw: Any) -> tuple[str, Any, int, Callable[[], Batch]]:
        """Check a draw: its key, what identifies it, its size, and the function that makes it."""
        key = draw["key"]
        if not isinstance(key, str) or not 16 <= len(key) <= 128:
            raise ValueError("a key must have 16 to 128 characters")
        source = self._source
        if isinstance(source, FiniteSource):
            rows, last = draw["rows"], source.size - 1
            if not rows or not all(type(row) is int and 0 <= row <= last for row in rows):
                raise ValueError(f"rows must be whole numbers from 0 to {last}")
            return key, rows, len(rows), lambda: self._take(source, rows)
        size, seed = draw["size"], draw["seed"]
        if type(size) is not int or size < 1:
            raise ValueError("size must be a whole number of at least 1")
        int(seed, 16)
        return key, [size, seed], size, lambda: self._draw(source, size, seed)

    def _once(self, key: str, asked: Any, size: int, make: Callable[[], Batch]) -> Batch:
        """Return the answer that was given for this key before, or draw, charge and remember."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._answers:
                batch = make()
                with self._lock:
                    self._answers[key] = asked, batch
                    self.charged += Cost(1, size)
            before, batch = self._answers[key]
        if before != asked:
            raise _Refused(422, "this key belongs to another draw")
        return batch

    def _take(self, source: FiniteSource, rows: list[int]) -> Batch:
        with self._slots:
            return check_answer(source.take(np.array(rows, dtype=np.int64)), len(rows))

    def _draw(self, source: GenerativeSource, size: int, seed: str) -> Batch:
        with self._slots:
            return check_answer(source.draw(size, np.random.default_rng(int(seed, 16))), size)


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.connections: set[socket] = set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print errors, except those of clients that left."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


@contextmanager
def _listening(
    served: Mapping[str, _Served], token: str | None, arrow: bool, faults: Faults
) -> Iterator[tuple[int, Counter[str]]]:
    """Answer requests in threads until the context ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # header and content in one packet
        server: _HTTPServer

        def setup(self) -> None:
            super().setup()
            self.server.connections.add(self.connection)

        def finish(self) -> None:
            self.server.connections.discard(self.connection)
            with suppress(OSError):
                super().finish()

        def do_GET(self) -> None:
            self._reply(b"")

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            if length > _LONGEST_REQUEST:
                self.close_connection = True
                self._send(413, JSON, b'{"error": "the request is too long"}')
                return
            self._reply(self.rfile.read(length))

        def _reply(self, request: bytes) -> None:
            fault = faults.next(self.path, request)
            if fault == "refused":
                faults.reset(self)
                return
            if fault == "429":
                self._send(429, JSON, b'{"error": "too many requests"}')
                return
            status, kind, content = self._answer(request)
            if fault == "500":
                status, kind, content = 500, JSON, b'{"error": "out of order"}'
            if fault in ("reset", "timeout"):
                faults.interrupt(self, fault, content)
            else:
                self._send(status, kind, content)

        def _answer(self, request: bytes) -> tuple[int, str, bytes]:
            try:
                return self._content(request)
            except _Refused as cause:
                return cause.status, JSON, json.dumps({"error": str(cause)}).encode()
            except Exception as cause:  # noqa: BLE001  sources may raise anything
                told = f"the source failed: {type(cause).__name__}"
                return 500, JSON, json.dumps({"error": told}).encode()

        def _content(self, request: bytes) -> tuple[int, str, bytes]:
            sent = self.headers.get("Authorization", "").encode()
            if token is not None and not hmac.compare_digest(sent, f"Bearer {token}".encode()):
                raise _Refused(401, "a valid token is needed")
            start, _, method = self.path.rpartition("/v1/")
            source = served.get(unquote(start.removeprefix("/")))
            if source is None:
                raise _Refused(404, "there is no such source")
            if self.command == "GET" and method == "schema":
                return 200, JSON, json.dumps(source.announced.document()).encode()
            if self.command != "POST" or method not in ("take", "draw"):
                raise _Refused(404, "known are GET /v1/schema, POST /v1/take and POST /v1/draw")
            try:
                asked = json.loads(request)
            except ValueError as cause:
                raise _Refused(400, "the request is not JSON") from cause
            arrays = source.answer(method, asked)
            if arrow and has_arrow() and ARROW in self.headers.get("Accept", ""):
                return 200, ARROW, write_arrow(arrays, source.announced.layout.columns)
            return 200, JSON, write_json(arrays)

        def _send(self, status: int, kind: str, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            if status == 429:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: Any) -> None:
            """Print nothing."""

    server = _HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1], faults.made
    finally:
        server.shutdown()
        server.server_close()
        for connection in list(server.connections):
            with suppress(OSError):
                connection.shutdown(SHUT_RDWR)
        thread.join()
