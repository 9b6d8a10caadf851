"""Utilities that users could write or configure, most of them wrong in some way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor

import shapband as sb
from shapband.records.batch import Schema
from shapband.seeds import Seeds
from tests.fuzz.odd_records import FEATURES, TARGETS, copied
from tests.fuzz.outcomes import ERRORS, Game, Tally, check_valuation, settle

Records = tuple[np.ndarray, np.ndarray]


def _raise(error: Callable[[], BaseException]) -> Any:
    raise error()


# What a function of the records may return for a coalition that is worth `x`.
_RETURNED: dict[str, Callable[[float], Any]] = {
    "float": float,
    "float32": np.float32,
    "int": round,
    "flag": lambda x: x > 0,
    "array of no dimension": np.array,
    "array of one": lambda x: np.array([x]),
    "array of two": lambda x: np.array([x, x]),
    "text": str,
    "word": lambda x: "word",
    "None": lambda x: None,
    "complex": lambda x: complex(x, 1),
    "Decimal": Decimal,
    "Fraction": lambda x: Fraction(round(x), 3),
    "NaN": lambda x: np.nan,
    "NaN at times": lambda x: np.nan if x > 8 else x,
    "infinite": lambda x: -np.inf,
    "too large": lambda x: 1e80 * (x + 1),
    "large": lambda x: 1e74 * x / (abs(x) + 1),
    "small": lambda x: 1e-310 * x,
    "huge int": lambda x: 10**400,
    "list": lambda x: [x],
    "function": lambda x: _raise,
    **{f"error {i}": lambda x, e=e: _raise(e) for i, e in enumerate(ERRORS)},
    **{
        f"error at times {i}": lambda x, e=e: _raise(e) if x > 5 else x
        for i, e in enumerate(ERRORS)
    },
}
_EMPTY: tuple[Any, ...] = (
    0.0, 1, -2.5, "baseline", "word", None, np.nan, np.inf, True, 10**400, -(10**5000), [0.0],
    np.array(0.0), np.float32(1.5), 1e80, 1e74, 1j, Decimal("1.5"), Fraction(1, 3),
)  # fmt: skip
_NUMBERS = st.floats() | st.integers() | st.booleans() | st.sampled_from(_EMPTY)
_EVALUATED: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda v: v,
    "list": lambda v: v.tolist(),
    "tuple": lambda v: tuple(v.tolist()),
    "ints": lambda v: v.astype(int),
    "float32": lambda v: v.astype(np.float32),
    "read only": lambda v: np.broadcast_to(v, v.shape),
    "flags": lambda v: v > 3,
    "iterator": lambda v: iter(v),
    "one more": lambda v: np.append(v, 1.0),
    "one less": lambda v: v[:-1],
    "column": lambda v: v[..., None],
    "scalar": lambda v: 1.0,
    "None": lambda v: None,
    "words": lambda v: np.full(v.shape, "a"),
    "objects": lambda v: v.astype(object),
    "complex": lambda v: v + 1j,
    "NaN": lambda v: np.where(v > 5, np.nan, v),
    "infinite": lambda v: v / 0.0,
    "too large": lambda v: v * 1e80,
    "ragged": lambda v: [[1.0] * (i % 2) for i in range(len(v))],
    "dict": lambda v: dict(enumerate(v)),
    "huge ints": lambda v: [10**400] * len(v),
    **{f"error {i}": lambda v, e=e: _raise(e) for i, e in enumerate(ERRORS)},
}
_SUMMARIES: dict[str, Callable[[Any], Any]] = {
    "total": lambda t: t,
    "list": lambda t: [t],
    "None": lambda t: None,
    "word": lambda t: "word",
    **{f"error {i}": lambda t, e=e: _raise(e) for i, e in enumerate(ERRORS)},
}


def _worth(X: np.ndarray, y: np.ndarray) -> float:
    return float(np.max(X.sum(axis=1) + y) + len(y) ** 0.5 + y.mean())


def draw_providers(data: Any, targets: str = "floats") -> tuple[list[sb.Provider], list[Records]]:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    held = []
    for _ in range(data.draw(st.integers(1, 3))):
        X = rng.integers(-3, 4, (6, 2)).astype(float)
        held.append((X, np.asarray(TARGETS[targets](6, rng))))
    providers = [
        sb.Provider(f"p{i}", sb.ArraySource(X.copy(), y.copy())) for i, (X, y) in enumerate(held)
    ]
    return providers, held


def realised(
    providers: Sequence[sb.Provider], held: Sequence[Records], n_games: int, n_sample: int
) -> list[list[Records]]:
    """The same draws, taken by hand from copies of the records: [game][provider]."""
    access = sb.Access(providers, Seeds(3), sb.Budget())
    rows = [drawn.rows for drawn in sb.Fresh(n_sample).prepare(access).draws(range(n_games))]
    return [
        [(X[at[g]], y[at[g]]) for (X, y), at in zip(held, rows, strict=True)]
        for g in range(n_games)
    ]


def game_of(draws: list[Records], v: Callable[[Any, Any], float], empty: Any) -> Game:
    def game(inside: tuple[int, ...]) -> float:
        if not inside:
            return float(empty)
        return float(
            v(
                np.concatenate([draws[i][0] for i in inside]),
                np.concatenate([draws[i][1] for i in inside]),
            )
        )

    return game


def _value(data: Any, providers: Any, make: Callable[[], Any]) -> tuple[Any, Any, bool]:
    """A call that makes the utility and values, its sampling, and whether values are exact."""
    n_games, n_sample = data.draw(st.integers(2, 4)), data.draw(st.integers(3, 5))
    solver = data.draw(st.sampled_from([None] * 6 + [sb.Permutation(4)]))

    def call() -> sb.Valuation:
        return sb.value(
            providers,
            make(),
            sampling=sb.Fresh(n_sample),
            solver=solver,
            n_games=n_games,
            seed=3,
        )

    return call, (n_games, n_sample), solver is None


def try_functions(tally: Tally, data: Any) -> None:
    """Functions of the records: odd results, odd empty values, writes into their arguments."""
    providers, held = draw_providers(data)
    returned = _RETURNED[data.draw(st.sampled_from(sorted(_RETURNED)))]
    empty = data.draw(st.just(0.0) | _NUMBERS)
    writes = data.draw(st.booleans())

    def v(X: Any, y: Any) -> Any:
        found = returned(_worth(X, y))
        if writes:
            X[...] = np.nan
            y[...] = 7.0
        return found

    call, (n_games, n_sample), exact = _value(
        data, providers, lambda: sb.FunctionUtility(v, empty=empty)
    )
    valuation = settle(tally, call)
    if valuation is not None:
        draws = realised(providers, held, n_games, n_sample)
        games = [game_of(one, lambda X, y: returned(_worth(X, y)), empty) for one in draws]
        check_valuation(valuation, games, exact=exact)


class Own(sb.Utility):
    """A utility of the user's: the largest of the members' totals, or something odd."""

    def __init__(self, summary: Any, evaluated: Any, attributes: dict[str, Any]) -> None:
        self._summary, self._evaluated = summary, evaluated
        for name, value in attributes.items():
            setattr(self, name, value)

    def summarise(self, batch: Any) -> Any:
        return self._summary(float(batch.X.sum() + batch.y.sum()))

    def evaluate(self, summaries: Any, coalitions: Any) -> Any:
        inside = [[summaries[i] for i in sb.extend.members(mask)] for mask in coalitions]
        return self._evaluated(np.array([max(found) + len(found) for found in inside]))


_CHECKS = (
    ("check", lambda providers: _raise(lambda: ValueError("no\nproviders"))),
    ("check_batch", lambda batch: _raise(lambda: KeyError("a\x07"))),
    ("summary_floats", lambda size: -1),
    ("summary_floats", lambda size: 0),
    ("summary_floats", lambda size: "word"),
    ("summarise_games", lambda draws: None),
    ("summarise_games", lambda draws: [[1.0]]),
    ("summarise_games", lambda draws: 3),
    ("evaluate_all", lambda games: [[1.0], [1.0, 2.0]]),
    ("evaluate_all", lambda games: None),
    ("evaluate_prefixes", lambda games, orders, first: [[1.0], [1.0, 2.0]]),
)
_ATTRIBUTES = st.sampled_from(
    [
        *((),) * 20,
        *(("empty", one) for one in _EMPTY),
        ("schema", Schema(2)),
        ("schema", Schema(5)),
        ("schema", "word"),
        ("mergeable", True),
        ("mergeable", "word"),
        ("threaded", True),
        ("failures", None),
        ("failures", "word"),
        *_CHECKS,
    ]
)


def try_own_utilities(tally: Tally, data: Any) -> None:
    """Subclasses of Utility with odd methods and attributes."""
    providers, held = draw_providers(data)
    summary = data.draw(st.sampled_from(["total"] * 20 + sorted(_SUMMARIES)))
    evaluated = data.draw(st.sampled_from(["array"] * 8 + sorted(_EVALUATED)))
    pair = data.draw(_ATTRIBUTES)
    attributes = dict([pair]) if pair else {}

    def make() -> Own:
        return Own(_SUMMARIES[summary], _EVALUATED[evaluated], attributes)

    call, (n_games, n_sample), exact = _value(data, providers, make)
    valuation = settle(tally, call)
    if valuation is None or attributes.keys() & {name for name, _ in _CHECKS}:
        return
    assert summary == "total"
    n = len(providers)
    games = []
    for draws in realised(providers, held, n_games, n_sample):
        totals = [float(X.sum() + y.sum()) for X, y in draws]
        inside = [[i for i in range(n) if mask >> i & 1] for mask in range(1, 2**n)]
        values = np.array([max(totals[i] for i in found) + len(found) for found in inside])
        told = np.asarray(_EVALUATED[evaluated](values), dtype=float)
        games.append(
            lambda inside, told=told: (
                float(told[sum(1 << i for i in inside) - 1])
                if inside
                else float(attributes.get("empty", 0.0))
            )
        )
    check_valuation(valuation, games, exact=exact)


class Odd(RegressorMixin, BaseEstimator):
    """An estimator whose methods may do odd things."""

    def __init__(self, fitted: str = "", predicted: str = "float") -> None:
        self.fitted = fitted
        self.predicted = predicted

    def fit(self, X: Any, y: Any) -> Any:
        if self.fitted == "error":
            raise ERRORS[0]()
        if self.fitted == "unspeakable":
            raise ERRORS[-1]()
        if self.fitted == "writes":
            self.mean_ = float(np.mean(y))
            X[...] = np.nan
            return self
        self.mean_ = float(np.mean(y))
        return None if self.fitted == "None" else self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.mean_)

    def score(self, X: Any, y: Any) -> Any:
        return _RETURNED[self.predicted](float(-np.mean((np.asarray(y) - self.mean_) ** 2)))


class Rude:
    """Not a scikit-learn estimator, though it has parameters."""

    def get_params(self, deep: bool = True) -> Any:
        raise ERRORS[0]()

    def __repr__(self) -> str:
        return "rude\n\x1b"


_MODELS: tuple[Callable[[], Any], ...] = (
    Ridge,
    LinearRegression,
    lambda: LogisticRegression(),
    lambda: KNeighborsRegressor(2),
    lambda: KNeighborsRegressor(5),
    lambda: Ridge(alpha=-1.0),
    lambda: Ridge(alpha="word"),
    lambda: Ridge,
    Rude,
    lambda: 3,
    lambda: None,
    lambda: "Ridge\n",
    *(lambda f=f: Odd(f) for f in ("", "error", "unspeakable", "writes", "None")),
    *(lambda p=p: Odd("", p) for p in sorted(_RETURNED)),
)
_SCORES: tuple[Any, ...] = (
    *(None,) * 6, "r2", "neg_mean_squared_error", "accuracy", "nope", "", "a\nb", 3, [], {}, True,
    lambda fitted, X, y: float(fitted.predict(X).sum()),
    lambda fitted, X, y: np.nan,
    lambda fitted, X, y: "word",
    lambda fitted: 1.0,
    *(lambda fitted, X, y, e=e: _raise(e) for e in ERRORS),
)  # fmt: skip


def try_estimators(tally: Tally, data: Any) -> None:
    """EstimatorUtility with odd models, scores, failed and empty values, and validation rows."""
    providers, held = draw_providers(data)
    rng = np.random.default_rng(1)
    model = data.draw(st.sampled_from(_MODELS) | st.sampled_from(_MODELS[:2]))
    score = data.draw(st.sampled_from(_SCORES) | st.none())
    empty = data.draw(st.sampled_from(["baseline", 0.0] * 16 + list(_EMPTY)))
    failed = data.draw(st.sampled_from([None, -1.0] * 16 + list(_EMPTY)))
    x = data.draw(st.sampled_from(["floats"] * 400 + sorted(FEATURES)))
    y = data.draw(st.sampled_from(["floats"] * 400 + sorted(TARGETS)))
    X_val, y_val = FEATURES[x](4, rng), TARGETS[y](4, rng)
    rows = copied(X_val), copied(y_val)
    made: list[sb.EstimatorUtility] = []

    def make() -> sb.EstimatorUtility:
        made.append(sb.EstimatorUtility(model(), X_val, y_val, score, empty=empty, failed=failed))
        return made[0]

    call, (n_games, n_sample), exact = _value(data, providers, make)
    valuation = settle(tally, call)
    if valuation is None:
        return

    def v(X: Any, y: Any) -> float:
        try:
            fitted = clone(model()).fit(X.copy(), y.copy())
            val = np.array(rows[0], dtype=float).reshape(4, -1), np.array(rows[1])
            if callable(score):
                return float(score(fitted, *val))
            if score is None:
                return float(np.float64(fitted.score(*val)))
            from sklearn.metrics import get_scorer

            return float(get_scorer(score)(fitted, *val))
        except Exception:
            if failed is None:
                raise
            return float(failed)

    draws = realised(providers, held, n_games, n_sample)
    settle(
        Tally(),
        lambda: check_valuation(
            valuation, [game_of(one, v, made[0].empty) for one in draws], exact=exact
        ),
    )


def try_neighbors(tally: Tally, data: Any) -> None:
    """NeighborUtility with odd k, task, score, empty and validation rows."""
    labels = data.draw(st.sampled_from(["floats", "floats", "ints", "word array", "word objects"]))
    providers, held = draw_providers(data, labels)
    rng = np.random.default_rng(2)
    k = data.draw(st.sampled_from([1, 2, 3, 5] * 6 + [20, 10**9, 10**12, *_EMPTY]))
    task = data.draw(
        st.sampled_from(["regression"] * 3 + ["classification"] * 3 + [None, None, "word", 3, []])
    )
    score = data.draw(st.sampled_from(["inverse_mse"] * 4 + ["r2", "neg_mse", "nope", None, 3]))
    empty = data.draw(st.sampled_from([None, 0.0, "baseline"] * 8 + list(_EMPTY)))
    x = data.draw(st.sampled_from(["floats"] * 400 + sorted(FEATURES)))
    y = data.draw(st.sampled_from([labels] * 400 + sorted(TARGETS)))
    X_val, y_val = FEATURES[x](5, rng), TARGETS[y](5, rng)
    rows = copied(X_val), copied(y_val)
    made: list[sb.NeighborUtility] = []

    def make() -> sb.NeighborUtility:
        made.append(sb.NeighborUtility(X_val, y_val, k, task, score, empty=empty))
        return made[0]

    call, (n_games, n_sample), exact = _value(data, providers, make)
    valuation = settle(tally, call)
    if valuation is None:
        return
    numbers = np.asarray(rows[1]).dtype.kind in "iubf"
    classify = task == "classification" or (task is None and not numbers)
    val = np.array(rows[0], dtype=float).reshape(5, -1), np.array(rows[1]).tolist()

    def v(X: Any, y: Any) -> float:
        return _neighbors(X, y.tolist(), *val, int(k), classify, score)

    draws = realised(providers, held, n_games, n_sample)
    check_valuation(valuation, [game_of(o, v, made[0].empty) for o in draws], exact=exact)


def _neighbors(
    X: Any, y: list[Any], X_val: Any, y_val: list[Any], k: int, classify: bool, score: str
) -> float:
    """The score of the nearest neighbours, row by row."""
    losses = []
    for row, true in zip(X_val.tolist(), y_val, strict=True):
        far = [sum((a - b) ** 2 for a, b in zip(row, x, strict=True)) for x in X.tolist()]
        near = [target for _, target in sorted(zip(far, y, strict=True), key=_by_target)[:k]]
        if classify:
            counts = Counter(near)
            most = max(counts.values())
            losses.append(float(min(t for t in counts if counts[t] == most) != true))
        else:
            losses.append((sum(near) / len(near) - true) ** 2)
    loss = sum(losses) / len(losses)
    if classify:
        return 1.0 - loss
    if score == "inverse_mse":
        return 1.0 / (1.0 + loss)
    return -loss if score == "neg_mse" else 1.0 - loss / float(np.var(y_val))


def _by_target(pair: tuple[float, Any]) -> Any:
    return pair
