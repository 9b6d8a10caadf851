"""Predictions of the time that a method will take, from the times of the pilot."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shapband._typing import FloatArray
from shapband.access.access import is_distant
from shapband.engine.chunks import distant_games
from shapband.market.planning.pilot import Pilot
from shapband.market.planning.presence import arguments_with, attendance_rates
from shapband.market.planning.solvers import evaluations_per_game
from shapband.market.planning.ways import MOST_GAMES, Way

_PROCESSES_START = 4.0  # worker processes are started if the work takes more seconds than this
_STARTING = 2.0  # seconds until worker processes are ready; one worker solves games meanwhile
_LEAST_PART = 0.5  # a quicker solver is assumed to take at least this share of a probe's time
_MUCH = 1e9  # seconds of work for which worker processes are certainly started


@dataclass(frozen=True, eq=False)
class TimeModel:
    """Predicts seconds.

    Attributes
    ----------
    pilot : the pilot that measured how long games take
    draws : records in a draw: (n,), or one number for all providers
    n_jobs : workers that solve games at the same time
    """

    pilot: Pilot
    draws: FloatArray | int
    n_jobs: int
    _counted: dict[tuple[str, int, bool], float] = field(default_factory=dict)

    def evaluations(self, way: Way) -> float:
        """Coalitions that the solver evaluates in a game."""
        kind = way.family.name, way.work, way.method.pooled
        if kind not in self._counted:
            solver, given = way.family.make(way.work), self.pilot.arguments
            sampling = way.method.make(max(way.n_pool, way.method.least_pool))
            played = arguments_with(given, sampling=sampling, solver=solver)
            self._counted[kind] = evaluations_per_game(played, solver)
        return self._counted[kind]

    def per_game(self, way: Way) -> float:
        """Seconds to solve a game with one worker, and to add it to the sums."""
        pilot = self.pilot
        fold = pilot.pool_fold_seconds if way.method.pooled else pilot.fold_seconds
        return self._solve_seconds(way) + fold

    def _solve_seconds(self, way: Way) -> float:
        """Interpolate between the family's probes; without any, use the pace of the others."""
        needed = self.evaluations(way)
        probes = sorted(
            (one for one in self.pilot.probes if one.family == way.family),
            key=lambda one: one.evaluations,
        )
        if not probes:
            return needed * min(one.seconds / one.evaluations for one in self.pilot.probes)
        low, high = probes[0], probes[-1]
        if high.evaluations <= low.evaluations:
            return high.seconds * needed / high.evaluations
        slope = max((high.seconds - low.seconds) / (high.evaluations - low.evaluations), 0.0)
        return max(low.seconds + slope * (needed - low.evaluations), low.seconds * _LEAST_PART)

    def fixed(self, way: Way) -> float:
        """Seconds before the first game: for the pilot, and to fetch pools or the first draws."""
        pilot = self.pilot
        if not way.method.pooled:
            first = distant_games(pilot.arguments) * self._fetch if self._overlaps else 0.0
            return pilot.seconds + first
        held = 0.0 if pilot.pool_sizes is None else pilot.pool_sizes
        missing = np.maximum(way.pool_sizes - held, 0.0)
        return pilot.seconds + pilot.requests.seconds(missing)

    def seconds(self, way: Way, n_games: int) -> float:
        """Wall time of the whole valuation, the pilot included."""
        solve = self._shared(self.per_game(way) * n_games)
        fetch = 0.0 if way.method.pooled else self._fetch * n_games
        return self.fixed(way) + self._both(fetch, solve)

    def games_within(self, way: Way, seconds: float) -> int:
        """Most games that can be played in this time."""
        left, pace = seconds - self.fixed(way), self.per_game(way)
        fetch = 0.0 if way.method.pooled else self._fetch
        most = 0
        # Try one worker, and all workers, which are started only if there is enough work.
        for jobs, start in ((1, 0.0), (self.n_jobs, self._shared(_MUCH) - _MUCH / self.n_jobs)):
            both = self._both(fetch, pace / jobs)
            games = int(min(max(left - start, 0.0) / max(both, 1e-9), MOST_GAMES))
            if self.seconds(way, games) <= seconds * (1 + 1e-9):
                most = max(most, games)
        return most

    def _both(self, fetch: float, solve: float) -> float:
        """Seconds to fetch draws and to solve games."""
        return max(fetch, solve) if self._overlaps else fetch + solve

    def _shared(self, seconds: float) -> float:
        """Wall time of this many seconds of work, shared by the workers."""
        if self.n_jobs == 1:
            return seconds
        if self.pilot.arguments.utility.threaded:
            return seconds / self.n_jobs
        if seconds < _PROCESSES_START:
            return seconds
        return _STARTING + (seconds - _STARTING) / self.n_jobs

    @cached_property
    def _fetch(self) -> float:
        """Seconds to fetch the fresh draws of a game."""
        requests = self.pilot.requests
        draws = self.draws * np.ones_like(self.pilot.stocks)
        asked = requests.per_game(draws, attendance_rates(self.pilot.arguments))
        if requests.waits.any() and not self._bound:
            return max(asked, requests.handling)
        return asked + requests.handling

    @property
    def _bound(self) -> bool:
        """Whether a distant source is asked from the calling thread."""
        providers = self.pilot.arguments.providers
        return any(is_distant(one) and not one.source.waits for one in providers)

    @property
    def _overlaps(self) -> bool:
        """Whether draws are fetched while games are solved."""
        given = self.pilot.arguments
        waits = any(one.source.waits for one in given.providers)
        return waits and not self._bound and given.concurrency > 1
