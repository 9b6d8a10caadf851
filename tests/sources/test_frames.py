"""Data frames of pandas and polars, from the source to the utility."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.counted import Counted

import shapband as sb
from shapband.errors import InvalidInput, SourceError

# Models are scored on the records of a provider, which these tests do not depend on.
pytestmark = pytest.mark.filterwarnings("ignore::shapband.errors.HeldRows")

kinds = pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])


def numbers(n: int = 60) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=n), rng.normal(size=n)
    site = np.array(["oslo", "bonn", "lyon"])[np.arange(n) % 3]
    return {"a": a, "site": site, "b": b, "y": 2 * a - b + rng.normal(size=n)}


def mixed(n: int = 60) -> dict[str, Any]:
    table = numbers(n)
    ward = np.array(["red", "green", "blue", "rare"])[np.arange(n) % 7 % 4]
    return {**table, "ward": ward, "y": table["y"] + 3.0 * (ward == "red")}


def features_of(table: dict[str, Any]) -> dict[str, Any]:
    return {name: table[name] for name in ("a", "b", "ward")}


def arrays_of(table: dict[str, Any]) -> list[sb.Provider]:
    X = np.column_stack([table["a"], table["b"]])
    return [
        sb.Provider(
            name, sb.ArraySource(X[table["site"] == name], table["y"][table["site"] == name])
        )
        for name in ("bonn", "lyon", "oslo")
    ]


def pipeline(impute: bool = False) -> Pipeline:
    scale = make_pipeline(SimpleImputer(), StandardScaler()) if impute else StandardScaler()
    columns = ColumnTransformer(
        [("number", scale, ["a", "b"]), ("name", OneHotEncoder(handle_unknown="ignore"), ["ward"])]
    )
    return make_pipeline(columns, LinearRegression())


@kinds
def test_a_frame_is_split_into_providers_by_a_column(kind):
    frame = kind(numbers())
    providers = sb.providers_from_frame(frame, by="site", target="y")
    assert [provider.name for provider in providers] == ["bonn", "lyon", "oslo"]
    assert [provider.source.size for provider in providers] == [20, 20, 20]
    for provider, array in zip(providers, arrays_of(numbers()), strict=True):
        assert provider.source.schema.columns == ("a", "b")
        assert isinstance(provider.source.records.X, kind)
        np.testing.assert_array_equal(provider.source.records.numeric(), array.source.records.X)
        np.testing.assert_array_equal(provider.source.records.y, array.source.records.y)


@kinds
def test_the_names_of_providers_come_from_any_column_of_labels(kind):
    frame = kind({"year": [2021, 2020, 2021], "x": [1.0, 2.0, 3.0], "y": [1, 0, 1]})
    providers = sb.providers_from_frame(frame, by="year", target="y")
    assert [(p.name, p.source.size) for p in providers] == [("2020", 1), ("2021", 2)]


@kinds
@pytest.mark.parametrize(
    "sampling",
    [sb.Fresh(8), sb.Pooled(15, 8), sb.Pooled(16, 8, replace=False), sb.Stratified(15, 8, 0.8)],
    ids=lambda s: type(s).__name__,
)
def test_a_numeric_frame_gives_the_same_bits_as_arrays(kind, sampling):
    table = numbers()
    X_val, y_val = np.random.default_rng(1).normal(size=(30, 2)), np.linspace(-1, 1, 30)
    of_arrays = sb.value(
        arrays_of(table), sb.LinearUtility(X_val, y_val), sampling=sampling, n_games=6, seed=3
    )
    of_frames = sb.value(
        sb.providers_from_frame(kind(table), by="site", target="y"),
        sb.LinearUtility(kind({"a": X_val[:, 0], "b": X_val[:, 1]}), y_val),
        sampling=sampling, n_games=6, seed=3,
    )  # fmt: skip
    assert of_frames.games.tobytes() == of_arrays.games.tobytes()
    assert of_arrays.games.std() > 0


@kinds
def test_mixed_frames_reach_a_pipeline_as_frames(kind):
    frame = kind(mixed())
    X_val = kind({name: column[:20] for name, column in features_of(mixed(90)).items()})
    y_val = mixed(90)["y"][:20]
    providers = sb.providers_from_frame(frame, by="site", target="y")
    utility = sb.EstimatorUtility(pipeline(), X_val, y_val)
    valuation = sb.value(providers, utility, sampling=sb.Pooled(20, 12), n_games=2, seed=0)
    assert np.isfinite(valuation.games).all()
    # Everybody together: the same pipeline, fitted by hand to the same records.
    alone = sb.value(providers, utility, sampling=sb.Fresh(20), n_games=2, seed=0)
    features = kind(features_of(mixed()))
    by_hand = pipeline().fit(features, mixed()["y"]).score(X_val, y_val)
    np.testing.assert_allclose(alone.games.sum(axis=1), by_hand, rtol=1e-9)


class KindOfRows(RegressorMixin, BaseEstimator):
    """An estimator that only looks at what it is given."""

    types: ClassVar[set[Any]] = set()

    def fit(self, X: Any, y: Any) -> KindOfRows:
        self.types.add((type(X), tuple(X.columns)))
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))


@kinds
def test_an_estimator_sees_frames_of_the_kind_it_was_given(kind):
    KindOfRows.types.clear()
    table = mixed()
    providers = sb.providers_from_frame(kind(table), by="site", target="y")
    X_val = kind(features_of(table))
    utility = sb.EstimatorUtility(KindOfRows(), X_val, table["y"])
    sb.value(providers, utility, sampling=sb.Fresh(3), n_games=2, seed=0)
    assert KindOfRows.types == {(kind, ("a", "b", "ward"))}


@kinds
def test_the_order_of_columns_may_not_differ_from_the_validation_rows(kind):
    table = mixed()
    providers = sb.providers_from_frame(kind(table), by="site", target="y")
    X_val = kind({name: table[name] for name in ("ward", "b", "a")})
    utility = sb.EstimatorUtility(pipeline(), X_val, table["y"])
    with pytest.raises(InvalidInput, match="'bonn' has the columns a, b, ward"):
        sb.value(providers, utility, sampling=sb.Fresh(3), n_games=2, seed=0)


@kinds
def test_frames_meet_frames_in_an_estimator(kind):
    table = numbers()
    providers = sb.providers_from_frame(kind(table), by="site", target="y")
    utility = sb.EstimatorUtility(LinearRegression(), np.ones((5, 2)), np.arange(5.0))
    with pytest.raises(InvalidInput, match=r"'bonn'.*data frame for both"):
        sb.value(providers, utility, sampling=sb.Fresh(3), n_games=2, seed=0)


def with_holes(kind: Any) -> Any:
    table = mixed()
    holes = [None if i % 9 == 0 else float(a) for i, a in enumerate(table["a"])]
    return kind({**table, "a": holes})


@kinds
def test_missing_values_reach_a_pipeline_that_imputes_them(kind):
    table = mixed()
    providers = sb.providers_from_frame(with_holes(kind), by="site", target="y")
    X_val = kind(features_of(table))
    utility = sb.EstimatorUtility(pipeline(impute=True), X_val, table["y"])
    valuation = sb.value(providers, utility, sampling=sb.Fresh(20), n_games=2, seed=0)
    holes = with_holes(kind)
    features = holes[["a", "b", "ward"]]
    by_hand = pipeline(impute=True).fit(features, table["y"]).score(X_val, table["y"])
    np.testing.assert_allclose(valuation.games.sum(axis=1), by_hand, rtol=1e-9)


@kinds
@pytest.mark.parametrize(
    "made_by", [sb.LinearUtility, sb.NeighborUtility], ids=lambda u: u.__name__
)
def test_missing_values_are_refused_before_any_request_where_numbers_are_needed(kind, made_by):
    frame = with_holes(kind)
    frame = frame[["a", "b", "y"]]
    providers = [
        sb.Provider(
            "whole", whole := Counted(sb.FrameSource(kind(numbers())[["a", "b", "y"]], "y"))
        ),
        sb.Provider("holed", sb.FrameSource(frame, "y")),
    ]
    utility = made_by(np.ones((5, 2)), np.arange(5.0) / 2)
    with pytest.raises(
        InvalidInput, match=r"'holed'.*missing or infinite values: impute them"
    ) as caught:
        sb.value(providers, utility, sampling=sb.Fresh(3), n_games=2, seed=0)
    assert "\n" not in str(caught.value)
    assert whole.asked == 0


@kinds
def test_missing_values_are_refused_before_any_request_by_a_classification(kind):
    labels = np.array(["yes", "no"])[np.arange(60) % 2]
    holed = kind({"a": [None, *numbers()["a"][1:].tolist()], "y": labels})
    whole = Counted(sb.FrameSource(kind({"a": numbers()["a"], "y": labels}), "y"))
    providers = [
        sb.Provider("whole", whole),
        sb.Provider("holed", sb.FrameSource(holed, "y")),
    ]
    utility = sb.NeighborUtility(np.arange(4.0), ["yes", "no"] * 2, task="classification")
    with pytest.raises(InvalidInput, match="'holed'"):
        sb.value(providers, utility, sampling=sb.Fresh(50), n_games=2, seed=0)
    assert whole.asked == 0


@kinds
@pytest.mark.parametrize(
    "made_by", [sb.LinearUtility, sb.NeighborUtility], ids=lambda u: u.__name__
)
def test_missing_values_that_show_late_are_the_provider_s_fault(kind, made_by):
    frame = kind({"a": [1.0, None, 3.0, 4.0], "y": [1.0, 2.0, 3.0, 4.0]})
    source = sb.with_delay(sb.FrameSource(frame, "y"), 0.0)
    providers = [
        sb.Provider(
            "whole", sb.FrameSource(kind({"a": [1.0, 2.0, 4.0, 7.0], "y": [1.0] * 4}), "y")
        ),
        sb.Provider("holed", source),
    ]
    utility = made_by(np.arange(4.0), np.arange(4.0) / 2)
    with pytest.raises(SourceError, match="'holed'"):
        sb.value(providers, utility, sampling=sb.Fresh(4), n_games=2, seed=0)


@kinds
def test_words_that_show_late_are_the_provider_s_fault(kind):
    frame = kind({"a": ["red", "green", "blue"], "y": [1.0, 2.0, 3.0]})
    providers = [sb.Provider("wordy", sb.with_delay(sb.FrameSource(frame, "y"), 0.0))]
    with pytest.raises(SourceError, match="'wordy'"):
        sb.value(
            providers, sb.LinearUtility([1.0, 2.0], [1.0, 2.0]),
            sampling=sb.Fresh(3), n_games=2, seed=0,
        )  # fmt: skip


@kinds
def test_words_are_refused_before_any_request_where_numbers_are_needed(kind):
    table = mixed()
    providers = sb.providers_from_frame(kind(table), by="site", target="y")
    utility = sb.LinearUtility(np.ones((5, 3)), np.arange(5.0))
    with pytest.raises(InvalidInput, match=r"'bonn'.*numeric features.*encode"):
        sb.value(providers, utility, sampling=sb.Fresh(3), n_games=2, seed=0)


@kinds
def test_a_bootstrap_keeps_duplicates(kind):
    frame = kind({"a": [1.0, 2.0], "ward": ["red", "blue"], "y": [3.0, 4.0]})
    providers = [sb.Provider("small", sb.FrameSource(frame, "y"))]
    seen = []

    def count(X, y):
        seen.append(list(zip(X["a"].to_list(), X["ward"].to_list(), y.tolist(), strict=True)))
        return float(len(X))

    with pytest.warns(sb.errors.RepeatedRecords, match="small has 2 different ones for draws of 9"):
        valuation = sb.value(
            providers, sb.FunctionUtility(count), sampling=sb.Pooled(2, 9), n_games=5, seed=0
        )
    assert valuation.games.ravel().tolist() == [9.0] * 5
    assert valuation.pool_sizes.tolist() == [2]
    assert {row for rows in seen for row in rows} == {(1.0, "red", 3.0), (2.0, "blue", 4.0)}
    assert len({tuple(rows) for rows in seen}) > 1


@kinds
def test_a_column_that_one_provider_lacks_altogether_can_be_stratified(kind):
    full = kind({"a": [1.0, 2.0, 3.0], "b": [1.0, 5.0, 9.0], "y": [1.0, 2.0, 3.0]})
    lacking = kind({"a": [1.0, 2.0, 3.0], "b": [np.nan] * 3, "y": [1.0, 2.0, 3.0]})
    providers = [
        sb.Provider("full", sb.FrameSource(full, "y")),
        sb.Provider("lacking", sb.FrameSource(lacking, "y")),
    ]
    sampling = sb.Stratified(n_pool=3, n_boot=2, alpha=1.0)
    utility = sb.FunctionUtility(lambda X, y: float(len(X)))
    valuation = sb.value(providers, utility, sampling=sampling, n_games=2, seed=0)
    assert valuation.draw_sizes.sum() == 4
    assert valuation.draw_sizes[0] >= valuation.draw_sizes[1] >= 1


@kinds
def test_rows_without_replacement_are_distinct_and_keep_their_targets(kind):
    frame = kind({"a": np.arange(10.0), "y": 10 * np.arange(10.0)})
    seen = []

    def look(X, y):
        seen.append(X["a"].to_list())
        assert (10 * X["a"].to_numpy() == y).all()
        return 1.0

    providers = [sb.Provider("ten", sb.FrameSource(frame, "y"))]
    sb.value(providers, sb.FunctionUtility(look), sampling=sb.Fresh(7), n_games=8, seed=0)
    assert len(seen) == 8
    assert all(len(set(rows)) == 7 for rows in seen)


def test_the_index_of_a_pandas_frame_plays_no_part():
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]})
    utility = sb.FunctionUtility(lambda X, y: float((X["a"].to_numpy() * y).sum()))
    games = [
        sb.value(
            [sb.Provider("p", sb.FrameSource(frame, "y"))], utility,
            sampling=sb.Pooled(3, 2), n_games=6, seed=0,
        ).games.tolist()
        for frame in (table, table.set_axis([7, 7, 0]), table.set_axis(["x", "y", "z"]))
    ]  # fmt: skip
    assert games[0] == games[1] == games[2]


def test_whole_and_broken_numbers_of_polars_can_be_joined():
    whole = pl.DataFrame({"a": [1, 2, 3], "y": [1.0, 2.0, 3.0]})
    broken = pl.DataFrame({"a": [1.5, 2.5, 3.5], "y": [1.0, 2.0, 3.0]})
    providers = [
        sb.Provider("whole", sb.FrameSource(whole, "y")),
        sb.Provider("broken", sb.FrameSource(broken, "y")),
    ]
    utility = sb.EstimatorUtility(LinearRegression(), broken[["a"]], broken["y"])
    valuation = sb.value(providers, utility, sampling=sb.Fresh(3), n_games=2, seed=0)
    assert np.isfinite(valuation.games).all()


@kinds
def test_columns_that_are_not_there_are_named(kind):
    frame = kind(numbers())
    with pytest.raises(InvalidInput, match="by='town' is not a column; there are a, site, b, y"):
        sb.providers_from_frame(frame, by="town", target="y")
    with pytest.raises(InvalidInput, match="target='z' is not a column"):
        sb.providers_from_frame(frame, by="site", target="z")
    with pytest.raises(InvalidInput, match="by and target are both 'y'"):
        sb.providers_from_frame(frame, by="y", target="y")
    with pytest.raises(InvalidInput, match="must have a column besides the target"):
        sb.FrameSource(kind({"y": [1.0]}), target="y")


@kinds
def test_records_of_nobody_are_refused(kind):
    for owners in (["a", None, "b"], [1, None, 2]):
        frame = kind({"site": owners, "x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]})
        with pytest.raises(InvalidInput, match="'site' holds missing values"):
            sb.providers_from_frame(frame, by="site", target="y")


def test_records_of_nobody_are_refused_where_polars_says_nan():
    frame = pl.DataFrame({"site": [1.0, np.nan], "x": [1.0, 2.0], "y": [1.0, 2.0]})
    with pytest.raises(InvalidInput, match="'site' holds missing values"):
        sb.providers_from_frame(frame, by="site", target="y")


def test_owners_of_several_types_are_sorted_by_their_names():
    frame = pd.DataFrame({"site": [1, "a"], "x": [1.0, 2.0], "y": [1.0, 2.0]})
    providers = sb.providers_from_frame(frame, by="site", target="y")
    assert [provider.name for provider in providers] == ["1", "a"]


def test_columns_named_by_numbers_are_told_clearly():
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(InvalidInput, match="target='y' is not a column"):
        sb.FrameSource(frame, target="y")


def test_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", "y"])
    with pytest.raises(InvalidInput, match="'a'"):
        sb.FrameSource(frame, target="y")


def test_a_missing_target_names_its_provider():
    frame = pd.DataFrame({"site": ["a", "b"], "x": [1.0, 2.0], "price": [1.0, np.nan]})
    with pytest.raises(InvalidInput, match="'b'"):
        sb.providers_from_frame(frame, by="site", target="price")
