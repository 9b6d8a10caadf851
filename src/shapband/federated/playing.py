"""The games of one recorded run: one at its end, or one in every round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from shapband._typing import FloatArray, MemberArray
from shapband.errors import EvaluationError
from shapband.federated.rebuilding import Score, rebuilt_at_end, rebuilt_in_round
from shapband.federated.recording import Recording
from shapband.games import Games
from shapband.seeds import Seeds
from shapband.solvers.base import Solution, Solver, check_solution
from shapband.utilities.base import Utility

SolverFor: TypeAlias = Callable[[int], Solver]  # number of clients → solver


@dataclass(frozen=True, eq=False)
class Played:
    """What the rebuilt models of a run give.

    Attributes
    ----------
    values : (n,)
    noise : (n,) variance of the solver's own error in `values`
    start : score of the initial model
    evaluations : models scored
    rebuilt : (n_rows, n) coalitions → (n_rows,) scores of a game whose Shapley values are `values`
    by_round : (n_rounds, n) parts of `values`; None if there is one reconstruction
    skipped : positions of rounds that `truncation` skipped
    """

    values: FloatArray
    noise: FloatArray
    start: float
    evaluations: int
    rebuilt: Callable[[MemberArray], FloatArray]
    by_round: FloatArray | None = None
    skipped: tuple[int, ...] = ()


def play_once(recording: Recording, score: Score, solver_for: SolverFor, seeds: Seeds) -> Played:
    """Solve the game of models that are rebuilt at the end of the run."""
    utility = rebuilt_at_end(recording, score)
    game = one_game(utility, recording.names, 0, seeds)
    solved = solve(game, solver_for(len(recording.names)))
    values, noise = solved.values[0], solved.noise[0]

    def rebuilt(inside: MemberArray) -> FloatArray:
        return values_in(game, inside)

    return Played(values, noise, utility.empty, 1 + solved.evaluations, rebuilt)


def play_rounds(
    recording: Recording,
    score: Score,
    solver_for: SolverFor,
    truncation: float | None,
    seeds: Seeds,
) -> Played:
    """Solve the game of models that are rebuilt in each round, among those who are present.

    A sum of games has the sum of their values, so `rebuilt` adds the changes of all rounds.
    """
    n_rounds, n = recording.present.shape
    by_round, noise = np.zeros((2, n_rounds, n))
    games: dict[int, Games] = {}
    skipped, start, evaluations = [], 0.0, 0
    for at, present in enumerate(recording.present):
        utility = rebuilt_in_round(recording, at, score)
        start = utility.empty if at == 0 else start
        evaluations += 1
        if not present.any():
            continue
        names = tuple(name for name, here in zip(recording.names, present, strict=True) if here)
        game = one_game(utility, names, at, seeds)
        with _naming(at):
            if truncation is not None:
                everybody = values_in(game, np.ones((1, len(names)), dtype=np.uint8))[0]
                evaluations += 1
                if abs(everybody - utility.empty) <= truncation:
                    skipped.append(at)
                    continue
            solved = solve(game, solver_for(len(names)))
        by_round[at, present], noise[at, present] = solved.values[0], solved.noise[0]
        evaluations += solved.evaluations
        games[at] = game

    def rebuilt(inside: MemberArray) -> FloatArray:
        scores = np.full(len(inside), start)
        for at, game in games.items():
            here = inside[:, recording.present[at]]
            some = here.any(axis=1)
            with _naming(at):
                scores[some] += values_in(game, here[some]) - game.utility.empty
        return scores

    total, variance = by_round.sum(axis=0), noise.sum(axis=0)
    return Played(total, variance, start, evaluations, rebuilt, by_round, tuple(skipped))


@contextmanager
def _naming(at: int) -> Iterator[None]:
    """Name the round in the message of an evaluation that failed."""
    try:
        yield
    except EvaluationError as cause:
        raise EvaluationError(f"rounds[{at}]: {cause}") from cause


def one_game(utility: Utility, names: tuple[str, ...], number: int, seeds: Seeds) -> Games:
    """A chunk of a single game, which has no records. Its random numbers follow from `number`."""
    return Games(utility, [[None] * len(names)], names, range(number, number + 1), seeds)


def values_in(game: Games, inside: MemberArray) -> FloatArray:
    """Values of coalitions of a single game."""
    return game.values(inside, np.zeros(len(inside), dtype=np.int64))


def solve(game: Games, solver: Solver) -> Solution:
    """Solve a single game, and check what the solver returns."""
    return check_solution(solver.solve(game), solver, game)
