"""The result of a comparison of solvers: a table of scores."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from shapband.checks import printable
from shapband.valuation.text import table_lines

if TYPE_CHECKING:
    import pandas as pd

_WIDTH = 80  # lines of prose are wrapped at this many characters


@dataclass(frozen=True)
class SolverScore:
    """One solver on one game with one budget; numbers are NaN if it could not be compared.

    Attributes
    ----------
    game, solver : their names
    budget : distinct coalitions that may be evaluated in a game
    size : the parameter that was chosen for the budget; 0 for a solver that was given ready-made
    rms_error : root mean square of the errors, over repetitions and providers
    rms_standard_error : of `rms_error`, from the differences between repetitions
    bias_z : the largest mean error of a provider, in its standard errors; as the largest of n
        it is about 2 for 10 providers without bias
    noise_ratio : mean of the variances that the solver states over the mean squared error; 1 if
        it knows its own error, NaN if it is exact or does not state them
    evaluations : distinct coalitions evaluated per game, counted in the game
    stated_evaluations : the same as the solver counts them
    seconds : time per game, with the evaluations
    note : what to keep in mind, or why the solver could not be compared
    """

    game: str
    solver: str
    budget: int
    size: int = 0
    rms_error: float = float("nan")
    rms_standard_error: float = float("nan")
    bias_z: float = float("nan")
    noise_ratio: float = float("nan")
    evaluations: float = float("nan")
    stated_evaluations: float = float("nan")
    seconds: float = float("nan")
    note: str = ""


@dataclass(frozen=True)
class SolverComparison:
    """Scores of solvers on games, as `compare_solvers` returns them.

    Attributes
    ----------
    scores : one for each game, budget and solver
    n_repeats : how often each game was solved
    seed : the seed of the solvers' random numbers

    Examples
    --------
    >>> import shapband as sb
    >>> square = sb.testing.KnownGame(lambda members: len(members) ** 2.0, 6)
    >>> found = sb.testing.compare_solvers([sb.Permutation], {"square": square}, 30)
    >>> found.scores[0].evaluations <= 31
    True
    """

    scores: tuple[SolverScore, ...]
    n_repeats: int
    seed: int

    def to_frame(self) -> pd.DataFrame:
        """One row for each game, budget and solver."""
        import pandas as pd

        frame = pd.DataFrame([asdict(score) for score in self.scores])
        return frame.set_index(["game", "budget", "solver"])

    def __str__(self) -> str:
        header = ("solver", "rms error", "±", "bias z", "noise stated/seen", "evaluations", "s")
        lines = []
        for (game, budget), scores in self._by_game().items():
            lines += [f"{printable(game)}, {budget:,} distinct evaluations per game"]
            lines += [*table_lines(header, map(_cells, scores)), ""]
        lines.append(
            textwrap.fill(
                f"{self.n_repeats:,} repetitions, seed {self.seed}. ±: standard error of the rms "
                "error. bias z: largest mean error of a provider in standard errors. noise: mean "
                "stated variance over the mean squared error. s: seconds per game.",
                _WIDTH,
            )
        )
        notes = [
            textwrap.fill(
                f"note: {printable(one.game)}, {one.budget:,}: {printable(one.solver)} {one.note}",
                _WIDTH,
                subsequent_indent="  ",
            )
            for one in self.scores
            if one.note
        ]
        return "\n".join([*lines, *notes])

    def _by_game(self) -> dict[tuple[str, int], list[SolverScore]]:
        found: dict[tuple[str, int], list[SolverScore]] = {}
        for score in self.scores:
            found.setdefault((score.game, score.budget), []).append(score)
        return found


def _cells(score: SolverScore) -> tuple[str, ...]:
    if score.rms_error != score.rms_error:
        return (printable(score.solver), "not compared", *[""] * 5)
    exact = score.rms_error == 0
    ratio = "exact" if exact else "not stated" if score.noise_ratio != score.noise_ratio else ""
    return (
        printable(score.solver),
        f"{score.rms_error:.3g}",
        f"{score.rms_standard_error:.1g}",
        f"{score.bias_z:.1f}",
        ratio or f"{score.noise_ratio:.2f}",
        f"{score.evaluations:,.1f}",
        f"{score.seconds:.1g}",
    )
