"""Importing this module takes away what Windows lacks, before shapband is imported.

It is meant for processes of their own:

    python -c "import tests.other_platform; ..."

`msvcrt` is made up of `flock`, which also locks open files and not processes.
"""

import fcntl
import os
import select
import signal
import subprocess  # noqa: F401  it would take `msvcrt` for a sign of the real Windows
import sys
from types import ModuleType

MISSING = {
    os: """O_DIRECTORY O_NOFOLLOW fchmod fork getloadavg getuid memfd_create posix_fallocate
        register_at_fork sched_getaffinity set_blocking""",
    select: "poll",
    signal: "SIGHUP SIGKILL",
}


def locking(handle, mode, n_bytes):
    """Lock or unlock, as `msvcrt.locking` does; a lock that is held is EACCES there."""
    assert n_bytes == 1
    try:
        fcntl.flock(handle, mode)
    except BlockingIOError as cause:
        raise PermissionError(*cause.args) from cause


def made_up_msvcrt():
    msvcrt = ModuleType("msvcrt")
    msvcrt.LK_NBLCK, msvcrt.LK_UNLCK = fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_UN
    msvcrt.locking = locking
    return msvcrt


def take_away():
    assert "shapband" not in sys.modules
    for module, names in MISSING.items():
        for name in names.split():
            delattr(module, name)
    sys.modules["msvcrt"] = made_up_msvcrt()
    sys.modules["fcntl"] = None  # the next import raises ImportError


if "pytest" not in sys.modules:  # tests import `made_up_msvcrt`
    take_away()
