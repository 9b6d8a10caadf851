"""The coalitions that Owen values need, and the game inside a group that defines these values.

Let M be the players of the game between groups: the groups, and the providers in no group. If a
part T of group B plays instead of B, it is worth its Shapley value in the game between groups:

    u_B(T) = Σ_{H ⊆ M∖B} |H|! (|M| − |H| − 1)! / |M|! · (v(H ∪ T) − v(H)),

where H stands for all members of its groups. The Owen values of the members of B are the Shapley
values of the game u_B (Owen 1977, in Mathematical Economics and Game Theory, Springer, 76-88), so
they add up to u_B(B), the Shapley value of B among M.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.coalitions import coalition_weights
from shapband.indices import SHAPLEY


def count_coalitions(sizes: Sequence[int]) -> int:
    """Number of nonempty coalitions that consist of a part of one player and other whole players.

    Examples
    --------
    >>> count_coalitions([1, 1, 1]), count_coalitions([10, 10, 10])
    (7, 12271)
    """
    others = 1 << len(sizes) - 1
    return 2 * others - 1 + sum(others * ((1 << size) - 2) for size in sizes)


@lru_cache(maxsize=2)
def needed_coalitions(
    players: tuple[tuple[int, ...], ...],
) -> tuple[tuple[int, ...], tuple[IntArray, ...]]:
    """The distinct coalitions that Owen values need, and where each player finds its coalitions.

    Parameters
    ----------
    players : the positions of every player's providers

    Returns
    -------
    coalitions : bitmasks
    places : for every player (2**n_others, 2**size): entry [H, T] is the place of the coalition of
        the other players H and the providers T, both as bitmasks

    Examples
    --------
    >>> coalitions, places = needed_coalitions(((0, 1), (2,)))
    >>> coalitions, places[0].tolist()
    ((0, 1, 2, 3, 4, 5, 6, 7), [[0, 1, 2, 3], [4, 5, 6, 7]])
    """
    wholes = [sum(1 << provider for provider in providers) for providers in players]
    place: dict[int, int] = {}
    places = []
    for player, providers in enumerate(players):
        others = _unions(wholes[:player] + wholes[player + 1 :])
        parts = _unions(1 << provider for provider in providers)
        rows = [[place.setdefault(H | T, len(place)) for T in parts] for H in others]
        places.append(np.array(rows))
    return tuple(place), tuple(places)


def inner_games(values: FloatArray, places: IntArray) -> FloatArray:
    """The game inside one player, as tables: (n_games, n_coalitions) to (n_games, 2**size).

    Σ_H w_H v(H ∪ T) is returned for every T. It is u_B(T) plus a constant, which Shapley values do
    not depend on. The sum is computed by halving, so a game's bits do not depend on other games.
    """
    others = np.bitwise_count(np.arange(len(places))).astype(np.int64)
    n_players = len(places).bit_length()
    _, outside = coalition_weights(SHAPLEY.size_weights(n_players))
    tables = values[:, places] * outside[others][:, None]
    while tables.shape[1] > 1:
        half = tables.shape[1] // 2
        tables = tables[:, :half] + tables[:, half:]
    return np.asarray(tables[:, 0])


def _unions(masks: Iterable[int]) -> list[int]:
    """The unions of all subsets of disjoint masks; bit i of a place is mask i."""
    unions = [0]
    for mask in masks:
        unions += [union | mask for union in unions]
    return unions
