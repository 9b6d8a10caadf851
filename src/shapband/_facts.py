"""The short `repr` that sources and utilities share."""

from __future__ import annotations

from collections.abc import Callable, Iterator


class WithFacts:
    """A class whose `repr` is its name and a few facts in parentheses."""

    def _facts(self) -> Iterator[str]:
        """Yield the facts; by default there are none."""
        return iter(())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._facts())})"


def name_of(function: Callable[..., object]) -> str:
    """Give the name of a function, or of the class of another callable."""
    return str(getattr(function, "__name__", type(function).__name__))
