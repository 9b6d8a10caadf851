"""A test of whether two valuations differ by more than chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shapband._typing import AnyArray, FloatArray
from shapband.errors import InvalidInput
from shapband.valuation import Valuation

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two valuations, provider by provider.

    Attributes
    ----------
    names : the providers that both valuations have
    first, second : (n,) expectations in the first and in the second valuation
    difference : (n,) second - first
    standard_error : (n,) of the difference
    beyond_chance : (n,) flags: a two-sided test at the 95 % level finds a difference
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
    beyond_chance: AnyArray
    notes: tuple[str, ...]


def compare(first: Valuation, second: Valuation) -> Comparison:
    """Compare the expectations of the providers that both valuations have.

    The test is Welch's: the two errors are taken to be independent, and each has the degrees of
    freedom of its own games.

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> early, late = (sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=50,
    ...                         seed=seed) for seed in (0, 1))
    >>> sb.compare(early, late).beyond_chance.any()
    np.False_
    """
    names = tuple(name for name in first.names if name in set(second.names))
    if not names:
        raise InvalidInput("the valuations have no provider in common: nothing can be compared")
    one, other = _rows(first, names), _rows(second, names)
    difference = second.expectation[other] - first.expectation[one]
    errors = first.standard_error[one], second.standard_error[other]
    freedom = welch_freedom(*errors, _freedom(first), _freedom(second))
    standard_error = np.hypot(*errors)
    return Comparison(
        names,
        first.expectation[one],
        second.expectation[other],
        difference,
        standard_error,
        np.abs(difference) > _quantile(freedom) * standard_error,
        tuple(_notes(first, second, names)),
    )


def welch_freedom(
    error: FloatArray, other_error: FloatArray, freedom: int, other_freedom: int
) -> FloatArray:
    """Degrees of freedom of a difference of means (Welch 1947, Biometrika 34, 28-35).

    Examples
    --------
    >>> welch_freedom(np.array([1.0]), np.array([1.0]), 9, 9).tolist()
    [18.0]
    """
    square, other_square = error**2, other_error**2
    below = square**2 / freedom + other_square**2 / other_freedom
    safe = np.where(below > 0, below, 1.0)
    # Two exact answers have no error, so any degrees of freedom give the same result.
    return np.asarray(np.where(below > 0, (square + other_square) ** 2 / safe, np.inf))


def _quantile(freedom: FloatArray) -> FloatArray:
    from scipy.special import stdtrit

    return np.asarray(stdtrit(np.minimum(freedom, 1e9), (1 + LEVEL) / 2))


def _rows(valuation: Valuation, names: tuple[str, ...]) -> list[int]:
    place = {name: at for at, name in enumerate(valuation.names)}
    return [place[name] for name in names]


def _freedom(valuation: Valuation) -> int:
    return max(1, int(valuation.moments.independent_games) - 1)


def _notes(one: Valuation, other: Valuation, names: tuple[str, ...]) -> Iterator[str]:
    if one.target != other.target:
        yield (
            f"warning: the runs estimate different things: {one.target}; and {other.target}. "
            "A difference need not mean that a provider's worth differs"
        )
    for word, setting in one.setup.items():
        if other.setup.get(word, setting) != setting:
            yield f"note: the {word} differs: {setting} and {other.setup[word]}"
    for label, mine in (("first", one), ("second", other)):
        alone = [name for name in mine.names if name not in set(names)]
        if alone:
            yield f"note: only in the {label} run, and left out: {', '.join(alone)}"
    if one.pool_sizes is not None or other.pool_sizes is not None:
        yield (
            "note: the errors are those of the games, not of the pools: runs that bought other "
            "pools differ by more than these errors say"
        )
    if one.seed == other.seed:
        yield (
            "note: both runs have the same seed and may share draws: the standard error is then "
            "too large, and small differences are missed"
        )
