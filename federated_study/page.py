"""The page of the measured errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from federated_study.clients import FAMILIES
from federated_study.odd_clients import KINDS, ODD, OddSetting
from federated_study.settings import CHECKED, METHODS, PARTICIPATION, ROUNDS, Setting
from federated_study.summary import Cell, Records, cell, chosen, mean_and_error, over_rates
from federated_study.training import SCORES

HEAD = """# Errors of values from recorded updates

Written by `{command}`; do not edit. Measured on {date} with {versions}.

[`value_recorded`](federated-recorded.md) rebuilds the models of coalitions from the updates of one
training run. This page compares its methods with exact values, for which every coalition is
trained. Six clients train a logistic model with ten features by federated averaging, weighted by
records, with five full-batch gradient steps per round and learning rates of 0.1, 0.5 and 2. Models
are scored on 500 validation rows by accuracy and by the negative log loss. The clients differ in
one way:

- *label noise*: 60 records each, of which 0, 10, 20, 30, 40 and 50 % have the wrong label;
- *class skew*: 60 records each, 10 to 90 % of them positive;
- *size skew*: 10, 20, 40, 80, 160 and 320 records.

Each setting has {pools} populations, each with its own model and validation rows, and {games} draws
of all clients' data from each. The error of a method is Σ |mean value − exact mean value| /
Σ |exact mean value|, with means over the draws and sums over the clients. The tables show its mean
over the populations; ± is the standard error of that mean.
"""

RANGES = """## Ranges

Smallest and largest error over the three learning rates, in percent, and the lowest rank
correlation with the exact mean values over families and learning rates. *Truncated MR* skips rounds
in which the score changes by at most 0.01. *One-round* is a single round in which every client
makes as many steps as in all rounds in which it is present.
"""

DETAIL = """## Every learning rate

Errors in percent, ± their standard errors.
"""

CHECK = """## With retrained coalitions

