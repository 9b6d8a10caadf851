"""Coalitions that are arcs of random circles, for utilities whose evaluations cost little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shapband import kernels
from shapband._typing import FloatArray, IntArray
from shapband.checks import check_whole
from shapband.games import Games
from shapband.indices import SHAPLEY, Index
from shapband.kernels.rows import uniforms
from shapband.solvers.base import Solution, Solver
from shapband.solvers.exact import MAX_PROVIDERS, Exact
from shapband.solvers.permutation import random_orders

# Circles in a game. The coefficients for one of them are fitted to the others; with 5 circles the
# fits had so much data in common that in smooth games the reported noise was only 0.7 of the true.
FEWEST = 8
_SIZES = 3  # sampled sizes of a circle
# Sizes s are drawn with probabilities in proportion to s ** -_DECLINE, because marginal
# contributions fall like this along a learning curve. The share _EVENLY is drawn with equal
# probabilities, so that a game whose values jump at a large size is at most a few times as noisy as
# with permutations.
_DECLINE, _EVENLY = 1.2, 0.25


@dataclass(frozen=True)
class Arcs(Solver):
    """All arcs of a few sizes on each of `n_circles` random circles of the providers.

    A provider can join the arc of s neighbours after it, and the arc of s neighbours before it. So
    one circle gives two marginal contributions of every provider for each sampled size s. A linear
    regression predicts them from three values: what the provider adds to nobody, what it adds to
    all others, and the value of the arc that it joins. The predictions are summed exactly over all
    sizes, and only the residuals depend on which sizes were sampled. The coefficients for a circle
    are fitted to the other circles, so the values are unbiased however poor the predictions are.
    The circles are independent, so their differences show the noise.

    Arcs of neighbouring positions differ by two providers, so utilities whose summaries add up
    merge them in a few additions. A game takes about 6 evaluations per circle and provider.

    Parameters
    ----------
    n_circles : random circles in a game, at least 8

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Arcs(n_circles=10)
    Arcs(n_circles=10)
    """

    n_circles: int
    any_index = True

    def __post_init__(self) -> None:
        check_whole("Arcs: n_circles", self.n_circles, FEWEST)

    def check(self, n_providers: int) -> None:
        """Accept any number of providers."""

    def solve(self, games: Games) -> Solution:
        n = games.n_providers
        if n <= MAX_PROVIDERS and 2**n - 1 <= self.most_evaluations(n):
            return Exact().solve(games)
        plan = _Sizes.of(n, games.index)
        orders = random_orders(games, self.n_circles)
        starts = uniforms(games.seeds.words("arcs", "", games.indices, self.n_circles))
        sizes = plan.drawn(starts)
        arcs, rows = _arcs_of(sizes, n)
        values = games.arcs(orders, arcs)
        whole = games.values(np.ones((len(orders), n), dtype=np.uint8), np.arange(len(orders)))
        phi, noise = kernels.load("arcs").solve_arcs(
            orders, sizes, values, rows, whole, float(games.utility.empty), plan.weights, plan.sums,
            (plan.probabilities[0], plan.probabilities[-1]), games.index == SHAPLEY,
        )  # fmt: skip
        return Solution(phi, noise, values.size + len(whole))

    def most_evaluations(self, n_providers: int) -> int:
        """Evaluations in a game: arcs of sizes s and s + 1 for sampled s, and of 1, n - 1 and n."""
        return (2 * _SIZES * self.n_circles + 2) * n_providers + 1

    def floats_per_game(self, n_providers: int) -> int:
        """Floats in circles, random keys, values of arcs and the terms of the regression."""
        return n_providers * (2 + self.n_circles * (3 + 6 * _SIZES))


class _Sizes(NamedTuple):
    """How sizes are drawn, and their weights in a value.

    Attributes
    ----------
    probabilities : (n,) probability in the index that a provider joins a coalition of each size
    chances : (n,) probability that a circle samples each size; 0 for the sizes 0 and n - 1, which
        are evaluated in any case
    """

    probabilities: FloatArray
    chances: FloatArray

    @staticmethod
    def of(n: int, index: Index) -> _Sizes:
        probabilities = np.asarray(index.size_weights(n))
        size = np.arange(1, n - 1)
        curve = 1.0 / size**_DECLINE
        mixed = (1 - _EVENLY) * curve / curve.sum() + _EVENLY / len(size)
        chances = np.zeros(n)
        # Sizes with a probability near 0 in the index are drawn too, so that no weight is huge.
        counts = probabilities[1:-1] / probabilities.max()
        chances[1:-1] = _capped(mixed * np.maximum(counts, 1e-3), min(_SIZES, len(size)))
        return _Sizes(probabilities, chances)

    def drawn(self, starts: FloatArray) -> IntArray:
        """Draw sizes systematically, from a random start in [0, 1): (..., 3), 0 for none."""
        ends = np.cumsum(self.chances)
        marks = starts[..., None] + np.arange(_SIZES)
        sizes = np.searchsorted(ends, marks, side="right")
        return np.where(marks < ends[-1], np.minimum(sizes, len(ends) - 2), 0)

    @property
    def weights(self) -> FloatArray:
        """(n,) weight of a residual of each size."""
        safe = np.where(self.chances > 0, self.chances, 1.0)
        return np.where(self.chances > 0, self.probabilities / safe, 0.0)

    @property
    def sums(self) -> FloatArray:
        """(3,) sums of q, q / (s + 1) and q s / n over the sizes s from 1 to n - 2.

        q is the probability of each size in the index.
        """
        n = len(self.chances)
        size, counts = np.arange(1, n - 1), self.probabilities[1:-1]
        return np.array([counts.sum(), (counts / (size + 1)).sum(), (counts * size / n).sum()])


def _capped(shares: FloatArray, total: int) -> FloatArray:
    """Chances in proportion to the shares, at most 1 each, that sum to the total."""
    certain = np.zeros(len(shares), dtype=bool)
    while True:
        rest = shares * ~certain
        chances = np.where(certain, 1.0, rest * (total - certain.sum()) / max(rest.sum(), 1e-300))
        over = chances > 1.0
        if not over.any():
            return chances
        certain |= over


def _arcs_of(sizes: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return the arcs to evaluate, and where each circle finds the values of its arcs.

    Parameters
    ----------
    sizes : (n_games, n_circles, K) sampled sizes, 0 for none

    Returns
    -------
    arcs : (n_arcs, 3) game, circle and size. Sizes 1 and n - 1 are evaluated only on the first
        circle of a game, because these coalitions are the same on all circles
    rows : (n_games, n_circles, 2 K + 2) places in `arcs`: K of the sampled sizes s, K of the sizes
        s + 1, and two of the sizes 1 and n - 1; -1 where there is none
    """
    n_games, circles, drawn = sizes.shape
    wanted = np.concatenate([sizes, np.where(sizes > 0, sizes + 1, 0)], axis=2).tolist()
    arcs: list[tuple[int, int, int]] = []
    rows = np.full((n_games, circles, 2 * drawn + 2), -1)
    for g in range(n_games):
        rows[g, 0, -2:] = len(arcs), len(arcs) + 1
        arcs += [(g, 0, 1), (g, 0, n - 1)]
        for r in range(circles):
            known: dict[int, int] = {}
            for k, size in enumerate(wanted[g][r]):
                if 1 < size < n - 1:
                    if size not in known:
                        known[size] = len(arcs)
                        arcs.append((g, r, size))
                    rows[g, r, k] = known[size]
    return np.array(arcs), rows
