"""The logger ``shapband``, which prints nothing unless a program adds a handler."""

from __future__ import annotations

import logging

from shapband.checks import printable
from shapband.secrets import hide

log = logging.getLogger("shapband")
log.addHandler(logging.NullHandler())


def info(message: str) -> None:
    """Log what happens. Secrets are hidden, and control characters escaped."""
    if log.isEnabledFor(logging.INFO):
        log.info("%s", hide(printable(message)), stacklevel=2)


def warning(message: str) -> None:
    """Log what should be looked at, in the same way."""
    log.warning("%s", hide(printable(message)), stacklevel=2)
