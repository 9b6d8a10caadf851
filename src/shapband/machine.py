"""What this machine offers to the process."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Number of cores that this process may use, where that is known, or else of all cores.

    Examples
    --------
    >>> usable_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):  # macOS and Windows do not have it
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load() -> float:
    """How many processes wanted to compute in the last minute, on average; 0.0 if not known.

    Examples
    --------
    >>> load() >= 0.0
    True
    """
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows does not have it, and some sandboxes refuse it
        return 0.0
