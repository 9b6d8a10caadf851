"""What a run plays, made from its description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from shapband.engine import Plan
from shapband.execution.base import Workers


@dataclass(frozen=True, eq=False)
class Built:
    """The objects that a description stands for.

    Attributes
    ----------
    plan : the valuation, checked and settled
    workers : makes the workers, once
    fingerprints : what shows that a provider's data is still the same, by name: a hash of
        records in memory, a description of other sources
    validation : the same for the utility's validation rows, if they were read from a file
    """

    plan: Plan
    workers: Callable[[], Workers]
    fingerprints: Mapping[str, str]
    validation: str | None = None


class Description(Protocol):
    """A text that says what to play; the configuration file is one."""

    @property
    def text(self) -> str:
        """The text as its author wrote it, without secrets."""

    def build(self, base: Path) -> Built:
        """Make the objects; relative paths start at `base`. No source is asked yet."""
