"""Faults of a test server, chosen at random by a seed."""

from __future__ import annotations

import hashlib
import socket
import struct
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler

KINDS = ("refused", "reset", "timeout", "500", "429")
_SILENCE = 1.0  # seconds without an answer, after which the connection is closed


class Faults:
    """Chooses which requests of a test server fail.

    The choice depends on the seed, the request and the number of its attempt, not on the order in
    which threads send requests.

    Parameters
    ----------
    share : of the requests that fail
    seed : of the choice

    Examples
    --------
    >>> faults = Faults(0.5, seed=2)
    >>> [faults.next("/v1/take", b"{}") for _ in range(4)]
    ['429', '', '', '429']
    """

    def __init__(self, share: float, seed: int) -> None:
        self._share = share
        self._seed = seed
        self._attempts: Counter[bytes] = Counter()
        self._lock = threading.Lock()
        self.made: Counter[str] = Counter()

    def next(self, path: str, request: bytes) -> str:
        """Return the fault of this request, or "" if it is answered."""
        if not self._share:
            return ""
        name = hashlib.blake2b(f"{self._seed}{path}".encode() + request).digest()
        with self._lock:
            self._attempts[name] += 1
            attempt = self._attempts[name]
            digest = hashlib.blake2b(name + str(attempt).encode(), digest_size=9).digest()
            if int.from_bytes(digest[:8]) >= self._share * 2**64:
                return ""
            kind = KINDS[digest[8] % len(KINDS)]
            self.made[kind] += 1
            return kind

    def reset(self, handler: BaseHTTPRequestHandler) -> None:
        """Close a connection so that the client sees a reset."""
        handler.close_connection = True
        linger = struct.pack("ii", 1, 0)
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        socket.close(handler.connection.detach())

    def interrupt(self, handler: BaseHTTPRequestHandler, fault: str, content: bytes) -> None:
        """Send half of an answer and reset the connection, or send nothing for a while."""
        if fault == "timeout":
            time.sleep(_SILENCE)
        else:
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(content)))
            handler.end_headers()
            handler.wfile.write(content[: len(content) // 2])
            handler.wfile.flush()
        self.reset(handler)
