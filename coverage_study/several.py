"""Statements about several providers at once: comparisons, differences, ranks, joint intervals."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import shapband as sb
from coverage_study.settings import SAMPLINGS, Setting, sampling
from coverage_study.tasks import task
from shapband._typing import FloatArray

LEVEL = 0.95
Record = dict[str, Any]


def several_settings(*, quick: bool) -> list[Setting]:
    """Wine from the stock with every sampling, two valuations a pool."""
    pools = 20 if quick else 300
    return [Setting("wine-stock", one, pools, (200,)) for one in SAMPLINGS]


def name_of(setting: Setting) -> str:
    """The name of the file of results."""
    return f"several-{setting.sampling}"


def missing() -> dict[str, bool]:
    """Which statements this version of the library cannot make."""
    return {
        "compare": "p_value" not in {field.name for field in fields(sb.Comparison)},
        "simultaneous": "simultaneous" not in inspect.signature(sb.Valuation.interval).parameters,
        "difference": not hasattr(sb.Valuation, "difference"),
        "ranks": not hasattr(sb.Valuation, "ranks"),
    }


def play_pair(setting: Setting, pool: int) -> Record:
    """Value the same providers twice, with independent seeds, and keep what is stated."""
    lacks = missing()
    # Other seeds than those of the plays from which the truth is computed.
    first = _value(setting, 2**19 + 2 * pool)
    second = _value(setting, 2**19 + 2 * pool + 1, first)
    record: Record = {"group": None, "at": {}}
    if not lacks["compare"]:
        compared: Any = sb.compare(first, second)
        record["p_value"] = np.asarray(compared.p_value).tolist()
    if not lacks["simultaneous"]:
        record["simultaneous"] = first.interval(LEVEL, simultaneous=True).tolist()
    if not lacks["difference"]:
        pairs = [first.difference(a, b) for a, b in combinations(first.names, 2)]
        record["difference"] = [[pair.low, pair.high] for pair in pairs]
    if not lacks["ranks"]:
        ranks = first.ranks(LEVEL)
        record["ranks"] = np.stack([ranks.low, ranks.high], axis=1).tolist()
    return record


def _value(setting: Setting, number: int, first: Any = None) -> Any:
    """Value the providers; a second stratified valuation has the draw sizes of the first."""
    played = task(setting.task)
    drawn = sampling(setting.sampling, played)
    if isinstance(drawn, sb.Stratified) and first is not None:
        drawn = sb.Pooled(drawn.n_pool, first.sizes_by_name)
    return sb.value(
        played.providers,
        played.utility,
        sampling=drawn,
        n_games=setting.games[-1],
        seed=setting.seed(number),
        keep_games=0,
        fixed_validation=True,
    )


@dataclass(frozen=True)
class Flags:
    """How often equal providers are called different.

    Attributes
    ----------
    single : providers flagged one by one
    any_of_all : valuations with any provider flagged after Holm's adjustment
    """

    single: float
    any_of_all: float


def flags(records: list[Record]) -> Flags:
    """False alarms of `compare`; Holm flags any if the least p-value is below 0.05 / n."""
    p = np.array([record["p_value"] for record in records])
    below = p.min(axis=1) * p.shape[1] <= 1 - LEVEL
    return Flags(float((p <= 1 - LEVEL).mean()), float(below.mean()))


def joint_levels(records: list[Record], truth: ArrayLike) -> dict[str, float]:
    """Levels of simultaneous intervals, of differences and of ranks, as far as they are there."""
    found: dict[str, float] = {}
    truth = np.asarray(truth)
    if "simultaneous" in records[0]:
        found["simultaneous"] = float(_held(records, "simultaneous", truth).all(axis=1).mean())
    if "difference" in records[0]:
        pairs = np.array([truth[a] - truth[b] for a, b in combinations(range(len(truth)), 2)])
        found["difference"] = float(_held(records, "difference", pairs).mean())
    if "ranks" in records[0]:
        ranks = 1.0 + (truth[None, :] > truth[:, None]).sum(axis=1)
        found["ranks"] = float(_held(records, "ranks", ranks).all(axis=1).mean())
    return found


def _held(records: list[Record], name: str, truth: FloatArray) -> Any:
    low, high = np.moveaxis(np.array([record[name] for record in records]), 2, 0)
    return (low <= truth) & (truth <= high)
