"""Warns about slow requests that cannot be given up, because the calling thread makes them."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from shapband.access.deliveries import Delivery
from shapband.errors import SlowSource

_LONGEST_PAUSE = 1.0  # at most this many seconds between two checks for slow requests
_LOOKS = 4  # number of checks within the time that a request may take


@contextmanager
def watched(deliveries: Sequence[Delivery], timeout: float) -> Iterator[None]:
    """Warn once about each request in this thread that takes longer than `timeout` seconds."""
    here = [delivery for delivery in deliveries if not delivery.waits]
    if not here:
        yield
        return
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(here, timeout, over), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()


def _watch(deliveries: Sequence[Delivery], timeout: float, over: threading.Event) -> None:
    told: set[tuple[str, str, int]] = set()
    while not over.wait(min(_LONGEST_PAUSE, timeout / _LOOKS)):
        now = time.monotonic()
        for delivery in deliveries:
            for game, begun in delivery.under_way().items():
                address = delivery.address(game)
                if now - begun > timeout and address not in told:
                    told.add(address)
                    _warn(delivery.order.provider.name, timeout)


def _warn(name: str, timeout: float) -> None:
    warnings.warn(
        f"provider {name!r}: its source has not answered within {timeout:g} seconds, and the "
        "request cannot be given up, because it is made in the thread that called value: wait, or "
        "press Ctrl-C; set waits = True for a source behind a network",
        SlowSource,
        stacklevel=1,
    )
