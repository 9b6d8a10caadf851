"""Participations as plain values, as runs store them, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shapband.sampling.cohort import Cohort
from shapband.sampling.independent import Independent
from shapband.sampling.markov import MarkovChain
from shapband.sampling.participation import Participation
from shapband.sampling.trace import Trace, trace_from

KINDS: dict[str, type[Participation]] = {
    "independent": Independent,
    "cohort": Cohort,
    "markov": MarkovChain,
    "trace": Trace,
}
OWN = "own"


def to_plain(participation: Participation) -> dict[str, Any]:
    """Return the kind and the settings of a participation.

    One of the user's own, also a subclass of these, is of the kind `OWN`, with its name alone.

    Examples
    --------
    >>> to_plain(Cohort(3))
    {'kind': 'cohort', 'k': 3}
    """
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
    kind = KINDS[settings.pop("kind")]
    return trace_from(settings) if kind is Trace else kind(**settings)
