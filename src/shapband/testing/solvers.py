"""Conformance checks of solvers."""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import check_whole
from shapband.coalitions import members
from shapband.games import Games
from shapband.grouping import Grouping
from shapband.indices import SHAPLEY, Banzhaf, Beta, Index
from shapband.seeds import Seeds
from shapband.solvers.base import Solution, Solver, check_solution
from shapband.solvers.exact import Exact
from shapband.testing.counting import CountedGame, repeated
from shapband.testing.rules import accepts, check_repr, during, require, travelled
from shapband.utilities.additive import AdditiveUtility
from shapband.utilities.base import Utility
from shapband.utilities.table import TableUtility

_GAMES = 256
_OTHERS: tuple[Index, ...] = (Banzhaf(), Beta(4, 1))  # for solvers with `any_index`
_SIZES = range(1, 13)  # numbers of providers to try; the first three that are accepted are solved
_EMPTY = 2.0  # v(∅); a solver must not assume that it is 0
_STANDARD_ERRORS = 6  # allowed standard errors: one false alarm in a billion normal means
_TINY = 1e-9  # allowed rounding error in games with groups
_NOISE_FACTOR = 3  # allowed factor between the stated noise and the mean squared error


def check_solver(solver: Solver) -> None:
    """Check that a solver follows the rules of solvers, on games with known values.

    The first check is that `evaluations` counts the different coalitions of each game that were
    evaluated. In additive and airport games the values must be unbiased over games, and have errors
    as large as the stated noise; Shapley values must add up to v(N) - v(∅) in each game. They must
    not depend on chunks or on the order of providers: random numbers must be drawn by game and
    provider, as in `random_orders`. A solver with `any_index` must keep these rules for `Banzhaf`
    and `Beta` too. A solver whose `check_groups` accepts groups must give Owen values and state
    the noise of the groups.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.testing.check_solver(sb.BalancedPermutation(n_iter=12))
    """
    name = type(solver).__name__
    require(isinstance(solver, Solver), f"{name} must be a subclass of Solver")
    check_repr(solver)
    travelled(solver, name)
    accepts(name, solver.check, 10_000)
    sizes = [n for n in _SIZES if accepts(name, solver.check, n)]
    require(sizes, f"{name}.check must accept some number of providers up to {_SIZES[-1]}")
    indices = (SHAPLEY, *_OTHERS) if solver.any_index else (SHAPLEY,)
    for n in sizes[:3]:
        _check_count(solver, n)
        with during(f"{name}.floats_per_game must return a whole number"):
            check_whole("floats_per_game", solver.floats_per_game(n), 1)
        costs = np.arange(1.0, n + 1) ** 2
        worth = np.random.default_rng(0).normal(size=(_GAMES, n))
        airport = _airport(costs)
        for index in indices:
            known = _by_definition(airport.values, index)
            _check_known(solver, index, "additive", AdditiveUtility(empty=_EMPTY), worth, worth)
            _check_known(solver, index, "airport", airport, worth, known)
        _check_independence(solver, costs)
    if accepts(name, solver.check_groups, [2, 1]):
        _check_groups(solver)


def _check_count(solver: Solver, n: int) -> None:
    """Check the number of evaluations against a count in the game itself."""
    game = CountedGame(lambda coalition: _EMPTY + max(members(coalition), default=-1) + 1)
    games = repeated(game, n, range(_GAMES))
    rule = f"{type(solver).__name__}.solve must"
    with during(f"{rule} solve {n} providers, as check says"):
        solution = check_solution(solver.solve(games), solver, games)
    require(
        solution.evaluations == game.distinct,
        f"{rule} count distinct evaluations: it returned evaluations={solution.evaluations} for "
        f"{_GAMES} games of {n} providers, in which {game.distinct} different coalitions were "
        "evaluated; count a coalition once per game, as games.prefixes and games.some do",
    )


def _check_known(
    solver: Solver,
    index: Index,
    kind: str,
    utility: Utility,
    summaries: FloatArray,
    known: FloatArray,
) -> None:
    n = summaries.shape[1]
    solution = _solve(solver, utility, summaries, range(_GAMES), index=index)
    weighed = "" if index == SHAPLEY else f" with games.index = {index!r}"
    rule = f"{type(solver).__name__}.solve of {kind} games of {n} providers{weighed} must"
    require(
        0 < solution.evaluations <= _GAMES * (2**n - 1),
        f"{rule} count the different coalitions it evaluates, at most {2**n - 1} in each of "
        f"{_GAMES} games; received {solution.evaluations}",
    )
    errors = solution.values - known
    tiny = 1e-9 * n * max(1.0, float(np.abs(known).max()))
    off = np.abs(errors.sum(axis=1)).max()
    require(
        off <= tiny or index != SHAPLEY,
        f"{rule} give values that add up to v(N) - v(∅) in each game; received sums that are off "
        f"by {off}: count the first marginal from games.utility.empty",
    )
    bias = np.abs(errors.mean(axis=0)) - tiny
    require(
        (bias <= _STANDARD_ERRORS * errors.std(axis=0) / np.sqrt(_GAMES - 1)).all(),
        f"{rule} give the known values on average over games; they are off by {bias.max()}, more "
        f"than {_STANDARD_ERRORS} standard errors",
    )
    stated, seen = solution.noise.mean(), np.mean(errors**2)
    low, high = sorted((stated, seen))
    require(
        np.isnan(stated) or high <= _NOISE_FACTOR * low + tiny**2,
        f"{rule} state the variance of its own error as noise; received {stated} where the mean "
        f"squared error is {seen}: use variance_of_mean, 0 if exact, or NaN if not known",
    )


