"""Compare every utility with its references, case by case, and print a table.

``python -m tests.differential.run`` tries all cases. ``--family NAME --case NUMBER`` repeats one of
them and prints what it is made of. ``--first N --count M`` tries M cases from number N on, which
may be beyond those of `make fuzz`.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import numpy as np

import shapband as sb
from shapband.errors import ShapbandError
from shapband.seeds import Seeds
from tests.differential.cases import Case
from tests.differential.families import FAMILIES, Family
from tests.differential.settle import Truth, close, verdict
from tests.differential.solvers import added_up, solved
from tests.differential.valuations import played

SECONDS = 5.0  # of computing, after which the exact score of a coalition is given up

OUTCOMES = (
    "equal",
    "refused",
    "needless error",
    "reference wrong",
    "ill-posed",
    "unsettled",
    "ours wrong",
)

TO_PRINT = ("needless error", "unsettled", "ours wrong")


@dataclass(frozen=True)
class Finding:
    """What one case came to.

    Attributes
    ----------
    outcome : the worst of its coalitions
    difference : largest difference from the reference among coalitions found equal
    details : one line for each coalition that is not equal
    """

    outcome: str
    difference: float
    details: tuple[str, ...]


@dataclass
class Tally:
    """Counts of a family."""

    counts: Counter[str] = field(default_factory=Counter)
    difference: float = 0.0

    def add(self, finding: Finding) -> None:
        self.counts[finding.outcome] += 1
        self.difference = max(self.difference, finding.difference)


def values_of(family: Family, case: Case) -> dict[int, float | ShapbandError]:
    """Value every coalition as a valuation does, or return the error of each that has none."""
    masks = range(1, 2 ** len(case.parts))
    try:
        utility = family.utility(case)
        batches = [sb.Batch(X, y) for X, y in case.parts]
        for batch in batches:
            utility.check_batch(batch)
        summaries = [utility.summarise(batch) for batch in batches]
    except ShapbandError as error:
        return dict.fromkeys(masks, error)
    names = tuple(f"p{i}" for i in range(len(batches)))
    games = sb.Games(utility, [summaries], names, range(1), Seeds(0))
    try:
        if case.number % 2:
            return dict(zip(masks, games.table()[0, 1:].tolist(), strict=True))
    except ShapbandError:
        pass
    return {mask: _alone(games, mask) for mask in masks}


def _alone(games: sb.Games, mask: int) -> float | ShapbandError:
    inside = np.array([[mask >> i & 1 for i in range(games.n_providers)]], dtype=np.uint8)
    try:
        return float(games.values(inside, np.zeros(1, dtype=np.int64))[0])
    except ShapbandError as error:
        return error


def compare(family: Family, case: Case) -> Finding:
    """Compare all coalitions of a case with the reference, and settle what differs."""
    worst, largest, details = "equal", 0.0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflows of references
        for mask, ours in values_of(family, case).items():
            X, y = case.joined(mask)
            if isinstance(ours, ShapbandError):
                reason = family.refusal(case)
                if not reason and family.undecidable(case, X):
                    reason = "rounding of the records decides the fit"
                outcome = "refused" if reason else "needless error"
                details.append(f"{mask:b}: {outcome}: {ours} [{reason}]")
            else:
                reference = family.reference(case, X, y)
                outcome = "equal"
                if close(ours, reference):
                    largest = max(largest, abs(ours - reference) / max(1.0, abs(reference)))
                else:
                    outcome, found = _settled(family, case, mask, ours, reference)
                    details.append(
                        f"{mask:b}: {outcome}: ours {ours!r}, reference {reference!r}, {found}"
                    )
            if OUTCOMES.index(outcome) > OUTCOMES.index(worst):
                worst = outcome
    return Finding(worst, largest, tuple(details))


def _settled(
    family: Family, case: Case, mask: int, ours: float, reference: float
) -> tuple[str, str]:
    """Return who is wrong, and the exact value."""
    try:
        with limited(SECONDS):
            truth: Truth = family.truth(case, *case.joined(mask))
            found = verdict(ours, reference, truth)
    except (ArithmeticError, TimeoutError) as error:
        return "unsettled", str(error)
    return found, f"exact {truth.value!r}"


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError if the block takes more seconds of computing."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"the exact score takes more than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def _by_fractions(solve: Callable[[int], tuple[str, float]], number: int) -> Finding:
    outcome, difference = solve(number)
    return Finding(outcome, difference, (f"{outcome}: relative difference {difference:.2g}",))


def _by_case(family: Family, number: int) -> Finding:
    return compare(family, family.make(number))


# What is tried: how many cases, and what one of them comes to.
TRIED: dict[str, tuple[int, Callable[[int], Finding]]] = {
    **{family.name: (family.cases, partial(_by_case, family)) for family in FAMILIES},
    "additive": (1500, partial(_by_fractions, added_up)),
    "solvers": (5000, partial(_by_fractions, solved)),
    "valuations": (300, partial(_by_fractions, played)),
}


def table(tallies: dict[str, Tally]) -> str:
    """Return the counts of all families as text."""
    lines = [f"{'family':<24}{'cases':>8}" + "".join(f"{o:>17}" for o in OUTCOMES) + "  largest"]
    for name, tally in tallies.items():
        counts = "".join(f"{tally.counts[outcome]:>17,}" for outcome in OUTCOMES)
        lines.append(f"{name:<24}{tally.counts.total():>8,}{counts}  {tally.difference:.1e}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--family", default="")
    parser.add_argument("--case", type=int)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int)
    asked = parser.parse_args()
    chosen = {name: tried for name, tried in TRIED.items() if asked.family in name}
    if asked.case is not None:
        for family in FAMILIES:
            if family.name in chosen:
                print(family.make(asked.case))
        for name, (_, attempt) in chosen.items():
            print(name, *attempt(asked.case).details, sep="\n")
        return 0
    tallies: dict[str, Tally] = {}
    started = time.monotonic()
    try:
        for name, (cases, attempt) in chosen.items():
            tally = tallies[name] = Tally()
            end = int(cases * asked.share) if asked.count is None else asked.first + asked.count
            for number in range(asked.first, end):
                finding = attempt(number)
                tally.add(finding)
                if finding.outcome in TO_PRINT:
                    worst = next(line for line in finding.details if finding.outcome in line)
                    print(f"{name}, case {number}: {worst}", flush=True)
            seconds = time.monotonic() - started
            print(f"{name}: {seconds:.0f} s since the start", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    print(table(tallies))
    wrong = sum(tally.counts["ours wrong"] for tally in tallies.values())
    print(f"ours was wrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
