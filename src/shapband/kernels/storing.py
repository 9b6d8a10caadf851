"""Where the machine code of kernels is stored, and which machine code is valid.

numba compiles a kernel together with the kernels that it calls, but it looks for changes in the
kernel's own file only. After an upgrade it would run machine code of helpers that have changed.
`Locator` has numba store the kernels of this package in a directory whose name is a digest of all
that the machine code depends on: the sources of all kernels, the versions of Python, NumPy, numba
and llvmlite, and the processor. Paths and times are not part of the digest, so the environments of
a user share the machine code of equal kernels.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba.core import config
from numba.core.caching import CacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator

_SOURCES = Path(__file__).parent / "compiled"
_MODULES = "shapband.kernels.compiled."  # prefix of the module names of all kernels
_NAMES = "kernels-"  # prefix of the names of all directories that are made here
_DAY = 24 * 3600.0  # seconds
_UNUSED = 30 * _DAY  # a directory that was not used for this long is removed

State = tuple[tuple[str, int, int, int, int], ...]


class Locator(_CacheLocator):
    """Tells numba where a kernel is stored; other functions are left to numba's own locators."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._line = function.__code__.co_firstlineno
        self._place = _place_of(file)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Locator | None:
        return cls(py_func, py_file) if py_func.__module__.startswith(_MODULES) else None

    def ensure_cache_path(self) -> None:
        """Make the directory of the machine code."""
        self._place.mkdir(mode=0o700, parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self._place)

    def get_source_stamp(self) -> str:
        return self._place.name

    def get_disambiguator(self) -> str:
        return str(self._line)


class Files(IndexDataCacheFile):
    """The files of a kernel: an index, and a file of machine code for each signature.

    numba numbers the files. Two processes that compile different signatures at the same time may
    take the same number, and the index of one then names the machine code of the other, which would
    run with arguments of the wrong type. Here no two files have the same name.
    """

    def _data_name(self, number: int) -> str:  # noqa: ARG002
        return f"{self._index_name.removesuffix('.nbi')}.{uuid.uuid4().hex}.nbc"


def use_files_of_ones_own(modules: Iterable[ModuleType]) -> None:
    """Store the kernels of these modules in `Files`; to be called before they are compiled."""
    for kernel in (part for module in modules for part in vars(module).values()):
        stored = getattr(kernel, "_cache", None)
        if isinstance(stored, FunctionCache) and not isinstance(stored._cache_file, Files):
            locator = stored._impl.locator
            stored._cache_file = Files(  # type: ignore[no-untyped-call]
                locator.get_cache_path(), stored._impl.filename_base, locator.get_source_stamp()
            )


@cache
def register() -> None:
    """Have numba ask `Locator` first; to be called before the first kernel is defined."""
    directory()
    CacheImpl._locator_classes = [Locator, *CacheImpl._locator_classes]
    chosen = getattr(config, "CACHE_LOCATOR_CLASSES", "")  # numba 0.61 does not have it
    if chosen:
        config.CACHE_LOCATOR_CLASSES = f"{__name__}.{Locator.__name__},{chosen}"  # type: ignore[attr-defined]


def directory() -> Path:
    """The directory of the kernels as their sources were when this process first used them."""
    return _begin()[1]


def is_shared() -> bool:
    """Whether other processes with the same kernels store them in the same directory."""
    return directory().name.startswith(_NAMES)


@cache
def _begin() -> tuple[State, Path]:
    state = _state()  # taken before the sources are read, so that a change meanwhile is noticed
    if not state:  # without source files, changes cannot be noticed
        return state, _for_this_process()
    return state, _usable(_parent(), _NAMES + digest())


@cache
def _place_of(file: str) -> Path:
    """The directory for the kernels of a file that is being imported.

    If sources have changed since the process began, the file and the modules that it uses may be of
    different versions. Machine code of such a mixture is stored for this process only.
    """
    state, place = _begin()
    if state == _state() or place.name == _NAMES + digest():
        return place
    warnings.warn(
        f"{Path(file).name} was loaded after the kernels of shapband have changed: "
        "start Python again, so that all kernels are of one version",
        stacklevel=2,
    )
    return _for_this_process()


