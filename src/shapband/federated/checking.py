"""Exact values estimated from few retrained coalitions, with the rebuilt scores as a guide.

The size s of a coalition S is drawn with probability ∝ 1 / (s (n − s)), its members uniformly, and
its complement is retrained too. Let z mark the members, H = 1 + 1/2 + .. + 1/(n − 1), and
y = (v(S) − v(N∖S)) / 2. Then (Covert and Lee 2021, for pairs of complements)

    φ_i = (v(N) − v(∅)) / n + E[2 H (z_i − s / n) y].

Here v is the difference between retrained and rebuilt scores, whose values are those that
reconstruction lacks. The mean over the pairs is unbiased but noisy. So y is first explained by
games whose values are known: a sum over the members, the rebuilt scores, and a function of the
size. Their coefficients are fitted to all other pairs, their known values are used instead of their
part of y, and the formula is applied to the rest. A fit is independent of the pair that it is used
for, so the values are unbiased however poor the fit is. If rebuilt scores are far from retrained
ones, their coefficient is near −1, which takes them out again.

Pairs are independent, so the jackknife over pairs gives the variance. By the inequality of Efron
and Stein it is too large on average rather than too small.

Reference: Covert and Lee, Improving KernelSHAP: practical Shapley value estimation using linear
regression, AISTATS 2021.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.checks import check_number, error_line, one_line
from shapband.coalitions import describe, mask_rows, members, row_masks
from shapband.errors import EvaluationError, InvalidInput
from shapband.indices import SHAPLEY
from shapband.seeds import Seeds
from shapband.solvers.exact import index_values

Retrain: TypeAlias = Callable[[tuple[str, ...]], float]
FEWEST = 9  # coalitions: everybody, and the four pairs that a variance needs at least
# Ridges of the fit, in pairs of coalitions, chosen on 24 runs of six clients with 9 pairs. With 0.1
# for rebuilt scores, errors of corrected OR values were twice as large on average, and those of
# one-round values 7 % smaller. With 0.003 both are near their best.
_OF_MEMBERS, _OF_REBUILT, _OF_SIZE = 1.0, 0.003, 0.1


class Checked(NamedTuple):
    """Estimated exact values.

    Attributes
    ----------
    values : (n,)
    errors : (n,) their standard errors; 0 if all coalitions were retrained
    retrained : number of coalitions
    """

    values: FloatArray
    errors: FloatArray
    retrained: int


class Known(NamedTuple):
    """The game of rebuilt scores, whose values are known.

    Attributes
    ----------
    rebuilt : (n_rows, n) coalitions → (n_rows,) rebuilt scores
    values : (n,) its Shapley values
    start : value of nobody, which is the score of the initial model
    """

    rebuilt: Callable[[MemberArray], FloatArray]
    values: FloatArray
    start: float


class Trainer:
    """Retrains coalitions, each once; an error names the coalition."""

    def __init__(self, names: Sequence[str], retrain: Retrain) -> None:
        self._names = names
        self._retrain = retrain
        self._known: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __call__(self, inside: MemberArray) -> FloatArray:
        """Scores of coalitions: (n_rows,)."""
        masks = row_masks(inside)
        for mask in masks:
            if mask not in self._known:
                self._known[mask] = self._trained(mask)
        return np.array([self._known[mask] for mask in masks])

    def _trained(self, mask: int) -> float:
        try:
            coalition = tuple(self._names[i] for i in members(mask))
            return check_number("retrain(coalition)", self._retrain(coalition))
        except Exception as cause:
            wrong = isinstance(cause, InvalidInput)
            raise EvaluationError(
                f"the coalition {describe(mask, self._names)} could not be retrained: "
                f"{one_line(cause) if wrong else error_line(cause)}"
            ) from cause


def estimate_exact(
    names: Sequence[str], retrain: Retrain, known: Known, check: int, seeds: Seeds
) -> Checked:
    """Estimate the values of the game of retrained scores from at most `check` coalitions."""
    n, trained = len(names), Trainer(names, retrain)
    if 2 ** min(n, 62) - 1 <= check:
        scores = trained(mask_rows(range(1, 2**n), n))
        table = np.concatenate([[known.start], scores])
        return Checked(index_values(table[None], SHAPLEY)[0], np.zeros(n), len(trained))
    drawn = draw_coalitions(names, (check - 1) // 2, seeds)
    rebuilt = _halves(known.rebuilt, drawn)  # before time is spent on training
    everybody = float(trained(np.ones((1, n), dtype=np.uint8))[0])
    total = everybody - known.start - float(known.values.sum())
    pairs = _Pairs(drawn, _halves(trained, drawn) - rebuilt, rebuilt)
    lacking = pairs.values(total, known.values)
    m = len(drawn)
    others = ~np.eye(m, dtype=bool)
    without = np.array([pairs.some(rest).values(total, known.values) for rest in others])
    variance = (m - 1) / m * ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    return Checked(known.values + lacking, np.sqrt(variance), len(trained))


def draw_coalitions(names: Sequence[str], n_pairs: int, seeds: Seeds) -> MemberArray:
    """Draw one coalition of each pair: (n_pairs, n). The order of the names does not matter."""
    n = len(names)
    sizes = np.arange(1, n)
    chances = 1.0 / (sizes * (n - sizes))
    drawn = seeds.generator("check", "", 0).choice(sizes, size=n_pairs, p=chances / chances.sum())
    keys = [seeds.generator("check", name, 0).random(n_pairs) for name in names]
    ranks = np.argsort(np.argsort(np.stack(keys, axis=1), axis=1), axis=1)
    return np.asarray(ranks < drawn[:, None]).view(np.uint8)


def _halves(game: Callable[[MemberArray], FloatArray], drawn: MemberArray) -> FloatArray:
    """Half the difference between each coalition and its complement: (n_pairs,)."""
    inside, outside = game(np.concatenate([drawn, 1 - drawn])).reshape(2, -1)
    return np.asarray((inside - outside) / 2)


class _Pairs(NamedTuple):
    """Coalitions and complements.

    Attributes
    ----------
    drawn : (n_pairs, n)
    lacking : (n_pairs,) y: half the difference between a coalition and its complement, of their
        retrained minus rebuilt scores
    rebuilt : (n_pairs,) the same of their rebuilt scores
    """

    drawn: MemberArray
    lacking: FloatArray
    rebuilt: FloatArray

    def some(self, which: FloatArray) -> _Pairs:
        """Keep some of the pairs."""
        return _Pairs(*(part[which] for part in self))

    def values(self, total: float, rebuilt: FloatArray) -> FloatArray:
        """Values of the differences, each pair corrected by the fit to all others.

        With the ridge matrix G = Σ x xᵀ + Λ and the residual e of a pair, its residual around the
        fit to the others is r = e / (1 − xᵀ G⁻¹ x), and their coefficients are θ − G⁻¹ x r.

        Parameters
        ----------
        total : v(N) − v(∅) of the differences
        rebuilt : (n,) values of the rebuilt scores
        """
        n = self.drawn.shape[1]
        sizes = self.drawn.sum(axis=1, dtype=np.int64)
        x, known, ridge = self._explaining(sizes, rebuilt)
        y = _apart(self.lacking, total, sizes, n)
        inverse = np.linalg.inv(x.T @ x + np.diag(ridge))
        fit = inverse @ (x.T @ y)
        leverage = np.einsum("ki,ij,kj->k", x, inverse, x)
        rest = (y - x @ fit) / (1 - leverage)
        explained = (fit - (x * rest[:, None]) @ inverse) @ known
        scale = 2 * float((1.0 / np.arange(1, n)).sum())  # 2 H
        centred = self.drawn - sizes[:, None] / n
        return np.asarray(total / n + (explained + scale * centred * rest[:, None]).mean(axis=0))

    def _explaining(
        self, sizes: IntArray, rebuilt: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Games that explain y: their halves of differences, their known values, and ridges.

        The value that all clients have in common is removed from each, because `total` has it.
        A game of the size alone then has the value 0.
        """
        n = self.drawn.shape[1]
        unit = float(np.linalg.norm(rebuilt)) or 1.0  # does not depend on the coalitions drawn
        scores = _apart(self.rebuilt, float(rebuilt.sum()), sizes, n) / unit
        columns = [self.drawn - sizes[:, None] / n, scores, np.log(sizes / (n - sizes)) / 2]
        known = [np.eye(n) - 1 / n, (rebuilt - rebuilt.mean()) / unit, np.zeros(n)]
        ridge = np.array([_OF_MEMBERS] * n + [_OF_REBUILT, _OF_SIZE])
        return np.column_stack(columns), np.vstack(known), ridge


def _apart(halves: FloatArray, total: float, sizes: IntArray, n: int) -> FloatArray:
    """Halves of differences minus those of the game that divides `total` equally."""
    return np.asarray(halves - total / n * (sizes - n / 2))
