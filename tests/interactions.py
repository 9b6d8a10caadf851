"""The definition of the interaction of two providers, as slow as it is plain."""

from itertools import combinations
from math import factorial

import numpy as np


def interactions_of(worth, players):
    """Interactions of all pairs, given a function from sets of players to values."""
    n, found = len(players), []
    for i, j in combinations(players, 2):
        others = [k for k in players if k not in (i, j)]
        total = 0.0
        for size in range(n - 1):
            weight = factorial(size) * factorial(n - size - 2) / factorial(n - 1)
            for chosen in combinations(others, size):
                s = frozenset(chosen)
                total += weight * (worth(s | {i, j}) - worth(s | {i}) - worth(s | {j}) + worth(s))
        found.append(total)
    return np.array(found)


def of_table(table):
    """Interactions of a game given as 2**n values by bitmask."""
    n = len(table).bit_length() - 1
    return interactions_of(lambda s: table[sum(1 << k for k in s)], range(n))


def averaged(table, rates):
    """Mean interactions over who is present, 0 for a pair of which one is absent."""
    n = len(rates)
    pairs = list(combinations(range(n), 2))
    total = np.zeros(len(pairs))
    for mask in range(2**n):
        there = [k for k in range(n) if mask >> k & 1]
        chance = np.prod([rates[k] if k in there else 1 - rates[k] for k in range(n)])
        own = interactions_of(lambda s: table[sum(1 << k for k in s)], there)
        for pair, value in zip(combinations(there, 2), own, strict=True):
            total[pairs.index(pair)] += chance * value
    return total


def upper(matrix):
    """The entries above the diagonal, row by row."""
    return matrix[np.triu_indices(len(matrix), 1)]
