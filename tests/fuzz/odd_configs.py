"""Configurations with odd values, keys and characters."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import shapband as sb
from shapband.app.config.config import Built, Config
from shapband.engine.play import play
from shapband.engine.workers.local import LocalWorkers
from tests.app.config.test_config_errors import toml
from tests.fuzz.outcomes import Game, Tally, check_valuation, settle

_VALIDATION = {"kind": "csv", "path": "rows.csv", "target": "y"}
_BASE: dict[str, Any] = {
    "version": 1,
    "n_games": 3,
    "seed": 0,
    "workers": 1,
    "concurrency": 4,
    "timeout": 5.0,
    "providers": [
        {"name": "north", "source": {"kind": "csv", "path": "north.csv", "target": "y"}},
        {
            "name": "south",
            "source": {
                "kind": "csv",
                "path": "south.csv",
                "target": "y",
                "features": ["a", "b"],
                "separator": ",",
            },
        },
    ],
    "sampling": {"kind": "fresh", "n_sample": 3},
}
_UTILITIES: tuple[dict[str, Any], ...] = (
    {"kind": "additive", "weights": [1.0, 2.0], "empty": 0.5},
    {"kind": "linear", "validation": _VALIDATION, "score": "neg_mse", "empty": "baseline"},
    {"kind": "neighbors", "validation": _VALIDATION, "k": 2, "task": "regression"},
    {
        "kind": "estimator",
        "validation": _VALIDATION,
        "estimator": "sklearn.linear_model:Ridge",
        "options": {"alpha": 0.5},
        "score": "r2",
        "failed": -1.0,
        "empty": 0.0,
    },
    {"kind": "table", "values": [0.0, 1.0, 2.0, 4.0]},
)
_SAMPLINGS: tuple[dict[str, Any], ...] = (
    {"kind": "fresh", "n_sample": 3},
    {"kind": "pooled", "n_pool": 6, "n_boot": 3},
    {"kind": "blocks", "n_pool": 6, "n_sample": 3},
    {"kind": "stratified", "n_pool": 6, "n_boot": 3, "alpha": 0.5},
)
_EXTRAS: tuple[tuple[str, Any], ...] = (
    ("solver", {"kind": "exact"}),
    ("solver", {"kind": "permutation", "n_iter": 6}),
    ("stop", {"absolute": 0.1, "all": {"relative": 0.1, "seconds": 9}}),
    ("budget", {"records": 500, "requests": 50}),
)
_NAMES = ("math:pi", "no_such_module:x", "sklearn.linear_model:Ridge", "sys:exit", "os:nope", ":")
_STRINGS = (
    "", " ", "fresh", "csv", "parquet", "exact", "task", "object", "y", "a", "north", "baseline",
    "north.csv", "rows.csv", "missing.csv", "bad.csv", "empty.csv", "twice.csv", "words.csv", ".",
    "/", "a\nb", "\x00", "\x1b[31m", "\u202eabc", "\ufeff", "x" * 5000, "é", "{env}", "{rule}",
)  # fmt: skip
odd = (
    st.sampled_from([0, 1, -1, 2, 4, 10**12, 10**13, 10**18, 2**63, 2**64, -(10**30), 10**400])
    | st.sampled_from([0.0, -0.0, 1.5, 1e300, 1e-300, float("nan"), float("inf"), -float("inf")])
    | st.booleans()
    | st.sampled_from(_STRINGS)
    | st.sampled_from(_NAMES)
    | st.text(max_size=6)
    | st.integers()
    | st.floats()
    | st.sampled_from([[], {}, [[]], [{}], {"kind": {}}, {"kind": []}, {"env": "HOME"}, {"env": 3}])
    | st.lists(st.integers(-2, 2) | st.floats() | st.text(max_size=2), max_size=4)
    | st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=2), max_size=2)
    | st.sampled_from([*_UTILITIES, *_SAMPLINGS, _VALIDATION, *(one for _, one in _EXTRAS)])
)


def write_files(base: Path) -> None:
    """The files that the configurations name, and some that cannot be read as records."""
    rng = np.random.default_rng(0)
    for name in ("north", "south", "rows"):
        table = rng.normal(size=(8, 3)).round(2)
        lines = ["a,b,y", *(",".join(map(str, row)) for row in table.tolist())]
        (base / f"{name}.csv").write_text("\n".join(lines))
    (base / "bad.csv").write_bytes(b"a,b,y\n\xff\xfe,\x00,1\n1,2,3,4,5\n")
    (base / "empty.csv").write_text("")
    (base / "twice.csv").write_text("a,a,y\n1,2,3\n")
    (base / "words.csv").write_text('a,b,y\nx,1,u\n"z\nw",,v\n')


def _places(at: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in a document."""
    for key, value in at.items() if isinstance(at, dict) else enumerate(at):
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from _places(value, (*path, key))


