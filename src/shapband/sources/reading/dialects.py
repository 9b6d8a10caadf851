"""How a CSV file is written: compression, encoding, separator and decimal mark.

All of it is found in the file. A file without a mark of its encoding is UTF-8 if its bytes are, and
else Windows-1252, which most spreadsheets in Western Europe write.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from shapband.checks import printable
from shapband.errors import InvalidInput, SourceError
from shapband.sources.reading.addresses import FileAt

CSV_SUFFIXES = (".csv", ".tsv", ".txt")
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}
_SEPARATORS = ",;\t|"
_HEAD = 2**20  # bytes that are looked at to find the encoding and the separator
_LINES = 200  # lines that are looked at to find the separator
_LONGEST_LINE = 2**24  # a longer line, in bytes, is no line of a table
# A compressed table is seldom below a fiftieth of its size; gzip packs zeros to a thousandth.
_LARGEST_RATIO, _ALWAYS_ALLOWED = 200, 10**8
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
WESTERN = "cp1252"


class EmptyFile(InvalidInput):
    """A CSV file has not even a header."""


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written.

    Attributes
    ----------
    separator : the character between two cells
    encoding : a name that Python knows
    compression : "gzip", "bz2", "xz", "zstd", or "" for none
    decimal : "." or ","
    missing : cells with spaces around a word that means a missing value

    Examples
    --------
    >>> str(Dialect(";", "cp1252", "gzip", decimal=","))
    "CSV, separator ';', decimal comma, encoding cp1252, gzip"
    """

    separator: str
    encoding: str = "utf-8"
    compression: str = ""
    decimal: str = "."
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        comma = "decimal comma" if self.decimal == "," else ""
        encoding = "" if self.encoding == "utf-8" else f"encoding {self.encoding}"
        facts = [f"separator {self.separator!r}", comma, encoding, self.compression]
        return ", ".join(["CSV", *filter(None, facts)])

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `pandas.read_csv`.

        Without index_col=False, rows longer than the header would shift the columns. Numbers are
        read as the float that is nearest to their digits, as Python does; before version 3.1
        pandas may be off by one bit unless it is asked for "round_trip".
        """
        import pandas as pd

        old = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
        found: dict[str, Any] = {"sep": self.separator, "encoding": self.encoding}
        found |= {"index_col": False, "low_memory": False, "decimal": self.decimal}
        found |= {"na_values": list(self.missing)} if self.missing else {}
        return found | ({"float_precision": "round_trip"} if old else {})


def csv_suffix(name: str) -> str:
    """The suffix of a CSV file without its compression, such as ".csv"; "" for other files."""
    stem, dot, last = name.lower().rpartition(".")
    if dot and f".{last}" in _COMPRESSIONS:
        stem, dot, last = stem.rpartition(".")
    return f".{last}" if dot and f".{last}" in CSV_SUFFIXES else ""


def find_dialect(file: FileAt, where: str, separator: str | None = None) -> Dialect:
    """Find how a file is written, and check its header; a given `separator` is kept.

    Parameters
    ----------
    file : the file
    where : the beginning of errors
    separator : the separator, if it is known
    """
    compression = _compression(file)
    with file.opened() as raw, decompressed(raw, file, compression) as stream:
        head = stream.read(_HEAD)
    encoding = _encoding(head)
    text = codecs.getincrementaldecoder(encoding)("replace").decode(head)
    if not text.strip():
        raise EmptyFile(f"{where}: {file} is empty: a CSV file begins with a header")
    lines = text.splitlines(keepends=True)
    # The last line is cut if the file is longer than its head.
    lines = lines[: -1 if len(head) == _HEAD and len(lines) > 1 else None][:_LINES]
    found = separator or _separator(lines)
    names = next(csv.reader(lines, delimiter=found), [])
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidInput(
            f"{where}: the header of {file} has the column {printable(repr(twice[0]))} more than "
            "once: rename one of them"
        )
    return Dialect(found, encoding, compression)


@contextmanager
def decompressed(raw: IO[bytes], file: FileAt, compression: str) -> Iterator[IO[bytes]]:
    """The bytes of a file without its compression, guarded against files that never end."""
    opening: dict[str, Callable[[], Any]] = {
        "gzip": lambda: gzip.GzipFile(fileobj=raw),
        "bz2": lambda: bz2.BZ2File(raw),
        "xz": lambda: lzma.LZMAFile(raw),  # noqa: SIM115  closed with `raw`
        "zstd": lambda: _zstandard(raw, file),
    }
    inner = opening[compression]() if compression else raw
    with io.BufferedReader(_Guarded(inner, file, compression), buffer_size=2**18) as stream:
        yield stream


class _Guarded(io.RawIOBase):
    """Reads a stream, and stops at lines and files that are longer than any table's."""

    def __init__(self, inner: Any, file: FileAt, compression: str) -> None:
        self._inner, self._file = inner, file
        self._read, self._line = 0, 0  # bytes so far, and bytes since the last end of a line
        self._most = file.size
        if compression:
            self._most = max(_ALWAYS_ALLOWED, _LARGEST_RATIO * file.size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._inner.read(len(buffer))
        self._read += len(data)
        ended = data.rfind(b"\n")
        self._line = self._line + len(data) if ended < 0 else len(data) - ended - 1
        if self._read > self._most:
            raise SourceError(
                f"{self._file} expands to more than {self._most:,} bytes from {self._file.size:,}, "
                "which no table does: decompress it yourself if it is one"
            )
        if self._line > _LONGEST_LINE:
            raise SourceError(
                f"{self._file} has a line of more than {_LONGEST_LINE:,} bytes, and is no CSV file"
            )
        buffer[: len(data)] = data
        return len(data)


def _zstandard(raw: IO[bytes], file: FileAt) -> Any:
    try:
        import pyarrow
    except ImportError as cause:
        raise InvalidInput(f"{file} needs pyarrow: pip install 'shapband[files]'") from cause
    return pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, "r"), "zstd")


def _compression(file: FileAt) -> str:
    _, dot, last = file.address.lower().rpartition(".")
    return _COMPRESSIONS.get(f".{last}", "") if dot else ""


def _encoding(head: bytes) -> str:
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut
    except UnicodeDecodeError:
        return WESTERN
    return "utf-8"


def _separator(lines: list[str]) -> str:
    """The separator that cuts most lines into as many cells as the header, and at least two.

    Lines may have more cells than the header if these are empty, so longer lines count as well.
    """
    best, chosen = (0.0, 0), ","
    for mark in _SEPARATORS:
        try:
            rows = [row for row in csv.reader(lines, delimiter=mark) if row]
        except csv.Error:
            continue
        width = len(rows[0]) if rows else 0
        if width < 2:
            continue
        fitting = sum(len(row) >= width for row in rows) / len(rows)
        if (fitting, width) > best:
            best, chosen = (fitting, width), mark
    return chosen