def _check_independence(solver: Solver, costs: FloatArray) -> None:
    """Check that values do not depend on chunks or on the order of providers."""
    name, nothing = type(solver).__name__, np.zeros((10, len(costs)))
    utility = _airport(costs)
    whole = _solve(solver, utility, nothing, range(10))
    late, early = (_solve(solver, utility, nothing[:5], part) for part in (range(5, 10), range(5)))
    cut = np.concatenate([early.values, late.values, early.noise, late.noise])
    require(
        np.array_equal(cut, np.concatenate([whole.values, whole.noise]), equal_nan=True),
        f"{name}.solve must give the same bits however games are cut into chunks; games 0 to 4 and "
        "5 to 9, solved separately, differ from ten games solved at once: take random numbers from "
        "games.seeds by game",
    )
    turned = _solve(solver, _airport(costs[::-1]), nothing, range(10), step=-1)
    require(
        np.allclose(turned.values[:, ::-1], whole.values, rtol=1e-9, atol=1e-9),
        f"{name}.solve must not depend on the order of the providers; in reverse order the values "
        "differ: take random numbers from games.seeds by the provider's name",
    )


def _check_groups(solver: Solver) -> None:
    """Check the values of an airport game in which the first and the last provider are a group."""
    games = Games(
        _airport(np.array([1.0, 4.0, 9.0])),
        np.zeros((_GAMES, 3)),
        ("provider 0", "provider 1", "provider 2"),
        range(_GAMES),
        Seeds(0),
        grouping=Grouping(("group",), ((0, 2),)),
    )
    rule = f"{type(solver).__name__}.solve of games with groups, which check_groups accepts, must"
    with during(f"{rule} not fail"):
        solution = check_solution(solver.solve(games), solver, games)
    errors = solution.values - Exact().solve(games).values
    bias = np.abs(errors.mean(axis=0)) - _TINY
    require(
        (bias <= _STANDARD_ERRORS * errors.std(axis=0) / np.sqrt(_GAMES - 1)).all(),
        f"{rule} give the Owen values on average; they are off by {bias.max()}, more than "
        f"{_STANDARD_ERRORS} standard errors: use orders in which the members of a group stand "
        "together, as in random_orders, or refuse groups in check_groups",
    )
    stated = np.asarray(solution.group_noise, dtype=np.float64).mean()
    seen = np.mean(errors[:, [0, 2]].sum(axis=1) ** 2)
    low, high = sorted((stated, seen))
    require(
        np.isnan(stated) or high <= _NOISE_FACTOR * low + _TINY**2,
        f"{rule} state the variance of the error of a group's sum as group_noise; received "
        f"{stated} where the mean squared error is {seen}: add up the marginals of the members, "
        "then use variance_of_mean",
    )


def _solve(
    solver: Solver,
    utility: Utility,
    summaries: FloatArray,
    indices: range,
    step: int = 1,
    index: Index = SHAPLEY,
) -> Solution:
    names = tuple(f"provider {i}" for i in range(summaries.shape[1]))[::step]
    games = Games(utility, summaries, names, indices, Seeds(0), index)
    with during(f"{type(solver).__name__}.solve must solve {len(names)} providers, as check says"):
        return check_solution(solver.solve(games), solver, games)


def _airport(costs: FloatArray) -> TableUtility:
    """The airport game: a coalition is worth the largest cost of its members."""
    longest = [max((costs[i] for i in members(c)), default=0.0) for c in range(2 ** len(costs))]
    return TableUtility(_EMPTY + np.array(longest))


def _by_definition(table: FloatArray, index: Index) -> FloatArray:
    """Values of a game: weighted means of the marginal contributions to coalitions of each size."""
    n = len(table).bit_length() - 1
    coalitions = np.arange(len(table))
    sizes, weights = np.bitwise_count(coalitions), index.size_weights(n)
    values = np.zeros(n)
    for i in range(n):
        marginals = table[coalitions | 1 << i] - table
        for s in range(n):
            without_i = (sizes == s) & (coalitions >> i & 1 == 0)
            values[i] += weights[s] * marginals[without_i].mean()
    return values
