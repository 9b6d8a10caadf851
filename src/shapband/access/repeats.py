"""Requests that failed and are made again after a pause."""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shapband.access.deliveries import Delivery


class Repeats:
    """Requests in a pause, in the order in which they are due. No thread waits for them."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Delivery, int]] = []
        self._numbers = count()  # deliveries cannot be compared, so a number breaks ties

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, when: float, delivery: Delivery, game: int) -> None:
        """Make the request for a game again at this time."""
        heapq.heappush(self._waiting, (when, next(self._numbers), delivery, game))

    def first(self) -> float:
        """When the next request is due; never if there is none."""
        return self._waiting[0][0] if self._waiting else float("inf")

    def due(self, now: float) -> list[tuple[Delivery, int]]:
        """Remove and return the requests whose pause is over."""
        over = []
        while self.first() <= now:
            _, _, delivery, game = heapq.heappop(self._waiting)
            over.append((delivery, game))
        return over

    def clear(self) -> None:
        """Make no further request again."""
        self._waiting.clear()
