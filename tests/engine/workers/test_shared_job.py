"""A job in memory that processes share."""

import gc
import os

import numpy as np
import pytest

from shapband.engine.workers.shared import opened, share
from shapband.errors import InvalidInput

LARGE = 300_000  # numbers, more than a megabyte


def copy_of(job):
    shared = share(job)
    return opened(os.dup(shared.handle), shared.spans)


def test_a_job_arrives_as_it_was():
    rng = np.random.default_rng(0)
    C, F = rng.random((LARGE, 2)), np.asfortranarray(rng.random((LARGE, 3)))
    job = {"C": C, "F": F, "strided": C[::2], "small": np.arange(5), "text": "x" * (1 << 21)}
    found = copy_of(job)
    assert found["text"] == job["text"]
    for name in ("C", "F", "strided", "small"):
        np.testing.assert_array_equal(found[name], job[name])
    assert found["F"].flags.f_contiguous
    assert all(found[name].ctypes.data % 64 == 0 for name in ("C", "F"))


def test_large_arrays_are_not_in_the_pickle():
    large = np.random.default_rng(0).random(LARGE)
    (first, end), (start, stop) = share([large, np.arange(10)]).spans
    assert end - first < 1000
    assert stop - start == large.nbytes


def test_a_process_that_writes_changes_nothing_for_others():
    shared = share([np.zeros(LARGE)])
    one, other = (opened(os.dup(shared.handle), shared.spans)[0] for _ in range(2))
    one[:] = 1.0
    assert other.sum() == 0.0
    assert opened(os.dup(shared.handle), shared.spans)[0].sum() == 0.0


def test_an_array_that_must_not_be_written_stays_so():
    fixed = np.zeros(LARGE)
    fixed.flags.writeable = False
    (found,) = copy_of([fixed])
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1.0


def test_the_memory_is_given_back():
    shared = share([np.zeros(LARGE)])
    handle = shared.handle
    assert os.fstat(handle).st_size > 8 * LARGE
    assert os.fstat(handle).st_nlink == 0  # nothing can be found on the disk
    del shared
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handle)


def test_what_cannot_be_pickled_is_refused():
    with pytest.raises(InvalidInput, match="cannot be sent to another process"):
        share([np.zeros(LARGE), (number for number in range(3))])
