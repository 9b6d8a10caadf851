"""Requests to one HTTP endpoint, with limits on the time and the size of an answer.

Sources on the same host share their connections, which are kept open. Redirects are not followed,
because they could carry the token and the requests to another host. An answer is read in pieces, so
that an endless or highly compressed one is cut at the limit.
"""

from __future__ import annotations

import ipaddress
import json
import ssl
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from shapband.checks import one_line, written
from shapband.errors import InvalidInput, SourceError, TemporaryFailure
from shapband.secrets import hide, learn, reveal
from shapband.sources.base import UnusableAnswer
from shapband.sources.http.tables import ARROW, JSON, has_arrow, read_document

if TYPE_CHECKING:
    import urllib3

_PIECE = 2**16  # bytes read at once
_LONGEST_REASON = 2**12  # bytes read of an answer that reports an error
_LONGEST_QUOTE = 300  # characters shown of the error that a server reports
_HOSTS, _CONNECTIONS = 1024, 256  # connections kept open: to so many hosts, so many to each
# Statuses below 500 after which the same request may succeed: timeout, request with the same key
# under way, too early, too many requests.
_MAY_PASS = {408, 409, 425, 429}
_ENCODINGS = {"", "identity", "gzip"}
_WITH_USER = "HTTPSource: url must not hold a user or password: pass a token"


class Client:
    """Sends requests to one endpoint.

    Parameters
    ----------
    url : the address of the endpoint, without /v1
    token : sent in the header Authorization; a string, ``{"env": "NAME"}`` or None
    ca_file : certificates of the authorities that are trusted, instead of those of the system
    timeout : seconds in which an answer must have arrived completely
    max_bytes : largest size of an answer, after decompression
    """

    def __init__(
        self,
        url: str,
        token: str | Mapping[str, str] | None,
        ca_file: str | Path | None,
        timeout: float,
        max_bytes: int,
    ) -> None:
        self.url = _checked_url(url)
        self.token = _checked_token(token, self.url)
        learn(self)  # before the first request, whose error might repeat the token
        self.timeout = timeout
        self.max_bytes = max_bytes
        self._ca_file = _checked_file(ca_file)
        _pools(self._ca_file)  # a missing package is reported now

    def ask(self, path: str, document: Mapping[str, Any] | None = None) -> tuple[str, bytes]:
        """Send a request, with a JSON document if there is one; return media type and content."""
        import urllib3

        deadline = time.monotonic() + self.timeout
        address = f"{self.url}/v1/{path}"
        with _failures(address, self.timeout):
            answer = _pools(self._ca_file).request(
                "GET" if document is None else "POST",
                address,
                body=None if document is None else _dumped(document),
                headers=self._headers(document is not None),
                preload_content=False,
                redirect=False,
                retries=False,
                timeout=urllib3.Timeout(connect=self.timeout, read=self.timeout),
            )
            try:
                if answer.status != HTTPStatus.OK:
                    raise _refusal(address, answer, deadline)
                content = b"".join(self._pieces(answer, address, deadline))
            except BaseException:
                answer.close()  # what is left of the answer must not be read as the next one
                raise
            answer.release_conn()
        return _media_type(answer), content

    def _headers(self, has_body: bool) -> dict[str, str]:
        accepted = f"{ARROW}, {JSON};q=0.5" if has_arrow() else JSON
        headers = {"Accept": accepted if has_body else JSON, "Accept-Encoding": "gzip"}
        if has_body:
            headers["Content-Type"] = JSON
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    def _pieces(
        self, answer: urllib3.BaseHTTPResponse, address: str, deadline: float
    ) -> Iterator[bytes]:
        """Read the content of an answer in decompressed pieces, up to the limits."""
        encoding = answer.headers.get("Content-Encoding", "").strip().lower()
        if encoding not in _ENCODINGS:
            raise UnusableAnswer(
                f"{address} must send its answer plain or as gzip; received the encoding "
                f"{written(encoding[:80])}",
                None,
            )
        unzip = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
        size = 0
        while piece := answer.read1(_PIECE, decode_content=False):
            if unzip is not None:
                try:
                    piece = unzip.decompress(piece, self.max_bytes - size + 1)
                except zlib.error as cause:
                    raise UnusableAnswer(f"{address} sent damaged gzip ({cause})", None) from cause
            size += len(piece)
            if size > self.max_bytes:
                raise UnusableAnswer(
                    f"{address} sent more than {self.max_bytes:,} bytes: ask for fewer records, "
                    "or raise max_bytes",
                    None,
                )
            if time.monotonic() > deadline:
                raise TemporaryFailure(
                    f"{address} has not sent its whole answer within {self.timeout:g} seconds"
                )
            yield piece
        if unzip is not None and not unzip.eof:
            raise TemporaryFailure(f"{address} closed the connection before the end of its answer")


