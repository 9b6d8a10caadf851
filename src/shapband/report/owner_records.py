"""The sections for one provider on what would raise its value, and what limits its certainty."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from shapband.estimate.errors import CAUSES
from shapband.estimate.intervals import endless_half_widths
from shapband.report.purchases import own_gain
from shapband.report.section import Section, sentence
from shapband.report.tables import number, percents
from shapband.sampling.rare import label_caveats
from shapband.sampling.shared import compared
from shapband.valuation.text import fresh_draws, on_validation
from shapband.valuation.valued import the_score

if TYPE_CHECKING:
    from shapband.market.next_batch import NextBatch
    from shapband.valuation.valuation import Valuation

_REMEDIES = {
    "games": "more games",
    "solver": "more games or more evaluations",
    "pools": "larger pools",
    "validation": "more validation rows",
}


def raise_section(valuation: Valuation, at: int, next_batch: NextBatch | None) -> Section:
    """What is known to lower the value of a provider, and what another draw would bring."""
    found = [*_faults(valuation, at), *_presence(valuation, at)]
    lines = []
    if not found:
        lines.append(
            "Nothing was found in its records that lowers its value: no repeated records, no "
            "records of another provider, no records of one class, no labels of its own."
        )
    if next_batch is not None:
        lines.append(own_gain(valuation, next_batch, at))
    return Section("raise", "What would raise its value", lines=lines, alerts=found)


def _faults(valuation: Valuation, at: int) -> Iterator[str]:
    """Faults of the provider's own records."""
    name = valuation.names[at]
    if valuation.interval()[at, 1] < 0:
        yield (
            f"On average its records lower {the_score(valuation.setup)}: compare their units, "
            "labels and columns with what the model expects."
        )
    if valuation.repeated_records[at] and valuation.distinct_records is not None:
        distinct = valuation.distinct_records[at]
        yield (
            f"Its records repeat: about {distinct:,.0f} are different, and a game uses "
            f"{valuation.draw_sizes[at]:,}. More different records may raise its value."
        )
    for shared in valuation.shared_records:
        if name == shared.one == shared.other:
            yield "Many of its records repeat its own, except for some columns or last digits."
        elif name in (shared.one, shared.other):
            yield (
                "Many of its records equal records of another provider: those who have the same "
                "records share what they are worth."
            )
    if name in valuation.one_label:
        yield "All its records have the same target. Records with other targets may add more."
    for odd in valuation.odd_labels:
        if odd.name == name:
            yield (
                f"It has the label {odd.own}, which no validation row has, and lacks {odd.others}, "
                "which they have: use the same labels."
            )


def _presence(valuation: Valuation, at: int) -> Iterator[str]:
    """What the value was in the games in which the provider took part."""
    if not valuation.estimate.takes_part_at_random:
        return
    parts = {name: float(part[at]) for name, part in valuation.estimate.participation.items()}
    if "rate_in_games" in parts:
        if parts["rate"] < 1:
            yield (
                f"It was present in {percents([parts['rate']])[0]} of the rounds of training. In "
                f"{percents([1 - parts['rate_in_games']])[0]} of the games it was present in no "
                "round, and worth 0."
            )
        return
    error = parts["standard_error_present"]
    if parts["rate"] < 1 and math.isfinite(parts["expectation_present"]):
        yield (
            f"It took part in {percents([parts['rate']])[0]} of the games. In these its value was "
            f"{number(parts['expectation_present'], error)} on average (standard error "
            f"{number(error, error)}); an absent provider is worth 0."
        )


def certainty_section(valuation: Valuation, at: int) -> Section:
    """The causes of the error, their remedies, and what the errors do not cover."""
    errors = valuation.estimate.errors
    total = float(errors.total[at])
    parts = {cause: float(part[at]) for cause, part in errors.by_cause.items()}
    facts = [
        (
            f"From the {CAUSES[cause]}",
            f"{percents([part / total], 0)[0]} of the squared error; {_REMEDIES[cause]} lower it",
        )
        for cause, part in parts.items()
        if total > 0 and part > 0
    ]
    lines = [*_about_error(valuation, at), *map(sentence, on_validation(valuation))]
    return Section(
        "errors",
        "What limits its certainty",
        lines=lines,
        facts=facts,
        alerts=[*_held(valuation, at), *_shape(valuation, at), *_labels(valuation, at)],
    )


def _about_error(valuation: Valuation, at: int) -> Iterator[str]:
    error = float(valuation.standard_error[at])
    if not math.isfinite(error):
        yield "The error of the estimate is not known."
        return
    yield f"The standard error of the estimate is {number(error, error)}."
    left = float(endless_half_widths(valuation.estimate, 0.95)[at])
    if left > 0:
        yield f"More games alone reach ±{number(left, left)} at best."


def _held(valuation: Valuation, at: int) -> Iterator[str]:
    """Validation rows among the records of the provider."""
    for held in valuation.held_rows:
        if held.name == valuation.names[at]:
            yield (
                f"{held.records:,} of {held.rows:,} validation rows equal its records"
                f"{compared(held)}: models are trained on rows that score them, and its value is "
                "too high."
            )


def _shape(valuation: Valuation, at: int) -> Iterator[str]:
    """What the values in single games leave open."""
    shape = valuation.estimate.shape
    if shape.never_present[at]:
        yield "It took part in no game: play more games."
    elif np.asarray(shape.maybe_constant(0.95))[at]:
        yield (
            f"Its value was the same in all {valuation.n_games:,} games, which does not exclude a "
            "rare event: play more games."
        )
    if np.asarray(shape.very_skewed)[at]:
        yield "Its values are very skewed: the interval may hold too rarely; play more games."
    if not math.isfinite(float(valuation.standard_deviation[at])):
        yield "Its spread is not known yet: play more games, or use more evaluations."
    if valuation.failures:
        yield (
            f"{valuation.failures:,} of {valuation.evaluations:,} coalitions could not be "
            "evaluated and count with a fixed value."
        )


def _labels(valuation: Valuation, at: int) -> Iterator[str]:
    """Labels that pools or draws of this provider may lack."""
    name = valuation.names[at]
    own = [
        [one for one in some if one.name == name]
        for some in (valuation.rare_labels, valuation.unseen_labels)
    ]
    for words, remedy in label_caveats(own[0], own[1], fresh_draws(valuation)):
        yield f"{sentence(words)} {sentence(remedy)}"
