"""Changes of an experiment from the command line: typed, checked, and stated in every output."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from reproduction.experiment import Experiment

# Smallest values of sizes, where it is not 1: variances across replications need two of them.
_LEAST = {"replications": 2, "classes": 2, "milliseconds": 0}
_MOST = {"classes": 10}


@dataclass(frozen=True)
class Changed:
    """An experiment with other sizes than the paper's.

    Attributes
    ----------
    experiment : with the new sizes
    words : what was changed, such as ``n_boot 60 -> 40``
    folder : the name of its folder, which no unchanged experiment uses
    """

    experiment: Experiment
    words: str
    folder: str


def change(experiment: Experiment, settings: Sequence[str]) -> Changed:
    """Change sizes of an experiment, given as KEY=VALUE; raise ValueError if one is wrong.

    Examples
    --------
    >>> from reproduction.source_budget import SourceBudget
    >>> change(SourceBudget(), ["n_boot=40"]).words
    'n_boot 60 -> 40'
    """
    hints = get_type_hints(type(experiment))
    known = [field.name for field in fields(experiment)]  # type: ignore[arg-type]  # a dataclass
    new: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = (part.strip() for part in setting.partition("="))
        if not equals:
            raise ValueError(f"--set needs KEY=VALUE, such as replications=10; received {setting}")
        if key not in known:
            listed = ", ".join(f"{name}={_written(getattr(experiment, name))}" for name in known)
            raise ValueError(
                f"--set: {experiment.name} has no {key or 'empty key'}; its keys are {listed}"
            )
        if key in new:
            raise ValueError(f"--set: {key} is given twice")
        new[key] = _parsed(key, text, hints[key])
    changed = replace(experiment, **new)  # type: ignore[type-var]  # a dataclass
    _check_pools(changed)
    differ = [key for key in new if new[key] != getattr(experiment, key)]
    if not differ:
        raise ValueError(f"--set changes nothing: {', '.join(settings)} is what this profile has")
    words = [
        f"{key} {_written(getattr(experiment, key))} -> {_written(new[key])}" for key in differ
    ]
    folder = "-".join([experiment.name, *(f"{key}={_written(new[key])}" for key in sorted(differ))])
    return Changed(changed, "; ".join(words), folder)


def _parsed(key: str, text: str, kind: Any) -> Any:
    """Read a value of the type of its field: a number, several numbers, or none."""
    if get_origin(kind) is tuple:
        inner, *rest = get_args(kind)
        parts = [part for part in text.strip("()[] ").split(",") if part.strip()]
        values = tuple(_number(key, part.strip(), inner) for part in parts)
        if rest == [...]:
            if not values or list(values) != sorted(set(values)):
                raise ValueError(
                    f"--set: {key} must be numbers in ascending order, such as {key}=10,20; "
                    f"received {text}"
                )
        elif len(values) != 1 + len(rest):
            raise ValueError(
                f"--set: {key} must be {1 + len(rest)} numbers, for the synthetic task and for "
                f"wine, such as {key}=1000,40; received {text}"
            )
        return values
    if NoneType in get_args(kind):
        if text.lower() == "none":
            return None
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
    return _number(key, text, kind)


def _number(key: str, text: str, kind: type) -> int | float:
    if kind is float:
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not 0 < found <= 1:
            raise ValueError(f"--set: {key} must be above 0 and at most 1; received {text}")
        return found
    least, most = _LEAST.get(key, 1), _MOST.get(key, 1_000_000)
    try:
        whole = int(text)
    except ValueError:
        whole = least - 1
    if not least <= whole <= most:
        raise ValueError(
            f"--set: {key} must be a whole number from {least} to {most:,}; received {text}"
        )
    return whole


def _check_pools(experiment: Experiment) -> None:
    """Raise ValueError if a game would draw more records than a pool holds."""
    sizes: list[Any] = [getattr(experiment, name, 0) for name in ("n_pool", "n_boot")]
    pools, draws = (size if isinstance(size, tuple) else (size,) for size in sizes)
    for pool, boot in zip(pools, draws, strict=True):
        if boot > pool:
            raise ValueError(
                f"--set: n_boot must be at most n_pool, because disjoint blocks are cut from the "
                f"pools; received {boot} and {pool}"
            )


def _written(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
