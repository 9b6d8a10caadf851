"""Shapley values from few evaluations: random coalitions with their complements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.checks import check_whole
from shapband.errors import InvalidInput
from shapband.games import Games
from shapband.solvers.base import Solution, Solver
from shapband.solvers.exact import MAX_PROVIDERS, Exact

FEWEST = 9  # evaluations: of everybody together, and of four pairs, which show a variance
# Ridge of the fit, in pairs of coalitions. Of 0.01 to 2 it had the smallest or nearly the smallest
# errors with 9 pairs in games of 6 and 10 players, from additive ones to random tables.
_RIDGE = 0.5


@dataclass(frozen=True)
class Pairs(Solver):
    """At most `n_evaluations` coalitions: everybody, and pairs of a coalition and its complement.

    The size s of a coalition is drawn with probability ∝ 1 / (s (n − s)), and its members
    uniformly. Let z mark the members, H = 1 + 1/2 + .. + 1/(n − 1), and
    y = (v(S) − v(N∖S)) / 2. Then (Covert and Lee 2021, with complements)

        φ_i = (v(N) − v(∅)) / n + E[2 H (z_i − s / n) y].

    A sum over the members, fitted by ridge regression to all other pairs, is subtracted from y and
    its known values are added again, which removes most of the noise if the game is nearly
    additive. The fit is independent of the pair that it corrects, so the values are unbiased
    however poor it is. Pairs are independent, so the jackknife over pairs gives the noise. By the
    inequality of Efron and Stein it is too large on average rather than too small. If the
    evaluations suffice for all coalitions, the values are exact.

    References
    ----------
    Covert and Lee, Improving KernelSHAP: practical Shapley value estimation using linear
    regression, AISTATS 2021.
    """

    n_evaluations: int

    def __post_init__(self) -> None:
        check_whole("Pairs: n_evaluations", self.n_evaluations, 1)

    def check(self, n_providers: int) -> None:
        least = min(FEWEST, 2 ** min(n_providers, MAX_PROVIDERS) - 1)
        if self.n_evaluations < least:
            raise InvalidInput(
                f"Pairs: n_evaluations must be at least {least} for {n_providers} providers; "
                f"received {self.n_evaluations}"
            )

    def solve(self, games: Games) -> Solution:
        n = games.n_providers
        if n <= MAX_PROVIDERS and 2**n - 1 <= self.n_evaluations:
            return Exact().solve(games)
        values, noise = np.empty((2, len(games.indices), n))
        evaluations = 0
        for g, game in enumerate(games.indices):
            drawn = _draw(games, game, (self.n_evaluations - 1) // 2)
            rows = np.concatenate([np.ones((1, n), np.uint8), drawn, 1 - drawn])
            different, place = np.unique(rows, axis=0, return_inverse=True)
            found = games.values(different, np.full(len(different), g))[place.ravel()]
            evaluations += len(different)
            total = float(found[0]) - games.utility.empty
            above, below = found[1:].reshape(2, -1)
            values[g], noise[g] = _estimate(drawn, (above - below) / 2, total)
        return Solution(values, noise, evaluations)

    def floats_per_game(self, n_providers: int) -> int:
        """Floats in the coalitions and their fits."""
        return 4 * self.n_evaluations * n_providers + n_providers**2


def _draw(games: Games, game: int, n_pairs: int) -> MemberArray:
    """Draw one coalition of each pair: (n_pairs, n). The order of the names does not matter."""
    n = games.n_providers
    sizes = np.arange(1, n)
    chances = 1.0 / (sizes * (n - sizes))
    words = games.seeds.generator("pairs", "", game)
    drawn = words.choice(sizes, size=n_pairs, p=chances / chances.sum())
    keys = np.stack(
        [games.seeds.generator("pairs", name, game).random(n_pairs) for name in games.names], axis=1
    )
    return (keys.argsort(axis=1).argsort(axis=1) < drawn[:, None]).astype(np.uint8)


def _estimate(z: MemberArray, y: FloatArray, total: float) -> tuple[FloatArray, FloatArray]:
    """Values and their noise from pairs; `total` is v(N) − v(∅)."""
    m = len(z)
    sizes = z.sum(axis=1, dtype=np.int64)
    values = _values(z, y, sizes, total)
    others = ~np.eye(m, dtype=bool)
    without = np.array([_values(z[rest], y[rest], sizes[rest], total) for rest in others])
    return values, (m - 1) / m * ((without - without.mean(axis=0)) ** 2).sum(axis=0)


def _values(z: MemberArray, y: FloatArray, sizes: IntArray, total: float) -> FloatArray:
    """Values from pairs, each corrected by a fit to all others.

    With the ridge matrix G = Σ u uᵀ + λ I and the residual e of a pair, the residual around the
    fit to the others is r = e / (1 − uᵀ G⁻¹ u), and their slopes are β − G⁻¹ u r.
    """
    n = z.shape[1]
    u = z - sizes[:, None] / n
    harmonic = float((1.0 / np.arange(1, n)).sum())
    rest = y - total / n * (sizes - n / 2)  # what an equal division of v(N) does not explain
    inverse = np.linalg.inv(u.T @ u + _RIDGE * np.eye(n))
    slopes = inverse @ (u.T @ rest)
    leverage = np.einsum("ki,ij,kj->k", u, inverse, u)
    apart = (rest - u @ slopes) / (1 - leverage)
    own = slopes - (u * apart[:, None]) @ inverse
    return np.asarray(total / n + (own + 2 * harmonic * u * apart[:, None]).mean(axis=0))
