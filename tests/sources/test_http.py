"""`HTTPSource` against the reference server: the same bits, each draw charged once, good errors."""

import threading

import numpy as np
import pandas as pd
import pytest

import shapband as sb
from shapband.access.answers import check_answer
from shapband.sources.addresses import addressed
from shapband.sources.http import client


def records(seed=0, size=80, scale=1.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(size, 3)) * scale, rng.normal(size=size)


def frame(seed=0, size=60):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "dose, mg": rng.normal(size=size),
            "ward": rng.choice(["é", "b", "c\n"], size),
            "visits": rng.integers(-(2**62), 2**62, size),
            "smoker": rng.random(size) < 0.5,
        }
    )
    table.loc[::7, "dose, mg"] = np.nan
    table.loc[::5, "ward"] = None
    table["target"] = rng.choice(["well", "ill"], size)
    return table


@pytest.fixture(params=["arrow", "json", "no pyarrow"])
def arrow(request, monkeypatch):
    """Whether the server sends Arrow; the last case is a client without pyarrow."""
    if request.param == "no pyarrow":
        monkeypatch.setattr(client, "has_arrow", lambda: False)
    return request.param != "json"


def same(one, other):
    """Whether two batches have the same bits and types."""
    assert one.schema == other.schema
    assert one.y.tolist() == other.y.tolist()
    if one.is_frame:
        one, other = (batch.X.reset_index(drop=True) for batch in (one, other))
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    else:
        assert one.X.tobytes() == other.X.tobytes()
    return True


# Bits


def test_records_are_the_same_as_from_arrays(arrow):
    X, y = records(scale=[1e-310, 1.0, 1e300])
    with sb.testing.serve(sb.ArraySource(X, y, replace=True), arrow=arrow) as server:
        source = sb.HTTPSource(server.url)
        assert isinstance(source, sb.HTTPSource)
        assert isinstance(source, sb.FiniteSource)
        assert source.replace
        assert source.version == sb.ArraySource(X, y).version
        rows = np.array([79, 0, 3, 3])
        assert same(source.take(rows), sb.ArraySource(X, y).take(rows))


def test_frames_keep_their_types_and_missing_values(arrow):
    local = sb.FrameSource(frame(), target="target")
    with sb.testing.serve(local, arrow=arrow) as server:
        source = sb.HTTPSource(server.url)
        rows = np.arange(60)[::-1]
        assert same(check_answer(source.take(rows), 60), local.take(rows))
        assert source.schema == local.schema
        sb.testing.check_source(source)


def test_a_valuation_has_the_bits_of_arrays(arrow):
    def valued(sources):
        providers = [sb.Provider(name, source) for name, source in sources.items()]
        utility = sb.LinearUtility(*records(9, 30))
        return sb.value(providers, utility, sampling=sb.Fresh(10), n_games=6, seed=4)

    here = {name: sb.ArraySource(*records(at)) for at, name in enumerate(("north", "süd/ost"))}
    with sb.testing.serve(here, arrow=arrow) as server:
        there = {name: sb.HTTPSource(url) for name, url in server.urls.items()}
        distant, local = valued(there), valued(here)
    assert distant.expectation.tobytes() == local.expectation.tobytes()
    assert distant.variance.tobytes() == local.variance.tobytes()
    for name in here:
        assert server.charged[name].records == distant.access.by_provider[name].records == 60


def test_a_source_that_chooses_its_rows_is_generative_and_repeats_them(arrow):
    def draw(size, rng):
        X = rng.normal(size=(size, 2))
        return X, X.sum(axis=1)

    with sb.testing.serve(sb.FunctionSource(draw), arrow=arrow) as server:
        source = sb.HTTPSource(server.url)
        assert isinstance(source, sb.GenerativeSource)
        sb.testing.check_source(source)
        one, again, other = (source.draw(5, np.random.default_rng(seed)) for seed in (1, 1, 2))
        assert same(one, again)
        assert one.y.tolist() != other.y.tolist()
        generators = [np.random.default_rng(seed) for seed in (2, 1)]
        both = source.draw_many([5, 5], generators)
        assert same(both[0], other)
        assert same(both[1], one)


def test_several_draws_are_one_request_within_the_limits_of_the_server(monkeypatch):
    from shapband.testing import server as reference

    monkeypatch.setattr(reference, "_MAX_DRAWS", 3)
    monkeypatch.setattr(reference, "_MAX_RECORDS", 10)
    local = sb.ArraySource(*records())
    draws = [np.arange(size) + size for size in (1, 2, 3, 4, 7, 7, 3)]
    with sb.testing.serve(local) as server:
        source = sb.HTTPSource(server.url)
        asked = []
        ask = source._ask

        def noted(method, part, n_records):
            asked.append((len(part), n_records))
            return ask(method, part, n_records)

        source._ask = noted
        assert source.together == 3
        for batch, rows in zip(source.take_many(draws), draws, strict=True):
            assert same(batch, local.take(rows))
        assert asked == [(3, 6), (1, 4), (1, 7), (2, 10)]
        with pytest.raises(sb.errors.SourceError, match=r"at most 10 records .* and 11 were asked"):
            source.take(np.arange(11))
    # Without addresses, the second draws of 3 and of 7 equal rows count as repeated requests.
    assert server.charged[""] == sb.extend.Cost(5, 17)


# Keys and charges


def test_a_repeated_draw_is_charged_once_and_two_games_with_the_same_rows_twice():
    with sb.testing.serve(sb.ArraySource(*records())) as server:
        source = sb.HTTPSource(server.url)
        rows = np.array([1, 2])
        for game in (0, 0, 1):
            with addressed([f"0/draw/north/{game}"]):
                source.take(rows)
        assert server.charged[""] == sb.extend.Cost(2, 4)


def test_draws_of_the_whole_stock_are_charged_in_every_game():
    with sb.testing.serve(sb.ArraySource(*records(size=5))) as server:
        providers = [sb.Provider("north", sb.HTTPSource(server.url))]
        for _ in range(2):  # the second valuation has the same seed, and so the same draws
            valuation = sb.value(
                providers, sb.AdditiveUtility(), sampling=sb.Fresh(5), n_games=4, seed=0
            )
            assert valuation.access.records == server.charged[""].records == 20


def test_a_key_that_belongs_to_another_draw_is_refused():
    with sb.testing.serve(sb.ArraySource(*records())) as server:
        source = sb.HTTPSource(server.url)
        source._key = lambda address, rows: "k" * 16
        source.take(np.array([1]))
        with pytest.raises(sb.errors.SourceError, match=r"422 .*key belongs to another draw"):
            source.take(np.array([2]))


def test_simultaneous_requests_with_one_key_draw_once():
    calls, gate = [], threading.Barrier(4)

    def draw(size, rng):
        calls.append(size)
        return np.ones(size), np.ones(size)

    with sb.testing.serve(sb.FunctionSource(draw, waits=True, concurrent=4)) as server:
        source = sb.HTTPSource(server.url)
        calls.clear()

        def ask():
            gate.wait()
            source.draw(3, np.random.default_rng(0))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert calls == [3]
    assert server.charged[""].records == 3


def test_records_that_change_during_a_run_are_noticed():
    local = sb.ArraySource(*records())
    with sb.testing.serve(local) as server:
        source = sb.HTTPSource(server.url)
        source.version = "another"
        with pytest.raises(sb.errors.SourceError, match=r"412 .*another version"):
            source.take(np.array([1]))
