"""Values after each round of training, and of each round, beside the values of games.

The value of round r is the value of "score after r rounds minus score after r - 1 rounds". Shapley
values are linear, so the values of all rounds add up to the value of the game. Games of R rounds
have 2 (R - 1) further series of values: first those after 1, .., R - 1 rounds, then those of the
rounds 2, .., R. The value of round 1 is the value after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shapband._typing import AnyArray, FloatArray, IntArray, MemberArray
from shapband.games import Games
from shapband.records.batch import Batch
from shapband.solvers.base import RoundSolution, Solution, Solver
from shapband.utilities.base import GameSummaries, Utility


def series_count(n_rounds: int) -> int:
    """Number of further series of games with so many rounds.

    Examples
    --------
    >>> series_count(5), series_count(1)
    (8, 0)
    """
    return 2 * (n_rounds - 1)


def round_solution(
    games: Games, solver: Solver, solution: Solution, pattern: Games, parts: Sequence[Utility]
) -> RoundSolution:
    """Values after each round but the last, and of each round but the first.

    Parameters
    ----------
    games : the games, solved by their whole training in `solution`
    pattern : games whose coalitions are evaluated (`Solver.solve_like`)
    parts : the utility scored after each round
    """
    found = [solver.solve_like(games.scored_by(part), pattern) for part in parts[:-1]]
    after = [*(one.values for one in found), solution.values]
    steps = [later - before for before, later in pairwise(after)]
    noise = [one.noise for one in found]
    if any(one.any() for one in (*noise, solution.noise)):
        for before, later in pairwise(parts):
            step = games.scored_by(_Step(later, before))
            noise.append(solver.solve_like(step, pattern).noise)
    else:
        noise += [np.zeros_like(one) for one in steps]
    shape = len(solution.values), series_count(len(parts)), solution.values.shape[1]
    return RoundSolution(_stacked([*after[:-1], *steps], shape), _stacked(noise, shape))


def _stacked(series: Sequence[FloatArray], shape: tuple[int, ...]) -> FloatArray:
    return np.stack(series, axis=1) if series else np.empty(shape)


@dataclass(frozen=True, eq=False)
class _Scores:
    later: Utility
    before: Utility

    def __call__(self, method: str, *arguments: AnyArray | GameSummaries) -> FloatArray:
        later, before = getattr(self.later, method), getattr(self.before, method)
        return np.asarray(later(*arguments) - before(*arguments))


class _Step(Utility):
    """What one round adds to the score of a coalition."""

    def __init__(self, later: Utility, before: Utility) -> None:
        self._scores = _Scores(later, before)
        self.mergeable = later.mergeable
        self.empty = float(later.empty - before.empty)

    def operations(self, n_providers: int) -> float:
        return self._scores.later.operations(n_providers)

    def summarise(self, batch: Batch) -> object:
        return self._scores.later.summarise(batch)

    def evaluate(self, summaries: Sequence[object], coalitions: Sequence[int]) -> FloatArray:
        return self._scores("evaluate", summaries, coalitions)

    def evaluate_all(self, games: GameSummaries) -> FloatArray:
        return self._scores("evaluate_all", games)

    def evaluate_prefixes(
        self, games: GameSummaries, orders: IntArray, first: IntArray
    ) -> FloatArray:
        return self._scores("evaluate_prefixes", games, orders, first)

    def evaluate_rows(
        self, games: GameSummaries, inside: MemberArray, of_game: IntArray
    ) -> FloatArray:
        return self._scores("evaluate_rows", games, inside, of_game)

    def evaluate_arcs(self, games: GameSummaries, circles: IntArray, arcs: IntArray) -> FloatArray:
        return self._scores("evaluate_arcs", games, circles, arcs)


def rounds_among_all(found: RoundSolution, places: Sequence[int], n: int) -> RoundSolution:
    """Values of all n providers, 0 for those that do not take part."""

    def widened(part: FloatArray) -> FloatArray:
        whole = np.zeros((*part.shape[:-1], n))
        whole[..., places] = part
        return whole

    folds = None if found.folds is None else widened(found.folds)
    return RoundSolution(widened(found.values), widened(found.noise), folds)


def no_rounds(shape: tuple[int, int, int], n_folds: int | None) -> RoundSolution:
    """Values of games in which nobody takes part: all are 0."""
    zeros = np.zeros(shape)
    folds = None if n_folds is None else np.zeros((shape[0], n_folds, *shape[1:]))
    return RoundSolution(zeros, zeros, folds)
