"""Whether what was read from a run can be what was written, whoever altered it since.

The hashes of a run show damage, but whoever alters a run can compute them anew. So values are
checked before they are used: a run that came from elsewhere may be refused, and must not crash.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from shapband.checks import one_line
from shapband.engine.averaging import AVERAGED
from shapband.errors import InvalidInput, RunDamaged
from shapband.moments.accumulate import Moments
from shapband.moments.presence import PresenceMoments
from shapband.runs import database
from shapband.valuation import Valuation

# What Python raises for values of other types, shapes and sizes than were written.
_SURPRISES = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip
_MOST = 2**63  # SQLite has no larger integers
_MOST_POOLED = 10**8  # records of all pools, which a reader can still hold sums of
_MANIFEST: dict[str, Any] = {
    "providers": list,
    "groups": list | None,
    "seed": int,
    "n_games": int,
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
    """Turn errors of reading what was altered into RunDamaged."""
    try:
        yield
    except (InvalidInput, *_SURPRISES) as cause:
        raise RunDamaged(
            f"{what} of the run {run} is damaged ({one_line(cause)}): restore {database.NAME} "
            "from a copy"
        ) from cause


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Raise ValueError unless the providers have names, and all keys values of their kind."""
    for key, kind in _MANIFEST.items():
        if key in manifest and not _is_of(manifest[key], kind):
            raise ValueError(f"{key!r} was altered")
    names = manifest["providers"]
    check_texts(names)
    if not 0 < len(names) == len(set(names)):
        raise ValueError("providers without or with the same names")
    groups = manifest.get("groups")
    if groups is not None and (len(groups) != len(names) or not any(groups)):
        raise ValueError("groups that are not of these providers")


def is_averaged(manifest: Mapping[str, Any]) -> bool:
    """Whether the games are averages over who is present; those of older versions never are."""
    return bool(manifest.get("presence") == AVERAGED)


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind; lists and dictionaries must hold texts."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return isinstance(value, kind) and all(isinstance(part, str) for part in parts)
    return isinstance(value, kind) and not isinstance(value, bool)


def check_facts(facts: Mapping[str, Any], n_providers: int) -> None:
    """Raise ValueError unless the games can be of this kind."""
    group, unseen = facts["group"], facts.get("unseen")
    if group is not None:
        _check_counts([group], least=2)
    if unseen is None:
        return
    for sizes in (facts["pool_sizes"], facts["draw_sizes"]):
        _check_counts(sizes, least=1, most=_MOST_POOLED)
    if sum(facts["pool_sizes"]) > _MOST_POOLED:
        raise ValueError("the pools are too large")
    if not all(isinstance(one, float | int) and 0 <= one <= 1 for one in unseen):
        raise ValueError("a fraction is out of bounds")
    if {len(facts["pool_sizes"]), len(facts["draw_sizes"]), len(unseen)} != {n_providers}:
        raise ValueError("its sizes are not one for each provider")
    if not isinstance(facts["replace"], bool):
        raise ValueError("the way to draw is neither with nor without replacement")
    if not facts["replace"] and any(np.greater(facts["draw_sizes"], facts["pool_sizes"])):
        raise ValueError("a draw is larger than its pool")


def check_valuation(valuation: Valuation, manifest: Mapping[str, Any]) -> None:
    """Raise ValueError unless a valuation has the providers, types and shapes that it must have."""
    names, groups = manifest["providers"], valuation.groups
    if valuation.names != tuple(names):
        raise ValueError("its providers are not those of the run")
    if (None if groups is None else groups.labels) != manifest.get("groups"):
        raise ValueError("its groups are not those of the run")
    setup = valuation.setup
    texts = (valuation.target, valuation.target_code, valuation.stopped, valuation.stopped_code)
    check_texts([*names, *texts, *setup, *setup.values()])
    _check_counts([valuation.evaluations, valuation.failures])
    _check_counts([valuation.seed], most=math.inf)
    used = [valuation.access.by_provider[name] for name in names]
    _check_counts(count for one in used for count in (one.requests, one.records))
    _check_amounts([valuation.seconds, *(one.seconds for one in used)])
    sizes = valuation.draw_sizes, valuation.pool_sizes, valuation.distinct_records
    _check_shapes(sizes, len(names))
    known = valuation.distinct_records
    if known is not None and not (np.isnan(known) | ((known >= 1) & (known < _MOST))).all():
        raise ValueError("a number of distinct records is out of bounds")
    if not all(name in names for name in valuation.one_target):
        raise ValueError("one target is told of others than its providers")
    if not all(one.name in names for one in valuation.odd_labels):
        raise ValueError("labels are told of others than its providers")
    check_texts([text for one in valuation.odd_labels for text in one])
    for pair in valuation.shared_records:
        if pair.one not in names or pair.other not in names:
            raise ValueError("records are shared by others than its providers")
        _check_counts([pair.records, pair.smaller], least=1)
        check_texts(pair.left_out)
        _check_amounts([pair.rounded, 0.0 if pair.chance is None else pair.chance])
    _check_moments(valuation.moments, len(names))
    if groups is not None:
        _check_moments(groups.moments, len(groups.names))


def _check_moments(moments: Moments, n: int) -> None:
    _check_counts([moments.n_groups], least=1)
    if not isinstance(moments.certain, bool):
        raise ValueError("whether games are equal is not told by true or false")
    _check_counts([moments.n_games], least=1 if moments.certain else max(2, moments.n_groups + 1))
    if moments.group is not None:
        _check_counts([moments.group], least=2)
    parts = [getattr(moments, one.name) for one in fields(moments) if one.name != "products"]
    if moments.pools is not None:
        parts.extend(getattr(moments.pools, one.name) for one in fields(moments.pools))
    pairs = [moments.products]
    if moments.presence is not None:
        by_name = {one.name: getattr(moments.presence, one.name) for one in fields(PresenceMoments)}
        pairs.append(by_name.pop("correlation"))
        parts.extend(by_name.values())
    if moments.averaged is not None:
        parts.extend(getattr(moments.averaged, one.name) for one in fields(moments.averaged))
    _check_shapes(parts, n)
    if any(one is not None and one.shape != (n, n) for one in pairs):
        raise ValueError("its covariances are not one for each pair of providers")


def _check_shapes(parts: Iterable[Any], n: int) -> None:
    if any(part.shape != (n,) for part in parts if isinstance(part, np.ndarray)):
        raise ValueError("its numbers are not one for each provider")


def check_texts(texts: Iterable[Any]) -> None:
    """Raise ValueError unless all are texts that can be written."""
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"a text is a {type(text).__name__}")
        text.encode()


def _check_counts(counts: Iterable[Any], least: int = 0, most: float = _MOST) -> None:
    for count in counts:
        if type(count) is not int or not least <= count < most:
            raise ValueError("a count is no whole number, or out of bounds")


def _check_amounts(amounts: Iterable[Any]) -> None:
    for amount in amounts:
        if type(amount) not in (int, float) or not 0 <= amount < _MOST:
            raise ValueError("an amount is no number, or out of bounds")
