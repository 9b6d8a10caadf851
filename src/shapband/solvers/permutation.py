"""Algorithm 1: uniform random permutations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shapband._typing import FloatArray, IntArray
from shapband.checks import check_whole
from shapband.games import Games
from shapband.indices import SHAPLEY, Index
from shapband.solvers.base import Solution, Solver


@dataclass(frozen=True)
class Permutation(Solver):
    """The mean of marginal contributions over `n_iter` random permutations (Algorithm 1).

    With `n_iter` = 1 the solver's own noise cannot be estimated and is reported as NaN. With
    groups, the members of each group stand together in every permutation, which gives Owen values.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Permutation(n_iter=100)
    Permutation(n_iter=100)
    """

    n_iter: int
    any_index = True

    def __post_init__(self) -> None:
        check_whole("Permutation: n_iter", self.n_iter, 1)

    def check(self, n_providers: int) -> None:
        """Accept any number of providers."""

    def check_groups(self, sizes: Sequence[int]) -> None:
        """Accept groups of any size."""

    def solve(self, games: Games) -> Solution:
        orders = random_orders(games, self.n_iter)
        prefix_values, evaluations = games.prefixes(orders)
        marginals = marginal_contributions(orders, prefix_values, games.utility.empty, games.index)
        values, noise = marginals.mean(axis=1), variance_of_mean(marginals)
        if games.grouping is None:
            return Solution(values, noise, evaluations)
        group_noise = variance_of_mean(games.grouping.totals(marginals))
        return Solution(values, noise, evaluations, group_noise=group_noise)

    def floats_per_game(self, n_providers: int) -> int:
        """Floats in orders, values, marginal contributions and temporary arrays."""
        return 8 * self.n_iter * n_providers


def marginal_contributions(
    orders: ArrayLike, prefix_values: ArrayLike, empty: float = 0.0, index: Index = SHAPLEY
) -> FloatArray:
    """Marginal contributions of the providers along permutations, indexed by provider.

    Parameters
    ----------
    orders : (..., n) permutations of the providers 0 .. n-1
    prefix_values : (..., n) values of the coalitions of the first 1, 2, .. n providers
    empty : value of the empty coalition
    index : weights of the coalition sizes

    Returns
    -------
    (..., n): entry i is the value after provider i joined minus the value before. It is multiplied
    by n × the probability of the number of providers before i, which is 1 for Shapley, so that the
    mean over all permutations is the value of the index.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.extend.marginal_contributions([[0, 1, 2], [1, 2, 0]], [[2, 5, 9], [1, 6, 9]]).tolist()
    [[2.0, 3.0, 4.0], [3.0, 1.0, 5.0]]
    """
    joined: IntArray = np.asarray(orders, dtype=np.int64)
    values: FloatArray = np.asarray(prefix_values, dtype=np.float64)
    steps = np.diff(values, axis=-1, prepend=empty)
    if index != SHAPLEY:
        steps *= steps.shape[-1] * index.size_weights(steps.shape[-1])
    marginals = np.empty_like(steps)
    np.put_along_axis(marginals, joined, steps, axis=-1)
    return marginals


def random_orders(games: Games, n_iter: int) -> IntArray:
    """Uniform permutations for every game: (n_games, n_iter, n).

    Every provider draws a random key for every permutation from a stream named after it; the
    sorted keys give the permutation. So the order of providers does not matter, and adding a
    provider does not change the relative order of the others. With groups, the players of the
    game between groups are sorted by keys from their own names, and so are the members within each
    group: all permutations in which the members of every group stand together are equally likely.

    Examples
    --------
    >>> import shapband as sb
    >>> from shapband.seeds import Seeds
    >>> games = sb.Games(sb.AdditiveUtility(), [[1.0, 2.0]], ("a", "b"), range(1), Seeds(0))
    >>> sb.extend.random_orders(games, n_iter=3).shape
    (1, 3, 2)
    """

    def keys_of(names: Sequence[str]) -> NDArray[np.uint64]:
        words = [games.seeds.words("permutation", name, games.indices, n_iter) for name in names]
        return np.stack(words, axis=2)

    keys = keys_of(games.names)
    if games.grouping is None:
        return np.argsort(keys, axis=2)
    players = games.grouping.players(games.names)
    player_of = np.empty(games.n_providers, dtype=np.int64)
    for player, places in enumerate(players.values()):
        player_of[list(places)] = player
    return np.lexsort((keys, keys_of(list(players))[:, :, player_of]), axis=2)


def variance_of_mean(samples: FloatArray) -> FloatArray:
    """Estimated variance of the mean of independent samples: (n_games, k, n) to (n_games, n).

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> sb.extend.variance_of_mean(np.array([[[1.0], [3.0]]])).tolist()
    [[1.0]]
    """
    k = samples.shape[1]
    if k < 2:
        return np.full((samples.shape[0], samples.shape[2]), np.nan)
    deviations = samples - samples.mean(axis=1, keepdims=True)
    return np.asarray((deviations**2).sum(axis=1) / (k * (k - 1)))
