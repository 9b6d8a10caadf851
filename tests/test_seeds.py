import threading

import numpy as np
import pytest

from shapband.kernels.rows import uniforms
from shapband.seeds import Seeds


def test_words_are_numpy_s_philox_at_an_address():
    """A living generator that is moved about gives what a new one at that address gives."""
    seeds = Seeds(7)
    expected = np.random.Philox(key=seeds._key("draw", "north"), counter=0).random_raw(24)
    np.testing.assert_array_equal(seeds.words("draw", "north", range(3), 8).ravel(), expected)
    later = np.random.Philox(key=seeds._key("draw", "north"), counter=2 * 5).random_raw(20)
    np.testing.assert_array_equal(seeds.words("draw", "north", range(5, 6), 7)[0], later[:7])


@pytest.mark.parametrize("count", [1, 4, 5, 60])
def test_games_can_be_had_one_by_one(count):
    seeds = Seeds(0)
    together = seeds.words("p", "x", range(10), count)
    for game in (9, 0, 4):
        np.testing.assert_array_equal(
            seeds.words("p", "x", range(game, game + 1), count)[0], together[game]
        )


def test_every_part_of_the_address_matters():
    words = {
        seeds.words(purpose, name, range(game, game + 1), 4).tobytes()
        for seeds in (Seeds(0), Seeds(1), Seeds(10))
        for purpose in ("draw", "pool")
        for name in ("a", "b", "0/a")
        for game in (0, 1, 2)
    }
    assert len(words) == 3 * 2 * 3 * 3


def test_threads_do_not_disturb_each_other():
    seeds, found = Seeds(0), {}
    expected = seeds.words("draw", "n", range(2000), 12)

    def draw(worker):
        parts = [seeds.words("draw", "n", range(g, g + 1), 12) for g in range(2000)]
        found[worker] = np.concatenate(parts)

    workers = [threading.Thread(target=draw, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for worker in range(4):
        np.testing.assert_array_equal(found[worker], expected)


def test_generators_of_different_games_do_not_overlap():
    seeds = Seeds(0)
    one, other = seeds.generator("draw", "n", 0), seeds.generator("draw", "n", 1)
    assert not np.isin(one.random(5000), other.random(5000)).any()


def test_uniforms_lie_in_the_half_open_interval():
    found = uniforms(Seeds(0).words("draw", "n", range(1000), 100))
    assert 0 <= found.min() < 0.001
    assert 0.999 < found.max() < 1
    assert abs(found.mean() - 0.5) < 4 * np.sqrt(1 / 12 / found.size)
