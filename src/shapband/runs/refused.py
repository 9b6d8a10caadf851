"""Answers of sources that could not be used, but have to be paid for.

The ledger has an entry for each answer, with the number of records, the reason, and the hash of the
answer, which is stored with the purchases. The request is not made again unless the user asks for
it, because the answer would probably be the same and would have to be paid for again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from shapband.access.budget import Cost
from shapband.checks import printable
from shapband.errors import RunError
from shapband.log import info
from shapband.runs.ledger import Ledger, hash_of

_NOT_STORED = "not stored"
_LONGEST_REASON = 2_000  # the ledger keeps at most this many characters of an error
# Few answers are refused, so the subquery needs no index.
_SELECT = """
SELECT answer.providers, purpose, first_game, records, note, EXISTS (
    SELECT 1 FROM ledger AS request
    WHERE request.id > answer.id AND request.outcome = 'asked'
    AND request.providers = answer.providers
    AND request.purpose = answer.purpose AND request.first_game = answer.first_game
)
FROM ledger AS answer WHERE outcome = 'refused' ORDER BY id
"""


@dataclass(frozen=True)
class RefusedAnswer:
    """An answer of a source that could not be used.

    Attributes
    ----------
    provider, purpose, game : the address of the request
    records : number of records received, or requested if they could not be counted
    reason : why they could not be used
    asked_again : whether the request was made again, because the user asked for it

    Examples
    --------
    >>> import numpy as np, shapband as sb, tempfile
    >>> holes = sb.FunctionSource(lambda size, rng: (np.full(size, np.nan), np.ones(size)))
    >>> providers = [sb.Provider("north", holes)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(5), n_games=2,
    ...                  run=f"{folder}/my-run")
    ...     except sb.errors.SourceError:
    ...         sb.load(f"{folder}/my-run").status.refused[0].records
    5
    """

    provider: str
    purpose: str
    game: int
    records: int
    reason: str
    asked_again: bool


def refused_answers(ledger: Ledger) -> tuple[RefusedAnswer, ...]:
    """All refused answers, in the order in which they arrived."""
    return tuple(
        RefusedAnswer(names[0], purpose, game, records, reason_in(note), bool(again))
        for names, (purpose, game, records, note, again) in ledger.select(_SELECT)
        if names
    )


def refused_cost(ledger: Ledger, names: Collection[str]) -> Cost:
    """Requests and records of all refused answers of some providers."""
    answers = [answer for answer in refused_answers(ledger) if answer.provider in names]
    return Cost(len(answers), sum(answer.records for answer in answers))


def check_refused(ledger: Ledger, run: Path, names: Collection[str]) -> None:
    """Raise RunError if an answer of these providers was refused, and not asked for again."""
    answers = [answer for answer in refused_answers(ledger) if answer.provider in names]
    left = [answer for answer in answers if not answer.asked_again]
    if not left:
        return
    first = left[0]
    more = f" (and {len(left) - 1:,} more answers)" if len(left) > 1 else ""
    raise RunError(
        printable(
            f"provider {first.provider!r} gave {first.records:,} records for {first.purpose} "
            f"{first.game} that cannot be used: {first.reason}{more}; they are counted, and the "
            f"run {run} does not ask for them again by itself: correct the source, then resume "
            "with --ask-again, or from Python with value(..., ask_again=True)"
        )
    )


def log_refused(ledger: Ledger) -> None:
    """Log how many requests are made again, because their answers were refused."""
    left = sum(not answer.asked_again for answer in refused_answers(ledger))
    if left:
        info(f"requests made again, because their answers could not be used: {left:,}")


def note_of(reason: str, blob: bytes | None) -> str:
    """The note of a ledger entry: where the answer is stored, and why it was refused."""
    mark = _NOT_STORED if blob is None else hash_of(blob)
    return f"{mark}; {reason[:_LONGEST_REASON]}"


def reason_in(note: str) -> str:
    """Why an answer was refused."""
    return note.partition("; ")[2]


def purpose_in(note: str) -> str | None:
    """The purpose under which the answer is stored among the purchases, or None if it is not."""
    mark = note.partition("; ")[0]
    return None if mark == _NOT_STORED else f"refused {mark}"


def is_stored(ledger: Ledger, name: str, purpose: str, game: int) -> bool:
    """Whether an equal answer to the same request is stored already."""
    select = "SELECT 1 FROM purchases WHERE provider = ? AND purpose = ? AND game = ?"
    return bool(ledger.query(select, name, purpose, game))
