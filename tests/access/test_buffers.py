"""A source may use its buffers again: its answer is copied before it is asked again."""

import threading
import time

import numpy as np
import pytest

import shapband as sb
from shapband.errors import ConformanceError


class Fresh(sb.GenerativeSource):
    """Gives every answer arrays of its own."""

    waits = True

    def draw(self, size, rng):
        X = rng.normal(size=(size, 1))
        return X, X[:, 0]


class Refilling(sb.GenerativeSource):
    """Fills the same arrays at every request."""

    waits = True

    def __init__(self, concurrent=1):
        self.concurrent = concurrent
        self._X, self._y = np.empty((8, 1)), np.empty(8)

    def draw(self, size, rng):
        self._X[:size] = rng.normal(size=(size, 1))
        self._y[:size] = self._X[:size, 0]
        return self._X[:size], self._y[:size]


class InTurn(Refilling):
    """Has three buffers, which it uses in turn."""

    def __init__(self):
        super().__init__()
        self._count, self._all = 0, [np.empty((8, 1)) for _ in range(3)]

    def draw(self, size, rng):
        self._count += 1
        self._X = self._all[self._count % 3]
        return super().draw(size, rng)


class RefillingRows(sb.FiniteSource):
    waits, size = True, 10

    def __init__(self):
        self._lists = {}  # a buffer for each number of records

    def take(self, rows):
        kept = self._lists.setdefault(len(rows), ([], []))
        for part in kept:
            part[:] = rows.tolist()
        return kept


def games(source, **options):
    numbers = np.arange(90.0)
    providers = [sb.Provider("a", source), sb.Provider("b", sb.ArraySource(numbers, numbers))]
    utility = sb.AdditiveUtility()
    return sb.value(providers, utility, sampling=sb.Fresh(5), n_games=300, seed=0, **options)


def test_a_source_that_waits_may_use_its_buffers_again(tmp_path):
    expected = games(Fresh()).games
    for _ in range(2):
        np.testing.assert_array_equal(games(Refilling()).games, expected)
    stored = games(Refilling(), run=tmp_path / "run")
    np.testing.assert_array_equal(stored.games, expected)


def test_providers_that_share_a_source_do_not_ask_it_at_the_same_time():
    class Counting(Fresh):
        inside, most, lock = 0, 0, threading.Lock()

        def draw(self, size, rng):
            with self.lock:
                self.inside += 1
                self.most = max(self.most, self.inside)
            time.sleep(0.002)
            with self.lock:
                self.inside -= 1
            return super().draw(size, rng)

    source = Counting()
    providers = [sb.Provider(name, source) for name in "abc"]
    utility = sb.FunctionUtility(lambda X, y: float(y.sum()))
    sb.value(providers, utility, sampling=sb.Fresh(3), n_games=6, seed=0)
    assert source.most == 1


@pytest.mark.parametrize("source", [Refilling(), Refilling(4), InTurn(), RefillingRows()])
def test_the_check_of_a_source_that_waits_finds_buffers_that_are_used_again(source):
    with pytest.raises(ConformanceError, match="must not change an answer that it has given"):
        sb.testing.check_source(source)


def test_the_check_of_a_source_accepts_new_arrays_for_each_request():
    sb.testing.check_source(Fresh())
