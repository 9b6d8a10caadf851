"""The account over several fetches: what is spent, what is left, and what a resumed run pays."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shapband as sb
from shapband.access.access import Access
from shapband.access.answers import check_answer
from shapband.access.budget import Budget, Cost
from shapband.access.journal import Asked, Failed, NullPurchases, Refused
from shapband.errors import BudgetExceeded, SourceError
from shapband.records.batch import Batch, Schema
from shapband.seeds import Seeds
from shapband.sources.base import FiniteSource, GenerativeSource, Source

NO_LIMIT = Budget()
POOLS = [9, 8]  # records of the two providers in their pools
DRAWS = [5, 3]  # and in one draw


class Remembers(NullPurchases):
    """A journal in memory, which outlives the access that writes it."""

    def __init__(self) -> None:
        self.used: defaultdict[str, sb.extend.Usage] = defaultdict(sb.extend.Usage)
        self.paid: set[tuple[str, str, int]] = set()
        self.stored: dict[tuple[str, str, int], Batch] = {}
        self.told: list[Any] = []

    def usage(self) -> Any:
        return dict(self.used)

    def unpaid(self, names: Any, purpose: str, games: range) -> Any:
        return [
            tuple(game for game in games if (name, purpose, game) not in self.paid)
            for name in names
        ]

    def recall(self, name: str, purpose: str, game: int) -> Any:
        return self.stored.get((name, purpose, game))

    def record(self, events: Any) -> None:
        for event in events:
            address = (event.name, event.purpose, event.game)
            if isinstance(event, Asked):
                self.told.append(("asking", *address, event.size))
            elif isinstance(event, Failed):
                self.told.append(("failed", *address, event.reason))
            elif isinstance(event, Refused):
                self.told.append(("refused", *address, event.refusal.reason))
            else:
                self.told.append(("received", *address, len(event.batch)))
                self.stored[address] = event.batch
                self.paid.add(address)
                self.used[event.name] += sb.extend.Usage(1, len(event.batch), event.seconds)

    def taken(self, names: Any, purpose: str, games: Any, size: int) -> None:
        self.told.append(("taken", *names, purpose, tuple(games), size))
        for name in names:
            self.paid |= {(name, purpose, game) for game in games}
            self.used[name] += sb.extend.Usage(len(games), len(games) * size)


@dataclass
class Far(FiniteSource):
    """Forty numbered records somewhere else."""

    asked: int = 0
    width: int = 1
    fails_from: float = float("inf")

    @property
    def size(self) -> int:
        return 40

    @property
    def schema(self) -> None:
        return None

    def take(self, rows: Any) -> Batch:
        self.asked += 1
        if self.asked >= self.fails_from:
            raise OSError("the line is dead")
        return Batch(np.repeat(rows[:, None].astype(float), self.width, axis=1), rows.astype(float))


def near() -> sb.ArraySource:
    numbers = np.arange(40.0)
    return sb.ArraySource(numbers, numbers)


def pair(*sources: Any) -> list[sb.Provider]:
    return [sb.Provider(name, s) for name, s in zip(("one", "two"), sources, strict=True)]


def opened(budget: Budget = NO_LIMIT, far: bool = True, **options: Any) -> Access:
    providers = pair(Far(), Far()) if far else pair(near(), near())
    return Access(providers, Seeds(0), budget, **options)


def spend(access: Access) -> None:
    """Buy pools of 17 records and three games of 8: 41 records in 8 requests."""
    access.fetch("pool", range(1), POOLS, "the pools")
    access.fetch("draw", range(2), DRAWS, "the draws")
    access.fetch("draw", range(2, 3), DRAWS, "the draws")


def next_game_is_refused(access: Access) -> str:
    with pytest.raises(BudgetExceeded) as caught:
        access.fetch("draw", range(3, 4), DRAWS, "the draws")
    return str(caught.value)


@pytest.mark.parametrize("far", [True, False])
def test_pools_and_draws_add_up(far):
    access = opened(far=far)
    spend(access)
    used = access.report.by_provider
    assert (used["one"].requests, used["one"].records) == (4, 9 + 3 * 5)
    assert (used["two"].requests, used["two"].records) == (4, 8 + 3 * 3)


@pytest.mark.parametrize("far", [True, False])
@pytest.mark.parametrize(
    ("enough", "short"),
    [
        (Budget(records=41 + 8), Budget(records=41 + 8 - 1)),
        (Budget(requests=8 + 2), Budget(requests=8 + 2 - 1)),
        (Budget(records=49, requests=10), Budget(records=49, requests=9)),
        (Budget(records=49, requests=10), Budget(records=48, requests=10)),
    ],
    ids=str,
)
def test_a_budget_is_spent_to_the_last_record_and_not_one_beyond(far, enough, short):
    access = opened(enough, far=far)
    spend(access)
    access.fetch("draw", range(3, 4), DRAWS, "the draws")
    assert (access.report.records, access.report.requests) == (49, 10)
    with pytest.raises(BudgetExceeded):
        access.fetch("draw", range(4, 5), [1, 0], "the draws")

    access = opened(short, far=far)
    spend(access)
    said = next_game_is_refused(access)
    assert (access.report.records, access.report.requests) == (41, 8)
    assert said == (
        f"the draws take 8 records in 2 requests, but the budget is {short} and 41 records in 8 "
        "requests are spent: raise the budget, or ask for less"
    )


def test_numbers_in_a_refusal_have_separators():
    access = opened(Budget(records=5000))
    with pytest.raises(BudgetExceeded, match=r"take 80,000 records in 4,000 requests.*5,000 rec"):
        access.fetch("draw", range(2000), [20, 20], "the draws")


def test_a_size_for_every_provider_is_needed():
    journal = Remembers()
    with pytest.raises(ValueError, match="zip"):
        opened(journal=journal).fetch("draw", range(1), [5], "the draws")
    assert journal.told == []


def test_a_refused_fetch_costs_nothing():
    access = opened(Budget(records=45))
    spend(access)
    next_game_is_refused(access)
    next_game_is_refused(access)
    access.fetch("draw", range(3, 4), [2, 2], "smaller draws")
    assert access.report.records == 45


@pytest.mark.parametrize(
    ("budget", "games"),
    [
        (Budget(records=17 + 8 * 5), 5),
        (Budget(records=17 + 8 * 5 - 1), 4),
        (Budget(requests=2 + 2 * 6), 6),
        (Budget(requests=2 + 2 * 6 - 1), 5),
        (Budget(records=17 + 8 * 5, requests=2 + 2 * 4), 4),
        (Budget(records=17), 0),
        (NO_LIMIT, None),
    ],
    ids=str,
)
def test_the_pools_are_paid_before_any_game(budget, games):
    access = opened(budget)
    access.fetch("pool", range(1), POOLS, "the pools")
    per_game = Cost(requests=2, records=8)
    assert access.affordable_games(per_game) == games
    # Games are counted from the first one on: those already bought are among them.
    if games is None or games >= 2:
        access.fetch("draw", range(2), DRAWS, "the draws")
        assert access.affordable_games(per_game) == games


def test_several_pools_are_paid_together():
    access = opened(Budget(records=100, requests=100))
    access.fetch("pool", range(1), POOLS, "the pools")
    access.fetch("pool", range(1, 3), POOLS, "more pools")
    assert access.affordable_games(Cost(requests=0, records=1)) == 100 - 3 * 17
    assert access.affordable_games(Cost(requests=1, records=0)) == 100 - 3 * 2


@pytest.mark.parametrize("far", [True, False])
def test_what_an_earlier_session_bought_counts_and_is_not_paid_twice(far):
    journal = Remembers()
    spend(opened(Budget(records=49), far=far, journal=journal))

    resumed = opened(Budget(records=49), far=far, journal=journal)
    assert (resumed.report.records, resumed.report.requests) == (41, 8)
    spend(resumed)
    assert (resumed.report.records, resumed.report.requests) == (41, 8)
    assert resumed.affordable_games(Cost(requests=2, records=8)) == 4
    resumed.fetch("draw", range(3, 4), DRAWS, "the draws")
    assert (resumed.report.records, resumed.report.requests) == (49, 10)

    again = opened(Budget(records=49), far=far, journal=journal)
    with pytest.raises(BudgetExceeded, match="49 records in 10 requests are spent"):
        again.fetch("draw", range(4, 5), DRAWS, "the draws")


def test_what_was_bought_from_others_counts_too():
    journal = Remembers()
    journal.used["a provider that has left"] = sb.extend.Usage(3, 30, 0.5)
    access = opened(Budget(records=30 + 17), journal=journal)
    assert access.report.records == 30
    access.fetch("pool", range(1), POOLS, "the pools")
    with pytest.raises(BudgetExceeded, match="47 records in 5 requests are spent"):
        access.fetch("draw", range(1), DRAWS, "the draws")


@pytest.mark.parametrize("far", [True, False])
def test_a_fetch_that_was_half_paid_costs_the_other_half(far):
    journal = Remembers()
    opened(far=far, journal=journal).fetch("draw", range(2), DRAWS, "the draws")
    access = opened(Budget(records=16 + 16), far=far, journal=journal)
    draws = access.fetch("draw", range(4), DRAWS, "the draws")
    assert (access.report.records, access.report.requests) == (32, 8)
    whole = opened(far=far).fetch("draw", range(4), DRAWS, "the draws")
    for some, all_ in zip(draws, whole, strict=True):
        assert [batch.y.tolist() for batch in some.batches()] == [
            batch.y.tolist() for batch in all_.batches()
        ]


def test_the_journal_is_told_before_and_after_every_request():
    journal = Remembers()
    opened(journal=journal, concurrency=1).fetch("draw", range(6, 8), DRAWS, "the draws")
    assert journal.told == [
        (verb, name, "draw", game, size)
        for name, size in (("one", 5), ("two", 3))
        for game in (6, 7)
        for verb in ("asking", "received")
    ]


def test_draws_of_one_size_from_memory_are_told_together():
    journal = Remembers()
    access = opened(far=False, journal=journal)
    access.fetch("draw", range(3), [4, 4], "the draws")
    access.fetch("draw", range(2, 5), [4, 5], "the draws")
    access.fetch("draw", range(5), [4, 4], "the draws")
    assert journal.told == [
        ("taken", "one", "two", "draw", (0, 1, 2), 4),
        ("taken", "one", "draw", (3, 4), 4),
        ("taken", "two", "draw", (3, 4), 5),
    ]


def test_the_journal_is_told_of_memory_before_distant_sources_are_asked():
    journal = Remembers()
    access = Access(pair(Far(), near()), Seeds(0), NO_LIMIT, journal=journal)
    access.fetch("draw", range(1), [2, 2], "the draws")
    assert [what for what, *_ in journal.told] == ["taken", "asking", "received"]


def test_waiting_is_metered_with_the_request_it_belongs_to():
    access = opened()
    access.fetch("draw", range(3), DRAWS, "the draws")
    before = access.report.by_provider["one"].seconds
    assert 0 < before < 1
    near_only = opened(far=False)
    near_only.fetch("draw", range(3), DRAWS, "the draws")
    assert near_only.report.seconds == 0.0


def test_a_failed_request_is_told_and_costs_nothing():
    journal = Remembers()
    providers = pair(Far(fails_from=2), Far())
    access = Access(providers, Seeds(0), NO_LIMIT, journal=journal, concurrency=1)
    with pytest.raises(SourceError, match=r"^provider 'one': OSError: the line is dead$"):
        access.fetch("draw", range(3), DRAWS, "the draws")
    assert journal.told == [
        ("asking", "one", "draw", 0, 5),
        ("received", "one", "draw", 0, 5),
        ("asking", "one", "draw", 1, 5),
        ("failed", "one", "draw", 1, "OSError: the line is dead"),
    ]
    assert journal.usage()["one"].records == 5
    assert access.report.records == 0


def test_nothing_is_asked_after_an_error():
    sources = Far(fails_from=1), Far()
    access = Access(pair(*sources), Seeds(0), NO_LIMIT, concurrency=1)
    with pytest.raises(SourceError):
        access.fetch("draw", range(3), DRAWS, "the draws")
    assert [source.asked for source in sources] == [1, 0]


def test_all_providers_must_have_the_same_features():
    access = Access(pair(Far(), Far(width=2)), Seeds(0), NO_LIMIT)
    with pytest.raises(SourceError, match=r"^provider 'two': .*2 features where 1 features"):
        access.fetch("draw", range(1), DRAWS, "the draws")


def test_the_expected_features_may_be_given():
    access = opened(schema=Schema(n_features=3))
    with pytest.raises(SourceError, match=r"^provider 'one': .*1 features where 3 features"):
        access.fetch("draw", range(1), DRAWS, "the draws")


def test_a_source_may_not_change_its_features():
    changing = Far()
    access = Access(pair(changing, Far()), Seeds(0), NO_LIMIT)
    access.fetch("draw", range(1), DRAWS, "the draws")
    changing.width = 2
    with pytest.raises(SourceError, match=r"^provider 'one': .*2 features after .* 1 features"):
        access.fetch("draw", range(1, 2), DRAWS, "the draws")


def numbers(size: int) -> np.ndarray:
    return np.arange(float(size))


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        (
            lambda size: Batch(numbers(size - 1)[:, None], numbers(size - 1)),
            "the source gave 2 records where 3 were asked",
        ),
        (
            lambda size: Batch(numbers(size)[:, None] / 0.0, numbers(size)),
            "the source: X holds NaN or infinite values in column 0: remove or impute them",
        ),
        (
            lambda size: Batch(numbers(size)[:, None], np.log(numbers(size))),
            "the source: y holds missing, NaN or infinite values: remove those records",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_records_that_cannot_be_used_are_refused_and_told(batch, said):
    class Odd(Far):
        def take(self, rows: Any) -> Batch:
            return batch(len(rows))

    journal = Remembers()
    access = Access(pair(Far(), Odd()), Seeds(0), NO_LIMIT, journal=journal, concurrency=1)
    with pytest.raises(SourceError, match=f"^provider 'two': {said}$"):
        access.fetch("draw", range(7, 8), [3, 3], "the draws")
    assert journal.told[-1] == ("refused", "two", "draw", 7, said)


@pytest.mark.parametrize("targets", [["a", "b", "c"], [1, 2, 3]])
def test_labels_and_frames_need_not_be_finite_numbers(targets):
    class Labelled(Far):
        def take(self, rows: Any) -> Batch:
            return Batch(pd.DataFrame({"x": [1.0, np.nan, 2.0]}), np.array(targets))

    access = Access([sb.Provider("p", Labelled())], Seeds(0), NO_LIMIT)
    (draws,) = access.fetch("draw", range(2), [3], "the draws")
    assert [batch.y.tolist() for batch in draws.batches()] == [targets, targets]


class Neither(Source):
    """A source that is of neither kind."""

    @property
    def schema(self) -> None:
        return None


def test_a_source_of_neither_kind_is_refused():
    said = "a source must be a FiniteSource or a GenerativeSource"
    access = Access([sb.Provider("p", Neither())], Seeds(0), NO_LIMIT)
    with pytest.raises(SourceError, match=f"^provider 'p': {said}$"):
        access.fetch("draw", range(1), [3], "the draws")


class Endless(GenerativeSource):
    """Draws uniform numbers."""

    @property
    def schema(self) -> None:
        return None

    def draw(self, size: int, rng: np.random.Generator) -> Batch:
        X = rng.random(size=(size, 1))
        return Batch(X, X[:, 0])


def test_a_generative_source_draws_by_purpose_provider_and_game():
    access = Access(pair(Endless(), Endless()), Seeds(0), NO_LIMIT)
    drawn = [
        batch.y.tolist()
        for purpose in ("pool", "draw")
        for draws in access.fetch(purpose, range(2), [3, 3], "the draws")
        for batch in draws.batches()
    ]
    assert len({tuple(numbers) for numbers in drawn}) == 8
    again = Access(pair(Endless(), Endless()), Seeds(0), NO_LIMIT)
    _, two = again.fetch("draw", range(1, 2), [3, 3], "the draws")
    assert two.batches()[0].y.tolist() == drawn[7]


def test_a_finite_source_is_asked_for_the_rows_of_its_own_game():
    far, memory = opened(), opened(far=False)
    for purpose in ("pool", "draw"):
        for games in (range(1), range(5, 8)):
            there = far.fetch(purpose, games, [6, 4], "the draws")
            here = memory.fetch(purpose, games, [6, 4], "the draws")
            for one, other in zip(there, here, strict=True):
                assert [batch.y.tolist() for batch in one.batches()] == [
                    batch.y.tolist() for batch in other.batches()
                ]


def test_a_source_that_changes_its_features_within_a_fetch_is_refused():
    class Growing(Far):
        def take(self, rows: Any) -> Batch:
            self.width += 1
            return super().take(rows)

    access = Access([sb.Provider("p", Growing())], Seeds(0), NO_LIMIT)
    said = "^provider 'p': the source gave 3 features after it had given 2 features$"
    with pytest.raises(SourceError, match=said):
        access.fetch("draw", range(2), [3], "the draws")


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (OSError("the line\nis dead"), "OSError: the line is dead"),
        (OSError(), "OSError"),
        (SourceError("no such\ntable"), "no such table"),
    ],
)
def test_what_a_source_raises_is_told_in_one_line(cause, said):
    def draw(size: int, rng: Any) -> Any:
        raise cause

    access = Access([sb.Provider("p", sb.FunctionSource(draw))], Seeds(0), NO_LIMIT)
    with pytest.raises(SourceError) as caught:
        access.fetch("draw", range(1), [3], "the draws")
    assert str(caught.value) == f"provider 'p': {said}"
    assert caught.value.__cause__ is cause


def test_no_session_before_this_one_leaves_nothing():
    journal = NullPurchases()
    assert journal.usage() == {}
    assert journal.recall("p", "draw", 0) is None
    assert journal.unpaid(["p", "q"], "draw", range(3, 5)) == [range(3, 5)] * 2


def test_a_frame_with_words_stays_a_frame():
    frame = pd.DataFrame({"word": ["a", "b"], "number": [1.0, np.nan]})
    answer = check_answer((frame, [1, 2]), 2)
    assert answer.is_frame
    pd.testing.assert_frame_equal(answer.X, frame)
    frame.loc[0, "word"] = "changed by the source"
    assert answer.X["word"].tolist() == ["a", "b"]
    assert answer.y.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([1.0], "the source: y must be one target for each of the 2 records; "),
        ([1.0, np.nan], "the source: y holds missing, NaN or infinite values: "),
    ],
)
def test_the_targets_of_a_frame_are_checked(y, said):
    with pytest.raises(SourceError, match=f"^{said}"):
        check_answer((pd.DataFrame({"x": [1.0, 2.0]}), y), 2)
