"""Sources that fail now and then, and count what they are asked."""

import threading
import time

import numpy as np

import shapband as sb
from shapband.errors import TemporaryFailure

X = np.random.default_rng(0).normal(size=(200, 2))


def near(shift=0.0):
    """Records in memory, the same as those of `Flaky`."""
    return sb.ArraySource(X, X.sum(axis=1) + shift)


class Flaky(sb.FiniteSource):
    """Answers like `near`, but first calls `fault(number)`, which may raise or wait.

    `number` counts the calls, from 0 on. `most` is the largest number of calls at the same time.
    """

    waits = True
    size = len(X)

    def __init__(self, fault=lambda number: None, *, shift=0.0, concurrent=1, together=1):
        self.concurrent, self.together = concurrent, together
        self.calls, self.faults, self.most, self.draws = 0, 0, 0, []
        self._fault, self._shift = fault, shift
        self._now, self._lock = 0, threading.Lock()

    def take(self, rows):
        return self._answer([rows])[0]

    def take_many(self, draws):
        return self._answer(draws)

    def _answer(self, draws):
        with self._lock:
            number, self.calls = self.calls, self.calls + 1
            self.draws.append(len(draws))
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            self._fault(number)
        except BaseException:
            with self._lock:
                self.faults += 1
            raise
        finally:
            with self._lock:
                self._now -= 1
        return [(X[rows], X[rows].sum(axis=1) + self._shift) for rows in draws]


def at_random(rate, seed=0):
    """A fault of some kind in a share of all calls."""
    rng, lock = np.random.default_rng(seed), threading.Lock()
    kinds = [
        ConnectionRefusedError("refused"),
        ConnectionResetError("reset in mid-body"),
        TimeoutError("timed out"),
        TemporaryFailure("503"),
        TemporaryFailure("429", retry_after=0.0005),
    ]

    def fault(number):
        with lock:
            fails, kind = rng.random() < rate, rng.integers(len(kinds))
        if fails:
            raise kinds[kind]

    return fault


def first(n, cause):
    """The same fault in each of the first n calls."""

    def fault(number):
        if number < n:
            raise cause

    return fault


def hanging(number_of_call, seconds):
    """One call takes longer than the others."""

    def fault(number):
        if number == number_of_call:
            time.sleep(seconds)

    return fault
