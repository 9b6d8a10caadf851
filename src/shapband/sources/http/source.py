"""Records behind an HTTP endpoint."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from shapband._facts import facts
from shapband._typing import IntArray
from shapband.checks import check_number, check_whole, one_line
from shapband.errors import InvalidInput, SourceError, TemporaryFailure
from shapband.records.batch import Batch
from shapband.sources.addresses import current_addresses
from shapband.sources.base import FiniteSource, GenerativeSource, Source, UnusableAnswer
from shapband.sources.http.client import Client
from shapband.sources.http.layout import Announcement
from shapband.sources.http.tables import read_document, read_table

_WAITS = (0.2, 0.5, 1.0, 2.0)  # seconds before the next attempts to read the schema
_LONGEST_WAIT = 10.0  # longest wait that a server can ask for while the schema is read


class HTTPSource(Source):
    """A source behind an HTTP endpoint that follows the protocol of the page "HTTP".

    The endpoint says what it has. If it lets the client choose rows, the source is a
    `FiniteSource`, and the same seed gives the same records as from memory. If the endpoint chooses
    rows itself, the source is a `GenerativeSource`, which sends a seed with every request.

    Every draw has a key that depends on the seed, the purpose, the provider and the game of the
    draw. A request that is repeated, even by a resumed run, has the same key, so the endpoint need
    not draw or charge again.

    Needs ``pip install 'shapband[http]'``. If pyarrow is installed, records are requested as Arrow
    rather than JSON.

    Parameters
    ----------
    url : the address of the endpoint; requests go to ``url/v1/schema``, ``url/v1/take`` and
        ``url/v1/draw``
    token : sent as ``Authorization: Bearer TOKEN``, over https or to this machine only; a string,
        or ``{"env": "NAME"}`` for the value of an environment variable
    ca_file : certificates of the authorities that are trusted, in PEM format, instead of those of
        the system. Certificates are always verified
    timeout : seconds in which an answer must have arrived completely
    concurrent : requests at the same time
    max_bytes : largest size of an answer, after decompression

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> records = sb.ArraySource([[1.0], [2.0], [3.0]], [0.0, 1.0, 0.0])
    >>> with sb.testing.serve(records) as server:
    ...     source = sb.HTTPSource(server.url)
    ...     source.size, source.take(np.array([2, 0])).X.tolist()
    (3, [[3.0], [1.0]])
    """

    waits = True
    _client: Client
    _announced: Announcement

    def __new__(
        cls,
        url: str,
        *,
        token: str | Mapping[str, str] | None = None,
        ca_file: str | Path | None = None,
        timeout: float = 60.0,
        concurrent: int = 8,
        max_bytes: int = 2**28,
    ) -> HTTPSource:
        """Read the schema, and return a finite or a generative source."""
        check_number("HTTPSource: timeout", timeout, above=0)
        check_whole("HTTPSource: concurrent", concurrent, 1)
        check_whole("HTTPSource: max_bytes", max_bytes, 1)
        client = Client(url, token, ca_file, timeout, max_bytes)
        announced = _read_schema(client)
        kind = FiniteHTTPSource if "take" in announced.methods else GenerativeHTTPSource
        source: HTTPSource = object.__new__(kind)
        source._client = client
        source._announced = announced
        source.concurrent = concurrent
        source.schema = announced.layout.schema
        source.version = announced.version
        source.together = announced.max_draws
        if isinstance(source, FiniteHTTPSource):
            source.size = int(announced.size or 0)
            source.replace = announced.replace
        return source

    def __repr__(self) -> str:
        size = self._announced.size
        told = [repr(self._client.url), f"{size} records" if size else "draws its own records"]
        return f"HTTPSource({facts(*told, replace=self._announced.replace)})"

    def _fetch(
        self, method: str, draws: Sequence[Mapping[str, object]], sizes: Sequence[int]
    ) -> list[Batch]:
        """Ask for some draws, with as few requests as the endpoint allows."""
        most = self._announced.max_records
        if max(sizes) > most:
            raise SourceError(
                f"{self._client.url} gives at most {most:,} records in one request, and "
                f"{max(sizes):,} were asked for: use smaller draws or pools"
            )
        batches: list[Batch] = []
        for part in self._parts(sizes):
            whole = self._ask(method, draws[part.start : part.stop], sum(sizes[at] for at in part))
            end = 0
            for at in part:
                start, end = end, end + sizes[at]
                batches.append(whole.take(np.arange(start, end)))
        return batches

    def _ask(self, method: str, draws: Sequence[Mapping[str, object]], records: int) -> Batch:
        """Make one request, and return the records of its draws one after the other."""
        layout = self._announced.layout
        media_type, content = self._client.ask(method, {"version": self.version, "draws": draws})
        try:
            columns = read_table(content, media_type, layout.columns, records)
        except InvalidInput as cause:
            raise UnusableAnswer(f"{self._client.url}/v1/{method}: {cause}", None) from cause
        return layout.batch(columns)

    def _parts(self, sizes: Sequence[int]) -> Iterator[range]:
        """Cut the draws into requests that keep the limits of the endpoint."""
        first, records = 0, 0
        for at, size in enumerate(sizes):
            full = at - first == self._announced.max_draws
            if at > first and (full or records + size > self._announced.max_records):
                yield range(first, at)
                first, records = at, 0
            records += size
        yield range(first, len(sizes))


class FiniteHTTPSource(HTTPSource, FiniteSource):
    """A source behind an endpoint that lets the client choose rows."""

    def take(self, rows: IntArray) -> Batch:
        return self.take_many([rows])[0]

    def take_many(self, draws: Sequence[IntArray]) -> list[Batch]:
        """Return the records of several draws, with as few requests as the endpoint allows."""
        addresses = current_addresses()
        if len(addresses) != len(draws):
            addresses = ("",) * len(draws)  # called by a user, who gave no addresses
        asked = [
            {"key": self._key(address, rows), "rows": rows.tolist()}
            for address, rows in zip(addresses, draws, strict=True)
        ]
        return self._fetch("take", asked, [len(rows) for rows in draws])

    def _key(self, address: str, rows: IntArray) -> str:
        numbers = np.ascontiguousarray(rows, dtype="<i8").tobytes()
        return _hash(self.version or "", address, numbers.hex())


class GenerativeHTTPSource(HTTPSource, GenerativeSource):
    """A source behind an endpoint that chooses its records itself."""

    def draw(self, size: int, rng: np.random.Generator) -> Batch:
        return self.draw_many([size], [rng])[0]

    def draw_many(
        self, sizes: Sequence[int], generators: Sequence[np.random.Generator]
    ) -> list[Batch]:
        """Return several draws, with as few requests as the endpoint allows."""
        # A generator is addressed by seed, purpose, provider and game, and so is the key.
        seeds = [rng.bytes(16).hex() for rng in generators]
        asked = [
            {"key": _hash(self.version or "", str(size), seed), "size": int(size), "seed": seed}
            for size, seed in zip(sizes, seeds, strict=True)
        ]
        return self._fetch("draw", asked, sizes)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def _read_schema(client: Client) -> Announcement:
    """Read the schema; repeat the request after failures that may pass, because it is free."""
    for wait in (*_WAITS, None):
        try:
            _, content = client.ask("schema")
            return Announcement.read(read_document(content))
        except TemporaryFailure as failure:
            if wait is None or (failure.retry_after or 0.0) > _LONGEST_WAIT:
                raise
            time.sleep(max(wait, failure.retry_after or 0.0))
        except (InvalidInput, SourceError) as cause:
            where = f"{client.url}/v1/schema"
            told = str(cause) if where in str(cause) else f"{where}: {one_line(cause)}"
            raise SourceError(told) from cause
    raise AssertionError("the last attempt returns or raises")
