"""A job in shared memory: processes map its large arrays instead of copying them.

The memory is a file without a name, so no part of the job can be found on the disk. A process may
write to its arrays, and then gets its own copies of the pages that it changes.
"""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
import weakref
from dataclasses import dataclass
from typing import IO, Any

import cloudpickle

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


def share(job: Job[Any]) -> SharedJob:
    """Write a job to shared memory."""
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
    spans = []
    with _unnamed_file() as file:
        for part in (memoryview(sealed), *arrays):
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
        memory = memoryview(mmap.mmap(handle, 0, mmap.MAP_PRIVATE))
    finally:
        os.close(handle)
    sealed, *arrays = (memory[start:end] for start, end in spans)
    return cloudpickle.loads(sealed, buffers=arrays)


def _unnamed_file() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("shapband"), "w+b")
    return tempfile.TemporaryFile()
