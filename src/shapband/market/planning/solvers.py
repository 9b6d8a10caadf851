"""The solvers to choose from. Another kind of solver is one more family in `FAMILIES`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.engine.arguments import Arguments
from shapband.games import Games
from shapband.grouping import Grouping
from shapband.records.batch import Batch
from shapband.solvers.arcs import Arcs
from shapband.solvers.balanced import BalancedPermutation
from shapband.solvers.base import Solver
from shapband.solvers.exact import MAX_PROVIDERS, Exact
from shapband.solvers.permutation import Permutation
from shapband.solvers.strata import Strata
from shapband.utilities.base import GameSummaries, Utility

_MOST_WORK = 2**12  # no solver with more permutations per game is tried
_COUNTED = 4  # evaluations are counted in this many games and averaged


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


def families_for(n_providers: int) -> list[Family]:
    """The families that have a solver for this number of providers."""
    return [family for family in FAMILIES if family.works(n_providers)]


def count_evaluations(
    given: Arguments, solver: Solver, size: int, games: range, grouping: Grouping | None = None
) -> int:
    """Count the coalitions of the first `size` providers that a solver evaluates in some games.

    No records are needed. The seed determines which coalitions they are, so the valuation will
    evaluate the same number.
    """
    utility, names = _Nothing(given.utility.mergeable), given.names[:size]
    summaries: list[tuple[None, ...]] = [(None,) * size] * len(games)
    blank = Games(utility, summaries, names, games, given.seeds, grouping=grouping)
    return solver.solve(blank).evaluations


def evaluations_per_game(given: Arguments, solver: Solver) -> float:
    """Mean number of coalitions that a solver evaluates in a game, from the first few games."""
    n = len(given.names)
    if isinstance(solver, Exact):
        return 2.0**n - 1
    return count_evaluations(given, solver, n, range(_COUNTED)) / _COUNTED


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