One run with `check=20` retrains at most 20 of the 63 coalitions. Errors of the values of single
runs, in percent, before and after the correction, averaged over learning rates; *held* is the share
of 95 % intervals of corrected values (Student's distribution, 8 degrees of freedom) that hold the
exact value. Fewer than 20 coalitions are retrained, because pairs of complements are drawn
independently and some are drawn twice.
"""

ODD_TEXT = """## A client that harms or cheats

Six clients with 60 records of the same kind, 5 rounds, learning rate 0.5. The sixth behaves in one
of these ways; *large claim* tries to weigh more in the average:

{kinds}

Values of the sixth client by accuracy, ± standard errors, and its rank among the six (6 is last).
The exact values of the other five are about {others:.3f} each if the sixth is honest.
"""

EARLIER_TEXT = """## Compared with an earlier measurement

Ranges in percent for 5 rounds with everybody present, beside those that were measured before this
code was written, with other code and other data (4 seeds of 15 games). *Agrees* means that the
largest errors, over both scores, differ by a factor of at most 1.5.
"""
_APART = 1.5
# Method and family → range in percent that was measured before.
EARLIER = {
    "OR": ((6, 111), (0, 5), (1, 46)),
    "MR": ((16, 102), (2, 10), (4, 26)),
    "one-round": ((0, 4), (0, 2), (0, 2)),
}


def page(
    found: Mapping[Setting, Records], odd: Mapping[OddSetting, Records], facts: Mapping[str, str]
) -> str:
    """The page of everything that was measured."""
    honest = next(records for one, records in odd.items() if one.kind == "honest")
    others = [np.delete(one["accuracy"]["exact"], ODD).mean() for one in honest]
    kinds = "\n".join(f"- *{kind}*: {meaning};" for kind, meaning in KINDS.items())[:-1] + "."
    parts = [
        HEAD.format(**facts),
        RANGES,
        *_ranges(found),
        CHECK,
        *_checks(found),
        "",
        ODD_TEXT.format(kinds=kinds, others=float(np.mean(others))),
        *_odd(odd),
        "",
        EARLIER_TEXT,
        *_earlier(found),
        "",
        DETAIL,
        *_detail(found),
        "",
    ]
    return "\n".join(parts)


def _ranges(found: Mapping[Setting, Records]) -> Iterator[str]:
    for participation in PARTICIPATION:
        title = "Everybody present" if participation == 1 else "Each client present in half"
        yield f"### {title}{'' if participation == 1 else ' of the rounds'}\n"
        yield "| rounds | score | method | " + " | ".join(FAMILIES) + " | rank correlation |"
        yield "| --- " * (4 + len(FAMILIES)) + "|"
        for rounds in ROUNDS:
            for score in SCORES:
                for method in METHODS:
                    cells = [
                        over_rates(
                            chosen(found, family=one, rounds=rounds, participation=participation),
                            [score],
                            method,
                        )
                        for one in FAMILIES
                    ]
                    lowest = min(one.rank for some in cells for one in some)
                    spans = [_span(some) for some in cells]
                    yield _row([str(rounds), score, method, *spans, f"{lowest:.2f}"])
        yield ""


def _detail(found: Mapping[Setting, Records]) -> Iterator[str]:
    yield "| family | rate | rounds | present | score | " + " | ".join(METHODS) + " |"
    yield "| --- " * (5 + len(METHODS)) + "|"
    for one, records in found.items():
        for score in SCORES:
            cells = [_error(cell(records, score, method)) for method in METHODS]
            labels = [one.family, f"{one.rate:g}", str(one.rounds), f"{one.participation:.0%}"]
            yield _row([*labels, score, *cells])


def _checks(found: Mapping[Setting, Records]) -> Iterator[str]:
    yield "| family | rounds | score | method | before | after | held | retrained |"
    yield "| --- " * 8 + "|"
    for family in FAMILIES:
        for rounds in ROUNDS:
            runs = chosen(found, family=family, rounds=rounds, participation=1.0)
            for score in SCORES:
                for method in CHECKED:
                    rows = [one[score][f"check {method}"] for records in runs for one in records]
                    before, after, held, trained = np.mean(rows, axis=0)
                    numbers = [f"{100 * before:.0f}", f"{100 * after:.0f}", f"{100 * held:.0f} %"]
                    yield _row([family, str(rounds), score, method, *numbers, f"{trained:.1f}"])


def _odd(odd: Mapping[OddSetting, Records]) -> Iterator[str]:
    columns = ("exact", *METHODS)
    yield "| client 6 | " + " | ".join(columns) + " |"
    yield "| --- " * (1 + len(columns)) + "|"
    for one, records in odd.items():
        yield _row([one.kind, *(_odd_value(records, method) for method in columns)])


def _odd_value(records: Records, method: str) -> str:
    values = [np.array(one["accuracy"][method]) for one in records]
    mean, error = mean_and_error([float(row[ODD]) for row in values])
    together = np.mean(values, axis=0)
    rank = 1 + int((together > together[ODD]).sum())
    return f"{mean:.3f} ± {error:.3f} ({rank})"


def _earlier(found: Mapping[Setting, Records]) -> Iterator[str]:
    yield "| method | family | before | accuracy | log loss | |"
    yield "| --- " * 6 + "|"
    for method, ranges in EARLIER.items():
        for family, (low, high) in zip(FAMILIES, ranges, strict=True):
            runs = chosen(found, family=family, rounds=5, participation=1.0)
            spans = [_span(over_rates(runs, [score], method)) for score in SCORES]
            ratio = 100 * max(one.error for one in over_rates(runs, SCORES, method)) / high
            verdict = "larger here" if ratio > _APART else "agrees"
            verdict = "smaller here" if ratio < 1 / _APART else verdict
            yield _row([method, family, f"{low} to {high}", *spans, verdict])


def _span(cells: Iterable[Cell]) -> str:
    errors = [100 * one.error for one in cells]
    return f"{min(errors):.0f} to {max(errors):.0f}"


def _error(one: Cell) -> str:
    return f"{100 * one.error:.1f} ± {100 * one.spread:.1f}"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
