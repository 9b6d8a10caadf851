"""How requests that failed are repeated."""

from __future__ import annotations

import random
from dataclasses import dataclass

from shapband.checks import check_number, check_whole
from shapband.errors import InvalidInput, TemporaryFailure

# The random part of a pause is not from `seeds`: it must not change which records are drawn.
_CHANCE = random.Random()  # noqa: S311  not for secrets
_MOST_DOUBLINGS = 60  # keeps the power of 2 finite; every pause is at its limit long before


@dataclass(frozen=True)
class Retry:
    """How often a request that failed is made again, and after what time.

    A request is repeated if its failure may pass: the source raises `errors.TemporaryFailure`,
    `ConnectionError` or `TimeoutError`, or it does not answer within the `timeout` of `value`. Any
    other error ends the valuation at once. The pause after the first attempt is `wait` seconds, and
    it doubles with every further one; a random half of it is left out, so that requests that failed
    together are not repeated together. A source that asks for a certain pause
    (`TemporaryFailure.retry_after`, the ``Retry-After`` of HTTP) gets this pause in addition, and
    no other request meanwhile; nor does a source that has failed more often in a row than it
    answers requests at once. Repeated requests give the same records as requests that never
    failed, so they do not change a valuation.

    Parameters
    ----------
    attempts : how often a request is made at most; 1 never repeats a request
    wait : seconds between the first attempt and the second
    longest_wait : limit on every pause, in seconds. A source that asks for a longer one has failed

    Examples
    --------
    >>> import shapband as sb
    >>> source = sb.with_delay(sb.ArraySource([[1.0], [2.0]], [0.0, 1.0]), seconds=0.01)
    >>> sb.Provider("north", source, retry=sb.Retry(attempts=3)).retry
    Retry(attempts=3, wait=0.1, longest_wait=60.0)
    """

    attempts: int = 8
    wait: float = 0.1
    longest_wait: float = 60.0

    def __post_init__(self) -> None:
        check_whole("Retry: attempts", self.attempts, 1)
        check_number("Retry: wait", self.wait, least=0)
        check_number("Retry: longest_wait", self.longest_wait, least=0)
        if self.wait > self.longest_wait:
            raise InvalidInput(
                f"Retry: wait must be at most longest_wait, {self.longest_wait:g} seconds; "
                f"received {self.wait:g}: shorten wait, or raise longest_wait"
            )

    def allows(self, failures: int, cause: BaseException) -> bool:
        """Whether a request is made again after `failures` attempts, the last ended by `cause`.

        Examples
        --------
        >>> retry = Retry(attempts=3)
        >>> retry.allows(2, ConnectionError()), retry.allows(3, ConnectionError())
        (True, False)
        >>> retry.allows(1, ValueError())
        False
        """
        return (
            failures < self.attempts and may_pass(cause) and pause_asked(cause) <= self.longest_wait
        )

    def pause(self, failures: int, cause: BaseException) -> float:
        """Seconds to wait before a request is made again."""
        doubled = self.wait * 2.0 ** min(failures - 1, _MOST_DOUBLINGS)
        longest = min(doubled, self.longest_wait)
        return pause_asked(cause) + _CHANCE.uniform(longest / 2, longest)


def may_pass(cause: BaseException) -> bool:
    """Whether a later attempt may succeed where this one failed."""
    return isinstance(cause, TemporaryFailure | ConnectionError | TimeoutError)


def pause_asked(cause: BaseException) -> float:
    """Seconds that a source asks to wait before it is asked again; 0 if it does not say."""
    asked: object = getattr(cause, "retry_after", None)
    return float(asked) if isinstance(asked, int | float) and asked > 0 else 0.0
