"""The solved games of a run, in the chunks they were solved in."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shapband._typing import FloatArray
from shapband.codec import decode, encode
from shapband.engine.journal import GameJournal
from shapband.errors import RunDamaged
from shapband.runs.ledger import Ledger, LedgerEntry, canonical, hash_of, stored
from shapband.runs.older import dealt_design, design_of_facts
from shapband.sampling.design import Design, plain_design
from shapband.solvers.base import RoundSolution, Solution, joined_others
from shapband.solvers.pairs import PairSolution, pair_count
from shapband.solvers.rounds import series_count

TABLE = (
    "CREATE TABLE games (first_game INTEGER PRIMARY KEY, n_games INTEGER NOT NULL, "
    "evaluations INTEGER NOT NULL, failures INTEGER NOT NULL, seconds REAL NOT NULL, "
    '"values" BLOB NOT NULL, noise BLOB NOT NULL)'
)
_INSERT = "INSERT INTO games VALUES (?, ?, ?, ?, ?, ?, ?)"
_DESIGN = "design"  # the note that holds the design


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Consecutive games: values (n_games, n), and noise (n_games, n or more).

    The noise has a further column for each group, and for each provider if presence was averaged
    over. `folds` (n_games, n_folds, n) are the effects of leaving out folds of validation rows in
    the first games of a run, and None in later ones; they are stored as further columns of noise.
    So are the interactions of `pairs`, the values by round in `rounds`, and the `replays`
    (n_games, n_replays, n), which are None if they were not asked for. `probe_noise`
    (n_games,) is None except in the first games of a run that tries solvers; it is stored as the
    last column of noise.
    """

    games: range
    values: FloatArray
    noise: FloatArray
    folds: FloatArray | None
    pairs: PairSolution | None
    probe_noise: FloatArray | None
    rounds: RoundSolution | None
    replays: FloatArray | None


