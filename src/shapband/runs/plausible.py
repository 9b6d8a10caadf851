"""Checks that values read from a run are plausible, even if somebody altered the run.

The hashes of a run show damage, but whoever alters a run can also compute new hashes. So values are
checked before they are used: an altered run may be refused, but must not crash the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from shapband.checks import one_line
from shapband.errors import InvalidInput, RunDamaged
from shapband.runs import database
from shapband.sampling.design import Design
from shapband.sampling.participation import AVERAGED
from shapband.valuation import document
from shapband.valuation.valuation import Valuation

# Errors that Python raises for values of unexpected types, shapes and sizes.
_SURPRISES = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip
_MOST_POOLED = 10**8  # more pooled records are refused, because their sums may exceed the memory
_MANIFEST: dict[str, Any] = {
    "providers": list,
    "groups": list | None,
    "seed": int,
    "n_games": int,
    "folds": int,
    "by_round": int,
    "replays": int,
    "setup": dict,
    "presence": str,
    "arguments": dict,
    "versions": dict,
    "config": str | None,
    "config_sha256": str | None,
    "base": str | None,
}


@contextmanager
def readable(run: Path, what: str) -> Iterator[None]:
    """Turn errors that altered data cause into RunDamaged."""
    try:
        yield
    except (InvalidInput, *_SURPRISES) as cause:
        raise RunDamaged(
            f"{what} of the run {run} is damaged ({one_line(cause)}): restore {database.NAME} "
            "from a copy"
        ) from cause


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Raise ValueError unless providers have names and all keys have values of the right kind."""
    for key, kind in _MANIFEST.items():
        if key in manifest and not _is_of(manifest[key], kind):
            raise ValueError(f"{key!r} was altered")
    names = manifest["providers"]
    check_texts(names)
    if not 0 < len(names) == len(set(names)):
        raise ValueError("there must be at least one provider, and all names must differ")
    groups = manifest.get("groups")
    if groups is not None and (len(groups) != len(names) or not any(groups)):
        raise ValueError("groups must have one label for each provider")


def is_averaged(manifest: Mapping[str, Any]) -> bool:
    """Whether the games are averages over who is present; games of older versions never are."""
    return bool(manifest.get("presence") == AVERAGED)


def has_interactions(manifest: Mapping[str, Any]) -> bool:
    """Whether the games have interactions of pairs of providers; of older versions none have."""
    return bool(manifest.get("arguments", {}).get("interactions") == str(True))


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind; lists and dictionaries must hold strings."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return isinstance(value, kind) and all(isinstance(part, str) for part in parts)
    return isinstance(value, kind) and not isinstance(value, bool)


def check_choices(design: Design) -> None:
    """Raise ValueError unless games can choose records from pools as a design says."""
    if design.per_shuffle is not None and design.per_shuffle < 2:
        raise ValueError("a shuffle has fewer than two games")
    if design.unseen is None:
        return
    pools = np.asarray([0] if design.pool_sizes is None else design.pool_sizes)
    if min(pools.min(), design.draw_sizes.min()) < 1 or design.draw_sizes.max() > _MOST_POOLED:
        raise ValueError("a count is out of bounds")
    if pools.sum() > _MOST_POOLED:
        raise ValueError("the pools are too large")
    if not ((design.unseen >= 0) & (design.unseen <= 1)).all():
        raise ValueError("a fraction is out of bounds")
    if not design.replace and (design.draw_sizes > pools).any():
        raise ValueError("a draw is larger than its pool")


def check_valuation(valuation: Valuation, manifest: Mapping[str, Any]) -> None:
    """Raise ValueError unless a valuation belongs to the run and its shapes are right."""
    names, groups = manifest["providers"], valuation.groups
    if valuation.names != tuple(names):
        raise ValueError("the valuation has other providers than the run")
    if (None if groups is None else groups.labels) != manifest.get("groups"):
        raise ValueError("the valuation has other groups than the run")
    document.check_valuation(valuation)


def check_texts(texts: Iterable[Any]) -> None:
    """Raise ValueError unless all are strings that can be written."""
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"a {type(text).__name__} is stored where a string is expected")
        text.encode()
