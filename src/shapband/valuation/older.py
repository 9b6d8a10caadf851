"""Conversion of valuations that older versions wrote to documents of the present format.

Formats 2 and 3 have the parts of the design one by one. Format 2 has no covariances, and no errors
of pools and shuffles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shapband.codec import encode
from shapband.grouping import Grouping
from shapband.sampling.shared import Shared

_KEPT = ("games", "evaluations", "failures", "stopped", "stopped_code", "seconds")


def upgraded(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a valuation in the present format.

    Raises KeyError, TypeError or ValueError for documents that no version wrote.
    """
    if "design" in document:
        return document
    groups = document.get("groups")
    return {
        "format": document["format"],
        "design": upgraded_design(document, None if groups is None else groups["labels"]),
        "moments": upgraded_moments(document["moments"]),
        "group_moments": None if groups is None else upgraded_moments(groups["moments"]),
        "access": {
            "by_provider": {
                name: dict(zip(("requests", "records", "seconds"), used, strict=True))
                for name, used in document["access"].items()
            }
        },
        **{name: document[name] for name in _KEPT},
    }


def upgraded_design(found: Mapping[str, Any], labels: Sequence[str] | None) -> dict[str, Any]:
    """Return the design of an older valuation, from its parts and the groups of its providers.

    It does not say how games choose records from pools and who took part; no result needs that.
    """
    if labels is not None and len(labels) != len(found["names"]):
        raise ValueError("groups must have one label for each provider")
    shared = [encode(Shared.of(pair)) for pair in found.get("shared_records", ())]
    return {
        "names": found["names"],
        "seed": found["seed"],
        "draw_sizes": found["draw_sizes"],
        "pool_sizes": found["pool_sizes"],
        "estimand": found["target"],
        "estimand_code": found["target_code"],
        "grouping": None if labels is None else encode(Grouping.of_labels(labels)),
        "setup": found["setup"],
        "distinct_records": found.get("distinct_records"),
        "shared_records": shared,
        "one_label": list(found.get("one_target", ())),
    }


def upgraded_moments(moments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sums over games of an older valuation."""
    return {"group_m2": [0.0] * len(moments["mean"]), **moments}