class StoredGames(GameJournal):
    """The solved games of one run. The ledger has an entry for each chunk, with its hash."""

    def __init__(
        self,
        ledger: Ledger,
        n_providers: int,
        n_groups: int = 0,
        n_folds: int = 0,
        *,
        averaged: bool = False,
        interactions: bool = False,
        n_rounds: int = 0,
        n_replays: int = 0,
    ) -> None:
        self._ledger = ledger
        self._n_providers = n_providers
        self._n_folds = n_folds
        self._n_groups = n_groups
        self._n_pairs = pair_count(n_providers) if interactions else 0
        self._n_series = series_count(n_rounds) if n_rounds else None
        self._n_replays = n_replays
        self._width = n_providers + n_groups + (n_providers if averaged else 0)
        self._last: _Chunk | None = None
        self._reread()

    def begin(self, design: Design) -> None:
        document = plain_design(encode(design))
        if self._ledger.noted(_DESIGN) != document:
            self._ledger.note(_DESIGN, document)

    def design(self, manifest: Mapping[str, Any]) -> Design | None:
        """What `begin` recorded, or None before the first game."""
        document = self._ledger.noted(_DESIGN)
        if document is None:
            # Versions before 0.2.0 stored these facts instead of a design.
            facts = self._ledger.noted("games")
            document = None if facts is None else design_of_facts(manifest, facts)
        return None if document is None else decode(Design, dealt_design(document))

    def solved(self) -> int:
        return self._count

    def solutions(self, games: range) -> Solution:
        with self._ledger.lock:
            found = self._solution(*self.read(games), *self.counts(games))
            rounds, replays = self._rounds(games)
            return replace(found, pairs=self._pairs(games), rounds=rounds, replays=replays)

    def seconds(self, games: int) -> float:
        rows = self._ledger.query(
            "SELECT seconds FROM games WHERE first_game < ? ORDER BY first_game DESC LIMIT 1", games
        )
        return float(rows[0][0]) if rows else 0.0

    def store_games(self, games: range, solution: Solution, seconds: float) -> None:
        values, noise = _to_bytes(solution.values), _to_bytes(_all_noise(solution))
        facts = (games.start, len(games), solution.evaluations, solution.failures, seconds)

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(_INSERT, (*facts, values, noise))

        entry = stored("solved", "games", games.start, hash_of(canonical(facts), values, noise))
        with self._ledger.lock:
            try:
                self._ledger.enter([entry], write, durable=False)
            finally:  # an interruption may come between the commit and this line
                self._reread()

    def counts(self, games: range) -> tuple[int, int]:
        """Evaluations and failures of the chunks that begin with one of the games."""
        ((evaluations, failures),) = self._ledger.query(
            "SELECT COALESCE(SUM(evaluations), 0), COALESCE(SUM(failures), 0) FROM games "
            "WHERE first_game >= ? AND first_game < ?",
            *(games.start, games.stop),
        )
        return int(evaluations), int(failures)

    def read(
        self, games: range
    ) -> tuple[FloatArray, FloatArray, FloatArray | None, FloatArray | None]:
        """Values, noise, effects of folds and noise of a probe of stored games.

        The noise may have further columns. Only the first games of a run have effects of folds and
        the noise of a probe; None if none of these games has.
        """
        parts = [(np.empty((0, self._n_providers)), np.empty((0, self._width)))]
        effects, probes = [], []
        for chunk in self._chunks(games):
            first = chunk.games.start
            rows = slice(max(games.start - first, 0), games.stop - first)
            parts.append((chunk.values[rows], chunk.noise[rows]))
            if chunk.folds is not None:
                effects.append(chunk.folds[rows])
            if chunk.probe_noise is not None:
                probes.append(chunk.probe_noise[rows])
        values, noise = zip(*parts, strict=True)
        folds = np.concatenate(effects) if effects else None
        probe_noise = np.concatenate(probes) if probes else None
        return np.concatenate(values), np.concatenate(noise), folds, probe_noise

    def _pairs(self, games: range) -> PairSolution | None:
        """The interactions of stored games; None if the run has none."""
        parts = []
        for chunk in self._chunks(games) if self._n_pairs else ():
            first = chunk.games.start
            rows = slice(max(games.start - first, 0), games.stop - first)
            if chunk.pairs is not None:
                folds = None if chunk.pairs.folds is None else chunk.pairs.folds[rows]
                parts.append(PairSolution(chunk.pairs.values[rows], chunk.pairs.noise[rows], folds))
        return joined_others(parts)

    def _rounds(self, games: range) -> tuple[RoundSolution | None, FloatArray | None]:
        """The values by round and the replays of stored games; None if the run has none."""
        parts, replays = [], []
        wanted = self._n_series is not None or self._n_replays
        for chunk in self._chunks(games) if wanted else ():
            first = chunk.games.start
            rows = slice(max(games.start - first, 0), games.stop - first)
            if chunk.rounds is not None:
                folds = None if chunk.rounds.folds is None else chunk.rounds.folds[rows]
                found = chunk.rounds.values[rows], chunk.rounds.noise[rows]
                parts.append(RoundSolution(*found, folds))
            if chunk.replays is not None:
                replays.append(chunk.replays[rows])
        return joined_others(parts), np.concatenate(replays) if replays else None

    def solved_chunks(self) -> Iterator[Solution]:
        """All stored games, chunk by chunk."""
        for chunk in self._chunks(range(self._count)):
            found = chunk.values, chunk.noise, chunk.folds, chunk.probe_noise
            solution = self._solution(*found, *self.counts(chunk.games))
            yield replace(solution, pairs=chunk.pairs, rounds=chunk.rounds, replays=chunk.replays)

    def verify(self, entry: LedgerEntry, due: int) -> int:
        """Raise RunDamaged unless the chunk of an entry is as it was stored.

        It must begin with game `due`. Returns the game that the next chunk must begin with.
        """
        rows = self._ledger.query("SELECT * FROM games WHERE first_game = ?", entry.first_game)
        if not rows or entry.first_game != due:
            raise RunDamaged(f"the values of games from {due} on are missing")
        *facts, values, noise = rows[0]
        end = int(facts[0]) + int(facts[1])
        if hash_of(canonical(facts), values, noise) != entry.note:
            raise RunDamaged(f"the values of games {due} to {end - 1} were altered")
        return end

    def _reread(self) -> None:
        """Look up how many games are stored."""
        rows = self._ledger.query(
            "SELECT first_game + n_games FROM games ORDER BY first_game DESC LIMIT 1"
        )
        self._count: int = rows[0][0] if rows else 0

    def _chunks(self, games: range) -> Iterator[_Chunk]:
        """The chunks that hold the games. The last one read is cached, as stages share chunks."""
        firsts = self._ledger.query(
            "SELECT first_game, n_games FROM games WHERE first_game < ? "
            "AND first_game + n_games > ? ORDER BY first_game",
            *(games.stop, games.start),
        )
        for first, count in firsts:
            if self._last is None or self._last.games != range(first, first + count):
                self._last = self._read(range(first, first + count))
            yield self._last

    def _read(self, games: range) -> _Chunk:
        (blobs,) = self._ledger.query(
            'SELECT "values", noise FROM games WHERE first_game = ?', games.start
        )
        n, width = self._n_providers, self._width
        series = (self._n_series or 0) * n
        plain = width + 2 * (self._n_pairs + series) + self._n_replays * n
        folded = plain + self._n_folds * (n + self._n_pairs + series)
        widths = (plain, folded, plain + 1, folded + 1)  # one more column with a probe
        if not all(isinstance(blob, bytes) for blob in blobs) or (
            [len(blob) for blob in blobs]
            not in [[8 * len(games) * n, 8 * len(games) * noises] for noises in widths]
        ):
            raise RunDamaged(f"the values of games {games.start} to {games[-1]} were altered")
        values, noise = (
            np.frombuffer(blob, "<f8").astype(np.float64, copy=False).reshape(len(games), -1)
            for blob in blobs
        )
        probe_noise = None
        if noise.shape[1] in (plain + 1, folded + 1):
            noise, probe_noise = noise[:, :-1], noise[:, -1]
        shape = len(games), self._n_folds if noise.shape[1] > plain else 0
        at = width + shape[1] * n
        folds = noise[:, width:at].reshape(*shape, n) if shape[1] else None
        pairs = rounds = replays = None
        if self._n_pairs:
            (own, spread, changes), at = _cut(noise, at, self._n_pairs, shape[1])
            pairs = PairSolution(own, spread, changes)
        if self._n_series is not None:
            (own, spread, changes), at = _cut(noise, at, series, shape[1])
            of_series = self._n_series, n
            rounds = RoundSolution(
                own.reshape(len(games), *of_series),
                spread.reshape(len(games), *of_series),
                None if changes is None else changes.reshape(*shape, *of_series),
            )
        if self._n_replays:
            replays = noise[:, at:].reshape(len(games), self._n_replays, n)
        further = folds, pairs, probe_noise, rounds, replays
        return _Chunk(games, values, noise[:, :width], *further)

    def _solution(
        self,
        values: FloatArray,
        noise: FloatArray,
        folds: FloatArray | None,
        probe_noise: FloatArray | None,
        evaluations: int,
        failures: int,
    ) -> Solution:
        n, groups = self._n_providers, self._n_providers + self._n_groups
        group_noise = noise[:, n:groups] if self._n_groups else None
        presence_variance = noise[:, groups:] if self._width > groups else None
        return Solution(
            values,
            noise[:, :n],
            evaluations,
            failures,
            group_noise,
            presence_variance,
            folds,
            probe_noise=probe_noise,
        )


