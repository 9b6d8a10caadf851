"""What solvers refuse, word for word, and how they adapt to fewer providers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from math import factorial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import shapband as sb
from shapband.errors import ConformanceError, InvalidInput
from shapband.solvers.base import check_solution
from shapband.solvers.presence import values_of_all_sets
from shapband.solvers.trial import Option, Trial

LARGE = "Exact: 21 providers have 2,097,151 coalitions per game, too many to evaluate (the limit is"
MESSAGES: dict[str, Callable[[], Any]] = {
    "Strata: n_evaluations must be a whole number of at least 1; received 0": lambda: sb.Strata(0),
    "Strata: n_evaluations must be at least 40 for 10 providers; received 39": (
        lambda: sb.Strata(39).check(10)
    ),
    "Strata: n_evaluations must be at least 7 for 3 providers; received 6": (
        lambda: sb.Strata(6).check(3)
    ),
    "Permutation: n_iter must be a whole number of at least 1; received 0": (
        lambda: sb.Permutation(0)
    ),
    "BalancedPermutation: n_iter must be a whole number of at least 1; received 0": (
        lambda: sb.BalancedPermutation(0)
    ),
    "BalancedPermutation: n_iter must be a multiple of the 3 providers and at least 6; received 7: "
    "use 9": lambda: sb.BalancedPermutation(7).check(3),
    "BalancedPermutation: n_iter must be a multiple of the 3 providers and at least 6; received 3: "
    "use 6": lambda: sb.BalancedPermutation(3).check(3),
    "BalancedPermutation: the permutations of a square do not keep the members of a group "
    "together: use Permutation or Exact, or value the providers without groups": (
        lambda: sb.BalancedPermutation(6).check_groups([2, 1])
    ),
    "Strata cannot solve games with groups of 2 providers: use Exact or Permutation, or value the "
    "providers without groups": lambda: sb.Strata(80).check_groups([1, 2]),
    f"{LARGE} 20 providers): use Strata, BalancedPermutation or Permutation": (
        lambda: sb.Exact().check(21)
    ),
    "Exact: 10 players, the largest a group of 12 providers, have at least 2**20 relevant "
    "coalitions per game, too many to evaluate (the limit is 1,048,575): use Permutation": (
        lambda: sb.Exact().check_groups([1] * 9 + [12])
    ),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_what_is_refused_gets_this_message(message):
    with pytest.raises(InvalidInput) as refused:
        MESSAGES[message]()
    assert str(refused.value) == message


def test_what_is_just_accepted():
    assert sb.Strata(40).check(10) is None
    assert sb.Strata(7).check(3) is None
    assert sb.Exact().check(20) is None
    assert sb.BalancedPermutation(6).check(3) is None


GAMES = SimpleNamespace(
    indices=range(4), n_providers=3, grouping=None, rates=None, interactions=False
)
GROUPED = SimpleNamespace(
    indices=range(4),
    n_providers=3,
    grouping=SimpleNamespace(names=("g", "h")),
    rates=None,
    interactions=False,
)
AVERAGED = SimpleNamespace(
    indices=range(4), n_providers=3, grouping=None, rates=np.ones(3), interactions=False
)
FINE = sb.Solution(np.zeros((4, 3)), np.zeros((4, 3)), np.int64(28), failures=5)
BY_PROVIDER = (
    "float64 array of shape (4, 3), one row for each game and one column for each provider"
)
BY_GROUP = "float64 array of shape (4, 2), one row for each game and one column for each group"
SOLUTIONS: dict[str, tuple[Any, Any]] = {
    "a Solution(values, noise, evaluations); received tuple": ((1, 2), GAMES),
    "finite values; received NaN or infinity": (
        replace(FINE, values=np.full((4, 3), np.nan)),
        GAMES,
    ),
    "evaluations as a whole number; received 2.5": (replace(FINE, evaluations=2.5), GAMES),
    f"values as a {BY_PROVIDER}; received an array of shape (3, 4) and dtype float64": (
        replace(FINE, values=np.zeros((3, 4))),
        GAMES,
    ),
    f"noise as a {BY_PROVIDER}; received an array of shape (4, 3) and dtype int64": (
        replace(FINE, noise=np.zeros((4, 3), dtype=np.int64)),
        GAMES,
    ),
    "noise of at least 0, the variance of the solver's own error, or NaN if it is not known; "
    "received -0.5": (replace(FINE, noise=np.full((4, 3), -0.5)), GAMES),
    f"group_noise as a {BY_GROUP}; received a NoneType": (FINE, GROUPED),
    f"presence_variance as a {BY_PROVIDER}; received a NoneType": (FINE, AVERAGED),
}


@pytest.mark.parametrize("message", SOLUTIONS)
def test_a_solution_that_does_not_conform_gets_this_message(message):
    solution, games = SOLUTIONS[message]
    with pytest.raises(ConformanceError) as refused:
        check_solution(solution, sb.Permutation(3), games)
    assert str(refused.value) == f"Permutation.solve must return {message}"


def test_a_solution_that_conforms_has_plain_counts():
    found = check_solution(FINE, sb.Permutation(3), GAMES)
    assert (found.evaluations, type(found.evaluations), found.failures) == (28, int, 0)
    assert found.values is FINE.values
    assert found.noise is FINE.noise


def test_solvers_for_games_in_which_some_take_part():
    assert sb.BalancedPermutation(10).for_size(4) == sb.BalancedPermutation(12)
    assert sb.BalancedPermutation(10).for_size(5) == sb.BalancedPermutation(10)
    assert sb.BalancedPermutation(10).for_size(7) == sb.BalancedPermutation(14)
    options = Option(sb.BalancedPermutation(10), 5.0, 1, 0.5), Option(sb.Exact(), 9.0)
    trial = Trial((sb.BalancedPermutation(10), sb.Exact()), options)
    assert trial.for_size(4) == Trial(
        (sb.BalancedPermutation(12), sb.Exact()),
        (Option(sb.BalancedPermutation(12), 5.0, 1, 0.5), Option(sb.Exact(), 9.0)),
    )
    assert sb.Permutation(3).for_size(4) == sb.Permutation(3)


def test_values_among_every_set_of_those_present():
    """Of each set, the Shapley values of its own game; 0 for those who are absent."""
    rng = np.random.default_rng(0)
    table = np.concatenate([[0.0], rng.normal(size=7)])
    found = values_of_all_sets(table)
    for present in range(8):
        members = [i for i in range(3) if present >> i & 1]
        expected = np.zeros(3)
        for order in permutations(members):
            before = 0
            for i in order:
                expected[i] += table[before | 1 << i] - table[before]
                before |= 1 << i
        np.testing.assert_allclose(found[present], expected / factorial(len(members)), atol=1e-12)
