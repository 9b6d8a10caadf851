"""Requests go out together and ahead of the games: shown by who waits for whom, not by a clock."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.conftest import PATIENCE, linear_providers

import shapband as sb
from shapband.access import exchange
from shapband.access.access import Access
from shapband.access.exchange import Exchange
from shapband.access.journal import Failed, NullPurchases, Received
from shapband.engine import chunks, play
from shapband.errors import RunError, SourceError
from shapband.seeds import Seeds


def slow(providers, seconds):
    return [sb.Provider(p.name, sb.with_delay(p.source, seconds)) for p in providers]


def meeting(n, patience):
    """Providers of which none answers before all `n` have been asked."""
    barrier = threading.Barrier(n)

    def draw(size, rng):
        barrier.wait(patience)
        return rng.normal(size=size), rng.normal(size=size)

    return [sb.Provider(f"p{i}", sb.FunctionSource(draw, waits=True)) for i in range(n)]


def mean_label(X, y):
    return float(np.mean(y))


def test_the_requests_of_a_game_go_out_together():
    providers = meeting(4, PATIENCE)
    utility = sb.FunctionUtility(mean_label)
    valuation = sb.value(providers, utility, sampling=sb.Fresh(8), n_games=4, seed=0)
    assert valuation.access.requests == 16


def test_one_at_a_time_they_would_never_meet():
    utility = sb.FunctionUtility(mean_label)
    with pytest.raises(SourceError):
        sb.value(meeting(4, 0.05), utility, sampling=sb.Fresh(8), n_games=4, seed=0, concurrency=1)


def test_every_wait_is_metered():
    providers, validation = linear_providers(n=10)
    utility = sb.LinearUtility(*validation)
    valuation = sb.value(slow(providers, 0.02), utility, sampling=sb.Fresh(8), n_games=4, seed=0)
    assert valuation.access.requests == 40
    assert valuation.access.seconds >= 40 * 0.02


def test_concurrent_access_gives_the_same_bits():
    providers, validation = linear_providers(n=6)
    utility = sb.LinearUtility(*validation)
    arguments = {"sampling": sb.Fresh(8), "n_games": 7, "seed": 3}
    near = sb.value(providers, utility, **arguments)
    far = sb.value(slow(providers, 0.001), utility, chunk_size=2, **arguments)
    np.testing.assert_array_equal(near.games, far.games)
    assert near.access.records == far.access.records


def asked_while_solving(concurrency, patience):
    """Whether the second game's records are asked for while the first game is being solved."""
    asked = []
    second_game = threading.Event()
    seen = []

    def draw(size, rng):
        asked.append(size)
        if len(asked) > 2:
            second_game.set()
        return rng.normal(size=size), rng.normal(size=size)

    def think(X, y):
        if not seen:
            seen.append(second_game.wait(patience))
        return float(np.mean(y))

    providers = [sb.Provider(name, sb.FunctionSource(draw, waits=True)) for name in "ab"]
    utility = sb.FunctionUtility(think)
    sb.value(
        providers, utility, sampling=sb.Fresh(5), n_games=3, seed=0, chunk_size=1,
        concurrency=concurrency,
    )  # fmt: skip
    return seen[0]


def test_the_next_draws_are_fetched_while_this_game_is_solved():
    assert asked_while_solving(concurrency=2, patience=PATIENCE)
    assert not asked_while_solving(concurrency=1, patience=0.05)


class Leaving:
    """Sources whose requests are answered only when the fetching ahead is being given up."""

    def __init__(self, monkeypatch, held_from):
        self.requests = 0
        self.asked = threading.Event()
        self._held_from = held_from
        self._leaving = leaving = threading.Event()

        class Told(ThreadPoolExecutor):
            def shutdown(self, *arguments, **options):
                leaving.set()
                super().shutdown(*arguments, **options)

        monkeypatch.setattr(chunks, "ThreadPoolExecutor", Told)
        self.executor = Told

    def draw(self, size, rng):
        self.requests += 1
        if self.requests >= self._held_from:
            self.asked.set()
            assert self._leaving.wait(PATIENCE)
        return rng.normal(size=size), rng.normal(size=size)

    def value(self, utility, **options):
        providers = [sb.Provider("far", sb.FunctionSource(self.draw, waits=True))]
        sb.value(
            providers, sb.FunctionUtility(utility), sampling=sb.Fresh(5), n_games=12, seed=0,
            chunk_size=4, **options,
        )  # fmt: skip