def digest() -> str:
    """A digest of all that the machine code of kernels depends on."""
    versions = sys.version, np.__version__, numba.__version__, llvmlite.__version__
    processor = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    found = hashlib.sha256(repr((versions, processor)).encode())
    for file in sorted(_SOURCES.glob("*.py")):
        source = file.read_bytes()
        found.update(f"\n{file.name} {len(source)}\n".encode() + source)
    return found.hexdigest()[:32]


def _state() -> State:
    """A state of the source files that differs after any change.

    It is found without reading them, from the ctime, which programs cannot set back. On Windows
    the ctime is the time of creation, so the mtime is looked at too.
    """
    files = [(file.name, file.stat()) for file in _SOURCES.glob("*.py")]
    return tuple(
        sorted((name, at.st_ino, at.st_ctime_ns, at.st_mtime_ns, at.st_size) for name, at in files)
    )


def _parent() -> Path:
    """The directory that the user has chosen for compiled code, or the user's cache directory."""
    chosen: str = config.CACHE_DIR  # type: ignore[attr-defined]
    if chosen:
        return Path(chosen).absolute() / "shapband"
    home = Path(os.path.expanduser("~"))  # "~" itself if there is no home
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "shapband"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / "shapband" / "Cache"
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else home / ".cache") / "shapband"


def _usable(parent: Path, name: str) -> Path:
    """A directory of this name that only this user can use; a temporary one if `parent` fails."""
    if _prepare(parent / name):
        return parent / name
    place = temporary_directory()
    os.environ["NUMBA_CACHE_DIR"] = str(place)  # so that worker processes use the same place
    warnings.warn(
        f"compiled kernels are stored in {place}, because {parent / name} cannot be written to or "
        "is not private: set NUMBA_CACHE_DIR to a directory that only you can write to",
        stacklevel=2,
    )
    found = place / "shapband" / name
    return found if _prepare(found) else _for_this_process()


def _prepare(place: Path) -> bool:
    """Make a directory if it is not there; return whether it is private and can be written to."""
    if not place.is_absolute():
        return False
    try:
        made = not place.exists()
        if not _is_private(place):
            return False
        if made:
            _remove_unused(place.parent)
        elif time.time() - place.stat().st_mtime > _DAY:
            os.utime(place)  # renew the time of the last use
    except OSError:
        return False
    return True


def _is_private(place: Path) -> bool:
    """Whether a directory, made if it is not there, is this user's, and closed to all others.

    Machine code is loaded from it, so nobody else may put files there. Windows has no owner and
    mode to look at, but its default places, in the profile of the user, are closed to others.
    """
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = place.lstat()
    if not hasattr(os, "getuid"):
        return stat.S_ISDIR(found.st_mode) and os.access(place, os.W_OK)
    closed = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return closed and found.st_uid == os.getuid() and os.access(place, os.W_OK)


def _remove_unused(parent: Path) -> None:
    """Remove the directories of kernels that were not used for a month."""
    for place in parent.glob(f"{_NAMES}*"):
        with suppress(FileNotFoundError):  # another process has removed it
            if time.time() - place.lstat().st_mtime > _UNUSED and _is_private(place):
                shutil.rmtree(place, ignore_errors=True)


def temporary_directory() -> Path:
    """A directory that this user alone can use, the same for the next process if possible."""
    user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""  # on Windows the folder is the user's
    place = Path(tempfile.gettempdir()) / f"shapband{user}"
    try:
        usable = _is_private(place)
    except OSError:
        usable = False
    return place if usable else Path(tempfile.mkdtemp(prefix="shapband-"))


@cache
def _for_this_process() -> Path:
    place = Path(tempfile.mkdtemp(prefix="shapband-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place
