"""Conversion of valuations that older versions wrote to documents of the present format.

Formats 2 and 3 have the parts of the design one by one. Format 2 has no covariances, and no errors
of pools and shuffles. Up to format 4, the sums of `Blocks` were taken about the means of shuffles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shapband._typing import FloatArray
from shapband.codec import encode
from shapband.estimate.pools import PoolErrors
from shapband.estimate.shuffles import Shuffles
from shapband.grouping import Grouping
from shapband.sampling.shared import Shared

_KEPT = ("games", "evaluations", "failures", "stopped", "stopped_code", "seconds")


def upgraded(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a valuation in the present format.

    Raises KeyError, TypeError or ValueError for documents that no version wrote.
    """
    if "design" in document:
        parts = {name: document[name] for name in ("moments", "group_moments")}
        return {**document, **{name: upgraded_moments(part) for name, part in parts.items()}}
    groups = document.get("groups")
    return {
        "format": document["format"],
        "design": upgraded_design(document, None if groups is None else groups["labels"]),
        "moments": upgraded_moments(document["moments"]),
        "group_moments": upgraded_moments(None if groups is None else groups["moments"]),
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


def upgraded_moments(moments: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the sums over games of an older valuation, about the mean of all games."""
    if moments is None or "group" not in moments:
        return None if moments is None else dict(moments)
    plain = {key: part for key, part in moments.items() if key not in _OF_SHUFFLES}
    return plain if moments["group"] is None else {**plain, **_about_one_mean(moments)}


_OF_SHUFFLES = ("group", "n_groups", "group_m2")


def _about_one_mean(moments: Mapping[str, Any]) -> dict[str, Any]:
    """Convert sums about the means of shuffles, whose expectation and variance stay as they were.

    The second moments about one mean are known. Higher ones, and the products of two providers, are
    scaled with them. The older version took the variance within shuffles for the variance, and
    without errors of pools the error of a single shuffle for the error.
    """
    games, size, shuffles = moments["n_games"], moments["group"], moments["n_groups"]
    if not (1 <= shuffles < games and size >= 2):
        raise ValueError("the number of shuffles does not fit the number of games")
    within: FloatArray = np.asarray(moments["m2"], dtype=np.float64)
    between: FloatArray = np.asarray(moments.get("group_m2", 0.0 * within), dtype=np.float64)
    about_one = within + between
    scale = np.sqrt(np.where(within > 0, about_one / np.where(within > 0, within, 1.0), 1.0))
    variance = within / (games - shuffles)
    hidden = variance - about_one / (games - 1)
    n, alone = len(within), min(size, games)
    error_of_one = PoolErrors(
        games=variance / alone,
        variance=np.zeros(n),
        freedom=np.full(n, alone - 1.0),
        hidden=hidden,
        square=np.full(n, 2 / (alone - 1)),
    )
    pools, products = moments.get("pools"), moments.get("products")
    return {
        "m2": about_one.tolist(),
        "m3": (np.asarray(moments["m3"]) * scale**3).tolist(),
        "m4": (np.asarray(moments["m4"]) * scale**4).tolist(),
        "products": None if products is None else (products * np.outer(scale, scale)).tolist(),
        "shuffles": encode(Shuffles(size, games // size, between)),
        "pools": encode(error_of_one) if pools is None else {**pools, "hidden": hidden.tolist()},
    }
