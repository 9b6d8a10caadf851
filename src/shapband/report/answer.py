"""The answer of a valuation in a few sentences: who is worth most, and how certain that is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from markupsafe import Markup

from shapband.errors import InvalidInput
from shapband.report.names import named, shown
from shapband.report.tables import NO_BREAK, number, probability, without_rounding

if TYPE_CHECKING:
    import pandas as pd

    from shapband.valuation.valuation import Valuation

_SURE = 0.95  # with at least this probability, the largest estimate is said to be the largest value
_UNLIKELY = 0.05  # providers with a smaller probability of being the largest are not counted
_Found = TypeVar("_Found")


class Refused(str):
    """A sentence that says why a valuation cannot answer a question."""


def attempt(question: Callable[[], _Found]) -> _Found | Refused:
    """Return the answer to a question, or the reason why a valuation cannot answer it."""
    try:
        return question()
    except InvalidInput as cause:
        reason = str(cause).split(": ", 1)[-1]
        return Refused(f"{reason[:1].upper()}{reason[1:]}.")


def kind_of_value(valuation: Valuation) -> str:
    """The name of the values, such as "Shapley value"."""
    if valuation.groups is not None:
        return "Owen value"
    return f"{shown(valuation.index).removesuffix('()')} value"


def answer(valuation: Valuation, chances: pd.Series[float] | Refused) -> list[Markup]:
    """Say who is worth most, how certain that is, and what the numbers mean.

    `chances` are the probabilities of having the largest expectation.
    """
    order = np.argsort(-valuation.expectation, kind="stable")
    best = int(order[0])
    tied = int((valuation.expectation == valuation.expectation[best]).sum())
    if len(order) == 1:
        sentences = [_only(valuation)]
    elif tied > 1:
        some = f"All {tied:,}" if tied == len(order) else f"{tied:,} of {len(order):,}"
        sentences = [
            Markup("{} providers share the largest expected {}, {}.").format(
                some, kind_of_value(valuation), _estimate(valuation, best)
            )
        ]
    else:
        sentences = [_largest(valuation, best, chances), _ahead(valuation, best, int(order[1]))]
    return [*sentences, _spread(valuation, best), _meaning(valuation)]


def _only(valuation: Valuation) -> Markup:
    return Markup("<strong>{}</strong> is the only provider: its expected {} is {}.").format(
        named(valuation.names[0]), kind_of_value(valuation), _estimate(valuation, 0)
    )


def _largest(valuation: Valuation, best: int, chances: pd.Series[float] | Refused) -> Markup:
    """Name the largest estimate, and the probability that it is truly the largest."""
    name, value = named(valuation.names[best]), _estimate(valuation, best)
    begin = Markup("<strong>{}</strong> has the largest expected {}, {}").format(
        name, kind_of_value(valuation), value
    )
    if isinstance(chances, Refused):
        return Markup("{}; how certain this is, is not known.").format(begin)
    chance = float(chances.iloc[best])
    if chance >= _SURE:
        return Markup("{}: this is true with a probability of {}.").format(
            begin, probability(chance)
        )
    rival = int(np.argmax(np.where(np.arange(len(chances)) == best, -1.0, chances.to_numpy())))
    others = int((chances.drop(chances.index[[best, rival]]) > _UNLIKELY).sum())
    more = f"; {others:,} more {'is' if others == 1 else 'are'} possible" if others > 0 else ""
    return Markup(
        "{}, but this is not certain: it is the largest with a probability of {}, and {} with {}{}."
    ).format(
        begin,
        probability(chance),
        named(valuation.names[rival]),
        probability(float(chances.iloc[rival])),
        more,
    )


def _ahead(valuation: Valuation, best: int, second: int) -> Markup:
    """Say how far the largest estimate is above the next one."""
    found = valuation.difference(valuation.names[best], valuation.names[second])
    half = (found.high - found.low) / 2
    if not math.isfinite(half):
        return Markup("How far it is ahead of {} is not known.").format(
            named(valuation.names[second])
        )
    return Markup("It is {} above {} (95 % interval {} to {}).").format(
        number(found.estimate, half),
        named(valuation.names[second]),
        number(found.low, half),
        number(found.high, half),
    )


def _spread(valuation: Valuation, best: int) -> Markup:
    """Say how much the value of the best provider changes from one draw to the next."""
    deviation = float(valuation.standard_deviation[best])
    if not math.isfinite(deviation):
        return Markup("How much its value changes from one draw to the next is not known yet.")
    return Markup(
        "From one draw of the data to the next, its value changes by {} (one standard deviation); "
        "this belongs to the data, and more games do not lower it."
    ).format(number(deviation, deviation / 10))


def _meaning(valuation: Valuation) -> Markup:
    return Markup("The numbers are contributions to {}, over {}.").format(
        shown(valuation.setup.get("utility", "the utility")), shown(valuation.estimand)
    )


def _estimate(valuation: Valuation, at: int) -> str:
    """Write an expectation with the half width of its interval."""
    low, high = valuation.interval()[at]
    value = float(valuation.expectation[at])
    half = float(without_rounding((high - low) / 2, valuation.expectation[at]))
    if not math.isfinite(half):
        return f"{number(value, half)}, with an interval that is not known"
    return f"{number(value, half)}{NO_BREAK}±{NO_BREAK}{number(half, half)}"
