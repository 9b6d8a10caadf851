"""Sources that users could write, most of them wrong in some way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import shapband as sb
from shapband.providers import check_providers
from shapband.records.batch import Batch, Schema
from tests.fuzz.odd_records import FEATURES, TARGETS, copied, rows_of, targets_of, worth
from tests.fuzz.outcomes import ERRORS, OUTSIDE, Game, Tally, check_valuation, settle

_FORMS = ("tuple", "batch", "list", "triple", "only X", "None", "swapped", "dict")
_SIZES: tuple[Any, ...] = (6, 3, 1, 0, -1, 2.0, "6", None, np.int32(6), True, float("nan"), 10**30)
_SCHEMAS: tuple[Any, ...] = (None, Schema(2), Schema(1), Schema(2, ("a", "b"), "pandas"), "x", 2)


@dataclass
class Answer:
    """One way to answer a request."""

    features: str
    targets: str
    form: str
    surplus: int
    error: Any

    def make(self, size: int, rng: np.random.Generator) -> Any:
        if self.error is not None:
            raise self.error()
        n = max(0, size + self.surplus)
        X, y = FEATURES[self.features](n, rng), TARGETS[self.targets](n, rng)
        return {
            "tuple": (X, y),
            "batch": Batch(X, y),
            "list": [X, y],
            "triple": (X, y, y),
            "only X": X,
            "None": None,
            "swapped": (y, X),
            "dict": {"X": X, "y": y},
        }[self.form]


@dataclass
class Script:
    """What a source answers to its first, second, ... request, and copies of what it gave."""

    answers: Sequence[Answer]
    reuse: bool
    given: list[tuple[Any, Any]] = field(default_factory=list)
    _buffer: Any = None

    def __call__(self, size: int, rng: np.random.Generator) -> Any:
        made = self.answers[len(self.given) % len(self.answers)].make(size, rng)
        if isinstance(made, tuple) and len(made) == 2:
            made = (self._reused(made[0]), made[1])
        pair = (made.X, made.y) if isinstance(made, Batch) else made
        self.given.append((copied(pair[0]), copied(pair[1])) if _is_pair(pair) else (None, None))
        return made

    def _reused(self, X: Any) -> Any:
        """Write an array into the memory of the last one, as drivers of databases do."""
        if not self.reuse or not isinstance(X, np.ndarray) or X.dtype != float:
            return X
        if self._buffer is None or self._buffer.shape != X.shape:
            self._buffer = X
        self._buffer[...] = X
        return self._buffer


def _is_pair(thing: Any) -> bool:
    return isinstance(thing, (tuple, list)) and len(thing) == 2


class Drawn(sb.GenerativeSource):
    def __init__(self, script: Script, waits: bool, schema: Any) -> None:
        self._script, self.waits, self.schema = script, waits, schema

    def draw(self, size: int, rng: np.random.Generator) -> Any:
        return self._script(size, rng)


class Taken(sb.FiniteSource):
    def __init__(self, script: Script, waits: bool, schema: Any, size: Any) -> None:
        self._script, self.waits, self.schema, self.size = script, waits, schema, size

    def take(self, rows: Any) -> Any:
        return self._script(len(rows), np.random.default_rng(rows.tolist()))


class Reckless(sb.FiniteSource):
    """A source whose attributes raise."""

    def __init__(self, error: Any, attribute: str) -> None:
        self._error, self._attribute = error, attribute

    def __getattribute__(self, name: str) -> Any:
        if name in ("size", "schema", "waits", "records", "replace"):
            if name == super().__getattribute__("_attribute"):
                raise super().__getattribute__("_error")()
            return {"size": 6, "waits": False, "replace": False}.get(name)
        return super().__getattribute__(name)

    def take(self, rows: Any) -> Any:
        return np.ones((len(rows), 2)), np.ones(len(rows))


class Held(sb.FiniteSource):
    """A source that shows odd records in memory."""

    def __init__(self, records: Any, size: Any) -> None:
        self.records, self.size = records, size

    def take(self, rows: Any) -> Any:
        return self.records.X[rows], self.records.y[rows]


_usual = st.sampled_from(["floats", "floats", "ints", "lists", "pandas", "polars"])
_usual_y = st.sampled_from(["floats", "floats", "ints", "list", "words"])
features = _usual | st.sampled_from(sorted(FEATURES))
targets = _usual_y | st.sampled_from(sorted(TARGETS))
_no_error = st.none()
answers = st.builds(
    Answer,
    features,
    targets,
    st.sampled_from(["tuple"] * 8 + ["batch"] * 4 + list(_FORMS)),
    st.sampled_from([0] * 12 + [1, -1, -5]),
    st.sampled_from([None] * 40 + list(ERRORS + OUTSIDE)),
)
scripts = st.builds(Script, st.lists(answers, min_size=1, max_size=2), st.booleans())
_alike = st.builds(
    lambda x, y, forms, reuse: [Script([Answer(x, y, form, 0, None)], reuse) for form in forms],
    features,
    targets,
    st.lists(st.sampled_from(["tuple", "batch"]), min_size=1, max_size=3),
    st.booleans(),
)
script_lists = st.lists(scripts, min_size=1, max_size=3) | _alike


@st.composite
def source_lists(draw: Any) -> list[tuple[sb.Source, Script]]:
    made = []
    for script in draw(script_lists):
        waits = draw(st.sampled_from([False, False, False, True]))
        schema = draw(st.sampled_from((None,) * 12 + _SCHEMAS))
        kind = draw(st.sampled_from(["function", "drawn", "taken"]))
        size = draw(st.sampled_from((6,) * 12 + _SIZES))
        source = {
            "function": lambda s=script, w=waits: sb.FunctionSource(s, waits=w),
            "drawn": lambda s=script, w=waits, c=schema: Drawn(s, w, c),
            "taken": lambda s=script, w=waits, c=schema, n=size: Taken(s, w, c, n),
        }[kind]()
        made.append((source, script))
    return made


def try_asked_sources(tally: Tally, data: Any) -> None:
    """Sources that are asked: what they give is refused, or valued as the reference does."""
    made = data.draw(source_lists())
    n_sample = data.draw(st.integers(3, 5))
    n_games = data.draw(st.integers(2, 4))
    options: dict[str, Any] = {
        "concurrency": data.draw(st.sampled_from([1, 256])),
        "chunk_size": data.draw(st.sampled_from([None, None, 1, 2])),
    }

    def call() -> sb.Valuation:
        providers = [
            sb.Provider(f"p{i}", source, sb.Retry(attempts=1)) for i, (source, _) in enumerate(made)
        ]
        return sb.value(
            providers,
            sb.FunctionUtility(_seen_worth),
            sampling=sb.Fresh(n_sample),
            n_games=n_games,
            seed=7,
            **options,
        )

    valuation = settle(tally, call)
    if valuation is not None:
        check_valuation(valuation, [_game([s.given[g] for _, s in made]) for g in range(n_games)])


def _seen_worth(X: Any, y: Any) -> float:
    return worth(rows_of(X), targets_of(y))


def _game(given: Sequence[tuple[Any, Any]]) -> Game:
    rows = [rows_of(X) for X, _ in given]
    targets = [targets_of(y) for _, y in given]

    def game(inside: tuple[int, ...]) -> float:
        if not inside:
            return 0.0
        return worth([r for i in inside for r in rows[i]], [t for i in inside for t in targets[i]])

    return game


def try_held_sources(tally: Tally, data: Any) -> None:
    """Records in memory: arrays, frames, and whatever a source of the user's shows as records."""
    n_games, n_sample = data.draw(st.integers(2, 4)), data.draw(st.integers(3, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    held: list[tuple[Any, Any]] = []
    same = data.draw(st.booleans())
    first = data.draw(features), data.draw(targets)

    def make() -> Any:
        x, y = first if same and held else (data.draw(features), data.draw(targets))
        n = data.draw(st.sampled_from([6, 6, 6, 6, 5, 2, 0]))
        X = FEATURES[x](n, rng)
        extra = data.draw(st.sampled_from([0] * 10 + [1]))
        Y = TARGETS[y](n + extra, rng)
        kind = data.draw(st.sampled_from(["array", "array", "frame", "own", "reckless"]))
        held.append((copied(X), copied(Y)))
        if kind == "reckless":
            names = st.sampled_from(["size", "schema", "waits", "records", "replace"])
            error, attribute = data.draw(st.sampled_from(ERRORS)), data.draw(names)
            return lambda: Reckless(error, attribute)
        if kind == "frame":
            if hasattr(X, "assign"):
                target = data.draw(st.sampled_from(["y", "y", "y", "a", "nope", 1, None, ["y"]]))
                held[-1] = (held[-1][0], held[-1][1]) if target == "y" else (None, None)
                return lambda: sb.FrameSource(_assigned(X, Y), target)
            held[-1] = (None, None)
            return lambda: sb.FrameSource(X, "a")
        if kind == "own":
            records = data.draw(st.sampled_from([Batch(X, Y), Batch(X, Y), (X, Y), X, "x"]))
            size = data.draw(st.sampled_from((n, n, n, *_SIZES)))
            return lambda: Held(records, size)
        return lambda: sb.ArraySource(X, Y)

    makers = [make() for _ in range(data.draw(st.integers(1, 3)))]
    rows: list[Any] = []

    def call() -> sb.Valuation:
        providers = [
            sb.Provider(f"p{i}", maker(), sb.Retry(attempts=1)) for i, maker in enumerate(makers)
        ]
        sampling = sb.Fresh(n_sample)
        utility = sb.FunctionUtility(_seen_worth)
        found = sb.value(providers, utility, sampling=sampling, n_games=n_games, seed=7)
        converted, _ = check_providers(providers)  # as `value` does before it asks them
        access = sb.Access(converted, sb.seeds.Seeds(7), sb.Budget())
        rows.extend(d.rows for d in sampling.prepare(access).draws(range(n_games)))
        return found

    valuation = settle(tally, call)
    if valuation is None or any(X is None for X, _ in held):
        return
    cells = [(rows_of(X), targets_of(y)) for X, y in held]

    def game(g: int) -> Game:
        def of(inside: tuple[int, ...]) -> float:
            chosen = [(i, r) for i in inside for r in rows[i][g].tolist()]
            return (
                worth([cells[i][0][r] for i, r in chosen], [cells[i][1][r] for i, r in chosen])
                if inside
                else 0.0
            )

        return of

    check_valuation(valuation, [game(g) for g in range(n_games)])


def _assigned(frame: Any, y: Any) -> Any:
    try:
        return frame.assign(y=y if not hasattr(y, "index") else np.asarray(y))
    except (ValueError, TypeError):
        return frame
