"""Candidates that solve the first games in turn, so that the best of them solves the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shapband._typing import FloatArray
from shapband.games import Games
from shapband.solvers.base import Solution, Solver

GAMES = 8  # number of first games that decide which solver is used
# Options that take at most _WORK times the least work are chosen if their noise is at most _NOISE
# times the variance of the values. Little noise makes the values of single games useful, and makes
# the most of records that were paid for. Among them, the cheapest one with at most _AIM is chosen,
# or else the one with the least noise: the margin is there because 8 games may show a variance that
# is a third too large. If all options have more noise, the one with the least noise is chosen among
# those that take at most _LIKE times the least work, as counts of operations are not more precise.
_WORK, _NOISE, _AIM, _LIKE = 1.5, 0.1, 0.07, 1.1

PROBE = -1  # an option whose noise follows from the noise of the probe


class Option(NamedTuple):
    """A solver that may be chosen.

    Attributes
    ----------
    solver : the solver
    operations : arithmetic operations of a game, including drawing and summarising the records
    tried : the candidate from whose noise the noise of this solver follows, or `PROBE`
    noise : noise of this solver / noise of that candidate or of the probe
    """

    solver: Solver
    operations: float
    tried: int = 0
    noise: float = 1.0


@dataclass(frozen=True)
class Trial(Solver):
    """Solves the first games with candidates in turn, until `decided` picks one of the options.

    The decision follows from the values and the noise of the first 8 games alone, so an extended
    or resumed valuation makes the same one. A probe also solves these games, but only its noise is
    used: a solver whose values might be far too noisy can be an option, and does no harm if it is
    not chosen.

    Parameters
    ----------
    candidates : solve equal parts of the first 8 games
    options : to choose from
    probe : solves the first 8 games once more, to show its noise; None for none
    """

    candidates: tuple[Solver, ...]
    options: tuple[Option, ...]
    probe: Solver | None = None
    any_index = True

    def check(self, n_providers: int) -> None:
        for solver in self._solvers:
            solver.check(n_providers)

    def for_size(self, n_providers: int) -> Trial:
        options = [one._replace(solver=one.solver.for_size(n_providers)) for one in self.options]
        candidates = tuple(solver.for_size(n_providers) for solver in self.candidates)
        return Trial(candidates, tuple(options), self.probe)

    def solve(self, games: Games) -> Solution:
        """Solve games of one candidate; `parts` separates them."""
        solution = self.at(games.indices.start).solve(games)
        if self.probe is None:
            return solution
        probed = self.probe.solve(games)
        return replace(
            solution,
            evaluations=solution.evaluations + probed.evaluations,
            probe_noise=probed.noise.mean(axis=1),
        )

    def solve_like(self, games: Games, pattern: Games) -> Solution:
        return self.at(games.indices.start).solve_like(games, pattern)

    def at(self, game: int) -> Solver:
        """Return the candidate whose turn it is."""
        turn = int(np.searchsorted(self._edges, game, side="right")) - 1
        return self.candidates[min(turn, len(self.candidates) - 1)]

    def floats_per_game(self, n_providers: int) -> int:
        return max(solver.floats_per_game(n_providers) for solver in self._solvers)

    def parts(self, games: range) -> list[range]:
        """Cut consecutive games where another candidate takes over, and where the trial ends.

        Examples
        --------
        >>> import shapband as sb
        >>> Trial((sb.Strata(40), sb.Strata(80)), ()).parts(range(2, 20))
        [range(2, 4), range(4, 8), range(8, 20)]
        """
        cuts = [edge for edge in self._edges[1:] if games.start < edge < games.stop]
        return [range(*pair) for pair in pairwise([games.start, *cuts, games.stop])]

    @property
    def _edges(self) -> list[int]:
        count = len(self.candidates)
        return [GAMES * turn // count for turn in range(count + 1)]

    @property
    def _solvers(self) -> Sequence[Solver]:
        return [*self.candidates, *(option.solver for option in self.options)]

    def decided_by(self, tried: Sequence[Solution]) -> tuple[Solver, str]:
        """Choose an option by the solutions of the first games, and say why."""
        values = np.concatenate([one.values for one in tried])[:GAMES]
        noise = np.concatenate([one.noise for one in tried])[:GAMES]
        probes = [one.probe_noise for one in tried if one.probe_noise is not None]
        return self.decided(values, noise, np.concatenate(probes)[:GAMES] if probes else None)

    def decided(
        self, values: FloatArray, noise: FloatArray, probe_noise: FloatArray | None = None
    ) -> tuple[Solver, str]:
        """Choose the option with the least work for the same error, and say why.

        The squared error of a mean over many games is (variance + noise) / games, so the work for
        the same error is proportional to (variance + noise) × operations of a game. Among options
        that take little more work, one with little noise is preferred.

        Parameters
        ----------
        values, noise : (8, n) of the first games
        probe_noise : (8,) mean noise of the probe in these games, NaN if it is not known; options
            that depend on it are left out if it is None or never known
        """
        measured = [float(noise[start:stop].mean()) for start, stop in pairwise(self._edges)]
        variance = self._variance(values, noise, measured)
        known = np.array([]) if probe_noise is None else probe_noise[~np.isnan(probe_noise)]
        options = [one for one in self.options if known.size or one.tried != PROBE]
        noises = [
            (float(known.mean()) if one.tried == PROBE else measured[one.tried]) * one.noise
            for one in options
        ]
        work = [(variance + own) * one.operations for own, one in zip(noises, options, strict=True)]
        near = [at for at, own in enumerate(work) if own <= _WORK * min(work)]
        quiet = [at for at in near if noises[at] <= _NOISE * variance]
        if quiet:
            best = min(quiet, key=lambda at: (max(noises[at], _AIM * variance), work[at]))
        else:
            alike = [at for at in near if work[at] <= _LIKE * min(work)]
            best = min(alike, key=lambda at: noises[at])
        solver = options[best].solver
        return solver, (
            f"among {len(work)} choices it takes the least work for the same error, or little more "
            f"with less noise, judged by the first {GAMES} games"
        )

    def _variance(self, values: FloatArray, noise: FloatArray, measured: Sequence[float]) -> float:
        """Return the mean variance of the values without noise, at least 0.

        The games of a candidate are left out if its noise alone exceeds the whole variance in the
        games of the candidate with the least noise, because they would hide the variance.
        """
        parts = [slice(*pair) for pair in pairwise(self._edges)]
        quietest = int(np.argmin(measured))
        seen = float(values[parts[quietest]].var(axis=0, ddof=1).mean())
        clear = [part for at, part in enumerate(parts) if at == quietest or measured[at] <= seen]
        used = np.concatenate([np.arange(GAMES)[part] for part in clear])
        spread = float(values[used].var(axis=0, ddof=1).mean()) - float(noise[used].mean())
        return max(spread, 0.0)

    def __repr__(self) -> str:
        return f"Trial({', '.join(map(repr, self.candidates))})"
