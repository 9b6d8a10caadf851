import time

import numpy as np
from tests.conftest import linear_providers

import shapband as sb


def slow(providers, seconds):
    return [sb.Provider(p.name, sb.with_delay(p.source, seconds)) for p in providers]


def test_a_game_waits_for_one_source_and_not_for_their_sum():
    providers, validation = linear_providers(n=10)
    utility = sb.LinearUtility(*validation)
    started = time.perf_counter()
    valuation = sb.value(slow(providers, 0.05), utility, sampling=sb.Fresh(8), n_games=4, seed=0)
    wall = time.perf_counter() - started
    assert valuation.access.requests == 40
    # 40 requests of 0.05 s: 2 s one after another, 0.2 s side by side.
    assert valuation.access.seconds >= 40 * 0.05
    assert wall < 1.2


def test_concurrent_access_gives_the_same_bits():
    providers, validation = linear_providers(n=6)
    utility = sb.LinearUtility(*validation)
    arguments = {"sampling": sb.Fresh(8), "n_games": 7, "seed": 3}
    near = sb.value(providers, utility, **arguments)
    far = sb.value(slow(providers, 0.001), utility, chunk_size=2, **arguments)
    np.testing.assert_array_equal(near.games, far.games)
    assert near.access.records == far.access.records


def test_the_next_draws_are_fetched_while_this_game_is_solved():
    providers, _ = linear_providers(n=2)

    def think(X, y):
        time.sleep(0.02)
        return float(len(y))

    def seconds(concurrency):
        started = time.perf_counter()
        sb.value(
            slow(providers, 0.06),
            sb.FunctionUtility(think),
            sampling=sb.Fresh(5),
            n_games=5,
            seed=0,
            concurrency=concurrency,
        )
        return time.perf_counter() - started

    # One after another: 10 x 0.06 s of fetching and 15 x 0.02 s of solving, 0.9 s. Both sources
    # at once and the next game ahead: about 0.36 s.
    assert seconds(concurrency=2) < 0.75 * seconds(concurrency=1)
