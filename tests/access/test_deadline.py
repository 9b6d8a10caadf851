"""A time limit ends slow games and requests that hang."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from tests.conftest import PATIENCE

import shapband as sb
from shapband.access.access import Access
from shapband.access.exchange import Exchange, OutOfTime
from shapband.access.journal import Asked, Failed, NullPurchases, Received
from shapband.access.repeats import Repeats
from shapband.errors import SourceError
from shapband.seeds import Seeds


def mean_label(X, y):
    return float(np.mean(y))


def draw(size, rng):
    return rng.normal(size=(size, 1)), rng.normal(size=size)


class Hanging:
    """A source that gives its first draws at once, and none after them."""

    def __init__(self, answers):
        self.left = answers
        self.released = threading.Event()

    def __call__(self, size, rng):
        self.left -= 1
        if self.left < 0:
            self.released.wait(PATIENCE)
        return draw(size, rng)


@pytest.fixture
def hanging():
    made = []

    def make(answers):
        made.append(Hanging(answers))
        quick = sb.FunctionSource(draw, waits=True)
        return [
            sb.Provider("quick", quick),
            sb.Provider("slow", sb.FunctionSource(made[-1], waits=True)),
        ]

    yield make
    for one in made:
        one.released.set()


def took(call):
    started = time.monotonic()
    found = call()
    return found, time.monotonic() - started


def test_slow_games_end_soon_after_the_limit():
    def worth(X, y):
        time.sleep(0.02)
        return mean_label(X, y)

    providers = [
        sb.Provider(name, sb.ArraySource(*draw(20, np.random.default_rng(0)))) for name in "ab"
    ]
    found, seconds = took(
        lambda: sb.value(
            providers, sb.FunctionUtility(worth), sampling=sb.Fresh(4), n_games=500, seed=0,
            stop=sb.Precision(absolute=1e-9) | sb.Seconds(0.3),
        )
    )  # fmt: skip
    assert found.stopped_code == "rule"
    assert 2 <= found.n_games <= 12  # a game takes at least 0.06 seconds; 32 would take 1.9
    assert seconds < 15  # 500 would take 30; a busy machine may take long for 12
    # The games are those of a valuation that was not stopped.
    whole = sb.value(
        providers,
        sb.FunctionUtility(mean_label),
        sampling=sb.Fresh(4),
        n_games=found.n_games,
        seed=0,
    )
    np.testing.assert_array_equal(found.games, whole.games)


def test_slow_games_of_a_utility_that_takes_many_at_once_end_soon_too():
    class Slow(sb.AdditiveUtility):
        def summarise(self, batch):
            time.sleep(0.05)
            return super().summarise(batch)

        def summarise_games(self, draws):
            return sb.Utility.summarise_games(self, draws)

    providers = [
        sb.Provider(name, sb.ArraySource(*draw(20, np.random.default_rng(0)))) for name in "ab"
    ]
    found, seconds = took(
        lambda: sb.value(
            providers, Slow(), sampling=sb.Fresh(4), n_games=500, seed=0, stop=sb.Seconds(0.4)
        )
    )
    assert 2 <= found.n_games <= 8
    assert seconds < 15  # 500 would take 50


def test_a_request_that_hangs_is_given_up(hanging):
    providers = hanging(answers=20)
    found, seconds = took(
        lambda: sb.value(
            providers, sb.FunctionUtility(mean_label), sampling=sb.Fresh(4), n_games=500, seed=0,
            stop=sb.Seconds(0.5),
        )
    )  # fmt: skip
    assert found.n_games == 20
    assert found.stopped_code == "rule"
    assert found.stopped == "Seconds(limit=0.5) was met before 500"
    assert 0.5 <= seconds < 5  # the limit and one second, not the 600 seconds of a timeout


@pytest.mark.parametrize("answers", [0, 1])
def test_too_few_games_at_the_limit_are_an_error(hanging, answers):
    utility = sb.FunctionUtility(mean_label)
    with pytest.raises(SourceError) as raised:
        sb.value(
            hanging(answers), utility, sampling=sb.Fresh(4), n_games=9, seed=0, stop=sb.Seconds(0.2)
        )
    assert str(raised.value) == (
        "provider 'slow': no answer when the time limit of the stopping rule was reached, with "
        f"{answers} of the two games that a variance needs: allow more than 0.2 seconds"
    )


def test_pools_that_never_arrive_are_an_error(hanging):
    message = r"^provider 'slow': no answer when the time limit of the stopping rule was reached$"
    with pytest.raises(SourceError, match=message):
        sb.value(
            hanging(0), sb.AdditiveUtility(), sampling=sb.Pooled(9, 4), n_games=9, seed=0,
            stop=sb.Seconds(0.2),
        )  # fmt: skip


class Remembering(NullPurchases):
    """Keeps the events, and gives back records bought before."""

    def __init__(self, bought=()):
        self.events = []
        self.bought = dict(bought)

    def record(self, events):
        self.events.extend(events)

    def recall(self, name, purpose, game):
        return self.bought.get((name, game))


def test_a_request_that_was_given_up_is_recorded(hanging):
    journal = Remembering()
    with (
        Access(hanging(1), Seeds(0), sb.Budget(), journal=journal, time_left=0.2) as access,
        pytest.raises(OutOfTime),
    ):
        access.fetch("draw", range(4), [3, 3], "the draws")
    for name, received in (("quick", 4), ("slow", 1)):
        kinds = [type(one) for one in journal.events if one.name == name]
        assert kinds.count(Received) == received
        # Every request was answered, given up, or not made.
        assert kinds.count(Asked) == kinds.count(Received) + kinds.count(Failed)
    failed = [one.reason for one in journal.events if isinstance(one, Failed)]
    assert "no answer when the time limit of the stopping rule was reached" in failed


def test_no_request_is_made_after_the_limit_but_bought_records_are_used(hanging):
    first = Remembering()
    providers = hanging(4)
    with Access(providers, Seeds(0), sb.Budget(), journal=first) as access:
        access.fetch("draw", range(2), [3, 3], "the draws")
    received = [one for one in first.events if isinstance(one, Received)]
    second = Remembering({(one.name, one.game): one.batch for one in received})
    with Access(providers, Seeds(0), sb.Budget(), journal=second, time_left=-1.0) as access:
        access.fetch("draw", range(2), [3, 3], "the draws")
        with pytest.raises(OutOfTime, match=r"^the time limit of the stopping rule was reached$"):
            access.fetch("draw", range(2, 3), [3, 3], "the draws")
    assert second.events == []


class Unreachable(sb.StoppingRule):
    def __init__(self, factor):
        self.factor = factor

    def met(self, moments, seconds):
        return False

    def out_of_reach(self, moments):
        return self.factor if moments.n_games >= 64 else None

    def __repr__(self):
        return "Unreachable()"


@pytest.mark.parametrize(
    ("source", "factor", "said"),
    [
        # A source without end: 30 * 2.5 records. A stock of 120: 1/m - 1/S is lower by 2.5.
        (sb.FunctionSource(draw), 2.5, "; buy more records: pools of about 75"),
        (sb.ArraySource(np.zeros((120, 1)), np.arange(120.0)), 2.5, ": pools of about 55"),
        (sb.ArraySource(np.zeros((120, 1)), np.arange(120.0)), np.inf, ": pools of about 120"),
        (sb.FunctionSource(draw), np.inf, "the pools are too small; buy more records"),
    ],
)
def test_a_rule_that_the_pools_keep_out_of_reach_ends_the_valuation(source, factor, said):
    found = sb.value(
        [sb.Provider("a", source)], sb.AdditiveUtility(), sampling=sb.Pooled(30, 4), n_games=500,
        seed=0, stop=Unreachable(factor),
    )  # fmt: skip
    assert found.n_games == 64
    assert found.stopped_code == "pools"
    assert found.stopped.startswith("Unreachable() cannot be met by more games")
    assert found.stopped.endswith(said)
    assert sb.Valuation.from_json(found.to_json()).stopped_code == "pools"


@pytest.mark.parametrize(
    ("timeout", "until", "seconds"),
    [
        (0.4, np.inf, 0.1),  # a quarter of the time that a request may take
        (100.0, np.inf, 1.0),  # at most a second
        (0.001, np.inf, 0.01),  # no busy loop
        (100.0, 0.5, 0.5),  # until the deadline
        (100.0, -0.4, 0.6),  # until requests under way are given up, a second later
        (100.0, -2.0, 1.0),
    ],
)
def test_time_limits_are_checked_often_enough(monkeypatch, timeout, until, seconds):
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    exchange = SimpleNamespace(_timeout=timeout, _deadline=1000.0 + until, _repeats=Repeats())
    assert Exchange._patience(exchange) == pytest.approx(seconds)
