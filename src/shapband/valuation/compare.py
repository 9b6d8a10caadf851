"""A test of whether two valuations differ by more than chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shapband._typing import AnyArray, FloatArray
from shapband.errors import InvalidInput
from shapband.estimate.differences import (
    Rows,
    independent_difference,
    may_be_paired,
    paired_difference,
    without_pools_error,
)
from shapband.estimate.joint import Statistic, two_sided_p
from shapband.valuation.text import REASONS
from shapband.valuation.valuation import Valuation

LEVEL = 0.95  # a difference is beyond chance if its adjusted p-value is below 1 - LEVEL


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two valuations, provider by provider.

    Attributes
    ----------
    names : the providers that both valuations have
    first, second : (n,) expectations in the first and in the second valuation; over the paired
        games if there are any
    difference : (n,) second - first
    standard_error : (n,) of the difference
    p_value : (n,) of a two-sided test for each provider alone
    adjusted_p_value : (n,) adjusted by Holm's method for the number of providers
    beyond_chance : (n,) whether the adjusted p-value is below 0.05; if no true
        expectation differs, at most 5 % of comparisons flag any provider
    paired_games : games that were compared one by one, or 0 for independent valuations
    notes : warnings about the comparison, such as different targets or settings

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> one = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=20, seed=0)
    >>> sb.compare(one, one).difference.max()
    np.float64(0.0)
    """

    names: tuple[str, ...]
    first: FloatArray
    second: FloatArray
    difference: FloatArray
    standard_error: FloatArray
    p_value: FloatArray
    adjusted_p_value: FloatArray
    beyond_chance: AnyArray
    paired_games: int
    notes: tuple[str, ...]


def compare(first: Valuation, second: Valuation) -> Comparison:
    """Compare the expectations of the providers that both valuations have.

    Valuations with the same seed and the same sampling are compared game by game, over as many
    games as the shorter one has: both chose the same rows, so that much of the random error is
    common to both and cancels. Other valuations, and valuations that did not keep the values of
    these games, are assumed to be independent and compared by Welch's test. The standard errors
    include the error that is due to the choice of the pools.

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> early, late = (sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=50,
    ...                         seed=seed) for seed in (0, 1))
    >>> sb.compare(early, late).beyond_chance.any()
    np.False_
    """
    for one in (first, second):
        if not isinstance(one, Valuation):
            raise InvalidInput(f"compare: pass two valuations; received {type(one).__name__}")
    known = set(second.names)
    names = tuple(name for name in first.names if name in known)
    if not names:
        raise InvalidInput("the valuations have no provider in common: nothing can be compared")
    rows = _rows(first, names), _rows(second, names)
    paired = _paired_games(first, second)
    if paired:
        means = (
            first.games[:paired, rows[0]].mean(axis=0),
            second.games[:paired, rows[1]].mean(axis=0),
        )
        found = _paired(first, second, rows, paired)
    else:
        means = first.expectation[rows[0]], second.expectation[rows[1]]
        found = independent_difference(first.estimate, second.estimate, rows)
    p_value = two_sided_p(found, np.maximum(*np.abs(means)))
    adjusted = holm(p_value)
    return Comparison(
        names=names,
        first=means[0],
        second=means[1],
        difference=found.estimate,
        standard_error=found.standard_error,
        p_value=p_value,
        adjusted_p_value=adjusted,
        beyond_chance=adjusted < 1 - LEVEL,
        paired_games=paired,
        notes=tuple(_notes(first, second, names, paired)),
    )


def holm(p_values: FloatArray) -> FloatArray:
    """Adjust p-values so that all tests together keep their level (Holm 1979).

    A p-value that is not known stays NaN and counts as a test.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)  # NaN is last
    multiplied = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(multiplied), 1.0)
    return adjusted


def _paired_games(first: Valuation, second: Valuation) -> int:
    """Number of games to compare one by one: all games of the shorter valuation, or 0.

    It is 0 if the games do not share their draws, if nothing in them is random, or if the values of
    some of them were not kept.
    """
    same = (
        first.seed == second.seed
        and first.setup.get("sampling") == second.setup.get("sampling")
        and may_be_paired(first.estimate, second.estimate)
    )
    both = min(first.n_games, second.n_games)
    return both if same and min(len(first.games), len(second.games)) >= both else 0


def _paired(first: Valuation, second: Valuation, rows: Rows, n_games: int) -> Statistic:
    """Mean of the differences game by game."""
    apart = second.games[:n_games, rows[1]] - first.games[:n_games, rows[0]]
    return paired_difference(apart, first.estimate, second.estimate, rows)


def _rows(valuation: Valuation, names: tuple[str, ...]) -> list[int]:
    place = {name: at for at, name in enumerate(valuation.names)}
    return [place[name] for name in names]


def _groups_of(valuation: Valuation) -> set[frozenset[str]]:
    """The members of every group of two or more; a group of one does not change the values."""
    groups = {} if valuation.groups is None else valuation.groups.members
    return {frozenset(members) for members in groups.values() if len(members) > 1}


def _notes(one: Valuation, other: Valuation, names: tuple[str, ...], paired: int) -> Iterator[str]:
    if one.index != other.index:
        yield (
            f"warning: the runs compute different indices: {one.index} and {other.index}. A "
            "difference need not mean that a provider's worth differs"
        )
    if one.estimand != other.estimand:
        yield (
            f"warning: the runs estimate different things: {one.estimand}; and {other.estimand}. "
            "A difference need not mean that a provider's worth differs"
        )
    elif (one.draw_sizes[_rows(one, names)] != other.draw_sizes[_rows(other, names)]).any():
        yield (
            "warning: the runs draw different numbers of records, which changes the values: a "
            "difference need not mean that a provider's worth differs"
        )
    if _groups_of(one) != _groups_of(other):
        yield (
            "warning: the runs put the providers into different groups, which changes the values: "
            "a difference need not mean that a provider's worth differs"
        )
    for word, setting in one.setup.items():
        if word not in ("index", *REASONS) and other.setup.get(word, setting) != setting:
            yield f"note: the {word} differs: {setting} and {other.setup[word]}"
    common = set(names)
    for label, mine in (("first", one), ("second", other)):
        alone = [name for name in mine.names if name not in common]
        if alone:
            yield f"note: only in the {label} run, and left out: {', '.join(alone)}"
    if any(
        each.pool_sizes is not None and without_pools_error(each.estimate) for each in (one, other)
    ):
        yield (
            "note: the errors include the choice of games, but not the choice of pools: runs that "
            "bought other pools differ by more than these errors say"
        )
    if paired:
        yield (
            f"note: both runs have the same seed and sampling, so they were compared game by game "
            f"over {paired:,} games"
        )
    elif one.seed == other.seed:
        yield (
            "note: both runs have the same seed and may share draws: the standard error is then "
            "too large, and small differences are missed"
        )
