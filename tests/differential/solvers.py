"""Solvers and games without a model, by their definitions in exact fractions.

A game is a table of 2**n numbers, between 1e-150 and 1e70 in size; many have ties, zeros or large
offsets. Values are sums over all coalitions, or over all orders that keep groups together.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import mpmath as mp
import numpy as np

import shapband as sb
from shapband.errors import ShapbandError
from shapband.grouping import Grouping
from shapband.seeds import Seeds
from tests.differential.cases import stream
from tests.differential.settle import TOLERANCE
from tests.owen import owen_values

NAMES = tuple("bdacfe")


def game(rng: np.random.Generator, n: int) -> np.ndarray:
    """A table of 2**n values."""
    table = rng.normal(size=2**n)
    kind = rng.integers(6)
    if kind == 0:
        table = np.round(table)
    elif kind == 1:
        table += 10.0 ** rng.uniform(0, 12)
    elif kind == 2:
        table *= 10.0 ** rng.uniform(-150, 60)
    elif kind == 3:
        table = np.sort(table)  # more members are worth more
    elif kind == 4:
        table[rng.random(2**n) < 0.5] = 0.0
    return table


def index_of(rng: np.random.Generator) -> sb.Index:
    kind = rng.integers(4)
    if kind < 2:
        return sb.Shapley()
    return sb.Banzhaf() if kind == 2 else sb.Beta(*(10.0 ** rng.uniform(-1, 1.5, size=2)))


def size_probabilities(index: sb.Index, n: int) -> list[Fraction]:
    """Probability of each number of others, from the definition of the index."""
    if isinstance(index, sb.Shapley):
        return [Fraction(1, n)] * n
    if isinstance(index, sb.Banzhaf):
        return [Fraction(math.comb(n - 1, s), 2 ** (n - 1)) for s in range(n)]
    with mp.workdps(60):
        a, b = mp.mpf(index.alpha), mp.mpf(index.beta)
        weights = [
            math.comb(n - 1, s) * mp.beta(s + b, n - 1 - s + a) / mp.beta(a, b) for s in range(n)
        ]
        return [Fraction(mp.nstr(weight, 50)) for weight in weights]


def semivalues(table: np.ndarray, index: sb.Index) -> np.ndarray:
    """The mean marginal contribution, by size and then over sizes."""
    n = len(table).bit_length() - 1
    exact = [Fraction(value) for value in table.tolist()]
    q = size_probabilities(index, n)
    values = []
    for i in range(n):
        total = Fraction(0)
        for mask in range(2**n):
            if not mask >> i & 1:
                size = mask.bit_count()
                gain = exact[mask | 1 << i] - exact[mask]
                total += q[size] * gain / math.comb(n - 1, size)
        values.append(float(total))
    return np.array(values)


def along_orders(table: np.ndarray, orders: Any, index: sb.Index) -> np.ndarray:
    """The mean of marginal contributions along given orders, weighted by the index."""
    n = len(table).bit_length() - 1
    q = size_probabilities(index, n)
    totals = [Fraction(0)] * n
    for order in orders.tolist():
        mask = 0
        for place, i in enumerate(order):
            gain = Fraction(float(table[mask | 1 << i])) - Fraction(float(table[mask]))
            totals[i] += n * q[place] * gain
            mask |= 1 << i
    return np.array([float(total / len(orders)) for total in totals])


def grouping_of(rng: np.random.Generator, n: int) -> Grouping | None:
    labels = [str(rng.choice(["", "north", "south"])) for _ in range(n)]
    grouping = Grouping.of_labels(labels)
    return grouping if grouping is not None and grouping.nested else None


def solved(number: int) -> tuple[str, float]:
    """Solve one game by one solver; return the outcome and the largest relative difference."""
    rng = stream("solvers", number)
    n = int(rng.integers(1, 6))
    table, index = game(rng, n), index_of(rng)
    kind = ("exact", "owen", "strata", "permutation", "balanced")[number % 5]
    names = NAMES[:n]
    grouping = grouping_of(rng, n) if kind == "owen" else None
    index = index if grouping is None else sb.Shapley()
    utility = sb.TableUtility(table)
    games = sb.Games(utility, [[None] * n], names, range(1), Seeds(number), index, grouping)
    try:
        if kind in ("exact", "owen", "strata"):
            solver: sb.Solver = sb.Strata(2**n - 1) if kind == "strata" else sb.Exact()
            players = [] if grouping is None else list(grouping.players(names).values())
            wanted = owen_values(table, players) if players else semivalues(table, index)
        elif kind == "permutation":
            n_iter = int(rng.integers(1, 12))
            solver = sb.Permutation(n_iter)
            wanted = along_orders(table, sb.extend.random_orders(games, n_iter)[0], index)
        else:
            solver = sb.BalancedPermutation(2 * n)
            wanted = None
        found = solver.solve(games).values[0]
    except ShapbandError:
        largest = float(np.abs(table).max())
        return ("refused" if largest > 1e75 else "needless error"), 0.0
    # Rounding errors are relative to the table, not to what is left of it.
    scale = max(float(np.abs(table).max()), np.finfo(np.float64).tiny)
    if wanted is None:
        return _balanced(table, index, found, scale, n)
    difference = float(np.abs(found - wanted).max()) / scale
    return ("equal" if difference <= TOLERANCE else "ours wrong"), difference


def _balanced(
    table: np.ndarray, index: sb.Index, found: np.ndarray, scale: float, n: int
) -> tuple[str, float]:
    """Balanced orders cannot be repeated from outside: their values must be a mean over orders.

    Shapley values of each order sum to v(N) - v(∅); up to three providers, every value lies
    between the least and the largest marginal contribution.
    """
    if not isinstance(index, sb.Shapley):
        bounds = [along_orders(table, np.array([o]), index) for o in permutations(range(n))]
        low, high = np.min(bounds, axis=0), np.max(bounds, axis=0)
        outside = float(np.maximum(low - found, found - high).max(initial=0.0)) / scale
        return ("equal" if outside <= TOLERANCE else "ours wrong"), max(outside, 0.0)
    gap = abs(float(found.sum()) - float(table[-1] - table[0])) / scale
    return ("equal" if gap <= TOLERANCE * n else "ours wrong"), gap


def added_up(number: int) -> tuple[str, float]:
    """Compare an additive utility, and the table made of it, with sums of exact fractions."""
    rng = stream("additive", number)
    n = int(rng.integers(1, 6))
    weights, empty = rng.normal(size=n), float(rng.normal())
    scale = 10.0 ** rng.uniform(-150, 60) if rng.random() < 0.3 else 1.0
    targets = [rng.normal(size=rng.integers(1, 9)) * scale for _ in range(n)]
    utility = sb.AdditiveUtility(weights, empty=empty)
    means = [utility.summarise(sb.Batch(np.zeros((len(y), 1)), y)) for y in targets]
    games = sb.Games(utility, [means], NAMES[:n], range(1), Seeds(0))
    worth = [
        Fraction(float(w)) * sum(map(Fraction, y.tolist())) / len(y)
        for w, y in zip(weights, targets, strict=True)
    ]
    largest = 0.0
    table, values = games.table()[0], sb.Exact().solve(games).values[0]
    for mask in range(2**n):
        wanted = float(Fraction(empty) + sum(worth[i] for i in range(n) if mask >> i & 1))
        size = max(1.0, abs(empty), *(abs(float(one)) for one in worth))
        largest = max(largest, abs(float(table[mask]) - wanted) / size)
        alone = utility.evaluate(means, [mask])[0]
        largest = max(largest, abs(float(alone) - wanted) / size)
    for i in range(n):
        largest = max(largest, abs(float(values[i]) - float(worth[i])) / size)
    return ("equal" if largest <= TOLERANCE else "ours wrong"), largest
