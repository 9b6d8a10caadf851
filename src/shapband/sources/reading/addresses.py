"""Files at an address: a path, a directory, a pattern, or an address that fsspec knows."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from shapband.checks import file_error, one_line, written
from shapband.errors import InvalidInput, SourceError, TemporaryFailure

_PATTERN = "*?["
_DRIVERS = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "http": "aiohttp requests",
    "https": "aiohttp requests",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "sftp": "paramiko",
    "hf": "huggingface_hub",
}
# What file systems call the property of a file that changes with its content, best first.
_STAMPS = (
    *("ETag", "etag", "md5Hash", "checksum", "mtime", "LastModified", "last_modified"),
    *("updated", "modified", "created"),
)


@dataclass(frozen=True, eq=False)
class FileAt:
    """One file.

    Attributes
    ----------
    address : the path or address of the file
    inside : the part of the address below the directory that was searched, with "/" between names
    size : in bytes
    stamp : changes with the content: a time of change, or an ETag
    """

    address: str
    inside: str
    size: int
    stamp: str
    filesystem: Any = None  # of fsspec; None for a file of this machine

    def __str__(self) -> str:
        return one_line(self.address)

    @property
    def is_local(self) -> bool:
        """Whether the file is on this machine, so that it can be mapped into memory."""
        return self.filesystem is None

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Open the file for reading, and check before and after that it is the file that was found.

        A file that is changed while it is read would mix records of two versions.
        """
        self.check_unchanged()
        with self._open() as file:
            yield file
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """Raise SourceError if the file is not as it was found."""
        try:
            if self.filesystem is None:
                size, stamp = _local_stamp(self.address)
            else:
                self.filesystem.invalidate_cache()
                size, stamp = _distant_stamp(self.filesystem.info(self.address))
        except FileNotFoundError as cause:
            raise SourceError(f"{self} is gone: put it back, or open it again") from cause
        if (size, stamp) != (self.size, self.stamp):
            raise SourceError(
                f"{self} has changed since it was opened: leave files alone while they are read, "
                "and open it again"
            )

    def _open(self) -> IO[bytes]:
        if self.filesystem is None:
            return Path(self.address).open("rb")
        file: IO[bytes] = self.filesystem.open(self.address, "rb")
        return file


def is_url(address: object) -> bool:
    """Whether an address is one for fsspec, such as ``s3://bucket/key``, and not a path."""
    return isinstance(address, str) and "://" in address


def address_in(base: Path, address: str) -> str:
    """The address, where relative paths start from `base`."""
    return address if is_url(address) else str(base / address)


def find_file(address: str | os.PathLike[str], where: str) -> FileAt:
    """Return the single file at an address; errors begin with `where`."""
    if not is_url(address):
        path = Path(address).expanduser()
        if not path.is_file():
            raise InvalidInput(f"{where}: there is no file {path}")
    found = find_files(address, where)
    if len(found) != 1 or found[0].inside != _last(found[0].address):
        raise InvalidInput(
            f"{where} must be one file; received {one_line(address)}, which has {len(found)} "
            "files: pass sb.FileSource(...)"
        )
    return found[0]


def find_files(address: str | os.PathLike[str], where: str) -> list[FileAt]:
    """Return the files at an address, sorted by name; errors begin with `where`.

    Names that begin with "." or "_" are left out of directories, because programs keep notes under
    such names beside the data.
    """
    if not isinstance(address, str | os.PathLike) or not str(address):
        raise InvalidInput(
            f"{where} must be a path, a pattern such as 'lake/*.parquet', or an address such as "
            f"'s3://bucket/lake'; received {written(address)}"
        )
    found = _distant(str(address), where) if is_url(address) else _local(address, where)
    if not found:
        raise InvalidInput(f"{where}: there is no file {one_line(address)}")
    return sorted(found, key=lambda file: file.inside)


@contextmanager
def naming(file: FileAt) -> Iterator[None]:
    """Name a file in the errors of the library that reads it."""
    try:
        yield
    except (InvalidInput, SourceError):
        raise
    except (ConnectionError, TimeoutError) as cause:
        raise TemporaryFailure(f"{file} cannot be read now ({one_line(cause)})") from cause
    except Exception as cause:
        raise SourceError(f"{file} cannot be read ({one_line(cause)})") from cause


