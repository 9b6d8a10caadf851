"""A chunk of realised games: the interface through which solvers evaluate a utility."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from shapband._typing import AnyArray, FloatArray, IntArray, MemberArray
from shapband.checks import error_line, one_line
from shapband.coalitions import arc_rows, describe, mask_rows, prefix_masks, row_masks
from shapband.errors import EvaluationError
from shapband.grouping import Grouping
from shapband.indices import SHAPLEY, Index
from shapband.kernels.walks import first_occurrences
from shapband.seeds import Seeds
from shapband.utilities.base import CoalitionFailed, GameSummaries, Utility
from shapband.utilities.checking import check_values

_TABLE_PROVIDERS = 20
# Time of a single chosen coalition relative to the time per coalition in a table of all of them,
# for mergeable utilities: about 4 with least squares, more with nearest neighbours.
_CHEAP = 4
_AT_ONCE = 4096  # coalitions per call at most, which bounds the memory of a utility
_LARGEST = 1e75  # largest value accepted; its fourth power, used in the moments, is finite
_Coalitions: TypeAlias = Callable[[int], Iterable[int]]  # game's position -> its coalitions


@dataclass(frozen=True, eq=False)
class Games:
    """Consecutive games of one valuation.

    Attributes
    ----------
    utility : gives the values of coalitions
    summaries : summaries[game][provider]
    names : the providers
    indices : the numbers of these games in the valuation
    seeds : the valuation's random streams
    index : the weights of coalition sizes in a value
    grouping : the groups, of which at least one has two members or more; None if there are no
        such groups
    rates : (n,) probability that each provider is present, if the solver is to average over who is
        present; None if all these providers are present
    interactions : whether the solution is to have the interactions of pairs of providers

    Examples
    --------
    >>> import shapband as sb
    >>> from shapband.seeds import Seeds
    >>> games = sb.Games(sb.AdditiveUtility(), [[1.0, 2.0]], ("a", "b"), range(1), Seeds(0))
    >>> games.table().tolist()
    [[0.0, 1.0, 2.0, 3.0]]
    """

    utility: Utility
    summaries: GameSummaries
    names: tuple[str, ...]
    indices: range
    seeds: Seeds
    index: Index = SHAPLEY
    grouping: Grouping | None = None
    rates: FloatArray | None = None
    interactions: bool = False

    @property
    def n_providers(self) -> int:
        """The number of providers."""
        return len(self.names)

    def table(self) -> FloatArray:
        """Values of all coalitions: (n_games, 2**n), indexed by bitmask."""
        size = 2**self.n_providers
        table = self._asked("evaluate_all", (len(self.indices), size), lambda _: range(1, size))
        table[:, 0] = self.utility.empty
        if not _all_usable(table):
            g, mask = np.argwhere(~_usable(table))[0].tolist()
            raise self._failed(mask, _complaint(table[g, mask]))
        return table

    def prefixes(self, orders: IntArray) -> tuple[FloatArray, int]:
        """Values of the coalitions along permutations, and how many coalitions were evaluated.

        Parameters
        ----------
        orders : (n_games, n_iter, n) permutations

        Returns
        -------
        values : (n_games, n_iter, n)
        evaluations : number of distinct coalitions evaluated, over all games
        """
        n_games, n_iter, n = orders.shape
        if self.utility.mergeable and n <= _TABLE_PROVIDERS and 2**n <= n_iter * n:
            # All 2**n coalitions are no more than the coalitions along the permutations.
            masks = np.cumsum(np.int64(1) << orders, axis=2)
            found = np.take_along_axis(self.table()[:, None, :], masks, axis=2)
            return found, n_games * (2**n - 1)
        first = first_occurrences(orders)

        def coalitions(g: int) -> list[int]:
            return [mask for order in orders[g] for mask in prefix_masks(order)]

        values = self._asked("evaluate_prefixes", orders.shape, coalitions, orders, first)
        if not _all_usable(values):
            g, t, k = np.argwhere(~_usable(values))[0].tolist()
            raise self._failed(prefix_masks(orders[g, t])[k], _complaint(values[g, t, k]))
        return values, int((first == np.arange(n_iter)[None, :, None]).sum())

    def known_values(self) -> FloatArray:
        """Shapley values that the utility knows without evaluating coalitions: (n_games, n)."""
        shape = (len(self.indices), self.n_providers)
        values = self._asked("exact_values", shape, lambda _: ())
        if not _all_usable(values):
            g, i = np.argwhere(~_usable(values))[0].tolist()
            raise self._failed(1 << i, _complaint(values[g, i]))
        return values

    def arcs(self, circles: IntArray, arcs: IntArray) -> FloatArray:
        """Values of all arcs of some sizes on circles of the providers: (n_arcs, n).

        Parameters
        ----------
        circles : (n_games, n_circles, n) the providers in their order on each circle
        arcs : (n_arcs, 3) the game, by its position in this chunk, ascending, the circle, and the
            size of the arcs

        Returns
        -------
        Entry [a, p] is the value of the arc that begins at position p of its circle.
        """

        def coalitions(g: int) -> list[int]:
            own = arcs[arcs[:, 0] == g]
            rows = arc_rows(circles[g, own[:, 1]], own[:, 2])
            return row_masks(rows.reshape(-1, self.n_providers))

        shape = (len(arcs), self.n_providers)
        values = self._asked("evaluate_arcs", shape, coalitions, circles, arcs)
        if not _all_usable(values):
            a, p = np.argwhere(~_usable(values))[0].tolist()
            game, circle, size = arcs[a]
            rows = arc_rows(circles[game, [circle]], np.array([size]))[0]
            raise self._failed(row_masks(rows[p : p + 1])[0], _complaint(values[a, p]))
        return values

    def values(self, inside: MemberArray, of_game: IntArray) -> FloatArray:
        """Values of chosen coalitions: (n_rows,).

        Parameters
        ----------
        inside : (n_rows, n) a coalition in each row, 1 for members
        of_game : (n_rows,) the game of each row, by its position in this chunk, ascending
        """

        def coalitions(g: int) -> list[int]:
            return row_masks(inside[of_game == g])

        rows = np.ascontiguousarray(inside)
        values = self._asked("evaluate_rows", (len(rows),), coalitions, rows, of_game)
        if not _all_usable(values):
            r = int(np.argmax(~_usable(values)))
            raise self._failed(row_masks(inside[r : r + 1])[0], _complaint(values[r]))
        return values

    def some(self, coalitions: Sequence[int]) -> tuple[FloatArray, int]:
        """Values of the same coalitions of every game, and how many coalitions were evaluated.

        Parameters
        ----------
        coalitions : different bitmasks, which may be larger than any integer of NumPy

        Returns
        -------
        values : (n_games, n_coalitions)
        evaluations : number of coalitions evaluated, over all games
        """
        n_games, n = len(self.indices), self.n_providers
        if self.utility.mergeable and n <= _TABLE_PROVIDERS and 2**n <= _CHEAP * len(coalitions):
            return self.table()[:, np.array(coalitions)], n_games * (2**n - 1)
        values = np.full((n_games, len(coalitions)), float(self.utility.empty))
        places = np.flatnonzero([coalition > 0 for coalition in coalitions])
        for at in range(0, len(places), _AT_ONCE):
            part = places[at : at + _AT_ONCE]
            inside = mask_rows([coalitions[place] for place in part], n)
            for g in range(n_games):
                values[g, part] = self.values(inside, np.full(len(part), g))
        return values, n_games * len(places)

    def scored_by(self, utility: Utility) -> Games:
        """Return these games with a utility that scores the same models in another way."""
        twin = replace(self, utility=utility)
        # A utility may remember models by the summaries, so both must have the same ones.
        vars(twin)["_placed"] = self._placed
        return twin

    @cached_property
    def _placed(self) -> GameSummaries:
        """The summaries as the utility wants them in these games."""
        return self.utility.in_games(self.summaries, self.names, self.indices, self.seeds)

    def _asked(
        self, method: str, shape: tuple[int, ...], coalitions: _Coalitions, *arguments: AnyArray
    ) -> FloatArray:
        """Let the utility evaluate coalitions; `shape` is the expected shape of the values."""
        try:
            values = getattr(self.utility, method)(self._placed, *arguments)
        except MemoryError:
            raise
        except EvaluationError as cause:
            raise EvaluationError(one_line(cause)) from cause
        except CoalitionFailed as failure:
            raise self._failed(failure.coalition, failure.reason) from failure
        except (Exception, SystemExit) as cause:
            raise self._blamed(cause, coalitions) from cause
        owner = f"{type(self.utility).__name__}.{method}"
        return check_values(values, shape, owner)

    def _blamed(self, cause: BaseException, coalitions: _Coalitions) -> EvaluationError:
        """Evaluate the coalitions one by one, and return an error that names the first failure."""
        for g, summaries in enumerate(self._placed):
            for coalition in dict.fromkeys(coalitions(g)):
                try:
                    self.utility.evaluate(summaries, [coalition])
                except (Exception, SystemExit) as alone:  # noqa: BLE001  reported by the caller
                    return self._failed(coalition, error_line(alone))
        return EvaluationError(
            f"{type(self.utility).__name__} could evaluate each coalition alone, but not "
            f"together: {error_line(cause)}"
        )

    def _failed(self, coalition: int, reason: str) -> EvaluationError:
        return EvaluationError(
            f"the coalition {describe(coalition, self.names)} could not be evaluated: "
            f"{one_line(reason)}"
        )


def _all_usable(values: FloatArray) -> bool:
    """Whether `_usable` holds for all values, found without a temporary array as large as them."""
    return bool(values.min(initial=0.0) >= -_LARGEST and values.max(initial=0.0) <= _LARGEST)


def _usable(values: FloatArray) -> AnyArray:
    """Whether each value, and its fourth power, is finite; False for NaN."""
    return np.abs(values) <= _LARGEST


def _complaint(value: float) -> str:
    if np.isfinite(value):
        return f"the utility returned {value}, beyond the limit of {_LARGEST:g}: rescale it"
    return f"the utility returned {value}"
