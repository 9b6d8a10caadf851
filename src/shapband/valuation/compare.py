"""A test of whether two valuations differ by more than chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shapband._typing import AnyArray, FloatArray
from shapband.errors import InvalidInput
from shapband.estimate.accumulate import Moments
from shapband.estimate.errors import error_freedom, error_parts
from shapband.estimate.joint import Estimate, two_sided_p
from shapband.estimate.simulate import usable_freedom
from shapband.valuation.text import REASONS
from shapband.valuation.valuation import Valuation

LEVEL = 0.95


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
    beyond_chance : (n,) flags: the adjusted p-value is below 0.05; where nothing differs, any
        provider is flagged in at most 5 % of comparisons
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
    games as the shorter one has: both chose the same rows, so that much of the chance is common
    to both and cancels. All others, and those that did not keep these games, are taken to be
    independent and tested with Welch's test. The errors include those of the pools.

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
    names = tuple(name for name in first.names if name in set(second.names))
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
        found = _independent(first, second, rows)
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


def welch_freedom(
    error: FloatArray, other_error: FloatArray, freedom: FloatArray, other_freedom: FloatArray
) -> FloatArray:
    """Degrees of freedom of a difference of means (Welch 1947, Biometrika 34, 28-35).

    Examples
    --------
    >>> one = np.array([1.0])
    >>> welch_freedom(one, one, 9 * one, 9 * one).tolist()
    [18.0]
    """
    square, other_square = error**2, other_error**2
    below = square**2 / freedom + other_square**2 / other_freedom
    safe = np.where(below > 0, below, 1.0)
    # Two exact answers have no error, so any degrees of freedom give the same result.
    return np.asarray(np.where(below > 0, (square + other_square) ** 2 / safe, np.inf))


Rows = tuple[list[int], list[int]]


def _independent(first: Valuation, second: Valuation, rows: Rows) -> Estimate:
    """Difference of the expectations of independent valuations."""
    pair = list(zip((first, second), rows, strict=True))
    errors = [one.standard_error[at] for one, at in pair]
    freedom = [usable_freedom(error_freedom(one.moments)[at]) for one, at in pair]
    difference = second.expectation[rows[1]] - first.expectation[rows[0]]
    return Estimate(difference, np.hypot(*errors), welch_freedom(*errors, *freedom))


def _paired_games(first: Valuation, second: Valuation) -> int:
    """Number of games to compare one by one: all of the shorter valuation, or 0.

    It is 0 if the games do not belong together, as games without any chance do not, or if not all
    of them were kept.
    """
    same = (
        first.seed == second.seed
        and first.setup.get("sampling") == second.setup.get("sampling")
        and first.moments.group == second.moments.group
        and not any(_games_depend(one) or one.moments.certain for one in (first, second))
    )
    both = min(first.n_games, second.n_games)
    return both if same and min(len(first.games), len(second.games)) >= both else 0


def _games_depend(valuation: Valuation) -> bool:
    """Whether the errors are not those of independent games with a random presence."""
    presence = valuation.moments.presence
    return presence is not None and presence.of_mean is not None


def _paired(first: Valuation, second: Valuation, rows: Rows, n_games: int) -> Estimate:
    """Mean of the differences game by game.

    A pool is taken to move the difference, relative to its spread over games, no more than it
    moves the values of the valuation in which it moves them more.
    """
    apart = second.games[:n_games, rows[1]] - first.games[:n_games, rows[0]]
    moments = Moments.of(apart, group=first.moments.group)
    ratio, freedom = np.zeros_like(moments.mean), error_freedom(moments)
    for one, at in zip((first, second), rows, strict=True):
        pools = one.moments.pools
        if pools is not None:
            spread = one.raw_variance[at]
            safe = np.where(spread > 0, spread, 1.0)
            ratio = np.maximum(ratio, np.where(spread > 0, pools.variance[at] / safe, 0.0))
            freedom = pools.freedom[at] if moments.group else np.minimum(freedom, pools.freedom[at])
    games = error_parts(moments).total
    if moments.group is not None and moments.n_groups > 1 and ratio.any():
        games = moments.group_m2 / n_games / (moments.n_groups - 1)
    return Estimate(moments.mean, np.sqrt(games + moments.raw_variance * ratio), freedom)


def _rows(valuation: Valuation, names: tuple[str, ...]) -> list[int]:
    place = {name: at for at, name in enumerate(valuation.names)}
    return [place[name] for name in names]


def _groups_of(valuation: Valuation) -> set[frozenset[str]]:
    """The members of every group of two or more, which change the values."""
    groups = {} if valuation.groups is None else valuation.groups.members
    return {frozenset(members) for members in groups.values() if len(members) > 1}


def _notes(one: Valuation, other: Valuation, names: tuple[str, ...], paired: int) -> Iterator[str]:
    if one.index != other.index:
        yield (
            f"warning: the runs compute different indices: {one.index} and {other.index}. A "
            "difference need not mean that a provider's worth differs"
        )
    if one.target != other.target:
        yield (
            f"warning: the runs estimate different things: {one.target}; and {other.target}. "
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
    for label, mine in (("first", one), ("second", other)):
        alone = [name for name in mine.names if name not in set(names)]
        if alone:
            yield f"note: only in the {label} run, and left out: {', '.join(alone)}"
    if any(each.pool_sizes is not None and each.moments.pools is None for each in (one, other)):
        yield (
            "note: the errors are those of the games, not of the pools: runs that bought other "
            "pools differ by more than these errors say"
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
