"""Solvers compared at equal numbers of evaluations, on games whose values are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shapband.checks import check_row, check_whole, written
from shapband.errors import InvalidInput
from shapband.solvers.base import Solver
from shapband.testing.known_games import KnownGame
from shapband.testing.solver_scores import SolverComparison
from shapband.testing.trial import Sized, Trial


def compare_solvers(
    solvers: Mapping[str, Sized | Solver] | Iterable[Sized | Solver],
    games: Mapping[str, KnownGame | ArrayLike],
    evaluations: int | Sequence[int],
    *,
    n_repeats: int = 200,
    seed: int = 0,
) -> SolverComparison:
    """Compare the errors of solvers that evaluate equally many distinct coalitions.

    Every solver gets the largest size at which it evaluates no more distinct coalitions per game
    than the budget, on average over a few games. Evaluations are counted in the game, so it does
    not matter what a solver counts. A coalition that is evaluated twice in a game counts once.
    A solver that cannot use the budget is not compared, and its note says why; so does the note of
    a solver that uses less than 90 % of it.

    Parameters
    ----------
    solvers : solvers by name, or a list. Each is a class or function that makes a solver from one
        whole number, such as `sb.Permutation` or ``lambda size: MySolver(size)``, and evaluates
        more with a larger number; or a solver, which is compared as it is
    games : by name, a `KnownGame`, or 2**n values indexed by bitmask, as for `TableUtility`
    evaluations : the budget, distinct coalitions per game, fewer than all 2**n - 1; or several
    n_repeats : how often each game is solved
    seed : the seed of the solvers' random numbers

    Examples
    --------
    >>> import shapband as sb
    >>> votes = [5, 4, 3, 3, 2, 2, 1, 1]
    >>> majority = sb.testing.KnownGame(lambda members: sum(votes[i] for i in members) > 10.0, 8)
    >>> found = sb.testing.compare_solvers(
    ...     [sb.Permutation, sb.BalancedPermutation], {"majority": majority}, 100)
    >>> found.to_frame().rms_error.round(2).tolist()
    [0.07, 0.08]
    """
    makers = _check_solvers(solvers)
    known = _check_games(games)
    several = isinstance(evaluations, Sequence | np.ndarray) and not isinstance(evaluations, str)
    given: Sequence[Any] = evaluations if several else [evaluations]  # type: ignore[assignment]
    budgets = [check_whole("evaluations", budget, 1) for budget in given]
    if not budgets:
        raise InvalidInput("evaluations must be a whole number, or several; received none")
    check_whole("n_repeats", n_repeats, 2)
    check_whole("seed", seed, 0, most=None)
    for (name, game), budget in product(known.items(), budgets):
        if budget >= 2**game.n_providers - 1:
            raise InvalidInput(
                f"evaluations must be fewer than the {2**game.n_providers - 1:,} coalitions of "
                f"the game {name!r}, where every solver could be exact; received {budget:,}"
            )
    scores = []
    for name, game in known.items():
        truth = game.truth
        value = _cached(game)
        for budget, (solver, maker) in product(budgets, makers.items()):
            trial = Trial(value, game.n_providers, truth, n_repeats, seed)
            scores.append(trial.scored(name, solver, maker, budget))
    return SolverComparison(tuple(scores), n_repeats, seed)


def _cached(game: KnownGame) -> Callable[[int], float]:
    """The value of a coalition, computed once for all solvers."""
    found: dict[int, float] = {}

    def value(mask: int) -> float:
        if mask not in found:
            found[mask] = game.of_mask(mask)
        return found[mask]

    return value


def _check_solvers(
    solvers: Mapping[str, Sized | Solver] | Iterable[Sized | Solver],
) -> dict[str, Sized | Solver]:
    """Name the solvers, and check that each is a solver or makes one."""
    if isinstance(solvers, Mapping):
        found = dict(solvers)
    elif isinstance(solvers, Iterable):
        given = list(solvers)
        found = {_name_of(one): one for one in given}
        if len(found) < len(given):
            raise InvalidInput(
                "solvers must have different names: pass a dictionary, such as "
                '{"few": ..., "many": ...}'
            )
    else:
        raise InvalidInput(
            f"solvers must be a dictionary of solvers by name, or a list; received "
            f"{written(solvers)}"
        )
    if not found:
        raise InvalidInput("solvers must hold at least one solver; received none")
    for name, one in found.items():
        if not (isinstance(one, Solver) or callable(one)):
            raise InvalidInput(
                f"solvers: {name!r} must be a solver, or a class or function that makes one from a "
                f"whole number; received {written(one)}"
            )
    return found


def _name_of(one: object) -> str:
    return repr(one) if isinstance(one, Solver) else getattr(one, "__name__", repr(one))


def _check_games(games: Mapping[str, KnownGame | ArrayLike]) -> dict[str, KnownGame]:
    if not isinstance(games, Mapping) or not games:
        raise InvalidInput(
            'games must be a dictionary of games by name, such as {"majority": KnownGame(...)}; '
            f"received {written(games)}"
        )
    return {name: _known_game(name, game) for name, game in games.items()}


def _known_game(name: str, game: KnownGame | ArrayLike) -> KnownGame:
    """Make a game of a table of all coalitions."""
    if isinstance(game, KnownGame):
        return game
    table = check_row(f"games: {name!r}", game)
    n = len(table).bit_length() - 1
    if len(table) != 2**n or n < 2:
        raise InvalidInput(
            f"games: {name!r} must be a KnownGame or 2**n values, at least 4; received the shape "
            f"{table.shape}"
        )
    return KnownGame(lambda inside: float(table[sum(1 << i for i in inside)]), n)