def _mutate(data: Any, document: dict[str, Any]) -> None:
    places = list(_places(document))
    if not places:
        return
    *parents, last = data.draw(st.sampled_from(places))
    at: Any = document
    for part in parents:
        at = at[part]
    how = data.draw(st.sampled_from(["replace"] * 6 + ["drop", "add", "rename", "list", "table"]))
    if how == "replace":
        at[last] = copy.deepcopy(data.draw(odd))
    elif how == "drop":
        del at[last]
    elif how == "list":
        at[last] = [at[last]]
    elif how == "table":
        at[last] = {data.draw(st.sampled_from(["kind", "x", "env"])): at[last]}
    elif isinstance(at, dict):
        key = data.draw(st.sampled_from(["by", "options", "kind", "all", ""]) | st.text(max_size=5))
        at[key] = at.pop(last) if how == "rename" else copy.deepcopy(data.draw(odd))
    else:
        at.append(copy.deepcopy(at[last]))


def draw_text(data: Any) -> str:
    document = copy.deepcopy(_BASE)
    document["utility"] = copy.deepcopy(data.draw(st.sampled_from(_UTILITIES)))
    document["sampling"] = copy.deepcopy(data.draw(st.sampled_from(_SAMPLINGS)))
    for key, value in data.draw(st.lists(st.sampled_from(_EXTRAS), max_size=2)):
        document[key] = copy.deepcopy(value)
    for _ in range(data.draw(st.integers(0, 3))):
        _mutate(data, document)
    text = "\n".join(f"{toml(key)} = {toml(value)}" for key, value in document.items())
    for _ in range(data.draw(st.sampled_from([0] * 6 + [1, 2]))):
        at = data.draw(st.integers(0, len(text)))
        piece = data.draw(
            st.sampled_from(
                ["", "[", "]", "{", '"', "\n", "=", "\x00", "9" * 5000, "0x" + "f" * 6000]
            )
            | st.characters()
        )
        text = text[:at] + piece + text[at + data.draw(st.integers(0, 3)) :]
    return text


def try_configs(tally: Tally, data: Any, base: Path) -> None:
    """Documents are refused, or built; those of few games are played and compared."""
    text = draw_text(data)

    def call() -> tuple[Built, sb.Valuation | None]:
        built = Config.parse(text).build(base)
        plan = built.arguments
        small = plan.n_games <= 4 and len(plan.providers) <= 3 and max(_sizes(plan.sampling)) < 100
        if not small or getattr(plan.solver, "n_iter", 1) > 100:
            return built, None
        with LocalWorkers(1, threads=plan.utility.threaded) as workers:
            return built, play(plan, workers, lambda progress: None)

    result = settle(tally, call)
    if result is not None and result[1] is not None:
        built, valuation = result
        plan = built.arguments
        access = sb.Access(plan.providers, plan.seeds, sb.Budget())
        draws = plan.sampling.prepare(access).draws(range(len(valuation.games)))
        games = [
            _game(plan.utility, [drawn.batches()[g] for drawn in draws])
            for g in range(len(valuation.games))
        ]
        check_valuation(valuation, games, exact=isinstance(plan.solver, sb.Exact))


def _sizes(sampling: sb.Sampling) -> list[int]:
    return [number for number in vars(sampling).values() if isinstance(number, int)] or [1]


def _game(utility: sb.Utility, batches: list[sb.Batch]) -> Game:
    """A game of the utility, each coalition evaluated by itself."""
    summaries = [utility.summarise(batch) for batch in batches]

    def game(inside: tuple[int, ...]) -> float:
        if not inside:
            return utility.empty
        return float(utility.evaluate(summaries, [sum(1 << i for i in inside)])[0])

    return game
