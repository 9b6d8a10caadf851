"""The interface of a solver, and the solution it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TypeVar

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import described
from shapband.errors import ConformanceError, InvalidInput
from shapband.games import Games
from shapband.solvers.pairs import PairSolution, pair_count


@dataclass(frozen=True, eq=False)
class RoundSolution:
    """The values after each round of training, and of each round, in a chunk of games.

    Attributes
    ----------
    values : (n_games, n_series, n) see `shapband.solvers.rounds` for the series
    noise : (n_games, n_series, n) estimated variance of the solver's own error in `values`
    folds : (n_games, n_folds, n_series, n) values without each fold of the validation rows minus
        `values`, NaN if a fold cannot be left out; None if not wanted
    """

    values: FloatArray
    noise: FloatArray
    folds: FloatArray | None = None


_Others = TypeVar("_Others", PairSolution, RoundSolution)


def joined_others(parts: Sequence[_Others | None]) -> _Others | None:
    """Join the pairs or rounds of consecutive games; all of the games have them, or none has."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    folds = [part.folds for part in known if part.folds is not None]
    return replace(
        known[0],
        values=np.concatenate([part.values for part in known]),
        noise=np.concatenate([part.noise for part in known]),
        folds=np.concatenate(folds) if folds else None,
    )


@dataclass(frozen=True, eq=False)
class Solution:
    """The values of the providers in a chunk of games.

    Attributes
    ----------
    values : (n_games, n)
    noise : (n_games, n) estimated variance of the solver's own error in `values`: 0 if the
        values are exact, NaN if it cannot be estimated
    evaluations : distinct coalitions evaluated, over all games
    failures : number of evaluations that failed and were given a fixed value; counted by the
        library
    group_noise : (n_games, n_groups) estimated variance of the solver's own error in the sum of
        every group's values; None without groups
    presence_variance : (n_games, n) variance of the values over who is present, given the draws;
        None unless `values` are averages over who is present
    folds : (n_games, n_folds, n) values without each fold of the validation rows minus `values`,
        NaN if a fold cannot be left out; added by the library, None if they are not wanted
    pairs : the interactions of pairs of providers; None unless `games.interactions`
    probe_noise : (n_games,) mean noise of the probe of a `Trial`, NaN in games without one; None if
        no game has one
    rounds : the values by round of training; added by the library, None if they are not wanted
    replays : (n_games, n_replays, n) values of the same draws with other presence in rounds, or
        other training; added by the library, None if they are not wanted

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> sb.Solution(np.array([[0.5, 0.5]]), noise=np.zeros((1, 2)), evaluations=3).values.sum()
    np.float64(1.0)
    """

    values: FloatArray
    noise: FloatArray
    evaluations: int
    failures: int = 0
    group_noise: FloatArray | None = None
    presence_variance: FloatArray | None = None
    folds: FloatArray | None = None
    pairs: PairSolution | None = None
    probe_noise: FloatArray | None = None
    rounds: RoundSolution | None = None
    replays: FloatArray | None = None


