"""Exact values from all coalitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shapband import kernels
from shapband._typing import FloatArray
from shapband.coalitions import coalition_weights
from shapband.errors import InvalidInput
from shapband.games import Games
from shapband.grouping import Grouping
from shapband.indices import Index
from shapband.solvers.base import Solution, Solver
from shapband.solvers.owen import count_coalitions, inner_games, needed_coalitions
from shapband.solvers.pair_tables import average_interactions, table_interactions
from shapband.solvers.pairs import PairSolution
from shapband.solvers.presence import average_over_presence

MAX_PROVIDERS = 20  # 20 providers have 1,048,575 coalitions; each further one doubles the number


@dataclass(frozen=True)
class Exact(Solver):
    """Exact values from all 2**n coalitions, for up to 20 providers.

    With groups, the values are exact Owen values. They need only coalitions of a part of one group
    and any number of other whole groups. Up to 2**20 - 1 such coalitions are allowed, as many as 20
    providers without groups have.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Exact()
    Exact()
    """

    any_index = True
    gives_interactions = True

    def check(self, n_providers: int) -> None:
        if n_providers > MAX_PROVIDERS:
            needed = f"{2**n_providers - 1:,}" if n_providers <= 64 else f"2**{n_providers} - 1"
            raise InvalidInput(
                f"Exact: {n_providers} providers have {needed} coalitions per game, "
                f"too many to evaluate (the limit is {MAX_PROVIDERS} providers): use "
                "Strata, BalancedPermutation or Permutation"
            )

    def check_groups(self, sizes: Sequence[int]) -> None:
        needed = count_coalitions(sizes)
        if needed >= 2**MAX_PROVIDERS:
            raise InvalidInput(
                f"Exact: {len(sizes)} players, the largest a group of {max(sizes)} providers, have "
                f"at least 2**{needed.bit_length() - 1} relevant coalitions per game, too many "
                f"to evaluate (the limit is {2**MAX_PROVIDERS - 1:,}): use Permutation"
            )

    def solve(self, games: Games) -> Solution:
        if games.grouping is not None:
            return _owen_solution(games, games.grouping)
        table = games.table()
        evaluations = table.shape[0] * (table.shape[1] - 1)
        if games.rates is not None:
            values, variance = average_over_presence(table, games.rates)
            no_noise = np.zeros_like(values)
            pairs = _exact(average_interactions(table, games.rates)) if games.interactions else None
            return Solution(values, no_noise, evaluations, presence_variance=variance, pairs=pairs)
        values = index_values(table, games.index)
        pairs = _exact(table_interactions(table)) if games.interactions else None
        return Solution(values, np.zeros_like(values), evaluations, pairs=pairs)

    def floats_per_game(self, n_providers: int) -> int:
        """Floats in the table of all coalitions."""
        return 1 << n_providers


def _exact(interactions: FloatArray) -> PairSolution:
    return PairSolution(interactions, np.zeros_like(interactions))


def _owen_solution(games: Games, grouping: Grouping) -> Solution:
    """Owen values: Shapley values of the game inside every group."""
    players = tuple(grouping.players(games.names).values())
    coalitions, places = needed_coalitions(players)
    found, evaluations = games.some(coalitions)
    values = np.empty((len(found), games.n_providers))
    for providers, place in zip(players, places, strict=True):
        values[:, list(providers)] = index_values(inner_games(found, place), games.index)
    no_noise = np.zeros((len(found), len(grouping.names)))
    return Solution(values, np.zeros_like(values), evaluations, group_noise=no_noise)


def index_values(table: FloatArray, index: Index) -> FloatArray:
    """Values of games given as tables: (n_games, 2**n) to (n_games, n).

    With the probabilities q of the index, a_s = q_{s-1} / C(n-1, s-1), which is (s-1)!(n-s)!/n!
    for Shapley, and b_s = q_s / C(n-1, s), the definition reads
    φ_i = Σ_{S∋i} a_|S| v(S) − Σ_{S∌i} b_|S| v(S)
        = Σ_{S∋i} (a_|S| + b_|S|) v(S) − Σ_S b_|S| v(S),                            (1)
    so for every i the same weighted table is summed over the coalitions that contain i.

    Examples
    --------
    >>> import shapband as sb
    >>> index_values(np.array([[0.0, 1.0, 2.0, 5.0]]), sb.Shapley()).tolist()
    [[2.0, 3.0]]
    """
    n = table.shape[1].bit_length() - 1
    with_i, without_i = coalition_weights(index.size_weights(n))
    sizes = np.bitwise_count(np.arange(2**n)).astype(np.int64)
    both, outside = (with_i + without_i)[sizes], without_i[sizes]
    rows = np.ascontiguousarray(table, dtype=np.float64)
    values: FloatArray = kernels.load("shapley").weigh(rows, both, outside)
    return values