def _local(address: str | os.PathLike[str], where: str) -> list[FileAt]:
    path = Path(address).expanduser()
    try:
        if path.is_file():
            return [_local_file(path, path.parent)]
        if path.is_dir():
            inside = [one for one in path.rglob("*") if not _is_hidden(one.relative_to(path))]
            return [_local_file(one, path) for one in inside if one.is_file()]
        base = Path(_before_pattern(str(path)))
        names = glob.glob(str(path), recursive=True)
        found = [Path(name) for name in names]
        whole = [one for one in found if one.is_file()]
        below = [file for one in found if one.is_dir() for file in _local(one, where)]
        made = [_local_file(one, base) for one in whole]
        return made + [_local_file(Path(file.address), base) for file in below]
    except OSError as cause:
        raise InvalidInput(f"{where}: {path} cannot be read ({file_error(cause)})") from cause


def _local_file(path: Path, base: Path) -> FileAt:
    size, stamp = _local_stamp(str(path))
    return FileAt(str(path), path.relative_to(base).as_posix(), size, stamp)


def _local_stamp(path: str) -> tuple[int, str]:
    facts = os.stat(path)
    return facts.st_size, str(facts.st_mtime_ns)


def _distant(address: str, where: str) -> list[FileAt]:
    """Files of a file system of fsspec."""
    filesystem, path = _filesystem(address, where)
    try:
        filesystem.invalidate_cache()
        if filesystem.isdir(path) and not _is_pattern(path):
            listed = filesystem.find(path, detail=True)
            base = path.rstrip("/")
        elif _is_pattern(path) and not filesystem.exists(path):
            listed = filesystem.glob(path, detail=True)
            base = _before_pattern(path)
        else:
            listed = {path: filesystem.info(path)}
            base = path.rpartition("/")[0]
    except FileNotFoundError as cause:
        raise InvalidInput(f"{where}: there is no file {one_line(address)}") from cause
    except Exception as cause:
        raise InvalidInput(
            f"{where}: {one_line(address)} cannot be reached ({one_line(cause)})"
        ) from cause
    made = []
    for name, facts in listed.items():
        inside = name[len(base) :].lstrip("/") if name.startswith(base) else _last(name)
        if facts.get("type") != "directory" and (len(listed) == 1 or not _is_hidden(Path(inside))):
            made.append(_distant_file(filesystem, name, inside, where))
    return made


def _distant_file(filesystem: Any, name: str, inside: str, where: str) -> FileAt:
    # The listing of a directory may write times in another way than `info`, which later checks use.
    size, stamp = _distant_stamp(filesystem.info(name))
    if size < 0:
        raise InvalidInput(
            f"{where}: the server does not say how large {one_line(name)} is, so that it could "
            "be endless: download it first"
        )
    return FileAt(name, inside, size, stamp, filesystem)


def _distant_stamp(facts: Any) -> tuple[int, str]:
    size = facts.get("size")
    stamps = (str(facts[name]) for name in _STAMPS if facts.get(name) is not None)
    return -1 if size is None else int(size), next(stamps, "")


def _filesystem(address: str, where: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as cause:
        raise InvalidInput(
            f"{where}: {one_line(address)} needs fsspec: pip install 'shapband[files]'"
        ) from cause
    protocol = address.partition("://")[0].rpartition("::")[2]
    try:
        filesystem, path = url_to_fs(address)
    except ImportError as cause:
        driver = _DRIVERS.get(protocol)
        remedy = f"pip install {driver}" if driver else one_line(cause)
        raise InvalidInput(
            f"{where}: {one_line(address)} needs a further package: {remedy}"
        ) from cause
    except Exception as cause:
        raise InvalidInput(
            f"{where}: {one_line(address)} cannot be opened ({one_line(cause)})"
        ) from cause
    return filesystem, path


def _is_pattern(path: str) -> bool:
    return any(mark in path for mark in _PATTERN)


def _before_pattern(path: str) -> str:
    """The directory above the first name of a path that is a pattern."""
    names = path.split("/")
    first = next(place for place, name in enumerate([*names, "*"]) if _is_pattern(name))
    return "/".join(names[:first]) or ("/" if path.startswith("/") else ".")


def _is_hidden(inside: Path) -> bool:
    return any(name.startswith((".", "_")) and "=" not in name for name in inside.parts)


def _last(address: str) -> str:
    return address.replace(os.sep, "/").rpartition("/")[2]
