"""The answer of a valuation in a few sentences: who is worth most, and how certain that is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from markupsafe import Markup

from shapband.errors import InvalidInput
from shapband.report.names import named, shown
from shapband.report.tables import NO_BREAK, number, probability, shortest, without_rounding
from shapband.valuation.text import from_one_to_the_next
from shapband.valuation.valued import the_score, whole_of

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
    more = [spread_words(valuation, best), meaning(valuation, best), _basis(valuation)]
    return [*sentences, *more]


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


def spread_words(valuation: Valuation, at: int) -> Markup:
    """Say how much the value of a provider changes from one game to the next, and with what."""
    between, comma, causes = from_one_to_the_next(valuation).partition(", ")
    deviation = float(valuation.standard_deviation[at])
    if not math.isfinite(deviation):
        return Markup("How much its value changes {} is not known yet.").format(between)
    owner = "this belongs to the data, and more games do not lower it"
    if comma:
        owner = f"it changes {causes}, and more games do not lower this"
    return Markup("{}, its value changes by {} (one standard deviation); {}.").format(
        between[:1].upper() + between[1:], number(deviation, deviation / 10), owner
    )


def meaning(valuation: Valuation, at: int, *, total: bool = True) -> Markup:
    """Say what the value of a provider is a part of, and with `total` what all values add up to."""
    value, setup = float(valuation.expectation[at]), valuation.setup
    low, high = valuation.interval()[at]
    size = number(abs(value), float(without_rounding((high - low) / 2, valuation.expectation[at])))
    score = shown(the_score(setup))
    change = f"adds {size} to {score}" if value >= 0 else f"takes {size} from {score}"
    begin = Markup("{} {} on average.").format(named(valuation.names[at]), change)
    whole = whole_of(valuation) if total else None
    if whole is None:
        return begin
    some = valuation.estimate.takes_part_at_random
    return Markup(
        "{} {} goes from {} with nobody to {} with {}; the values of all providers add up to the "
        "difference, {}."
    ).format(
        begin,
        score[:1].upper() + score[1:],
        shortest(whole.nobody, whole.digits),
        number(whole.everybody, whole.digits),
        "those who take part" if some else "everybody",
        with_error(whole.gain, whole.half_width),
    )


def _basis(valuation: Valuation) -> Markup:
    return Markup("All these are averages over {}.").format(shown(valuation.estimand))


def _estimate(valuation: Valuation, at: int) -> str:
    """Write an expectation with the half width of its interval."""
    low, high = valuation.interval()[at]
    return with_error(float(valuation.expectation[at]), float(high - low) / 2)


def with_error(value: float, half_width: float) -> str:
    """Write a number with the half width of its interval, to two digits of the half width."""
    half = float(without_rounding(np.array(half_width), np.array(value)))
    if not math.isfinite(half):
        return f"{number(value, half)}, with an interval that is not known"
    return f"{number(value, half)}{NO_BREAK}±{NO_BREAK}{number(half, half)}"