def _dumped(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _media_type(answer: urllib3.BaseHTTPResponse) -> str:
    return answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()


@contextmanager
def _failures(address: str, timeout: float) -> Iterator[None]:
    """Say of each failure of the connection whether it may pass."""
    from urllib3 import exceptions

    try:
        yield
    except exceptions.SSLError as cause:
        if isinstance(cause.__cause__ or cause.args[0], ssl.SSLCertVerificationError):
            raise SourceError(
                f"the certificate of {address} cannot be verified ({one_line(cause)}): if its "
                "authority is your own, name the file of its certificate as ca_file"
            ) from cause
        raise TemporaryFailure(f"no secure connection to {address} ({one_line(cause)})") from cause
    except (exceptions.HTTPError, OSError) as cause:
        refused = isinstance(cause, exceptions.NewConnectionError)  # a TimeoutError in urllib3 2
        if isinstance(cause, exceptions.TimeoutError) and not refused:
            told = f"{address} has not answered within {timeout:g} seconds"
        else:
            told = f"{address} could not be asked ({one_line(cause)})"
        raise TemporaryFailure(told) from cause


def _refusal(address: str, answer: urllib3.BaseHTTPResponse, deadline: float) -> SourceError:
    """Make the error for an answer that is not 200."""
    status = answer.status
    name = HTTPStatus(status).phrase if status in set(HTTPStatus) else "unknown status"
    told = f"{address} answered {status} {name}{_quoted(answer, deadline)}"
    if status in _MAY_PASS or (500 <= status < 600 and status != HTTPStatus.NOT_IMPLEMENTED):
        return TemporaryFailure(told, _seconds(answer.headers.get("Retry-After")))
    if 300 <= status < 400:
        place = one_line(answer.headers.get("Location", "an unknown address"))
        return SourceError(f"{told}; redirects are not followed: use the new address, {place}")
    if status in (401, 403):
        return SourceError(f"{told}: check the token")
    if status == HTTPStatus.NOT_FOUND:
        return SourceError(f"{told}: check the url, which is given without /v1")
    return SourceError(told)


def _quoted(answer: urllib3.BaseHTTPResponse, deadline: float) -> str:
    """Quote the reason that a server reports as JSON; other pages are not for people who code."""
    kind = _media_type(answer)
    if kind != JSON or answer.headers.get("Content-Encoding"):
        return f" (with a page of the type {written(kind[:40])})" if kind else ""
    content = b""
    while len(content) < _LONGEST_REASON and time.monotonic() < deadline:
        piece = answer.read1(_LONGEST_REASON, decode_content=False)
        if not piece:
            break
        content += piece
    try:
        document = read_document(content)
    except InvalidInput:
        return ""
    reason = document.get("error") if isinstance(document, dict) else None
    return f": {one_line(reason)[:_LONGEST_QUOTE]}" if isinstance(reason, str) else ""


def _seconds(text: str | None) -> float | None:
    """Read the header Retry-After: seconds, or a date.

    Examples
    --------
    >>> _seconds("3"), _seconds("Thu, 01 Jan 1970 00:00:00 GMT"), _seconds("soon")
    (3.0, 0.0, None)
    """
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


@cache
def _pools(ca_file: str | None) -> urllib3.PoolManager:
    """The connections that all sources with the same authorities share."""
    try:
        import urllib3
    except ImportError as cause:
        raise InvalidInput("HTTPSource needs urllib3: pip install 'shapband[http]'") from cause
    return urllib3.PoolManager(
        _HOSTS, maxsize=_CONNECTIONS, cert_reqs="CERT_REQUIRED", ca_certs=ca_file
    )


def _checked_url(url: object) -> str:
    """Check an address, and remove the slashes at its end."""
    rule = "HTTPSource: url must be an address such as https://north.example.org/records"
    if not isinstance(url, str):
        raise InvalidInput(f"{rule}; received {written(url)}")
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises an error if it is not a number
        host = parts.hostname
    except ValueError as cause:
        if "@" in url:  # the error would show a part of the password
            raise InvalidInput(_WITH_USER) from None
        raise InvalidInput(f"{rule}; received {written(url)} ({one_line(cause)})") from cause
    if parts.username is not None or parts.password is not None:
        raise InvalidInput(_WITH_USER)
    odd = any(not "!" <= char <= "~" for char in url)
    if parts.scheme not in ("http", "https") or not host or odd:
        raise InvalidInput(f"{rule}; received {written(url)}")
    if parts.query or parts.fragment or "?" in url or "#" in url:
        raise InvalidInput(
            f"HTTPSource: url must not have a query or a fragment; received {written(hide(url))}: "
            "end it after the path, and pass secrets as token"
        )
    return url.rstrip("/")


def _checked_token(token: object, url: str) -> str | None:
    """Check a token; errors never show it."""
    if token is None:
        return None
    given = reveal(dict(token), "HTTPSource: token") if isinstance(token, Mapping) else token
    if not isinstance(given, str) or not given or any(not "!" <= char <= "~" for char in given):
        raise InvalidInput(
            "HTTPSource: token must be a string of printable ASCII characters without spaces, or "
            '{"env": "NAME"} for the environment variable NAME'
        )
    parts = urlsplit(url)
    if parts.scheme != "https" and not _is_here(str(parts.hostname)):
        raise InvalidInput(
            f"HTTPSource: a token is only sent over https, or to this machine; received {url}: "
            "use https"
        )
    return given


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _checked_file(ca_file: object) -> str | None:
    if ca_file is None:
        return None
    if not isinstance(ca_file, str | Path) or not Path(ca_file).is_file():
        raise InvalidInput(
            "HTTPSource: ca_file must be a file of certificates in PEM format; received "
            f"{written(str(ca_file))}"
        )
    try:
        ssl.create_default_context(cafile=str(ca_file))
    except (ssl.SSLError, OSError) as cause:
        raise InvalidInput(
            f"HTTPSource: ca_file must hold certificates in PEM format ({one_line(cause)})"
        ) from cause
    return str(ca_file)
