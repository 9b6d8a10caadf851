"""Old names of parts of a valuation, which warn; version 0.4 drops them."""

from __future__ import annotations

import warnings
from typing import TypeVar

from shapband.sampling.design import Design

_Value = TypeVar("_Value")


class OldNames:
    """The old names, for a valuation that has a design."""

    design: Design

    @property
    def target(self) -> str:
        """The old name of `estimand`."""
        return _renamed("target", "estimand", self.design.estimand)

    @property
    def target_code(self) -> str:
        """The old name of `estimand_code`."""
        return _renamed("target_code", "estimand_code", self.design.estimand_code)

    @property
    def one_target(self) -> tuple[str, ...]:
        """The old name of `one_label`."""
        return _renamed("one_target", "one_label", self.design.one_label)


def _renamed(old: str, new: str, value: _Value) -> _Value:
    """Return a value that was asked for by its old name, with a warning."""
    warnings.warn(f"Valuation.{old} is now called {new}", DeprecationWarning, stacklevel=3)
    return value
