"""The data class of a ready-made task."""

from __future__ import annotations

from dataclasses import dataclass

from shapband._typing import AnyArray, FloatArray
from shapband.checks import printable
from shapband.printing import Printed, PrintsTable
from shapband.providers import Provider
from shapband.utilities.base import Utility


@dataclass(frozen=True, eq=False, repr=False)
class Task(PrintsTable):
    """Providers, a utility to value them with, and the validation rows of the utility.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.datasets.wine()
    <Task 'wine': 10 providers, 1,469 validation rows>
    """

    name: str
    providers: tuple[Provider, ...]
    utility: Utility
    X_val: FloatArray
    y_val: AnyArray

    def _printed(self) -> Printed:
        rows: list[tuple[str, ...]] = [
            (printable(one.name), repr(one.source)) for one in self.providers
        ]
        headline = f"{self.name}: {len(rows)} providers, {self._validated}"
        return Printed([headline], (("provider", "source"), rows), [f"utility: {self.utility!r}"])

    def __repr__(self) -> str:
        return f"<Task {self.name!r}: {len(self.providers)} providers, {self._validated}>"

    @property
    def _validated(self) -> str:
        return f"{len(self.X_val):,} validation rows"
