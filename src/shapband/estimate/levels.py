"""Confidence levels and their quantiles."""

from __future__ import annotations

from shapband.checks import check_number
from shapband.errors import InvalidInput


def check_level(level: float) -> float:
    """Check a confidence level."""
    if not 0 < check_number("level", level) < 1:
        raise InvalidInput(
            f"level must lie strictly between 0 and 1, such as 0.95; received {level!r}"
        )
    return level


def upper_tail(level: float) -> float:
    """Probability below the upper end of a two-sided interval."""
    return (1 + check_level(level)) / 2
