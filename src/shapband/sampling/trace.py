"""Participation that was recorded: a table of rounds and providers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shapband._typing import AnyArray, BoolArray, FloatArray
from shapband.checks import described, printable
from shapband.errors import InvalidInput
from shapband.records.frames import as_frame
from shapband.sampling.participation import (
    Participation,
    Per,
    check_names,
    check_per,
    per_settings,
    per_shown,
    who,
)
from shapband.seeds import Seeds


class Trace(Participation):
    """Presence that was recorded in some rounds; game g has the presence of round g mod n_rounds.

    The rounds are not random, only the data are. Expectation and variance are over the rounds and
    the data, and the errors refer to these rounds, not to others that might have been recorded.
    Play a multiple of n_rounds games to give all rounds the same weight; more games than rounds
    lower the errors.

    Parameters
    ----------
    rounds : (n_rounds, n) true or 1 where a provider was present: an array with the providers in
        their order, or a data frame with their names as columns
    per : "game", or "round" if the rounds of the table are rounds of training within games. With R
        rounds in a game, game g has the rows g R to (g + 1) R - 1, modulo the table, whose number
        of rows must be a multiple of R

    Examples
    --------
    >>> import pandas as pd, shapband as sb
    >>> sb.Trace(pd.DataFrame({"north": [True, True], "south": [False, True]}))
    Trace(2 rounds, 2 providers)
    """

    recorded = True

    def __init__(self, rounds: Any, per: Per = "game") -> None:
        check_per("Trace", per)
        self.per = per
        self.names: tuple[str, ...] | None = None
        table = rounds
        if hasattr(rounds, "columns"):
            frame = as_frame(rounds)
            self.names = tuple(str(name) for name in frame.columns)
            table = [frame[name].to_numpy() for name in frame.columns]
            table = np.stack(table, axis=1) if table else np.empty((0, 0))
        self.rounds: BoolArray = _checked(table)
        never = np.flatnonzero(~self.rounds.any(axis=0))
        if len(never):
            who = never[0] if self.names is None else repr(self.names[never[0]])
            raise InvalidInput(
                printable(
                    f"Trace: the provider of column {who} never takes part: leave it out of the "
                    "rounds and of the providers"
                )
            )

    def check(self, names: Sequence[str]) -> None:
        if self.names is not None:
            check_names("Trace: rounds", self.names, names)
        elif self.rounds.shape[1] != len(names):
            raise InvalidInput(
                f"Trace: rounds must have one column for each of the {len(names)} providers; "
                f"received {self.rounds.shape[1]}"
            )

    def present(self, seeds: Seeds, names: Sequence[str], games: range) -> BoolArray:  # noqa: ARG002
        numbers = np.arange(games.start, games.stop) % len(self.rounds)
        return np.asarray(self._of(names)[numbers])

    def present_in_rounds(
        self,
        seeds: Seeds,  # noqa: ARG002
        names: Sequence[str],
        games: range,
        n_rounds: int,
    ) -> BoolArray:
        rows = np.arange(games.start * n_rounds, games.stop * n_rounds) % len(self.rounds)
        return np.asarray(self._of(names)[rows].reshape(len(games), n_rounds, -1))

    def check_rounds(self, n_rounds: int) -> None:
        rows = len(self.rounds)
        if rows % n_rounds:
            raise InvalidInput(
                f'Trace: with per="round" the number of recorded rounds must be a multiple of the '
                f"{n_rounds} rounds of a game; received {rows}: leave out the last "
                f"{rows % n_rounds}, or record {n_rounds - rows % n_rounds} more"
            )

    def counts(self, names: Sequence[str]) -> Sequence[int]:  # noqa: ARG002
        found = np.unique(self.rounds.sum(axis=1)).tolist()
        return [count for count in found if count > 0]

    def rates(self, names: Sequence[str]) -> FloatArray:
        return np.asarray(self._of(names).mean(axis=0))

    @property
    def estimand(self) -> str:
        return f"by {who(self.per)} that take part as in {len(self.rounds):,} recorded rounds"

    def settings(self) -> dict[str, Any]:
        """Return the rounds as lines of 0 and 1, and the names of the columns."""
        lines = ["".join("01"[one] for one in line) for line in self.rounds.astype(int).tolist()]
        names = None if self.names is None else list(self.names)
        return {"rounds": lines, "names": names, **per_settings(self.per)}

    def __repr__(self) -> str:
        n_rounds, n = self.rounds.shape
        return f"Trace({n_rounds:,} rounds, {n:,} providers{per_shown(self.per)})"

    def _of(self, names: Sequence[str]) -> BoolArray:
        if self.names is None or self.names == tuple(names):
            return self.rounds
        place = {name: at for at, name in enumerate(self.names)}
        return np.asarray(self.rounds[:, [place[name] for name in names]])


def trace_from(settings: dict[str, Any]) -> Trace:
    """Make a trace from its settings."""
    rounds = np.array([[cell == "1" for cell in line] for line in settings["rounds"]])
    per = settings.get("per", "game")
    if settings["names"] is None:
        return Trace(rounds, per)
    import pandas as pd

    return Trace(pd.DataFrame(rounds, columns=settings["names"]), per)


def _checked(rounds: Any) -> BoolArray:
    """Check that rounds are a table of true and false, or of 1 and 0."""
    try:
        table: AnyArray = np.asarray(rounds)
    except ValueError as cause:
        raise InvalidInput("Trace: rounds must be a table: lines of the same length") from cause
    if table.ndim != 2 or table.size == 0:
        raise InvalidInput(
            "Trace: rounds must be a table of rounds and providers, with at least one of each; "
            f"received the shape {table.shape}"
        )
    if table.dtype.kind not in "biuf" or not np.isin(table, (0, 1)).all():
        raise InvalidInput(
            "Trace: rounds must be true or 1 where a provider was present, and false or 0 where "
            f"not; received {described(table)}"
        )
    return table.astype(bool)
