"""Valuations as JSON, and checks of a valuation that was read.

Hashes show damage, but whoever alters a file can also compute new hashes. So values are checked
before they are used: an altered valuation may be refused, but must not crash the process.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any, get_args

import numpy as np

from shapband._typing import FloatArray
from shapband.access.meter import AccessReport
from shapband.checks import one_line
from shapband.codec import decode, encode
from shapband.errors import InvalidInput
from shapband.estimate.estimate import Estimate
from shapband.estimate.grouped import GroupEstimate, from_moments
from shapband.estimate.moments import Moments
from shapband.estimate.paired import PairEstimate
from shapband.estimate.paired import from_moments as from_pair_moments
from shapband.estimate.rounds import RoundEstimate, round_estimate
from shapband.estimate.split import VarianceSplit
from shapband.sampling.design import Design, plain_design
from shapband.solvers.pairs import MOST_PROVIDERS, pair_count
from shapband.valuation.older import upgraded
from shapband.valuation.valuation import StopCode, Valuation

FORMAT = 5
_MOST_ROUNDS = 10**6  # more rounds are refused, because presence in them may exceed the memory
_MOST = 2**63  # counts must be below this, because SQLite and NumPy have no larger integers


@dataclasses.dataclass(frozen=True, eq=False)
class _Document:
    """A valuation as it is written: the sums over games, from which the results are computed."""

    design: Design
    moments: Moments
    group_moments: Moments | None
    games: FloatArray
    access: AccessReport
    evaluations: int
    failures: int
    stopped: str
    stopped_code: str
    seconds: float
    pair_moments: Moments | None = None
    round_moments: tuple[Moments, ...] | None = None
    variance_split: VarianceSplit | None = None


def write(valuation: Valuation) -> str:
    """Write a valuation as JSON; no digits are lost."""
    groups, pairs, rounds = (
        valuation.group_estimate,
        valuation.pair_estimate,
        valuation.round_estimate,
    )
    series = None if rounds is None else tuple(map(_writable, rounds.further_moments))
    document = _Document(
        design=valuation.design,
        moments=_writable(valuation.estimate.moments),
        group_moments=None if groups is None else _writable(groups.estimate.moments),
        games=valuation.games,
        access=valuation.access,
        evaluations=valuation.evaluations,
        failures=valuation.failures,
        stopped=valuation.stopped,
        stopped_code=valuation.stopped_code,
        seconds=valuation.seconds,
        pair_moments=None if pairs is None else _writable(pairs.estimate.moments),
        round_moments=series,
        variance_split=valuation.variance_split,
    )
    try:
        encoded = encode(document)
        for name in ("pair_moments", "round_moments", "variance_split"):
            if encoded[name] is None:  # as versions write it that do not know it
                del encoded[name]
        encoded["design"] = plain_design(encoded["design"])
        return json.dumps({"format": FORMAT, **encoded}, allow_nan=False)
    except ValueError as cause:
        raise InvalidInput(f"Valuation.to_json: {cause}") from cause


def _writable(moments: Moments) -> Moments:
    """Replace sums that overflowed, which JSON cannot hold, by NaN."""
    sums = {name: getattr(moments, name) for name in ("m5", "m6")}
    finite: Any = {
        name: None if part is None else np.where(np.isinf(part), np.nan, part)
        for name, part in sums.items()
    }
    return dataclasses.replace(moments, **finite)


def read(text: str) -> Valuation:
    """Read a valuation of this or an older format, and check it."""
    parsed = _parsed(text)
    try:
        document = upgraded(parsed)
        found = decode(_Document, {key: document[key] for key in document if key != "format"})
        names = found.design.names
        valuation = Valuation(
            design=found.design,
            estimate=Estimate.of_moments(_checked_moments(found.moments, len(names))),
            games=found.games.reshape(-1, len(names)),
            access=found.access,
            evaluations=found.evaluations,
            failures=found.failures,
            stopped=found.stopped,
            stopped_code=_stop_code(found.stopped_code),
            seconds=found.seconds,
            group_estimate=_group_estimate(found),
            pair_estimate=_pair_estimate(found),
            round_estimate=_round_estimate(found),
            variance_split=_variance_split(found),
        )
        check_valuation(valuation)
        _check_agreement(valuation)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as cause:
        # Errors that Python raises for values of unexpected types, shapes and sizes.
        raise InvalidInput(f"Valuation.from_json: {one_line(cause)}") from cause
    return valuation


def _parsed(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as cause:
        raise InvalidInput(f"Valuation.from_json: this is not JSON ({cause})") from cause
    if isinstance(document, list):
        raise InvalidInput(
            "Valuation.from_json: these are the rows of `shapband export --format json`, which "
            "hold no moments: export with --format valuation"
        )
    if not isinstance(document, dict) or document.get("format") not in (2, 3, 4, FORMAT):
        raise InvalidInput(
            f"Valuation.from_json: this is not a valuation of format {FORMAT}; was it written "
            "by another version of shapband?"
        )
    return document


def _stop_code(code: str) -> StopCode:
    if code not in get_args(StopCode):
        raise ValueError(f"stopped_code must be one of {', '.join(get_args(StopCode))}")
    found: StopCode = code  # type: ignore[assignment]
    return found


def _group_estimate(found: _Document) -> GroupEstimate | None:
    grouping = found.design.grouping
    if (grouping is None) != (found.group_moments is None):
        raise ValueError("a valuation has moments of groups if and only if it has groups")
    if grouping is None or found.group_moments is None:
        return None
    groups = _checked_moments(found.group_moments, len(grouping.names))
    return from_moments(groups, found.moments)


def _pair_estimate(found: _Document) -> PairEstimate | None:
    if found.pair_moments is None:
        return None
    n = len(found.design.names)
    if not 2 <= n <= MOST_PROVIDERS:
        raise ValueError("this number of providers has no interactions")
    pairs = _checked_moments(found.pair_moments, pair_count(n))
    if pairs.n_games != found.moments.n_games or not np.isfinite(pairs.mean).all():
        raise ValueError("its interactions are not of the games of its values")
    if (pairs.pools is None) != (found.moments.pools is None):
        raise ValueError("the error of the pools is missing for interactions or for values")
    if (pairs.shuffles is None) != (found.moments.shuffles is None):
        raise ValueError("the shuffles are missing for interactions or for values")
    return from_pair_moments(pairs, found.moments)


def check_valuation(valuation: Valuation) -> None:
    """Raise ValueError unless a valuation has the shapes and bounds that it must have."""
    design, names = valuation.design, valuation.names
    check_design(design)
    used = [valuation.access.by_provider.get(name) for name in names]
    if any(one is None for one in used):
        raise ValueError("access must have one entry for each provider")
    known = [one for one in used if one is not None]
    counts = [count for one in known for count in (one.requests, one.records, one.retries)]
    _check_bounds([valuation.evaluations, valuation.failures, *counts], "a count")
    _check_bounds([valuation.seconds, *(one.seconds for one in known)], "an amount")
    if valuation.games.shape[1:] != (len(names),):
        raise ValueError("games must have one column for each provider")


def _check_agreement(valuation: Valuation) -> None:
    """Raise ValueError unless the parts of a valuation agree, because one may have been altered."""
    mean, games = valuation.expectation, valuation.games
    if not np.isfinite(mean).all():
        raise ValueError("an expectation is not a number")
    if len(games) == valuation.n_games and not _agree(mean, games.mean(axis=0)):
        raise ValueError("its expectations are not the means of its games")
    grouping, groups = valuation.design.grouping, valuation.group_estimate
    sums = None if grouping is None else grouping.totals(mean)
    if sums is not None and groups is not None and not _agree(groups.estimate.expectation, sums):
        raise ValueError("the expectations of its groups are not the sums of their members")
    pooled = valuation.design.unseen is not None
    if pooled and valuation.n_games > 1 and valuation.estimate.moments.pools is None:
        raise ValueError("its games are from pools, and the error of the pools is missing")


def _agree(one: FloatArray, other: FloatArray) -> bool:
    """Whether numbers differ only by rounding."""
    size = max(float(np.abs(one).max(initial=0.0)), float(np.abs(other).max(initial=0.0)))
    return bool((np.abs(one - other) <= 1e-9 * size).all())


def check_design(design: Design) -> None:
    """Raise ValueError unless a design has the shapes and bounds that it must have."""
    names, n = set(design.names), len(design.names)
    if not 0 < n == len(names):
        raise ValueError("there must be at least one provider, and all names must differ")
    sizes = [design.draw_sizes, design.pool_sizes, design.distinct_records, design.unseen]
    if any(size is not None and size.shape != (n,) for size in sizes):
        raise ValueError("each size must have one number for each provider")
    counts = [size for size in (design.draw_sizes, design.pool_sizes) if size is not None]
    if any((size < 0).any() for size in counts):
        raise ValueError("a number of records is below 0")
    if design.estimand_code not in ("sources", "pools", "population", "other"):
        raise ValueError("estimand_code is unknown")
    if not 0 <= design.rounds < _MOST_ROUNDS:
        raise ValueError("the number of rounds is out of bounds")
    if design.seed < 0:
        raise ValueError("the seed must be at least 0")
    known = design.distinct_records
    if known is not None and not (np.isnan(known) | ((known >= 1) & (known < _MOST))).all():
        raise ValueError("a number of distinct records is out of bounds")
    if not all(name in names for name in design.one_label):
        raise ValueError("one_label names an unknown provider")
    if not all(one.name in names for one in design.odd_labels):
        raise ValueError("odd_labels name an unknown provider")
    for rare in (*design.rare_labels, *design.unseen_labels):
        if rare.name not in names:
            raise ValueError("rare_labels or unseen_labels name an unknown provider")
        _check_bounds([rare.records, rare.known - 1, rare.size - 1, rare.held or 0], "a count")
        if rare.probability > 1 or rare.probability < 0:
            raise ValueError("a probability is not between 0 and 1")
    for pair in design.shared_records:
        if pair.one not in names or pair.other not in names:
            raise ValueError("shared_records name an unknown provider")
        _check_bounds([pair.records - 1, pair.smaller - 1], "a count")
        _check_bounds([pair.rounded, 0.0 if pair.chance is None else pair.chance], "an amount")
    for held in design.held_rows:
        if held.name not in names:
            raise ValueError("held_rows name an unknown provider")
        _check_bounds([held.records - 1, held.rows - held.records], "a count")
        _check_bounds([held.rounded, held.chance], "an amount")
    if design.validation is not None:
        numbers = [part for part in design.validation if not isinstance(part, str)]
        _check_bounds(numbers, "a count")
    grouping = design.grouping
    if grouping is not None:
        members = [place for places in grouping.members for place in places]
        if len(grouping.names) != len(grouping.members) or not all(grouping.members):
            raise ValueError("every group must have a name and members")
        if len(set(members)) < len(members) or not all(0 <= place < n for place in members):
            raise ValueError("groups must consist of different providers of the valuation")


def _round_estimate(found: _Document) -> RoundEstimate | None:
    series = found.round_moments
    if series is None:
        return None
    if len(series) % 2:
        raise ValueError("the moments of some rounds are missing")
    for one in series:
        _checked_moments(one, len(found.design.names))
        if one.n_games != found.moments.n_games or not np.isfinite(one.mean).all():
            raise ValueError("its values by round are not of the games of its values")
    return round_estimate(series, Estimate.of_moments(found.moments))


def _variance_split(found: _Document) -> VarianceSplit | None:
    if found.variance_split is not None:
        _check_shapes(found.variance_split, len(found.design.names))
    return found.variance_split


def _checked_moments(moments: Moments, n: int) -> Moments:
    """Check that moments have one number for each provider or group, and return them."""
    _check_bounds([moments.n_games - (1 if moments.certain else 2)], "a count")
    shuffles = moments.shuffles
    if shuffles is not None:
        _check_bounds([shuffles.size - 2, shuffles.count], "a count")
        _check_bounds([moments.n_games - shuffles.count * shuffles.size], "a count")
    if any((part < 0).any() for part in (moments.m2, moments.m4, moments.noise_m2)):
        raise ValueError("a sum of squares is below 0")
    for part in (moments, shuffles, moments.pools, moments.presence, moments.averaged):
        if part is not None:
            _check_shapes(part, n)
    rows = moments.validation
    if rows is not None and rows.effects.shape[1:] != (n,):
        raise ValueError("effects must have one column for each provider or group")
    if rows is not None and rows.kept is not None and rows.kept.shape != (n,):
        raise ValueError("kept must have one number for each provider or group")
    if rows is not None and rows.games is not None and rows.games.shape[1:] != rows.effects.shape:
        raise ValueError("games must have the effects of every fold on each provider or group")
    return moments


def _check_shapes(record: Any, n: int) -> None:
    pairs = ("products", "products_21", "correlation")
    for one in dataclasses.fields(record):
        part = getattr(record, one.name)
        shape = (n, n) if one.name in pairs else (n,)
        if isinstance(part, np.ndarray) and part.shape != shape:
            raise ValueError(f"{one.name} must have one number for each provider or pair")


def _check_bounds(numbers: Iterable[float], what: str) -> None:
    if not all(0 <= number < _MOST for number in numbers):
        raise ValueError(f"{what} is no number, or out of bounds")