class Solver(ABC):
    """How the values of the providers in one game are computed.

    Attributes
    ----------
    any_index : whether `solve` computes the values of `games.index`, whichever index it is; if
        False, it computes Shapley values, and valuations with other indices are refused
    gives_interactions : whether `solve` also gives the interactions of pairs of providers if
        `games.interactions`; if False, valuations with interactions are refused

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Alone(sb.Solver):
    ...     def check(self, n_providers):
    ...         if n_providers > 1:
    ...             raise sb.errors.InvalidInput("Alone: use one provider")
    ...     def floats_per_game(self, n_providers):
    ...         return 2
    ...     def solve(self, games):
    ...         table = games.table()
    ...         values = table[:, 1:] - table[:, :1]
    ...         return sb.Solution(values, np.zeros_like(values), len(values))
    >>> sb.testing.check_solver(Alone())
    """

    any_index: bool = False
    gives_interactions: bool = False

    @abstractmethod
    def check(self, n_providers: int) -> None:
        """Raise InvalidInput if games of this size cannot be solved."""

    def check_groups(self, sizes: Sequence[int]) -> None:
        """Raise InvalidInput if games with groups cannot be solved; called instead of `check`.

        A solver that gives Owen values and their `group_noise` if `games.grouping` is not None
        overrides this. All others refuse groups, because they would give Shapley values.

        Parameters
        ----------
        sizes : number of providers of every player: of each group, and 1 for each single provider
        """
        raise InvalidInput(
            f"{type(self).__name__} cannot solve games with groups of {max(sizes)} providers: use "
            "Exact or Permutation, or value the providers without groups"
        )

    def for_size(self, n_providers: int) -> Solver:  # noqa: ARG002
        """Return the solver for games in which this many of the providers take part."""
        return self

    def at(self, game: int) -> Solver:  # noqa: ARG002
        """Return the solver of one game; only in a trial do games differ in it."""
        return self

    @abstractmethod
    def solve(self, games: Games) -> Solution:
        """Solve every game of the chunk. Shapley values sum to v(N) − v(∅) in each of them."""

    def solve_like(self, games: Games, pattern: Games) -> Solution:  # noqa: ARG002
        """Solve games by the coalitions that `solve` would evaluate for other games.

        The two differ in the scores of coalitions only. A solver whose choice of coalitions depends
        on values overrides this.
        """
        return self.solve(games)

    @abstractmethod
    def floats_per_game(self, n_providers: int) -> int:
        """Approximate number of floats needed to solve one game, which limits the chunk size."""


def check_solution(solution: object, solver: Solver, games: Games) -> Solution:
    """Check that a solver returned values, noise and evaluations for every game of a chunk."""
    rule = f"{type(solver).__name__}.solve must return"
    if not isinstance(solution, Solution):
        raise ConformanceError(
            f"{rule} a Solution(values, noise, evaluations); received {type(solution).__name__}"
        )
    shape = (len(games.indices), games.n_providers)
    _check_array(rule, "values", solution.values, shape, "provider")
    if not np.isfinite(solution.values).all():
        raise ConformanceError(f"{rule} finite values; received NaN or infinity")
    _check_noise(rule, "noise", solution.noise, shape, "provider")
    if games.grouping is not None:
        shape = (len(games.indices), len(games.grouping.names))
        _check_noise(rule, "group_noise", solution.group_noise, shape, "group")
    if games.rates is not None:
        shape = (len(games.indices), games.n_providers)
        _check_noise(rule, "presence_variance", solution.presence_variance, shape, "provider")
    if games.interactions:
        _check_pairs(rule, solution.pairs, (len(games.indices), pair_count(games.n_providers)))
    count: object = solution.evaluations
    if not isinstance(count, Integral):
        raise ConformanceError(f"{rule} evaluations as a whole number; received {count!r}")
    return replace(solution, evaluations=int(count), failures=0)


def _check_array(
    rule: str, name: str, array: object, shape: tuple[int, int], column: str
) -> FloatArray:
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.shape != shape:
        raise ConformanceError(
            f"{rule} {name} as a float64 array of shape {shape}, one row for each game and one "
            f"column for each {column}; received {described(array)}"
        )
    return array


def _check_pairs(rule: str, pairs: object, shape: tuple[int, int]) -> None:
    if not isinstance(pairs, PairSolution):
        raise ConformanceError(
            f"{rule} pairs as a PairSolution(values, noise); received {type(pairs).__name__}"
        )
    _check_array(rule, "pairs.values", pairs.values, shape, "pair of providers")
    if not np.isfinite(pairs.values).all():
        raise ConformanceError(f"{rule} finite pairs.values; received NaN or infinity")
    _check_noise(rule, "pairs.noise", pairs.noise, shape, "pair of providers")


def _check_noise(rule: str, name: str, array: object, shape: tuple[int, int], column: str) -> None:
    noise = _check_array(rule, name, array, shape, column)
    if (noise < 0).any():
        raise ConformanceError(
            f"{rule} {name} of at least 0, the variance of the solver's own error, or NaN if it is "
            f"not known; received {noise.min()}"
        )
