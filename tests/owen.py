"""Owen values by their definition: slow, and without any of the library's code."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np


def admissible_orders(players):
    """All orders in which the members of every player stand together."""
    for outer in permutations(players):
        for inner in product(*(permutations(members) for members in outer)):
            yield [member for members in inner for member in members]


def owen_values(table, players):
    """The mean of exact marginal contributions over all admissible orders: (n,)."""
    exact = [Fraction(float(value)) for value in table]
    n = sum(map(len, players))
    sums, count = [Fraction(0)] * n, 0
    for order in admissible_orders(players):
        coalition, count = 0, count + 1
        for member in order:
            sums[member] += exact[coalition | 1 << member] - exact[coalition]
            coalition |= 1 << member
    return np.array([float(total / count) for total in sums])


def shapley_between(table, players):
    """The Shapley values of the players in the game between them: (n_players,)."""
    wholes = [sum(1 << member for member in members) for members in players]

    def union(mask):
        return sum(whole for player, whole in enumerate(wholes) if mask >> player & 1)

    quotient = [table[union(mask)] for mask in range(2 ** len(players))]
    return owen_values(quotient, [(player,) for player in range(len(players))])
