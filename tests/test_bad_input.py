"""Bad input gets one clear error, before any source is asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

import shapband as sb
from shapband.errors import EvaluationError, InvalidInput, ShapbandError, SourceError
from shapband.records import Batch
from shapband.sources.base import FiniteSource, GenerativeSource

NAMES = ("north", "south", "east", "west")
SAMPLINGS = (sb.Fresh(4), sb.Pooled(8, 4), sb.Blocks(8, 4), sb.Stratified(8, 4, 0.75))
REMEDY = re.compile(
    r"must|pass|use |raise|lower|remove|impute|encode|fill|leave|needed|not a column; there are"
)
few = settings(max_examples=25, deadline=None)
not_finite = st.sampled_from([np.nan, np.inf, -np.inf])


class Counted(FiniteSource):
    """Records that cannot be looked at for free, and a count of how often they were asked for."""

    def __init__(self, X: Any, y: Any) -> None:
        self._inner = sb.ArraySource(X, y)
        self.asked = 0

    @property
    def size(self) -> int:
        return self._inner.size

    @property
    def schema(self) -> Any:
        return self._inner.schema

    def take(self, rows: Any) -> Batch:
        self.asked += 1
        return self._inner.take(rows)


class CountedDraws(GenerativeSource):
    """The same, for a source that draws for itself."""

    def __init__(self, n_features: int) -> None:
        self._n_features = n_features
        self.asked = 0

    @property
    def schema(self) -> None:
        return None

    def draw(self, size: int, rng: np.random.Generator) -> Batch:
        self.asked += 1
        X = rng.normal(size=(size, self._n_features))
        return Batch(X, X.sum(axis=1))


@dataclass
class Setup:
    """A valuation that works, until a test breaks one thing of it."""

    sources: list[Counted | CountedDraws]
    rng: np.random.Generator
    n_features: int
    sampling: Any

    @property
    def asked(self) -> int:
        return sum(source.asked for source in self.sources)

    @property
    def providers(self) -> list[sb.Provider]:
        return [sb.Provider(name, s) for name, s in zip(NAMES, self.sources, strict=False)]

    def records(self, n: int = 12) -> tuple[Any, Any]:
        X = self.rng.normal(size=(n, self.n_features))
        return X, X.sum(axis=1) + self.rng.normal(size=n)

    def value(self, **changes: Any) -> sb.Valuation:
        arguments: dict[str, Any] = {
            "providers": self.providers,
            "utility": sb.LinearUtility(*self.records()),
            "sampling": self.sampling,
            "n_games": 3,
            "seed": 0,
        }
        return sb.value(**(arguments | changes))


@st.composite
def setups(draw: Any) -> Setup:
    n_features = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    setup = Setup([], rng, n_features, draw(st.sampled_from(SAMPLINGS)))
    for generative in draw(st.lists(st.booleans(), min_size=1, max_size=3)):
        made = CountedDraws(n_features) if generative else Counted(*setup.records())
        setup.sources.append(made)
    return setup


def refused(
    call: Callable[..., Any],
    *named: str,
    kind: type[ShapbandError] = InvalidInput,
    **arguments: Any,
) -> str:
    """Make the call, and check that it ends in one clear error that names what it should."""
    with pytest.raises(ShapbandError) as caught:
        call(**arguments)
    message = str(caught.value)
    assert type(caught.value) is kind
    assert "\n" not in message
    assert len(message) < 400
    for name in named:
        assert name in message
    if kind is InvalidInput:
        assert REMEDY.search(message), f"no remedy in: {message}"
    return message


def refused_unasked(setup: Setup, *named: str, **changes: Any) -> str:
    """Check the same of a valuation, and that no source was asked."""
    message = refused(setup.value, *named, **changes)
    assert setup.asked == 0
    return message


def wholes_below(least: int) -> st.SearchStrategy[Any]:
    """Everything that is not a whole number of at least `least`."""
    return st.one_of(
        st.integers(-50, least - 1),
        st.floats(),
        st.booleans(),
        st.text(max_size=3),
        st.lists(st.integers(), max_size=2),
    )


wrong_things = st.one_of(
    st.integers(1, 9),
    st.floats(1, 9),
    st.text(min_size=1, max_size=5),
    st.lists(st.integers(), min_size=1, max_size=2),
    st.builds(object),
    st.just(sb.Fresh),
    st.just(sb.Exact),
    st.just(sb.LinearUtility),
    st.just(sb.Budget),
)


# The control: what the tests below break works before it is broken.


@few
@given(setups())
def test_the_unbroken_setup_is_valued_and_asks_every_source(setup):
    valuation = setup.value()
    assert valuation.n_games == 3
    assert np.isfinite(valuation.games).all()
    assert all(source.asked > 0 for source in setup.sources)


# Providers.


@few
@given(setups(), st.sampled_from([[], (), {}]))
def test_no_providers_is_refused(setup, none):
    refused_unasked(setup, "providers", providers=none)


@few
@given(setups(), st.sampled_from([None, 3, "north", object()]))
def test_providers_that_are_no_sequence_of_providers_are_refused(setup, thing):
    refused_unasked(setup, "providers", providers=thing)


@few
@given(setups())
def test_a_provider_without_a_list_is_refused(setup):
    refused_unasked(setup, "providers", providers=setup.providers[0])


@few
@given(setups(), st.data())
def test_an_object_that_is_no_provider_is_refused_by_its_position(setup, data):
    at = data.draw(st.integers(0, len(setup.sources)))
    stranger = data.draw(st.sampled_from(["south", None, 3.5, setup.sources[0], sb.Provider]))
    mixed = [*setup.providers[:at], stranger, *setup.providers[at:]]
    refused_unasked(setup, f"providers[{at}]", providers=mixed)


@few
@given(setups(), st.data())
def test_two_providers_of_one_name_are_refused(setup, data):
    twin = data.draw(st.sampled_from(setup.providers))
    message = refused_unasked(setup, repr(twin.name), providers=[*setup.providers, twin])
    assert "names must differ" in message


@few
@given(st.one_of(st.just(""), st.none(), st.integers(), st.binary(max_size=3)))
def test_a_provider_needs_a_name(name):
    refused(sb.Provider, "name", name=name, source=sb.ArraySource([[1.0]], [1.0]))


@few
@given(st.one_of(st.none(), st.integers(), st.just(np.zeros((3, 1))), st.just(sb.ArraySource)))
def test_a_provider_needs_a_source(thing):
    refused(sb.Provider, "source", "'north'", name="north", source=thing)


@few
@given(setups(), st.integers(1, 7), st.data())
def test_too_few_records_for_the_draws_are_refused(setup, size, data):
    sampling = data.draw(st.sampled_from([sb.Fresh(8), sb.Blocks(n_pool=8, n_sample=4)]))
    small = Counted(*setup.records(size))
    setup.sources.append(small)
    refused_unasked(setup, repr(setup.providers[-1].name), "n_sample", str(size), sampling=sampling)


@few
@given(setups(), st.integers(1, 2))
def test_providers_with_different_features_are_refused(setup, more):
    setup.sources.append(Counted(*setup.records()))
    other = sb.Provider(
        "other", sb.ArraySource(np.ones((12, setup.n_features + more)), np.ones(12))
    )
    message = refused_unasked(
        setup,
        "'other'",
        "features",
        providers=[*setup.providers, other],
        utility=sb.AdditiveUtility(),
    )
    assert f"{setup.n_features + more} features" in message


@few
@given(setups(), st.integers(1, 2), st.booleans())
def test_features_other_than_those_of_x_val_are_refused(setup, more, by_estimator):
    X, y = np.ones((5, setup.n_features + more)), np.arange(5.0)
    utility = sb.EstimatorUtility(LinearRegression(), X, y) if by_estimator else None
    setup.sources.append(Counted(*setup.records()))
    refused_unasked(setup, "'", "X_val", "features", utility=utility or sb.LinearUtility(X, y))


def test_columns_in_another_order_than_x_val_are_refused():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0], "y": [1.0, 0.0, 1.0]})
    providers = [sb.Provider("north", sb.FrameSource(frame, target="y"))]
    utility = sb.LinearUtility(frame[["b", "a"]], frame["y"])
    refused(
        sb.value, "'north'", "X_val", "a, b", "b, a",
        providers=providers, utility=utility, sampling=sb.Fresh(2), n_games=2, seed=0,
    )  # fmt: skip


def test_arrays_beside_frames_are_refused():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [1.0, 0.0, 1.0]})
    providers = [
        sb.Provider("north", sb.FrameSource(frame, target="y")),
        sb.Provider("south", counted := Counted([1.0, 2.0, 3.0], [1.0, 0.0, 1.0])),
    ]
    utility = sb.FunctionUtility(lambda X, y: y.mean())
    refused(
        sb.value, "'south'",
        providers=providers, utility=utility, sampling=sb.Fresh(2), n_games=2, seed=0,
    )  # fmt: skip
    assert counted.asked == 0


def test_pandas_beside_polars_is_refused_before_any_source_is_asked():
    table = {"a": [1.0, 2.0, 3.0], "y": [1.0, 0.0, 1.0]}
    sources = [sb.FrameSource(pd.DataFrame(table), "y"), sb.FrameSource(pl.DataFrame(table), "y")]
    providers = [sb.Provider(name, s) for name, s in zip(NAMES, sources, strict=False)]
    utility = sb.FunctionUtility(lambda X, y: y.mean())
    refused(
        sb.value, "'south'",
        providers=providers, utility=utility, sampling=sb.Fresh(2), n_games=2, seed=0,
    )  # fmt: skip


# Records.


@few
@given(st.integers(1, 6), st.integers(0, 6))
def test_targets_of_another_length_are_refused(n, m):
    m += m >= n
    refused(sb.ArraySource, "ArraySource", "y", str(n), X=np.ones((n, 2)), y=np.ones(m))


@few
@given(st.integers(1, 6), st.integers(1, 3), not_finite, st.data())
def test_features_that_are_not_finite_are_refused(n, p, bad, data):
    X = np.ones((n, p))
    X[data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, p - 1))] = bad
    refused(sb.ArraySource, "ArraySource", "X holds", X=X, y=np.ones(n))
    refused(sb.LinearUtility, "LinearUtility", "X_val", X_val=X, y_val=np.ones(n))
    refused(sb.NeighborUtility, "NeighborUtility", "X_val", X_val=X, y_val=np.ones(n))
    refused(
        sb.EstimatorUtility, "EstimatorUtility", "X_val",
        estimator=LinearRegression(), X_val=X, y_val=np.ones(n),
    )  # fmt: skip


@few
@given(st.integers(1, 6), not_finite, st.data())
def test_targets_that_are_not_finite_are_refused(n, bad, data):
    y = np.ones(n)
    y[data.draw(st.integers(0, n - 1))] = bad
    X = np.ones((n, 2))
    refused(sb.ArraySource, "ArraySource", "y holds", X=X, y=y)
    refused(sb.LinearUtility, "LinearUtility", "y_val", X_val=X, y_val=y)
    refused(sb.NeighborUtility, "NeighborUtility", "y_val", X_val=X, y_val=y)
    refused(
        sb.EstimatorUtility, "EstimatorUtility", "y_val",
        estimator=LinearRegression(), X_val=X, y_val=y,
    )  # fmt: skip


@pytest.mark.parametrize("bad", [None, np.nan, np.inf, pd.NA], ids=str)
def test_targets_among_objects_that_are_not_finite_are_refused(bad):
    y = np.array([1.0, bad, 2.0], dtype=object)
    refused(sb.ArraySource, "ArraySource", "y", X=np.ones((3, 2)), y=y)


@pytest.mark.parametrize("bad", [None, np.nan, np.inf, pd.NA], ids=str)
@pytest.mark.parametrize(
    "made_by", [sb.LinearUtility, sb.NeighborUtility], ids=lambda u: u.__name__
)
def test_validation_targets_among_objects_that_are_not_finite_are_refused(made_by, bad):
    y_val = np.array([1.0, bad, 2.0], dtype=object)
    refused(made_by, made_by.__name__, "y_val", X_val=np.eye(3), y_val=y_val)


def test_missing_validation_labels_are_refused_by_an_estimator():
    refused(
        sb.EstimatorUtility, "EstimatorUtility", "y_val",
        estimator=LinearRegression(), X_val=np.eye(3), y_val=["a", None, "b"],
    )  # fmt: skip


@few
@given(st.sampled_from([pd.DataFrame, pl.DataFrame]), not_finite)
def test_frames_with_targets_that_are_not_finite_are_refused(frame, bad):
    table = frame({"a": [1.0, 2.0], "price": [1.0, bad]})
    message = refused(sb.FrameSource, "FrameSource", frame=table, target="price")
    assert "target" in message or "price" in message


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_with_missing_targets_are_refused(frame):
    for values in ([1, None], ["a", None], [1.5, None]):
        table = frame({"a": [1.0, 2.0], "price": values})
        refused(sb.FrameSource, "FrameSource", frame=table, target="price")


def test_nullable_pandas_targets_with_missing_values_are_refused():
    table = pd.DataFrame({"a": [1.0, 2.0], "price": pd.array([1, None], dtype="Int64")})
    refused(sb.FrameSource, "FrameSource", frame=table, target="price")


@few
@given(st.sampled_from([pd.DataFrame, pl.DataFrame]), st.sampled_from([np.inf, -np.inf]))
def test_frames_with_infinite_features_are_refused(frame, bad):
    table = frame({"a": [1.0, bad], "y": [1.0, 2.0]})
    refused(sb.FrameSource, "FrameSource", "'a'", frame=table, target="y")


@few
@given(st.sampled_from([pd.DataFrame, pl.DataFrame]), not_finite)
def test_validation_frames_that_are_not_finite_are_refused_where_numbers_are_needed(frame, bad):
    X_val = frame({"a": [1.0, bad]})
    refused(sb.LinearUtility, "LinearUtility", "X_val", X_val=X_val, y_val=[1.0, 2.0])
    refused(sb.NeighborUtility, "NeighborUtility", "X_val", X_val=X_val, y_val=[1.0, 2.0])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_infinite_validation_frames_are_refused_by_an_estimator_as_by_a_source(frame):
    X_val = frame({"a": [1.0, np.inf]})
    refused(
        sb.EstimatorUtility, "EstimatorUtility", "X_val",
        estimator=LinearRegression(), X_val=X_val, y_val=[1.0, 2.0],
    )  # fmt: skip


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_validation_without_rows_is_refused(frame):
    for X_val in (np.ones((0, 2)), frame({"a": np.ones(0)})):
        refused(
            sb.EstimatorUtility, "EstimatorUtility", "X_val",
            estimator=LinearRegression(), X_val=X_val, y_val=np.ones(0),
        )  # fmt: skip


@few
@given(st.integers(1, 6), st.integers(0, 6))
def test_validation_targets_of_another_length_are_refused(n, m):
    m += m >= n
    for X_val in (np.ones((n, 2)), pd.DataFrame(np.ones((n, 2)), columns=["a", "b"])):
        refused(sb.LinearUtility, "y_val", str(n), X_val=X_val, y_val=np.ones(m))
        refused(sb.NeighborUtility, "y_val", str(n), X_val=X_val, y_val=np.ones(m))
        refused(
            sb.EstimatorUtility, "y_val", str(n),
            estimator=LinearRegression(), X_val=X_val, y_val=np.ones(m),
        )  # fmt: skip


@pytest.mark.parametrize(
    "X",
    [[["a"], ["b"]], [[1.0], [2.0, 3.0]], np.ones((2, 2, 2)), np.ones((2, 0)), [[object()]] * 2],
    ids=["text", "ragged", "three dimensions", "no feature", "objects"],
)
def test_features_that_are_no_table_of_numbers_are_refused(X):
    refused(sb.ArraySource, "ArraySource", "X must", X=X, y=[1.0, 2.0])
    refused(sb.LinearUtility, "LinearUtility", "X_val must", X_val=X, y_val=[1.0, 2.0])


@pytest.mark.parametrize(
    "made_by", [sb.LinearUtility, sb.NeighborUtility], ids=lambda u: u.__name__
)
def test_validation_labels_where_numbers_are_needed_are_refused(made_by):
    refused(made_by, made_by.__name__, "y_val", X_val=[[1.0], [2.0]], y_val=["a", "b"])


@few
@given(setups(), st.sampled_from([sb.AdditiveUtility, sb.LinearUtility, sb.NeighborUtility]))
def test_labels_where_numbers_are_needed_are_refused(setup, made_by):
    X, _ = setup.records()
    labelled = sb.Provider("labelled", sb.ArraySource(X, ["a", "b"] * 6))
    utility = made_by() if made_by is sb.AdditiveUtility else made_by(*setup.records())
    providers = [*setup.providers, labelled]
    refused_unasked(setup, "'labelled'", "targets", providers=providers, utility=utility)


def test_labels_that_the_validation_rows_do_not_know_are_refused():
    X = np.arange(6.0)
    utility = sb.NeighborUtility(X, ["a", "b"] * 3, task="classification")
    providers = [
        sb.Provider("known", known := Counted(X, ["b", "a"] * 3)),
        sb.Provider("strange", sb.ArraySource(X, ["a", "moose"] * 3)),
    ]
    assert sb.value(providers[:1], utility, sampling=sb.Fresh(6), n_games=2, seed=0).n_games == 2
    known.asked = 0
    refused(
        sb.value, "'strange'", "moose",
        providers=providers, utility=utility, sampling=sb.Fresh(6), n_games=2, seed=0,
    )  # fmt: skip
    assert known.asked == 0


# The arguments of value().


@few
@given(setups(), wholes_below(2) | st.none())
def test_fewer_than_two_games_are_refused(setup, n_games):
    refused_unasked(setup, "n_games", "2", n_games=n_games)


@few
@given(setups(), wholes_below(1))
def test_a_chunk_size_that_is_no_count_is_refused(setup, chunk_size):
    refused_unasked(setup, "chunk_size", chunk_size=chunk_size)


@few
@given(setups(), wholes_below(0))
def test_a_seed_that_is_no_count_is_refused(setup, seed):
    refused_unasked(setup, "seed", seed=seed)


@few
@given(setups(), wholes_below(-1) | st.sampled_from([0, None]))
def test_n_jobs_that_is_no_count_is_refused(setup, n_jobs):
    refused_unasked(setup, "n_jobs", n_jobs=n_jobs)


@few
@given(setups(), st.sampled_from(["utility", "sampling", "solver"]), wrong_things)
def test_parts_of_the_wrong_type_are_refused(setup, part, thing):
    refused_unasked(setup, part, **{part: thing})


@few
@given(setups(), st.sampled_from(["utility", "sampling"]))
def test_missing_parts_are_refused(setup, part):
    refused_unasked(setup, part, **{part: None})


@few
@given(setups(), st.sampled_from([0, "", [], False, 0.0]))
def test_a_solver_that_happens_to_be_false_is_refused(setup, solver):
    refused_unasked(setup, "solver", solver=solver)


@few
@given(setups(), wrong_things | st.sampled_from([0, False, ""]))
def test_a_budget_of_the_wrong_type_is_refused(setup, budget):
    refused_unasked(setup, "budget", budget=budget)


@few
@given(st.sampled_from(["records", "requests"]), st.integers(-9, 0) | st.floats(1.1, 1.9))
def test_a_budget_limit_that_is_no_count_is_refused(limit, number):
    refused(sb.Budget, "Budget", limit, **{limit: number})


@pytest.mark.parametrize("number", [True, np.inf, np.nan, "many", [3]], ids=str)
@pytest.mark.parametrize("limit", ["records", "requests"])
def test_a_budget_limit_that_is_no_number_is_refused(limit, number):
    refused(sb.Budget, "Budget", limit, **{limit: number})


# Samplings and solvers.


@few
@given(wholes_below(1) | st.none(), st.data())
def test_sizes_that_are_no_counts_are_refused(size, data):
    made_by, rest = data.draw(
        st.sampled_from(
            [
                (sb.Fresh, {"n_sample": 4}),
                (sb.Pooled, {"n_pool": 8, "n_boot": 4}),
                (sb.Blocks, {"n_pool": 8, "n_sample": 4}),
                (sb.Stratified, {"n_pool": 8, "n_boot": 4, "alpha": 0.75}),
                (sb.Permutation, {"n_iter": 4}),
                (sb.BalancedPermutation, {"n_iter": 4}),
            ]
        )
    )
    assert made_by(**rest)
    name = data.draw(st.sampled_from([name for name in rest if name != "alpha"]))
    refused(made_by, made_by.__name__, name, **(rest | {name: size}))


@few
@given(st.floats(max_value=0.0) | st.floats(1.0, exclude_min=True) | st.just(np.nan))
def test_alpha_outside_its_range_is_refused(alpha):
    refused(sb.Stratified, "alpha", "(0, 1]", n_pool=8, n_boot=4, alpha=alpha)
    refused(sb.allocate, "alpha", "(0, 1]", scores=[1.0, 2.0], n_pool=8, n_boot=4, alpha=alpha)


@pytest.mark.parametrize("alpha", ["half", None, [0.5], 0.5j], ids=str)
def test_alpha_that_is_no_number_is_refused(alpha):
    refused(sb.Stratified, "alpha", n_pool=8, n_boot=4, alpha=alpha)


@few
@given(st.integers(2, 20), st.floats(0.01, 1), st.integers(1, 100))
def test_a_cap_below_the_mean_draw_is_refused(n_boot, alpha, n_pool):
    fits = int(alpha * n_pool) >= n_boot
    if fits:
        assert sb.Stratified(n_pool, n_boot, alpha).n_boot == n_boot
    else:
        refused(sb.Stratified, "cap", "alpha", "n_boot", n_pool=n_pool, n_boot=n_boot, alpha=alpha)


@few
@given(st.integers(1, 30), st.integers(1, 60))
def test_blocks_need_room_for_two_draws(n_sample, n_pool):
    if n_pool >= 2 * n_sample:
        assert sb.Blocks(n_pool, n_sample).n_pool == n_pool
    else:
        refused(sb.Blocks, "n_pool", "n_sample", n_pool=n_pool, n_sample=n_sample)


@pytest.mark.parametrize("n", [21, 40, 20_000])
def test_exact_values_of_too_many_providers_are_refused(n):
    sources = [Counted([1.0, 2.0], [1.0, 2.0]) for _ in range(n)]
    providers = [sb.Provider(f"p{i}", source) for i, source in enumerate(sources)]
    refused(
        sb.value, "Exact", str(n), "20", "BalancedPermutation",
        providers=providers, utility=sb.AdditiveUtility(), sampling=sb.Fresh(1),
        solver=sb.Exact(), n_games=2, seed=0,
    )  # fmt: skip
    assert sum(source.asked for source in sources) == 0


@few
@given(setups(), st.integers(1, 12))
def test_balanced_permutations_need_whole_blocks(setup, n_iter):
    n = len(setup.sources)
    solver = sb.BalancedPermutation(n_iter)
    if n_iter % n == 0 and n_iter >= 2 * n:
        assert setup.value(solver=solver).n_games == 3
    else:
        message = refused_unasked(setup, "BalancedPermutation", "n_iter", solver=solver)
        proposed = int(message.rsplit("use ", 1)[1])
        assert setup.value(solver=sb.BalancedPermutation(proposed)).n_games == 3


# Utilities.


@few
@given(setups(), st.integers(1, 4))
def test_a_table_for_another_number_of_providers_is_refused(setup, n):
    n += n >= len(setup.sources)
    utility = sb.TableUtility(np.arange(2.0**n))
    refused_unasked(setup, "TableUtility", str(2**n), str(len(setup.sources)), utility=utility)


@few
@given(st.integers(0, 40).filter(lambda m: m < 2 or m & (m - 1)))
def test_a_table_whose_length_is_no_power_of_two_is_refused(m):
    refused(sb.TableUtility, "TableUtility", "values", str(m), values=np.ones(m))


@few
@given(not_finite, st.integers(0, 3))
def test_a_table_that_is_not_finite_is_refused(bad, at):
    values = np.ones(4)
    values[at] = bad
    refused(sb.TableUtility, "TableUtility", "values", values=values)


@few
@given(setups(), st.integers(1, 5))
def test_weights_for_another_number_of_providers_are_refused(setup, m):
    m += m >= len(setup.sources)
    message = refused_unasked(
        setup, "AdditiveUtility", "weights", utility=sb.AdditiveUtility([1.0] * m)
    )
    assert str(m) in message


@pytest.mark.parametrize("weights", [[1.0, np.nan], [np.inf], [[1.0]], 3.0, ["a"], object()])
def test_weights_that_are_no_finite_numbers_are_refused(weights):
    refused(sb.AdditiveUtility, "AdditiveUtility", "weights", weights=weights)


@pytest.mark.parametrize("values", [["a", "b"], object(), [[0.0, 1.0]], 1.0, [[0.0], [1.0, 2.0]]])
def test_a_table_that_is_no_row_of_numbers_is_refused(values):
    refused(sb.TableUtility, "TableUtility", "values", values=values)


@pytest.mark.parametrize("empty", [np.nan, np.inf, None, "0", [0.0], 1j, np.complex128(1)], ids=str)
def test_a_value_of_the_empty_coalition_that_is_no_finite_number_is_refused(empty):
    refused(sb.AdditiveUtility, "empty", empty=empty)
    refused(sb.FunctionUtility, "empty", v=len, empty=empty)


@pytest.mark.parametrize("failed", [np.nan, np.inf, "0", [0.0]], ids=str)
def test_a_value_for_failures_that_is_no_finite_number_is_refused(failed):
    refused(
        sb.EstimatorUtility, "EstimatorUtility", "failed",
        estimator=LinearRegression(), X_val=[[1.0]], y_val=[1.0], failed=failed,
    )  # fmt: skip


@pytest.mark.parametrize("thing", [None, 3, "ridge", object()], ids=str)
def test_an_estimator_that_is_none_is_refused(thing):
    refused(
        sb.EstimatorUtility, "EstimatorUtility", "estimator",
        estimator=thing, X_val=[[1.0]], y_val=[1.0],
    )  # fmt: skip
    refused(sb.FunctionUtility, "FunctionUtility", "v", v=None)


def test_an_estimator_class_in_place_of_an_estimator_is_refused():
    refused(
        sb.EstimatorUtility, "EstimatorUtility", "estimator",
        estimator=LinearRegression, X_val=[[1.0]], y_val=[1.0],
    )  # fmt: skip


@pytest.mark.parametrize("score", ["accurate", 3, ["r2"]], ids=str)
def test_an_unknown_score_is_refused(score):
    arguments = {"X_val": [[1.0], [2.0]], "y_val": [1.0, 2.0], "score": score}
    refused(sb.LinearUtility, "LinearUtility", "score", **arguments)
    refused(sb.NeighborUtility, "NeighborUtility", "score", **arguments)
    with pytest.raises(InvalidInput, match="score"):
        sb.EstimatorUtility(LinearRegression(), **arguments)


@few
@given(wholes_below(1) | st.none())
def test_a_number_of_neighbours_that_is_no_count_is_refused(k):
    refused(sb.NeighborUtility, "NeighborUtility", "k must", X_val=[[1.0]], y_val=[1.0], k=k)


@few
@given(setups(), not_finite, st.sampled_from([None, sb.Exact(), sb.Permutation(3)]))
def test_a_utility_that_returns_no_finite_number_is_named_with_its_coalition(setup, bad, solver):
    utility = sb.FunctionUtility(lambda X, y: bad)
    message = refused(setup.value, str(bad), kind=EvaluationError, utility=utility, solver=solver)
    assert any(repr(name) in message for name in NAMES[: len(setup.sources)])


@pytest.mark.parametrize("returned", [None, "high", [1.0, 2.0]], ids=str)
def test_a_utility_that_returns_no_number_is_named_with_its_coalition(returned):
    providers = [sb.Provider("north", sb.ArraySource([1.0, 2.0], [1.0, 2.0]))]
    utility = sb.FunctionUtility(lambda X, y: returned)
    refused(
        sb.value, "{'north'}", kind=EvaluationError,
        providers=providers, utility=utility, sampling=sb.Fresh(2), n_games=2, seed=0,
    )  # fmt: skip


class Squeamish(RegressorMixin, BaseEstimator):
    """Refuses to be fitted to large numbers."""

    def __init__(self, complaint: str = "that is too much") -> None:
        self.complaint = complaint

    def fit(self, X: Any, y: Any) -> Squeamish:
        if X.max() > 500:
            raise ValueError(self.complaint)
        self.fitted_ = True
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))


def squeamish_value(estimator: Squeamish, **options: Any) -> sb.Valuation:
    X, y = np.arange(8.0).reshape(-1, 1), np.arange(8.0)
    providers = [
        sb.Provider("mild", sb.ArraySource(X, y)),
        sb.Provider("strong", sb.ArraySource(X + 1000, y)),
    ]
    utility = sb.EstimatorUtility(estimator, X, y, **options)
    return sb.value(providers, utility, sampling=sb.Fresh(3), n_games=2, seed=0)


def test_an_estimator_that_fails_to_fit_is_told_with_coalition_and_cause():
    refused(
        squeamish_value, "{'strong'}", "ValueError", "that is too much",
        kind=EvaluationError, estimator=Squeamish(),
    )  # fmt: skip


def test_a_failure_with_a_long_story_is_told_in_one_line():
    refused(
        squeamish_value, "{'strong'}", "the first line",
        kind=EvaluationError, estimator=Squeamish("the first line\nthe second line"),
    )  # fmt: skip


def test_a_failure_is_worth_what_the_user_said():
    valuation = squeamish_value(Squeamish(), failed=-5.0, score="neg_mean_absolute_error")
    assert valuation.games.sum(axis=1).tolist() == [-5.0, -5.0]


# Sources that fail when they are asked.


def faulty(fault: str, n_features: int, good_draws: int) -> sb.FunctionSource:
    """Give a source that works a few times, and then does not."""
    state = {"asked": 0}

    def draw(size: int, rng: np.random.Generator) -> Any:
        state["asked"] += 1
        X = rng.normal(size=(size, n_features))
        y = X.sum(axis=1)
        if state["asked"] <= good_draws:
            return X, y
        match fault:
            case "raises":
                raise ConnectionError("the line is dead")
            case "few records":
                return X[1:], y[1:]
            case "many records":
                return np.vstack([X, X]), np.append(y, y)
            case "features":
                return np.hstack([X, X]), y
            case "lengths":
                return X, y[1:]
            case "X":
                return np.where(np.arange(n_features) == 0, np.nan, X), y
            case "y":
                return X, np.where(np.arange(size) == 0, np.inf, y)
            case "text":
                return X.astype(str).tolist(), ["a"] * size
            case _:
                return None

    return sb.FunctionSource(draw)


FAULTS = ["raises", "few records", "many records", "features", "lengths", "X", "y", "nothing"]


@settings(max_examples=80, deadline=None)
@given(setups(), st.sampled_from(FAULTS), st.data())
def test_a_source_that_fails_is_named(setup, fault, data):
    good = data.draw(st.integers(0, 2)) if isinstance(setup.sampling, sb.Fresh) else 0
    at = data.draw(st.integers(0, len(setup.sources)))
    bad = sb.Provider("broken", faulty(fault, setup.n_features, good))
    providers = [*setup.providers[:at], bad, *setup.providers[at:]]
    chunk_size = data.draw(st.sampled_from([None, 1, 2]))
    message = refused(
        setup.value, "'broken'", kind=SourceError, providers=providers, chunk_size=chunk_size
    )
    assert not any(repr(name) in message for name in NAMES)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
def test_a_source_of_other_features_than_expected_is_named_by_every_sampling(sampling):
    providers = [
        sb.Provider("steady", CountedDraws(2)),
        sb.Provider("broken", faulty("features", 2, good_draws=0)),
    ]
    refused(
        sb.value, "'broken'", kind=SourceError,
        providers=providers, utility=sb.LinearUtility(np.eye(2), [1.0, 2.0]), sampling=sampling,
        n_games=3, seed=0,
    )  # fmt: skip


@pytest.mark.parametrize("chunk_size", [None, 1])
@pytest.mark.parametrize("at", [0, 1])
def test_a_source_that_changes_its_features_is_named_where_any_features_will_do(at, chunk_size):
    providers = [sb.Provider("steady", CountedDraws(2))]
    providers.insert(at, sb.Provider("broken", faulty("features", 2, good_draws=1)))
    message = refused(
        sb.value, "'broken'", kind=SourceError,
        providers=providers, utility=sb.FunctionUtility(lambda X, y: y.mean()),
        sampling=sb.Fresh(3), n_games=3, seed=0, chunk_size=chunk_size,
    )  # fmt: skip
    assert "'steady' gave" not in message


@pytest.mark.parametrize("chunk_size", [None, 1])
def test_a_lonely_source_that_changes_its_features_is_named(chunk_size):
    refused(
        sb.value, "'broken'", kind=SourceError,
        providers=[sb.Provider("broken", faulty("features", 2, good_draws=1))],
        utility=sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=3, seed=0,
        chunk_size=chunk_size,
    )  # fmt: skip


@pytest.mark.parametrize("sampling", SAMPLINGS[:2], ids=repr)
def test_a_source_that_gives_labels_where_numbers_are_needed_is_named(sampling):
    def draw(size, rng):
        return rng.normal(size=(size, 1)), ["a"] * size

    refused(
        sb.value, "'broken'", "targets", kind=SourceError,
        providers=[sb.Provider("broken", sb.FunctionSource(draw))],
        utility=sb.LinearUtility([[1.0], [2.0]], [1.0, 2.0]), sampling=sampling, n_games=3, seed=0,
    )  # fmt: skip


class Leaky(Counted):
    """A finite source that lets NaN through, as a database may."""

    def __init__(self, X: Any, y: Any, where: str) -> None:
        super().__init__(X, y)
        self._where = where

    def take(self, rows: Any) -> Batch:
        batch = super().take(rows)
        X, y = batch.X.copy(), batch.y.copy()
        if self._where == "X":
            X[0, 0] = np.nan
        else:
            y[0] = np.nan
        return Batch(X, y)


@pytest.mark.parametrize("where", ["X", "y"])
@pytest.mark.parametrize("sampling", SAMPLINGS[:2], ids=repr)
@pytest.mark.parametrize(
    "made_by", [sb.LinearUtility, sb.NeighborUtility], ids=lambda u: u.__name__
)
def test_a_source_of_ones_own_that_gives_nan_is_named(made_by, sampling, where):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    providers = [
        sb.Provider("sound", Counted(X, y)),
        sb.Provider("leaky", Leaky(X, y, where)),
    ]
    refused(
        sb.value, "'leaky'", kind=SourceError,
        providers=providers, utility=made_by(X, y), sampling=sampling, n_games=3, seed=0,
    )  # fmt: skip


def test_a_source_that_fails_with_a_long_story_is_told_in_one_line():
    def draw(size, rng):
        raise RuntimeError("the first line\nthe second line")

    refused(
        sb.value, "'broken'", "the first line", kind=SourceError,
        providers=[sb.Provider("broken", sb.FunctionSource(draw))],
        utility=sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=3, seed=0,
    )  # fmt: skip


@pytest.mark.parametrize("thing", [None, 3, "draw"], ids=str)
def test_sources_of_the_wrong_things_are_refused(thing):
    refused(sb.FunctionSource, "FunctionSource", "draw", draw=thing)
    refused(sb.DistributionSource, "DistributionSource", "distribution", distribution=thing)
    refused(sb.FrameSource, "frame", frame=thing, target="y")
    refused(sb.providers_from_frame, "frame", frame=thing, by="site", target="y")
    refused(sb.with_delay, "source", source=thing, seconds=0.0)


@pytest.mark.parametrize("label", [3, "first"], ids=str)
def test_a_label_that_is_no_function_is_refused(label):
    refused(sb.DistributionSource, "label", distribution=norm(), label=label)


@pytest.mark.parametrize("seconds", [-0.1, np.nan, np.inf, "long", None], ids=str)
def test_a_delay_that_is_no_time_is_refused(seconds):
    source = sb.ArraySource([1.0], [1.0])
    refused(sb.with_delay, "with_delay", "seconds", source=source, seconds=seconds)


# Reading the answer.


@few
@given(
    st.floats(max_value=0.0)
    | st.floats(min_value=1.0)
    | st.just(np.nan)
    | st.sampled_from([95, None, "0.95", True, [0.95]])
)
def test_a_level_outside_its_range_is_refused(level):
    providers = [sb.Provider("north", sb.ArraySource([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]))]
    valuation = sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(1), n_games=4, seed=0)
    assert np.isfinite(valuation.interval(0.95)).all()
    refused(valuation.interval, "level", level=level)
    refused(valuation.variance_interval, "level", level=level)
    refused(valuation.to_frame, "level", level=level)
