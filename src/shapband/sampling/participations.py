"""Conversion of participations to the plain values that runs store, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.errors import InvalidInput
from shapband.sampling.cohort import Cohort
from shapband.sampling.independent import Independent
from shapband.sampling.markov import MarkovChain
from shapband.sampling.participation import Participation
from shapband.sampling.trace import Trace, trace_from
from shapband.seeds import Seeds

KINDS: dict[str, type[Participation]] = {
    "independent": Independent,
    "cohort": Cohort,
    "markov": MarkovChain,
    "trace": Trace,
}
OWN = "own"


@dataclass(frozen=True)
class OwnClass(Participation):
    """Stands for a participation class of the user in a stored design; only its name is known.

    Reading a run does not import classes of the user, so who takes part is not known.
    """

    name: str

    def check(self, names: Sequence[str]) -> None:  # noqa: ARG002
        """Refuse all providers."""
        raise InvalidInput(f"participation: {self._unknown}")

    def present(self, seeds: Seeds, names: Sequence[str], games: range) -> BoolArray:  # noqa: ARG002
        """Refuse to say who is present."""
        raise InvalidInput(f"participation: {self._unknown}")

    def counts(self, names: Sequence[str]) -> Sequence[int]:  # noqa: ARG002
        """Refuse to say how many are present."""
        raise InvalidInput(f"participation: {self._unknown}")

    def rates(self, names: Sequence[str]) -> FloatArray:
        """Probabilities that are not known: (n,) of NaN."""
        return np.full(len(names), np.nan)

    @property
    def estimand(self) -> str:
        """A phrase with the name of the class."""
        return f"by providers that take part as {self.name} says"

    @property
    def _unknown(self) -> str:
        return f"{self.name} is a class of your own, which is not imported when a run is read"


def to_plain(participation: Participation) -> dict[str, Any]:
    """Return the kind and the settings of a participation.

    A class of the user, also a subclass of a class of the library, has the kind `OWN` and its name.

    Examples
    --------
    >>> to_plain(Cohort(3))
    {'kind': 'cohort', 'k': 3}
    """
    if isinstance(participation, OwnClass):
        return {"kind": OWN, "name": participation.name}
    for kind, made in KINDS.items():
        if type(participation) is made:
            return {"kind": kind, **participation.settings()}
    return {"kind": OWN, "name": type(participation).__name__}


def from_plain(document: Mapping[str, Any]) -> Participation:
    """Make the participation that `to_plain` described.

    Examples
    --------
    >>> from_plain({"kind": "independent", "probability": 0.5})
    Independent(0.5)
    """
    settings = dict(document)
    if settings["kind"] == OWN:
        return OwnClass(settings["name"])
    kind = KINDS[settings.pop("kind")]
    return trace_from(settings) if kind is Trace else kind(**settings)
