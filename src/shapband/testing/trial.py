"""One solver on one game: its size for a budget of evaluations, and its errors."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import error_line, written
from shapband.errors import InvalidInput
from shapband.solvers.base import Solver, check_solution
from shapband.testing.counting import CountedGame, repeated
from shapband.testing.solver_scores import SolverScore

_PILOT = 8  # games from which the evaluations of a solver of some size are counted
_LARGEST_SIZE = 4  # sizes are tried up to this multiple of the budget
_FLOATS = 2**22  # floats of the games that are solved at once
_CLOSE = 0.9  # a solver that uses less than this share of the budget is named in a note
_EXCEEDED = 1.02  # likewise one that uses more; evaluations vary from game to game
_BIASED = 0.001  # probability that a note calls an unbiased solver biased
_ROUNDING = 1e-9  # errors below this share of the values are rounding
Sized = Callable[[int], Solver]  # makes the solver of a size, which evaluates more if it is larger


@dataclass(frozen=True, eq=False)
class Trial:
    """One game, on which solvers are tried.

    Attributes
    ----------
    value : the value of a coalition, by its bitmask
    n : number of providers
    truth : (n,) Shapley values
    n_repeats, seed : see `compare_solvers`
    """

    value: Callable[[int], float]
    n: int
    truth: FloatArray
    n_repeats: int
    seed: int

    def scored(self, game: str, name: str, maker: Sized | Solver, budget: int) -> SolverScore:
        """Choose the size of a solver for the budget, and measure its errors."""
        size, solver, reason = self._sized(maker, budget)
        if solver is None:
            return SolverScore(game, name, budget, note=f"is not compared: {reason}")
        errors, noise, used, stated, seconds = self._measured(solver)
        squares = (errors**2).mean(axis=1)
        rms = math.sqrt(squares.mean())
        rounding = _ROUNDING * max(1.0, float(np.abs(self.truth).max()))
        exact = rms <= rounding
        z = _largest_z(errors, rounding)
        spread = float(squares.std(ddof=1)) / math.sqrt(len(squares))
        return SolverScore(
            game,
            name,
            budget,
            size,
            rms_error=0.0 if exact else rms,
            rms_standard_error=0.0 if exact else spread / (2 * rms),
            bias_z=z,
            noise_ratio=float("nan") if exact else float(noise.mean() / squares.mean()),
            evaluations=used,
            stated_evaluations=stated,
            seconds=seconds,
            note=self._note(size, used, stated, z, budget),
        )

    def _sized(self, maker: Sized | Solver, budget: int) -> tuple[int, Solver | None, str]:
        """Find the largest size whose evaluations fit the budget: size, solver, or the reason."""
        if isinstance(maker, Solver):
            refused = _refusal(maker, self.n)
            needed = 0.0 if refused else self._count(maker)
            if refused or needed > _EXCEEDED * budget:
                return 0, None, refused or _too_many(needed, budget)
            return 0, maker, ""
        sizes, reason = self._sizes(maker, budget)
        if not sizes:
            return 0, None, reason
        # The size doubles before it is bisected, so that no trial takes many times the budget.
        low, step = -1, 1
        while low + step < len(sizes) and self._count(maker(sizes[low + step])) <= budget:
            low, step = low + step, 2 * step
        high = min(low + step, len(sizes))
        while high - low > 1:
            middle = (low + high) // 2
            fits = self._count(maker(sizes[middle])) <= budget
            low, high = (middle, high) if fits else (low, middle)
        if low < 0:
            return 0, None, _too_many(self._count(maker(sizes[0])), budget)
        return sizes[low], maker(sizes[low]), ""

    def _sizes(self, maker: Sized, budget: int) -> tuple[list[int], str]:
        """Sizes that the solver accepts for this number of providers, or why it accepts none."""
        sizes, reason = [], ""
        for size in range(1, _LARGEST_SIZE * budget + 1):
            try:
                solver = maker(size)
            except InvalidInput as cause:
                reason = error_line(cause)
                continue
            except TypeError as cause:
                raise InvalidInput(
                    f"solvers: {written(maker)} must make a solver from one whole number "
                    f"({error_line(cause)}): pass a solver, or a function of one number"
                ) from cause
            if not isinstance(solver, Solver):
                raise InvalidInput(
                    f"solvers: {written(maker)} must make a Solver; received {written(solver)}"
                )
            refused = _refusal(solver, self.n)
            reason = refused or reason
            if not refused:
                sizes.append(size)
        return sizes, reason

    def _count(self, solver: Solver) -> float:
        """Distinct coalitions per game, over the first few games."""
        game = CountedGame(self.value)
        solver.solve(repeated(game, self.n, range(_PILOT), self.seed))
        return game.distinct / _PILOT

    def _measured(self, solver: Solver) -> tuple[FloatArray, FloatArray, float, float, float]:
        """Errors and stated noise (n_repeats, n), and evaluations and seconds per game."""
        game, stated, seconds = CountedGame(self.value), 0, 0.0
        values, noise = [], []
        at_once = max(1, _FLOATS // max(1, solver.floats_per_game(self.n)))
        for start in range(0, self.n_repeats, at_once):
            part = range(start, min(start + at_once, self.n_repeats))
            games = repeated(game, self.n, part, self.seed)
            before = time.perf_counter()
            solution = check_solution(solver.solve(games), solver, games)
            seconds += time.perf_counter() - before
            values.append(solution.values)
            noise.append(solution.noise)
            stated += solution.evaluations
        each = 1 / self.n_repeats
        errors = np.concatenate(values) - self.truth
        return errors, np.concatenate(noise), game.distinct * each, stated * each, seconds * each

    def _note(self, size: int, used: float, stated: float, z: float, budget: int) -> str:
        notes = []
        if stated != used:
            notes.append(
                f"does not count distinct evaluations: it states {stated:,.1f} per game, and "
                f"{used:,.1f} different coalitions were evaluated"
            )
        if not _CLOSE * budget <= used <= _EXCEEDED * budget:
            closest = ", the closest below the budget that it accepts" if size else ""
            notes.append(f"evaluates {used:,.1f} coalitions per game, not {budget:,}{closest}")
        if z > _critical(self.n, self.n_repeats):
            notes.append(f"is biased: the mean error of a provider is {z:.1f} standard errors")
        return "; ".join(notes)


def _largest_z(errors: FloatArray, rounding: float) -> float:
    """Largest mean error of a provider in its standard errors; 0 if all errors are rounding."""
    mean = np.abs(errors.mean(axis=0))
    error = errors.std(axis=0, ddof=1) / math.sqrt(len(errors))
    mean = np.where(mean <= rounding, 0.0, mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(mean / error, nan=0.0, posinf=np.inf).max())


def _critical(n: int, n_repeats: int) -> float:
    """Largest z that chance gives with a probability of _BIASED, of n providers together."""
    from scipy.stats import t

    return float(t.isf(_BIASED / (2 * n), n_repeats - 1))


def _refusal(solver: Solver, n: int) -> str:
    """Why a solver cannot solve games of n providers; empty if it can."""
    try:
        solver.check(n)
    except InvalidInput as cause:
        return error_line(cause)
    return ""


def _too_many(needed: float, budget: int) -> str:
    return f"it evaluates at least {needed:,.1f} coalitions per game, more than {budget:,}"
