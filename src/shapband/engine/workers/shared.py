"""A job for worker processes, as a pickle and its large arrays apart from it.

Forked processes map the arrays from shared memory instead of copying them. The memory is a file
without a name, so no part of the job can be found on the disk. A process may write to its arrays,
and then gets its own copies of the pages that it changes. Where processes are not forked, each
receives the pickle and the arrays through its pipe.
"""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
import weakref
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import IO, Any

import cloudpickle
import numpy as np

from shapband.engine.workers.base import Job
from shapband.engine.workers.remote import JOB, seal

_LARGE = 1 << 20  # mapping an array of at least this many bytes is faster than copying it
_ALIGNED = 64  # arrays begin at multiples of 64 bytes, like NumPy's own arrays


@dataclass(frozen=True, eq=False)
class SharedJob:
    """A job that was written to shared memory.

    Attributes
    ----------
    handle : handle of the memory, which is closed with this object
    spans : first byte and end of the pickled job, and then of each of its large arrays
    """

    handle: int
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class SentJob:
    """A job that is sent through a pipe.

    Attributes
    ----------
    parts : the pickled job, and then each of its large arrays
    """

    parts: tuple[memoryview, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of each part."""
        return tuple(part.nbytes for part in self.parts)


def pack(job: Job[Any]) -> SentJob:
    """Pickle a job without its large arrays, which are not copied."""
    arrays: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        """Put a large array aside and return False; return True if it is to be pickled."""
        try:
            raw = buffer.raw()
        except BufferError:  # it is not contiguous
            return True
        if raw.nbytes < _LARGE:
            return True
        arrays.append(raw)
        return False

    sealed = seal(job, JOB, keep)
    return SentJob((memoryview(sealed), *arrays))


def share(job: Job[Any]) -> SharedJob:
    """Write a job to shared memory."""
    spans = []
    with _unnamed_file() as file:
        for part in pack(job).parts:
            file.seek(-file.tell() % _ALIGNED, os.SEEK_CUR)
            start = file.tell()
            file.write(part)
            spans.append((start, start + part.nbytes))
        file.flush()
        shared = SharedJob(os.dup(file.fileno()), tuple(spans))
    weakref.finalize(shared, os.close, shared.handle)
    return shared


def opened(handle: int, spans: tuple[tuple[int, int], ...]) -> Any:
    """Open a job that another process shares; the handle of its memory is closed."""
    try:
        memory = memoryview(mmap.mmap(handle, 0, access=mmap.ACCESS_COPY))
    finally:
        os.close(handle)
    sealed, *arrays = (memory[start:end] for start, end in spans)
    return cloudpickle.loads(sealed, buffers=arrays)


def received(pipe: Connection, sizes: tuple[int, ...]) -> Any:
    """Receive the parts of a job through a pipe, and open it."""
    parts = [np.empty(size, dtype=np.uint8) for size in sizes]
    for part in parts:
        pipe.recv_bytes_into(part.data)
    sealed, *arrays = parts
    return cloudpickle.loads(sealed, buffers=arrays)


def _unnamed_file() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("shapband"), "w+b")
    return tempfile.TemporaryFile()
