"""Pages on this machine that follow a run, or the runs in a folder: read only, for this user alone.

Every user of the machine can connect to the port, and a run may be closed to them. So the address
that the terminal shows holds a random token, and requests without it are refused.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import parse_qs, urlsplit

from markupsafe import Markup

from shapband.app.cli.folder import RunFolder
from shapband.checks import one_line
from shapband.errors import InvalidInput, ShapbandError
from shapband.report.listing import address
from shapband.report.page import page_of, waiting_page
from shapband.runs.read import load

_HOME = "127.0.0.1"
_REFRESH = 3  # the page is loaded again after this many seconds while games are played
_REFRESH_LIST = 30  # likewise the list of runs; long enough to choose two runs before it is loaded
_IDLE = 30  # seconds after which a connection that sends nothing is closed
_MOST = 16  # largest number of connections at the same time; a browser opens two or three
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class WatchServer(ThreadingHTTPServer):
    """Serves the report of a run, or of every run in a folder, made again when games were added.

    Parameters
    ----------
    path : the directory of a run, or a folder of runs if `is_folder`
    port : the port, or 0 for a free one

    Examples
    --------
    >>> with WatchServer(Path("my-run"), port=0) as server:
    ...     server.address.startswith("http://127.0.0.1:")
    True
    """

    daemon_threads = True
    # On Windows this option would let two programs use the same port.
    allow_reuse_address = os.name == "posix"

    def __init__(self, path: Path, port: int, *, is_folder: bool = False) -> None:
        self._run = path
        self._made: dict[Path, tuple[object, str]] = {}
        self._token = secrets.token_urlsafe(16)
        self._folder = RunFolder(path, self._token) if is_folder else None
        self._free = BoundedSemaphore(_MOST)
        try:
            super().__init__((_HOME, port), _Handler)
        except OSError as cause:
            raise InvalidInput(f"watch: port {port} cannot be used ({one_line(cause)})") from cause

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        return f"http://{_HOME}:{self.server_port}/?token={self._token}"

    @property
    def hosts(self) -> set[str]:
        """Host names that this machine may use; other names belong to pages from elsewhere."""
        return {f"{name}:{self.server_port}" for name in (_HOME, "localhost")}

    def allows(self, query: str) -> bool:
        """Whether the query of an address holds the token."""
        given = parse_qs(query).get("token", [""])[0]
        # The comparison takes the same time for any token, so its duration does not help to guess.
        return secrets.compare_digest(given.encode(), self._token.encode())

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a new thread, unless there are too many connections."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room for another connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def page(self, query: Mapping[str, str]) -> tuple[str, int | None] | None:
        """The page that a query asks for, and after how many seconds to load it again, if at all.

        None if there is no such page.
        """
        if self._folder is None:
            return self._report(self._run, None)
        if "run" in query:
            run = self._folder.run(query["run"])
            return None if run is None else self._report(run, address(self._token))
        found = self._folder.page(query)
        return None if found is None else (found[0], _REFRESH_LIST if found[1] else None)

    def _report(self, run: Path, home: Markup | None) -> tuple[str, int | None]:
        status = load(run).status
        known = status.state, status.done
        if run not in self._made or self._made[run][0] != known:
            valuation = status.valuation
            if valuation is None:
                text = waiting_page(status.done, status.n_games, home)
            else:
                text = page_of(valuation, status=status, home=home)
            self._made = {run: (known, text)}  # only the last page, so that memory stays bounded
        return self._made[run][1], _REFRESH if status.state == "running" else None


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD of pages; everything else is refused."""

    server: WatchServer
    server_version = "shapband"
    sys_version = ""
    timeout = _IDLE

    def do_GET(self) -> None:
        """Send the page."""
        self._answer(self.wfile.write)

    def do_HEAD(self) -> None:
        """Send only the headers of the page."""
        self._answer(lambda content: len(content))

    def _answer(self, write: Callable[[bytes], int]) -> None:
        if self.headers.get("Host") not in self.server.hosts:
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        address = urlsplit(self.path)
        if address.path != "/" or address.netloc:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        if not self.server.allows(address.query):
            self.send_error(
                HTTPStatus.FORBIDDEN, explain="open the whole address that the terminal shows"
            )
            return
        try:
            found = self.server.page(_last_of_each(address.query))
        except ShapbandError as cause:
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, explain=one_line(cause))
            return
        if found is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        text, seconds = found
        content = text.encode()
        self.send_response(HTTPStatus.OK)
        headers = _HEADERS | {"Content-Length": str(len(content))}
        if seconds is not None:
            headers["Refresh"] = str(seconds)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent: the terminal shows the address."""


def _last_of_each(query: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(query).items()}
