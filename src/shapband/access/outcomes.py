"""What became of the calls of sources: answers, refusals and failures, and which are repeated."""

from __future__ import annotations

import time
from typing import NamedTuple, TypeAlias

from shapband.access.answers import Refusal, received
from shapband.access.deliveries import Call, Delivery
from shapband.checks import error_line, one_line
from shapband.errors import ShapbandError
from shapband.records.batch import Batch
from shapband.sources.base import UnusableAnswer
from shapband.sources.retry import may_pass, pause_asked

Outcome: TypeAlias = Batch | Refusal | BaseException


class Answer(NamedTuple):
    """The answer of a source for a game, or the exception that it raised.

    `call` is the number of the call that asked for it, and `seconds` its share of the time taken.
    """

    delivery: Delivery
    call: int
    game: int
    outcome: Outcome
    seconds: float


def outcomes_of(delivery: Delivery, call: Call) -> tuple[list[Outcome], float]:
    """Call a source; return a checked copy of every answer, and the seconds taken for each."""
    started, size, count = time.perf_counter(), delivery.order.size, len(call.games)
    try:
        answers = delivery.request(call.games)
        seconds = time.perf_counter() - started
        return [received(answer, size) for answer in answers], seconds / count
    except UnusableAnswer as cause:
        refusal = Refusal.of(cause.answer, size, cause)
        return [refusal] * count, (time.perf_counter() - started) / count
    except BaseException as cause:  # noqa: BLE001  raised by `run`
        return [cause] * count, (time.perf_counter() - started) / count


def is_repeated(delivery: Delivery, game: int, outcome: Refusal | BaseException) -> bool:
    """Whether a request is made again after this outcome. A refused answer is paid for."""
    if isinstance(outcome, Refusal):
        return False
    return delivery.retry.allows(delivery.failures[game] + 1, outcome)


def is_final(delivery: Delivery, call: Call, game: int, outcome: Outcome) -> bool:
    """Whether an outcome is a failure for good, of a call that was not given up before."""
    if isinstance(outcome, Batch) or is_repeated(delivery, game, outcome):
        return False
    return delivery.waits_for(game, call.number)


def why_final(delivery: Delivery, cause: BaseException, attempts: int) -> str:
    """Why a request that failed in a way that may pass is not made again; empty for others."""
    if not may_pass(cause):
        return ""
    asked, longest = pause_asked(cause), delivery.retry.longest_wait
    if asked > longest:
        return (
            f"; the source asks to wait {asked:g} seconds, longer than the longest_wait of its "
            f"Retry, {longest:g} seconds"
        )
    return f" (attempt {attempts} of {delivery.retry.attempts})" if attempts > 1 else ""


def reason_of(cause: BaseException) -> str:
    """The message of an error, with its kind unless the library raised it."""
    return one_line(cause) if isinstance(cause, ShapbandError) else error_line(cause)