def test_an_interrupted_wait_begins_no_further_request(monkeypatch):
    sources = Leaving(monkeypatch, held_from=1)

    class Interrupted(sources.executor):
        def submit(self, *arguments):
            future = super().submit(*arguments)
            future.result = self.interrupt
            return future

        def interrupt(self):
            assert sources.asked.wait(PATIENCE)
            raise KeyboardInterrupt

    monkeypatch.setattr(chunks, "ThreadPoolExecutor", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        sources.value(mean_label)
    assert sources.requests == 1


@pytest.mark.parametrize("where", ["while solving", "while watching"])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_stage_begins_no_further_request(monkeypatch, where, kind):
    sources = Leaving(monkeypatch, held_from=5)  # in the second chunk

    def interrupt(*_):
        assert sources.asked.wait(PATIENCE)
        raise kind

    if where == "while solving":
        monkeypatch.setattr(chunks.Job, "__call__", interrupt)
    else:
        monkeypatch.setattr(play._Session, "_take", interrupt)
    with pytest.raises(kind):
        sources.value(mean_label)
    assert sources.requests == 5


class Unstored(NullPurchases):
    """Cannot store what one provider gave."""

    def __init__(self):
        self.refused = threading.Event()
        self.stored = []

    def record(self, events):
        odd = [one for one in events if isinstance(one, Received) and one.name == "odd"]
        self.stored.extend((type(one), one.name, one.game) for one in events if one not in odd)
        if odd:
            self.refused.set()
            raise RunError("cannot be stored")


def test_an_answer_that_cannot_be_stored_ends_the_asking():
    journal = Unstored()
    asked = threading.Event()
    requests = []

    def draw(size, rng):
        assert asked.wait(PATIENCE)
        return rng.normal(size=(size, 1)), rng.normal(size=size)

    def hold(size, rng):
        requests.append(size)
        asked.set()
        assert journal.refused.wait(PATIENCE)
        time.sleep(0.05)  # until the exchange is stopped
        return rng.normal(size=(size, 1)), rng.normal(size=size)

    sources = {"odd": draw, "even": hold}
    providers = [sb.Provider(n, sb.FunctionSource(d, waits=True)) for n, d in sources.items()]
    access = Access(providers, Seeds(0), sb.Budget(), journal=journal)
    with access, pytest.raises(RunError, match="cannot be stored"):
        access.fetch("draw", range(6), [3, 3], "draws")
    assert len(requests) == 1
    # The request that was under way is paid for, so its answer is stored; the next one, which
    # was allowed, was not made.
    assert {(Failed, "even", 1), (Received, "even", 0)} <= set(journal.stored)


def test_requests_under_way_are_waited_for_when_an_exchange_is_interrupted(monkeypatch):
    begun, released = threading.Semaphore(0), threading.Event()
    answered = []

    def draw(size, rng):
        begun.release()
        assert released.wait(PATIENCE)
        answered.append(size)
        return rng.normal(size=size), rng.normal(size=size)

    collect = Exchange._collect

    def interrupt(self):
        monkeypatch.setattr(Exchange, "_collect", collect)
        assert all(begun.acquire(timeout=PATIENCE) for _ in range(2))
        threading.Timer(0.05, released.set).start()
        raise KeyboardInterrupt

    monkeypatch.setattr(Exchange, "_collect", interrupt)
    providers = [sb.Provider(name, sb.FunctionSource(draw, waits=True)) for name in "abc"]
    with (
        pytest.raises(KeyboardInterrupt),
        Access(providers, Seeds(0), sb.Budget(), concurrency=2) as access,
    ):
        access.fetch("draw", range(4), [3, 3, 3], "draws")
    # Two of the three were asked at once; no other is asked after the interruption.
    assert answered == [3, 3]


def test_a_source_answers_one_request_at_a_time_also_when_one_is_allowed_ahead():
    inside = []

    def draw(size, rng):
        inside.append(threading.get_ident())
        assert len(inside) == 1
        time.sleep(0.002)
        inside.pop()
        return rng.normal(size=size), rng.normal(size=size)

    providers = [sb.Provider("a", sb.FunctionSource(draw, waits=True))]
    with Access(providers, Seeds(0), sb.Budget()) as access:
        (drawn,) = access.fetch("draw", range(40), [3], "draws")
    assert drawn.rows.shape == (40, 3)


@pytest.mark.parametrize(
    ("waits", "concurrency", "together"), [(True, 2, True), (True, 1, True), (False, 2, False)]
)
def test_only_sources_that_wait_are_asked_from_other_threads(waits, concurrency, together):
    threads = []

    def draw(size, rng):
        threads.append(threading.current_thread())
        return rng.normal(size=size), rng.normal(size=size)

    providers = [sb.Provider(name, sb.FunctionSource(draw, waits=waits)) for name in "abc"]
    with Access(providers, Seeds(0), sb.Budget(), concurrency=concurrency) as access:
        access.fetch("draw", range(2), [3, 3, 3], "draws")
        access.fetch("draw", range(2, 4), [3, 3, 3], "draws")
    here = threading.current_thread()
    assert all((thread is not here) is together for thread in threads)
    assert len(set(threads)) <= concurrency


def test_a_source_that_says_so_answers_several_requests_at_once():
    """No request is answered before four are there; answers come in the reverse order."""
    together = threading.Barrier(4)

    def draw(size, rng):
        x = rng.normal(size=size)
        place = together.wait(PATIENCE)
        time.sleep(0.002 * place)
        return x, x

    def drawn(source):
        with Access([sb.Provider("a", source)], Seeds(0), sb.Budget()) as access:
            (found,) = access.fetch("draw", range(12), [3], "draws")
        return np.array([batch.y for batch in found.batches()]), access.report

    several, report = drawn(sb.FunctionSource(draw, waits=True, concurrent=4))
    together = threading.Barrier(1)
    one, _ = drawn(sb.FunctionSource(draw, waits=True))
    np.testing.assert_array_equal(several, one)
    assert (report.requests, report.records) == (12, 36)


@pytest.mark.parametrize(("concurrent", "concurrency"), [(1, 256), (3, 256), (8, 5)])
def test_no_more_requests_are_made_at_once_than_are_allowed(concurrent, concurrency):
    lock, inside, most = threading.Lock(), {"a": 0, "b": 0}, {"a": 0, "b": 0, "both": 0}

    def asked(name):
        def draw(size, rng):
            with lock:
                inside[name] += 1
                most[name] = max(most[name], inside[name])
                most["both"] = max(most["both"], sum(inside.values()))
            time.sleep(0.002)
            with lock:
                inside[name] -= 1
            return rng.normal(size=size), rng.normal(size=size)

        return sb.FunctionSource(draw, waits=True, concurrent=concurrent)

    providers = [sb.Provider(name, asked(name)) for name in "ab"]
    with Access(providers, Seeds(0), sb.Budget(), concurrency=concurrency) as access:
        access.fetch("draw", range(30), [3, 3], "draws")
    assert max(most["a"], most["b"]) <= concurrent
    assert most["both"] <= concurrency


def test_sources_take_turns():
    """With one request at a time, no source is asked twice while another waits."""
    asked = []

    def source(name):
        def draw(size, rng):
            asked.append(name)
            return rng.normal(size=size), rng.normal(size=size)

        return sb.FunctionSource(draw, waits=True)

    providers = [sb.Provider(name, source(name)) for name in "abc"]
    with Access(providers, Seeds(0), sb.Budget(), concurrency=1) as access:
        access.fetch("draw", range(4), [3, 3, 3], "draws")
    assert [sorted(asked[start : start + 3]) for start in range(0, 12, 3)] == [list("abc")] * 4


def test_a_request_of_several_that_fails_names_its_game_and_the_others_are_stored():
    class Remembers(NullPurchases):
        def __init__(self):
            self.events = []

        def record(self, events):
            self.events.extend(events)

    journal, together = Remembers(), threading.Barrier(3)
    bad = Seeds(0).generator("draw", "a", 1).normal(size=3)

    def draw(size, rng):
        x = rng.normal(size=size)
        together.wait(PATIENCE)
        if (x == bad).all():
            raise ValueError("lost")
        time.sleep(0.02)
        return x, x

    providers = [sb.Provider("a", sb.FunctionSource(draw, waits=True, concurrent=3))]
    access = Access(providers, Seeds(0), sb.Budget(), journal=journal)
    with access, pytest.raises(SourceError, match="provider 'a': ValueError: lost"):
        access.fetch("draw", range(3), [3], "draws")
    ended = {(type(one), one.game) for one in journal.events}
    assert {(Failed, 1), (Received, 0), (Received, 2)} <= ended


def test_one_source_of_several_that_never_answers_is_given_up():
    released = threading.Event()

    def draw(size, rng):
        released.wait(PATIENCE)
        return rng.normal(size=size), rng.normal(size=size)

    providers = [sb.Provider("a", sb.FunctionSource(draw, waits=True, concurrent=2))]
    with Access(providers, Seeds(0), sb.Budget(), timeout=0.1) as access:
        with pytest.raises(SourceError, match=r"no answer within 0.1 seconds"):
            access.fetch("draw", range(3), [3], "draws")
        released.set()


@pytest.mark.parametrize("concurrent", [0, 1.5, "4"])
def test_the_number_of_requests_at_once_is_checked(concurrent):
    class Odd(sb.GenerativeSource):
        waits = True

        def draw(self, size, rng):
            return rng.normal(size=size), rng.normal(size=size)

    Odd.concurrent = concurrent
    with pytest.raises(sb.errors.InvalidInput, match="concurrent of its source must be a whole"):
        sb.value(
            [sb.Provider("a", Odd())], sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=2, seed=0
        )


def test_an_interruption_between_answers_loses_none_of_them(monkeypatch):
    """The first answer is taken, and the exchange is interrupted while it waits for others."""
    begun, released, stored = threading.Event(), threading.Event(), []

    class Remembers(NullPurchases):
        def record(self, events):
            stored.extend((type(one), one.name, one.game) for one in events)

    def hold(size, rng):
        begun.set()
        assert released.wait(PATIENCE)
        return rng.normal(size=size), rng.normal(size=size)

    def draw(size, rng):
        assert begun.wait(PATIENCE)  # a request that was not made is revoked, not lost
        return rng.normal(size=size), rng.normal(size=size)

    def interrupt(seconds):
        monkeypatch.undo()
        released.set()
        raise KeyboardInterrupt

    monkeypatch.setattr(exchange.time, "sleep", interrupt)
    sources = {"quick": draw, "slow": hold}
    providers = [sb.Provider(n, sb.FunctionSource(d, waits=True)) for n, d in sources.items()]
    with (
        pytest.raises(KeyboardInterrupt),
        Access(providers, Seeds(0), sb.Budget(), journal=Remembers()) as access,
    ):
        access.fetch("draw", range(1), [3, 3], "draws")
    assert {(Received, "quick", 0), (Received, "slow", 0)} <= set(stored)


@pytest.mark.parametrize(
    ("concurrent", "concurrency", "together"),
    [((1, 1), 256, 8), ((4, 4), 256, 32), ((4, 1), 256, 8), ((4, 4), 3, 16), ((4, 4), 1, 8)],
)
def test_more_games_are_fetched_together_if_all_sources_answer_several(
    monkeypatch, concurrent, concurrency, together
):
    fetched, fetch = [], Access.fetch

    def noted(self, purpose, games, *arguments):
        fetched.append(len(games))
        return fetch(self, purpose, games, *arguments)

    monkeypatch.setattr(Access, "fetch", noted)
    data = np.arange(6.0)
    providers = [
        sb.Provider(name, sb.with_delay(sb.ArraySource(data, data), 0.0, concurrent=several))
        for name, several in zip("ab", concurrent, strict=True)
    ]
    sb.value(
        providers, sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=64, seed=0,
        concurrency=concurrency,
    )  # fmt: skip
    assert fetched[0] == together
    assert sum(fetched) == 64  # later ones are larger, because these sources answer at once
