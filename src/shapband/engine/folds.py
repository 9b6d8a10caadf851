"""Games solved again without each fold of the validation rows.

The rows are a sample like the draws, so every value has an error due to their choice, which no
number of games lowers. It is estimated by a jackknife over folds of the rows: the same fits are
scored on the rows without each fold (`estimate.validation`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shapband._typing import AnyArray, BoolArray, FloatArray, IntArray
from shapband.checks import error_line, one_line, written
from shapband.errors import InvalidInput, ShapbandError
from shapband.games import Games
from shapband.records.arrays import own_targets
from shapband.sampling.validation import NOT_DEFINED, Validation, rows_together
from shapband.solvers.base import RoundSolution, Solution, Solver, check_solution
from shapband.solvers.pairs import with_folds
from shapband.solvers.rounds import round_solution
from shapband.utilities.base import Utility
from shapband.utilities.rows import Folded, rows_kept

Presence = Callable[[range], BoolArray]

# The effect of a fold varies from game to game about as much as it differs between folds, so that
# the mean over 12 games has a tenth of that variance, which is subtracted. With many providers a
# game takes long, and few games are solved again.
_GAMES, _GAMES_OF_MANY, _MANY = 12, 4, 200
_MOST_GAMES = 60  # that are solved again so that every provider takes part in as many of them


class Folds:
    """Solves games without each fold of the validation rows.

    Parameters
    ----------
    kept : the rows that are left without each fold
    by_round : whether games are solved after each round of training, too
    """

    def __init__(self, kept: Sequence[IntArray], *, by_round: bool = False) -> None:
        self._kept = kept
        self._by_round = by_round
        self._made = threading.local()  # a utility may remember fits, so threads must not share it

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Folds, by_round=self._by_round), (self._kept,)

    def __len__(self) -> int:
        return len(self._kept)

    def solved(self, games: Games, solver: Solver) -> Solution:
        """Solve games, and solve them again without each fold."""
        folded = self._of(games.utility)
        whole = replace(games, utility=folded.whole)
        solution = check_solution(solver.solve(whole), solver, whole)
        rounds = _Rounds(solver, whole) if self._by_round else None
        if rounds is not None:
            solution = replace(solution, rounds=rounds.solved(whole, solution))
        try:
            parts = [
                solver.solve_like(replace(games, utility=part), whole) for part in folded.parts
            ]
            if rounds is not None and solution.rounds is not None:
                among = [
                    rounds.solved(replace(games, utility=part), found).values
                    for part, found in zip(folded.parts, parts, strict=True)
                ]
                effects = np.stack([one - solution.rounds.values for one in among], axis=1)
                solution = replace(solution, rounds=replace(solution.rounds, folds=effects))
        except ShapbandError:
            return self._without_folds(solution)
        finally:
            folded.forget()
            if rounds is not None:
                rounds.forget()
        changes = np.stack([part.values - solution.values for part in parts], axis=1)
        pairs = with_folds(solution.pairs, [part.pairs for part in parts])
        return replace(solution, folds=changes, pairs=pairs)

    def _of(self, utility: Utility) -> Folded:
        known: tuple[Utility, Folded] | None = getattr(self._made, "of", None)
        if known is None or known[0] is not utility:
            # All rounds and all folds are scored from one training, if the utility allows it.
            scored = utility.after_rounds().whole if self._by_round else utility
            known = self._made.of = utility, scored.without_folds(self._kept)
        return known[1]

    def _without_folds(self, solution: Solution) -> Solution:
        """Say that what the folds change is not known."""
        pairs = solution.pairs
        if pairs is not None:
            pairs = replace(pairs, folds=self._unknown(pairs.values))
        rounds = solution.rounds
        if rounds is not None:
            n_games, n_series, n = rounds.values.shape
            unknown = np.full((n_games, len(self), n_series, n), np.nan)
            rounds = replace(rounds, folds=unknown)
        unknown = self._unknown(solution.values)
        return replace(solution, folds=unknown, pairs=pairs, rounds=rounds)

    def _unknown(self, values: FloatArray) -> FloatArray:
        return np.full((len(values), len(self), values.shape[1]), np.nan)


class _Rounds:
    """Solves games after each round of training, by the coalitions of a pattern."""

    def __init__(self, solver: Solver, pattern: Games) -> None:
        self._solver = solver
        self._pattern = pattern
        self._used: list[Folded] = []

    def solved(self, games: Games, solution: Solution) -> RoundSolution:
        after = games.utility.after_rounds()
        self._used.append(after)
        return round_solution(games, self._solver, solution, self._pattern, after.parts)

    def forget(self) -> None:
        for after in self._used:
            after.forget()


def solve(games: Games, solver: Solver, *, by_round: bool) -> Solution:
    """Solve games, and if wanted solve them after each round of training."""
    if not by_round:
        return check_solution(solver.solve(games), solver, games)
    after = games.utility.after_rounds()
    whole = replace(games, utility=after.whole)
    try:
        solution = check_solution(solver.solve(whole), solver, whole)
        rounds = round_solution(whole, solver, solution, whole, after.parts)
    finally:
        after.forget()
    return replace(solution, rounds=rounds)


def choose_folds(
    utility: Utility, n_providers: int, groups: Any, *, fixed: bool
) -> tuple[Validation | None, tuple[IntArray, ...]]:
    """Decide whether the errors cover the choice of the validation rows.

    Parameters
    ----------
    groups : labels of the validation rows, or None; rows with the same label stay in one fold, and
        so do copies of one row
    fixed : whether the errors are about these very rows

    Returns
    -------
    What the design says about it, None if there are no validation rows; and the rows that are left
    without each fold.
    """
    owner, rows = type(utility).__name__, utility.validation_rows
    labels = _check_groups(groups, rows)
    if rows == 0:
        return None, ()
    if rows is None or not utility.knows_rows:
        return Validation(0, reason=f"{owner} does not give its validation rows"), ()
    if fixed:
        return Validation(rows, reason="fixed_validation=True"), ()
    numbered = None if labels is None else np.unique(labels, return_inverse=True)[1]
    together = rows_together(rows, numbered, utility.validation_records)
    kept = rows_kept(rows, together.labels)
    if len(kept) < 2:
        what = "row" if together.labels is None else "group of rows"
        return Validation(rows, reason=f"one {what} does not show how much they vary"), ()
    undefined = _why_undefined(utility, kept)
    if undefined:
        return Validation(rows, reason=f"{NOT_DEFINED}: {undefined}"), ()
    games = _GAMES if n_providers <= _MANY else _GAMES_OF_MANY
    said = Validation(
        rows,
        len(kept),
        games,
        different=together.different,
        groups=0 if numbered is None else together.parts,
        effective=round(together.effective, 6),
    )
    return said, kept


def _why_undefined(utility: Utility, kept: Sequence[IntArray]) -> str:
    """Say why a utility cannot leave out each fold of its rows; empty if it can."""
    try:
        utility.without_folds(kept)
    except ShapbandError as cause:
        return one_line(cause) if cause.__cause__ is None else error_line(cause.__cause__)
    except MemoryError:
        raise
    except Exception as cause:  # noqa: BLE001  a utility of the user may raise anything
        return error_line(cause)
    return ""


def enough_games(validation: Validation | None, given: Presence) -> Validation | None:
    """Solve more games again if some providers do not take part in all of the first ones.

    Parameters
    ----------
    given : returns whose records consecutive games use: (n_games, n)
    """
    if validation is None or validation.games == 0:
        return validation
    seen = given(range(_MOST_GAMES)).cumsum(axis=0).min(axis=1)
    games = int(np.searchsorted(seen, validation.games)) + 1
    return validation._replace(games=min(games, _MOST_GAMES))


def _check_groups(groups: Any, rows: int | None) -> AnyArray | None:
    if groups is None:
        return None
    if not rows:
        raise InvalidInput("validation_groups: the utility has no validation rows that are known")
    count = len(groups) if hasattr(groups, "__len__") else 0
    if isinstance(groups, str) or count != rows:
        raise InvalidInput(
            f"validation_groups must have one label for each of the {rows:,} validation rows; "
            f"received {written(groups) if count == 0 else f'{count:,} labels'}"
        )
    return own_targets(groups, rows, "value", "validation_groups")


def cut_at(games: range, edge: int) -> list[range]:
    """Cut consecutive games in two where one of them is the edge.

    Examples
    --------
    >>> cut_at(range(8, 20), 12), cut_at(range(12, 20), 12)
    ([range(8, 12), range(12, 20)], [range(12, 20)])
    """
    if not games.start < edge < games.stop:
        return [games]
    return [range(games.start, edge), range(edge, games.stop)]