def _all_noise(solution: Solution) -> FloatArray:
    """The noise of providers, then of groups, the variance over presence and the folds, if any.

    Then come the interactions of pairs and the values by round, each with noise and folds, the
    replays, and a probe.
    """
    pairs, probe = solution.pairs, solution.probe_noise
    further = [solution.group_noise, solution.presence_variance, _flat(solution.folds)]
    if pairs is not None:
        further += [pairs.values, pairs.noise, _flat(pairs.folds)]
    rounds = solution.rounds
    if rounds is not None:
        further += [_flat(rounds.values), _flat(rounds.noise), _flat(rounds.folds)]
    further.append(_flat(solution.replays))
    if probe is not None:
        further.append(probe[:, None])
    return np.concatenate([solution.noise, *(one for one in further if one is not None)], axis=1)


def _cut(
    noise: FloatArray, at: int, width: int, n_folds: int
) -> tuple[tuple[FloatArray, FloatArray, FloatArray | None], int]:
    """Values, noise and effects of folds that begin at a column, and the column after them."""
    own, spread = noise[:, at : at + width], noise[:, at + width : at + 2 * width]
    at += 2 * width
    if not n_folds:
        return (own, spread, None), at
    changes = noise[:, at : at + n_folds * width].reshape(len(noise), n_folds, width)
    return (own, spread, changes), at + n_folds * width


def _flat(folds: FloatArray | None) -> FloatArray | None:
    return None if folds is None else folds.reshape(len(folds), -1)


def _to_bytes(numbers: FloatArray) -> memoryview:
    return np.ascontiguousarray(numbers, dtype="<f8").data
