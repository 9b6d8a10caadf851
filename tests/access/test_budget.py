"""Budgets by themselves: what they allow, how many games they pay for, what they are called."""

import re

import pytest

import shapband as sb
from shapband.access.budget import Cost
from shapband.errors import InvalidInput

SPENT = Cost(requests=3, records=50)


@pytest.mark.parametrize(
    ("budget", "more", "allowed"),
    [
        (sb.Budget(), Cost(10**9, 10**9), True),
        (sb.Budget(records=60), Cost(99, 10), True),
        (sb.Budget(records=60), Cost(0, 11), False),
        (sb.Budget(requests=5), Cost(2, 10**6), True),
        (sb.Budget(requests=5), Cost(3, 0), False),
        (sb.Budget(records=60, requests=5), Cost(2, 10), True),
        (sb.Budget(records=60, requests=5), Cost(3, 10), False),
        (sb.Budget(records=60, requests=5), Cost(2, 11), False),
    ],
)
def test_a_budget_allows_what_is_left_of_it(budget, more, allowed):
    assert budget.allows(SPENT, more) is allowed


@pytest.mark.parametrize(
    ("budget", "per_game", "games"),
    [
        (sb.Budget(), Cost(1, 1), None),
        (sb.Budget(records=60), Cost(1, 5), 2),
        (sb.Budget(records=59), Cost(1, 5), 1),
        (sb.Budget(records=60), Cost(1, 0), None),
        (sb.Budget(records=51), Cost(1, 1), 1),
        (sb.Budget(records=40), Cost(1, 5), 0),
        (sb.Budget(records=40), Cost(1, 1), 0),
        (sb.Budget(requests=10), Cost(2, 5), 3),
        (sb.Budget(requests=2), Cost(2, 5), 0),
        (sb.Budget(records=1000, requests=10), Cost(2, 5), 3),
        (sb.Budget(records=60, requests=1000), Cost(2, 5), 2),
    ],
)
def test_the_rest_of_a_budget_pays_for_whole_games(budget, per_game, games):
    assert budget.games_within(SPENT, per_game) == games


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (sb.Budget(), "no limit"),
        (sb.Budget(records=2500), "2,500 records"),
        (sb.Budget(requests=1000), "1,000 requests"),
        (sb.Budget(records=2500, requests=10), "2,500 records and 10 requests"),
    ],
)
def test_a_budget_in_words(budget, words):
    assert str(budget) == words


@pytest.mark.parametrize("name", ["records", "requests"])
@pytest.mark.parametrize("limit", [0, -1, 2.5, "10", True])
def test_a_limit_that_is_no_count_is_refused(name, limit):
    said = (
        f"Budget: {name} must be a whole number of at least 1, or None for no limit; received "
        f"{limit!r}"
    )
    with pytest.raises(InvalidInput, match=f"^{re.escape(said)}$"):
        sb.Budget(**{name: limit})
    assert sb.Budget(**{name: 1}) != sb.Budget()


def test_costs_and_usages_add_up():
    assert Cost(1, 20) + Cost(2, 30) == Cost(requests=3, records=50)
    assert sb.extend.Usage(1, 20, 0.5) + sb.extend.Usage(2, 30, 0.25) == sb.extend.Usage(
        3, 50, 0.75
    )
    report = sb.AccessReport({"a": sb.extend.Usage(1, 20, 0.5), "b": sb.extend.Usage(2, 30, 0.25)})
    assert report.total == sb.extend.Usage(3, 50, 0.75)
    assert (report.requests, report.records, report.seconds) == (3, 50, 0.75)
    assert sb.AccessReport().total == sb.extend.Usage(0, 0, 0.0)
