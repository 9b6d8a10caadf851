"""The solvers to choose from. Another kind of solver is one more family in `FAMILIES`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.engine.arguments import Arguments
from shapband.errors import InvalidInput
from shapband.games import Games
from shapband.grouping import Grouping
from shapband.indices import SHAPLEY, Index
from shapband.records.batch import Batch
from shapband.solvers.arcs import Arcs
from shapband.solvers.balanced import BalancedPermutation
from shapband.solvers.base import Solver
from shapband.solvers.exact import MAX_PROVIDERS, Exact
from shapband.solvers.owen import count_coalitions
from shapband.solvers.permutation import Permutation
from shapband.solvers.strata import Strata
from shapband.utilities.base import GameSummaries, Utility

_MOST_WORK = 2**12  # no solver with more permutations per game is tried
_COUNTED = 4  # evaluations are counted in this many games and averaged
_PRESENT = 256  # the numbers of providers that take part are counted in this many games
_ANY_WORK = 2**10  # every family makes a solver that does this work


@dataclass(frozen=True)
class Family:
    """Solvers of one kind that do more or less work in a game.

    Attributes
    ----------
    name : name of the kind
    make : makes the solver that does some amount of work
    works : the amounts to try for a number of providers, ascending
    noisy : whether there is any noise
    """

    name: str
    make: Callable[[int], Solver]
    works: Callable[[int], list[int]]
    noisy: bool = True


def _exact_works(n: int) -> list[int]:
    return [2**n - 1] if n <= MAX_PROVIDERS else []


def _permutation_works(n: int) -> list[int]:
    return _below_exact([2**k for k in range(1, 13)], n)


def _balanced_works(n: int) -> list[int]:
    return _below_exact([n * 2**k for k in range(1, 13)], n) if n > 1 else []


def _below_exact(permutations: Sequence[int], n: int) -> list[int]:
    """Leave out amounts of work that evaluate as many coalitions as exact values would need."""
    most = _MOST_WORK if n > MAX_PROVIDERS else min(_MOST_WORK, (2**n - 2) // n)
    return [count for count in permutations if count <= most]


def _strata_works(n: int) -> list[int]:
    most = 2**n - 2 if n <= MAX_PROVIDERS else _MOST_WORK * n
    return [count * n for count in (8, 12, 20, 40, 80, 160) if count * n <= most] if n > 4 else []


def _arcs_works(n: int) -> list[int]:
    coalitions = 2**n - 1 if n <= MAX_PROVIDERS else float("inf")
    solvers = map(Arcs, (8, 16, 32, 64, 128))
    return [one.n_circles for one in solvers if one.most_evaluations(n) < coalitions]


FAMILIES = (
    Family("Exact", lambda _: Exact(), _exact_works, noisy=False),
    Family("Arcs", Arcs, _arcs_works),
    Family("Strata", Strata, _strata_works),
    Family("Permutation", Permutation, _permutation_works),
    Family("BalancedPermutation", BalancedPermutation, _balanced_works),
)


def families_for(
    n_providers: int, index: Index = SHAPLEY, players: Sequence[int] = ()
) -> list[Family]:
    """The families that have a solver for this number of providers, this index and these groups.

    Parameters
    ----------
    n_providers : number of providers
    index : the weights of coalition sizes
    players : number of providers of every player, if any of them is a group of several
    """
    if players:
        solving = [one for one in FAMILIES if _solves(one, players)]
        found = [_between_groups(one, players) for one in solving]
    else:
        found = list(FAMILIES)
    usable = [one for one in found if index == SHAPLEY or _any_solver(one).any_index]
    return [one for one in usable if one.works(n_providers)]


def _any_solver(family: Family) -> Solver:
    return family.make(_ANY_WORK)


def _solves(family: Family, players: Sequence[int]) -> bool:
    """Whether the solvers of a family give the values of groups."""
    try:
        _any_solver(family).check_groups(players)
    except InvalidInput:
        return False
    return True


def _between_groups(family: Family, players: Sequence[int]) -> Family:
    """The family with amounts of work for games between groups.

    Exact values of groups need fewer coalitions than exact values of as many single providers.
    """
    exact, n = count_coalitions(players), sum(players)
    if not family.noisy:
        return replace(family, works=lambda _: [exact])
    works = [count for count in family.works(MAX_PROVIDERS + 1) if count * n < exact]
    return replace(family, works=lambda _: works)


def count_evaluations(
    given: Arguments, solver: Solver, size: int, games: range, grouping: Grouping | None = None
) -> int:
    """Count the coalitions of the first `size` providers that a solver evaluates in some games.

    No records are needed. The seed determines which coalitions they are, so the valuation will
    evaluate the same number.
    """
    if size == 0:
        return 0
    utility, names = _Nothing(given.utility.mergeable), given.names[:size]
    summaries: list[tuple[None, ...]] = [(None,) * size] * len(games)
    blank = Games(utility, summaries, names, games, given.seeds, grouping=grouping)
    return solver.solve(blank).evaluations


def evaluations_per_game(given: Arguments, solver: Solver) -> float:
    """Mean number of coalitions that a solver evaluates in a game, from the first few games.

    If games draw who takes part, the mean is over the numbers of providers in `_PRESENT` games.
    """
    n = len(given.names)
    if given.draws_presence:
        present = Counter(given.present(range(_PRESENT)).sum(axis=1).tolist())
        counted = {size: _evaluations(given, solver.for_size(size), size) for size in present}
        return sum(counted[size] * games for size, games in present.items()) / _PRESENT
    return _evaluations(given, solver, n)


def _evaluations(given: Arguments, solver: Solver, size: int) -> float:
    """Mean number of coalitions that a solver evaluates in a game of the first providers."""
    nested = given.grouping if given.grouping is not None and given.grouping.nested else None
    if isinstance(solver, Exact):
        if nested is None:
            return 2.0**size - 1
        return float(count_coalitions([len(one) for one in nested.players(given.names).values()]))
    return count_evaluations(given, solver, size, range(_COUNTED), nested) / _COUNTED


class _Nothing(Utility):
    """A utility in which every coalition is worth 0, used to count the coalitions asked for."""

    def __init__(self, mergeable: bool) -> None:
        self.mergeable = mergeable

    def summarise(self, batch: Batch) -> None:
        """Keep nothing."""

    def evaluate(self, summaries: Sequence[Any], coalitions: Sequence[int]) -> FloatArray:  # noqa: ARG002
        return np.zeros(len(coalitions))

    def evaluate_all(self, games: GameSummaries) -> FloatArray:
        return np.zeros((len(games), 2 ** len(games[0])))

    def evaluate_prefixes(
        self,
        games: GameSummaries,  # noqa: ARG002
        orders: IntArray,
        first: IntArray,  # noqa: ARG002
    ) -> FloatArray:
        return np.zeros(orders.shape)

    def evaluate_rows(
        self,
        games: GameSummaries,  # noqa: ARG002
        inside: MemberArray,
        of_game: IntArray,  # noqa: ARG002
    ) -> FloatArray:
        return np.zeros(len(inside))

    def evaluate_arcs(
        self,
        games: GameSummaries,  # noqa: ARG002
        circles: IntArray,
        arcs: IntArray,
    ) -> FloatArray:
        return np.zeros((len(arcs), circles.shape[2]))
