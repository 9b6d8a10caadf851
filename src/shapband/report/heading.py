"""The head of the report: its title and date, and the values of nobody and of everybody."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple

from shapband.checks import written
from shapband.errors import InvalidInput
from shapband.report.names import shown
from shapband.report.tables import number, shortest
from shapband.valuation.valued import whole_of

if TYPE_CHECKING:
    from shapband.valuation.valuation import Valuation

_EPOCH = "SOURCE_DATE_EPOCH"  # see reproducible-builds.org; matplotlib follows it, too
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


class Heading(NamedTuple):
    """What stands above the answer.

    Attributes
    ----------
    title : the heading of the page
    short : the name of its window
    date : the day on which it was written
    """

    title: str
    short: str
    date: str


def heading(title: str | None, provider: str | None = None) -> Heading:
    """Make the head of the report of all providers, or of one provider.

    Examples
    --------
    >>> heading(None).title
    'What each provider is worth, and how sure we can be'
    >>> heading("Claims 2026", "north").short
    'Claims 2026'
    """
    if title is not None:
        if not isinstance(title, str) or not title.strip():
            raise InvalidInput(
                f"report: title must be a string that is not empty, or None; received "
                f"{written(title)}"
            )
        return Heading(title, title, _words(_today()))
    short = f"What {'each provider' if provider is None else shown(provider)} is worth"
    return Heading(f"{short}, and how sure we can be", short, _words(_today()))


def worth_of_all(valuation: Valuation) -> list[tuple[str, str]]:
    """The values of nobody and of everybody, if they are known."""
    whole = whole_of(valuation)
    if whole is None:
        return []
    some = valuation.estimate.takes_part_at_random
    return [
        ("with nobody, v(∅)", shortest(whole.nobody, whole.digits)),
        (
            "with those who take part" if some else "with everybody, v(N)",
            number(whole.everybody, whole.digits),
        ),
    ]


def _today() -> date:
    """Today, or the day that the environment sets for files that must be the same every day."""
    fixed = os.environ.get(_EPOCH)
    if not fixed:
        return date.today()
    try:
        return datetime.fromtimestamp(int(fixed), UTC).date()
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(
            f"report: the environment variable {_EPOCH} must be a number of seconds since 1970; "
            f"received {written(fixed)}: correct it, or unset it"
        ) from None


def _words(day: date) -> str:
    """Write a date in English, whatever the locale.

    Examples
    --------
    >>> _words(date(2026, 11, 8))
    '8 November 2026'
    """
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
