"""Divide a whole number of units in proportion to weights, so that nothing is left over."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction

_GRID = 10**12  # weights are rounded to multiples of the largest weight divided by this


def apportion(units: int, weights: Sequence[float], names: Sequence[str]) -> list[int]:
    """Give every name its share of the units, rounded down, then divide the rest one by one.

    The rest goes to the largest remainders. Equal remainders are ordered by a hash of the name, so
    the result does not depend on the order of the names. The arithmetic is exact. Weights that
    differ only by rounding errors count as equal.

    Parameters
    ----------
    units : number of units to divide, 0 or more
    weights : one for each name, none negative and at least one positive
    names : all different

    Examples
    --------
    >>> apportion(100, [1.0, 1.0, 1.0], ["north", "south", "west"])
    [33, 34, 33]
    >>> apportion(100, [1.0, 1.0, 1.0], ["south", "north", "west"])
    [34, 33, 33]
    """
    largest = Fraction(max(weights))
    parts = [round(Fraction(weight) / largest * _GRID) for weight in weights]
    quotas = [Fraction(units * part, sum(parts)) for part in parts]
    given = [quota.numerator // quota.denominator for quota in quotas]
    order = sorted(
        range(len(names)), key=lambda at: (given[at] - quotas[at], _digest(names[at]), names[at])
    )
    for at in order[: units - sum(given)]:
        given[at] += 1
    return given


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
