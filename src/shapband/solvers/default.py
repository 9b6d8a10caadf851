"""The solver that is used if the user does not choose one."""

from __future__ import annotations

from collections.abc import Sequence

from shapband.indices import SHAPLEY, Index
from shapband.sampling.base import Sampling
from shapband.sampling.fresh import Fresh
from shapband.solvers.arcs import Arcs
from shapband.solvers.balanced import BalancedPermutation
from shapband.solvers.base import Solver
from shapband.solvers.exact import Exact
from shapband.solvers.known import Known
from shapband.solvers.owen import count_coalitions
from shapband.solvers.permutation import Permutation
from shapband.solvers.strata import Strata
from shapband.solvers.trial import GAMES, PROBE, Option, Trial
from shapband.utilities.base import Utility

# Arithmetic operations of drawing, summarising and folding the records of one provider, and of the
# solvers' own code for each evaluation. They follow from measured times, at 0.25 ns per operation:
# a draw takes 2 to 3 µs with least squares and 12 to 300 providers, 7 µs with 3,000 and 34 µs with
# 10,000, because fewer games of many providers are drawn at once. Permutations count no operations
# of their own: merging along them saves as much.
_DRAWN, _DRAWN_OF_MANY, _OF_ARCS, _OF_STRATA = 12_000, 10, 200, 80_000
# At equal evaluations `Arcs` had 2.5 times the noise of `Strata` (the median of ten kinds of games
# and of least squares with 30 and 100 providers; between 1.1 and 38 times).
_ADVANTAGE = 2.5
_CIRCLES = (*range(8, 17), 18, 20, 24, 28, 40, 56, 80)
_EVALUATIONS = (5, 10, 20)  # evaluations per provider with which `Strata` is tried
_TABLE_UP_TO = 16  # with more providers, all coalitions are too many even if noise costs much
_TRIED = 8  # circles of `Arcs` in the first games
# Balanced permutations are tried beside circles if a game of them has at most this many times the
# evaluations of the circles, so that the first games do not take long.
_LONGER = 2
_BLOCKS = (2, 4, 8)  # blocks of `BalancedPermutation`; each has every provider first once
# Numbers of plain permutations. They are a probe of the first games and solve none of them: with 16
# permutations the noise of least squares with 100 providers is 125 times the variance, and one such
# game would double the squared error of a mean over a hundred. Two show the noise, which is a mean
# over the providers and 8 games, at 1/25 of the evaluations of the circles that are tried.
_PROBED, _WALKS = 2, (8, 16, 32, 64)
# A utility without its own loop over arcs or permutations gets coalitions as rows of n members, and
# an evaluation takes at least this many operations for each member (1.4 µs with 300 providers).
_OF_MEMBER = 20
_PERMUTATIONS = 200  # permutations per game, for groups with too many coalitions for `Exact`
_ALL = "enumerating all coalitions costs no more than sampling"


def default_solver(
    n_providers: int,
    utility: Utility,
    sampling: Sampling | None = None,
    index: Index = SHAPLEY,
) -> tuple[Solver, str]:
    """Choose a solver by counts of operations, or some to be tried in the first games.

    Returns
    -------
    The solver, and the reason for it.

    Examples
    --------
    >>> import shapband as sb
    >>> default_solver(10, sb.AdditiveUtility())[0], default_solver(30, sb.AdditiveUtility())[0]
    (Exact(), Known())
    """
    if n_providers <= utility.exact_up_to:
        return Exact(), _ALL
    if utility.knows_values and index == SHAPLEY:
        return Known(), "the utility knows its Shapley values"
    n = n_providers
    each = utility.operations(n)
    if _ADVANTAGE * (each + _OF_ARCS) <= each + _OF_STRATA:
        trial = _trial_of_arcs(n, utility)
    else:
        trial = _trial_of_strata(n, each, fresh=isinstance(sampling, Fresh))
    return trial, f"the first {GAMES} games show which takes the least work for the same error"


def _trial_of_arcs(n: int, utility: Utility) -> Trial:
    """Try circles and permutations; twice as many of them have half the noise."""
    least_each = _OF_MEMBER * n
    each, along = utility.operations(n), utility.operations(n)
    if type(utility).evaluate_arcs is Utility.evaluate_arcs:
        each = max(each, least_each)
    if type(utility).evaluate_prefixes is Utility.evaluate_prefixes:
        along = max(along, least_each)
    candidates: tuple[Solver, ...] = (Arcs(_TRIED),)
    options = [
        Option(
            solver,
            n * _drawn(n) + solver.most_evaluations(n) * (each + _OF_ARCS),
            noise=_TRIED / solver.n_circles,
        )
        for solver in map(Arcs, _CIRCLES)
    ]
    least = _BLOCKS[0]
    if least * n * n <= _LONGER * Arcs(_TRIED).most_evaluations(n):
        candidates = (*candidates, BalancedPermutation(least * n))
        options += [
            Option(
                BalancedPermutation(blocks * n),
                n * _drawn(n) + blocks * n * n * along,
                tried=1,
                noise=least / blocks,
            )
            for blocks in _BLOCKS
        ]
    if n <= _TABLE_UP_TO:
        # In a table of all coalitions, one costs about a quarter of a coalition chosen alone.
        options.append(Option(Exact(), n * _drawn(n) + 2**n * each / 4, noise=0.0))
    options += [
        Option(Permutation(count), n * (_drawn(n) + count * along), PROBE, noise=_PROBED / count)
        for count in _WALKS
    ]
    return Trial(candidates, tuple(options), Permutation(_PROBED))


def _trial_of_strata(n: int, each: float, *, fresh: bool) -> Trial:
    """Try `Strata` with three numbers of evaluations, and all coalitions if they are few."""
    # Records cost more than work: a game with fresh draws counts as much as 20 more evaluations.
    drawn = _drawn(n) + (_EVALUATIONS[-1] * each if fresh else 0.0)
    options = [
        Option(Strata(count * n), n * (drawn + count * (each + _OF_STRATA)), tried=at)
        for at, count in enumerate(_EVALUATIONS)
    ]
    if 2**n <= 2 * _EVALUATIONS[-1] * n:
        options[-1] = Option(Exact(), n * drawn + 2**n * each, tried=len(_EVALUATIONS) - 1)
    return Trial(tuple(option.solver for option in options), tuple(options))


def _drawn(n: int) -> float:
    """Operations of drawing, summarising and folding the records of one of n providers."""
    return _DRAWN + _DRAWN_OF_MANY * n


def default_group_solver(sizes: Sequence[int]) -> tuple[Solver, str]:
    """Choose a solver for groups: exact if few coalitions are needed, else permutations.

    Parameters
    ----------
    sizes : number of providers of every player

    Examples
    --------
    >>> default_group_solver([3, 3, 1])[0], default_group_solver([30, 30])[0]
    (Exact(), Permutation(n_iter=200))
    """
    if count_coalitions(sizes) <= _PERMUTATIONS * sum(sizes):
        return Exact(), _ALL
    return Permutation(_PERMUTATIONS), "groups have too many coalitions to enumerate all of them"
