"""The short `repr` that sources and utilities share."""

from __future__ import annotations

from collections.abc import Callable


class WithFacts:
    """A class whose `repr` is its name, with a few facts about it in parentheses."""

    _about: str = ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._about})"


def facts(*plain: str, **named: object) -> str:
    """Join facts for a `repr`, without those that are None, False or 0.

    Examples
    --------
    >>> facts("3 weights", empty=0.0, k=2)
    '3 weights, k=2'
    """
    told = {name: fact for name, fact in named.items() if fact}
    return ", ".join([*plain, *(f"{name}={_short(fact)}" for name, fact in told.items())])


def _short(fact: object) -> str:
    return f"{fact:.6g}" if isinstance(fact, float) else repr(fact)


def name_of(function: Callable[..., object]) -> str:
    """Give the name of a function, or of the class of another callable."""
    return str(getattr(function, "__name__", type(function).__name__))
