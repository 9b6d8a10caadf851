"""Data frames in black boxes: the same answers as from scikit-learn, with little work between."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from tests.conftest import plain_id

import shapband as sb
from shapband.records.batch import Batch, concat
from shapband.utilities.base import CoalitionFailed
from shapband.utilities.models import is_plain, names_columns

LIBRARIES = [pd.DataFrame, pl.DataFrame]


def table(n_rows, seed, *, words=False, missing=False):
    rng = np.random.default_rng(seed)
    columns = {name: rng.normal(size=n_rows) for name in "abc"}
    columns["age"] = rng.integers(0, 90, n_rows)
    if words:
        columns["ward"] = np.where(rng.random(n_rows) < 0.5, "east", "west")
    if missing:
        columns["b"][::4] = np.nan
    return columns, columns["a"] - columns["c"] + 0.1 * rng.normal(size=n_rows)


def frames(library, sizes=(12, 9, 1), **options):
    """Draws of providers and validation rows."""
    made = [table(size, seed, **options) for seed, size in enumerate((*sizes, 40))]
    *draws, validation = [Batch(library(X), y) for X, y in made]
    return draws, validation


def providers(library, **options):
    def source(seed):
        X, y = table(30, seed, **options)
        return sb.FrameSource(library({**X, "y": y}), target="y")

    return [sb.Provider(f"site {seed}", source(seed)) for seed in range(3)]


MODELS = [
    LinearRegression(),
    make_pipeline(StandardScaler(), Ridge()),
    make_pipeline(StandardScaler(copy=False), Ridge(copy_X=False)),
    make_pipeline(MinMaxScaler(), PolynomialFeatures(2), Lasso(0.01)),
    make_pipeline(StandardScaler().set_output(transform="pandas"), Ridge()),
    KNeighborsRegressor(1),
    SVR(),
    DecisionTreeRegressor(max_depth=3, random_state=0),
    RandomForestRegressor(n_estimators=3, random_state=0),
    HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=2),
]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("model", MODELS, ids=plain_id)
def test_values_are_those_of_scikit_learn_on_the_frames_to_the_last_bit(model, library):
    draws, rows = frames(library)
    utility = sb.EstimatorUtility(model, rows.X, rows.y, empty=0.0)
    coalitions = range(1, 8)
    expected = []
    for mask in coalitions:
        union = concat([draws[i] for i in sb.extend.members(mask)])
        expected.append(clone(model).fit(union.X, union.y).score(rows.X, rows.y))
    assert utility._numbers is not None  # models get arrays
    for _ in range(2):
        np.testing.assert_array_equal(utility.evaluate(draws, coalitions), expected)


@pytest.mark.parametrize("library", LIBRARIES)
def test_missing_numbers_reach_the_imputer_and_are_refused_by_others(library):
    draws, rows = frames(library, missing=True)
    model = make_pipeline(SimpleImputer(), Ridge())
    union = concat(draws)
    utility = sb.EstimatorUtility(model, rows.X, rows.y)
    assert utility.evaluate(draws, [7])[0] == model.fit(union.X, union.y).score(rows.X, rows.y)
    refusing = sb.EstimatorUtility(Ridge(), frames(library)[1].X, rows.y, failed=-1.0)
    assert refusing.evaluate(frames(library)[0], [1])[0] > -1.0  # a fit that checks parameters
    np.testing.assert_array_equal(refusing.evaluate(draws, [1, 7]), -1.0)


class Names(LinearRegression):
    """Refuses arrays, as code that selects columns by name would."""

    def fit(self, X, y):
        return super().fit(X[["a", "c"]], y)

    def score(self, X, y):
        return super().score(X[["a", "c"]], y)


@pytest.mark.parametrize("library", LIBRARIES)
def test_models_and_scores_that_use_names_get_frames(library):
    draws, rows = frames(library, words=True)
    by_type = ColumnTransformer(
        [
            ("numbers", StandardScaler(), make_column_selector(dtype_exclude=[str, object])),
            ("words", OneHotEncoder(handle_unknown="ignore"), ["ward"]),
        ]
    )
    if library is pd.DataFrame:
        union = concat(draws)
        model = make_pipeline(by_type, Ridge())
        expected = clone(model).fit(union.X, union.y).score(rows.X, rows.y)
        utility = sb.EstimatorUtility(model, rows.X, rows.y)
        assert utility.evaluate(draws, [7]) == expected
    draws, rows = frames(library)
    own = sb.EstimatorUtility(Names(), rows.X, rows.y)
    assert np.isfinite(own.evaluate(draws, [1, 3])).all()

    def by_name(model, X, y):
        assert list(model.feature_names_in_) == list(X.columns)
        return model.score(X, y)

    scored = sb.EstimatorUtility(Ridge(), rows.X, rows.y, by_name)
    assert scored.evaluate(draws, [3]) == sb.EstimatorUtility(Ridge(), rows.X, rows.y).evaluate(
        draws, [3]
    )
    boosting = HistGradientBoostingRegressor(monotonic_cst={"a": 1})
    assert np.isfinite(sb.EstimatorUtility(boosting, rows.X, rows.y).evaluate(draws, [3])).all()


class Costly(sb.EstimatorUtility):
    """Subtracts a price of records."""

    def score(self, batch):
        return super().score(batch) - 0.01 * len(batch.X[["a"]])


def test_a_score_of_a_subclass_gets_frames():
    draws, rows = frames(pd.DataFrame)
    plain = sb.EstimatorUtility(Ridge(), rows.X, rows.y).evaluate(draws, [3])
    costly = Costly(Ridge(), rows.X, rows.y).evaluate(draws, [3])
    np.testing.assert_allclose(costly, plain - 0.01 * (len(draws[0]) + len(draws[1])))


@pytest.mark.parametrize(
    ("model", "plain", "names"),
    [
        (ColumnTransformer([("a", "passthrough", ["a"])]), True, True),
        (ColumnTransformer([("a", OneHotEncoder(), [0])]), True, True),
        (make_pipeline(StandardScaler(), Ridge()), True, False),
        (HistGradientBoostingRegressor(categorical_features=["a"]), True, True),
        (HistGradientBoostingRegressor(monotonic_cst={"a": 1}), False, False),
        (GridSearchCV(Ridge(), {"alpha": [1.0]}), False, False),
        (FunctionTransformer(np.log), False, False),
        (make_pipeline(FunctionTransformer(np.log), Ridge()), False, False),
        (KNeighborsRegressor(metric=lambda a, b: 0.0), False, False),
        (Ridge(random_state=np.random.RandomState(0)), False, False),
        (Names(), False, False),
    ],
    ids=lambda thing: plain_id(thing).split(" at 0x")[0],
)
def test_what_is_known_of_models(model, plain, names):
    assert is_plain(model) == plain
    assert names_columns(model, {"a", "b"}) == names


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_in_another_order_are_still_refused(library):
    draws, rows = frames(library)
    mixed_up = [Batch(draw.X[["c", "b", "a", "age"]], draw.y) for draw in draws]
    utility = sb.EstimatorUtility(Ridge(), rows.X, rows.y)
    assert np.isfinite(utility.evaluate(draws, [1, 7])).all()
    for coalition in (1, 7):
        with pytest.raises(CoalitionFailed, match="order"):
            utility.evaluate(mixed_up, [coalition])


def test_arrays_where_frames_are_expected_are_still_warned_of():
    draws, rows = frames(pd.DataFrame)
    utility = sb.EstimatorUtility(Ridge(), rows.X, rows.y)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        utility.evaluate([Batch(draws[0].X.to_numpy(), draws[0].y)], [1])


# Work


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("words", [False, True])
def test_layouts_of_frames_are_found_once_for_all_coalitions(library, words, monkeypatch):
    found = []
    layout = Batch.__dict__["layout"]
    look = layout.func
    monkeypatch.setattr(layout, "func", lambda batch: found.append(1) or look(batch))
    draws, rows = frames(library, words=words)
    model = Ridge()
    if words:
        encoded = ColumnTransformer([("w", OneHotEncoder(handle_unknown="ignore"), ["ward"])])
        model = make_pipeline(encoded, Ridge())
    utility = sb.EstimatorUtility(model, rows.X, rows.y)
    monkeypatch.setattr(nw, "concat", None)  # it would find the types of all frames again
    utility.evaluate(draws, range(1, 8))
    assert len(found) == len(draws) + 1  # and the validation rows


def test_frames_of_different_types_are_still_joined():
    whole, broken = pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [0.5, np.nan]})
    joined = concat([Batch(whole, np.ones(2)), Batch(broken, np.ones(2))])
    assert joined.X["a"].dtype == np.float64
    small = pl.DataFrame({"a": [1, 2]}, schema={"a": pl.Int8})
    joined = concat([Batch(small, np.ones(2)), Batch(pl.DataFrame({"a": [0.5]}), np.ones(1))])
    assert joined.X["a"].to_list() == [1.0, 2.0, 0.5]
    utility = sb.EstimatorUtility(Ridge(), broken.fillna(0.0), np.arange(2.0), failed=-1.0)
    draws = [Batch(whole, np.arange(2.0)), Batch(broken.fillna(1.0), np.arange(2.0))]
    assert utility.evaluate(draws, [3])[0] > -1.0


def test_parameters_are_checked_at_the_first_fit_only(monkeypatch):
    checks = []
    check = Ridge._validate_params
    monkeypatch.setattr(Ridge, "_validate_params", lambda m: checks.append(1) or check(m))
    draws, rows = frames(pd.DataFrame)
    utility = sb.EstimatorUtility(make_pipeline(StandardScaler(), Ridge()), rows.X, rows.y)
    utility.evaluate(draws, range(1, 8))
    assert len(checks) == 1
    checks.clear()
    wrong = sb.EstimatorUtility(Ridge(alpha=-1.0), rows.X, rows.y, failed=-5.0)
    np.testing.assert_array_equal(wrong.evaluate(draws, [1, 3, 7]), -5.0)
    assert len(checks) == 3


def test_a_search_still_refuses_invalid_parameters():
    """Ridge would fit with a negative alpha, and win, if nothing looked at it."""
    draws, rows = frames(pd.DataFrame)
    search = GridSearchCV(Ridge(), {"alpha": [1.0, -0.5]}, cv=2, error_score=-1e9)
    utility = sb.EstimatorUtility(search, rows.X, rows.y)
    with pytest.warns(match="fits failed"):
        first, second = utility.evaluate(draws, [3, 3])
    assert first == second


def test_numbers_that_become_infinite_inside_a_pipeline_are_still_refused():
    model = make_pipeline(FunctionTransformer(np.log), DecisionTreeRegressor(random_state=0))
    X, y = np.arange(1.0, 7.0).reshape(-1, 1), np.arange(6.0)
    utility = sb.EstimatorUtility(model, X, y, failed=-1.0)
    with np.errstate(divide="ignore"):
        values = utility.evaluate([Batch(X, y), Batch(X - 1.0, y)], [1, 2, 3])
    assert values[0] == 1.0
    np.testing.assert_array_equal(values[1:], -1.0)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_valuation_of_frames_is_that_of_arrays(library):
    rows = Batch(library(table(40, 9)[0]), table(40, 9)[1])
    arguments = {"sampling": sb.Fresh(8), "n_games": 3, "seed": 0}
    model = make_pipeline(StandardScaler(), Ridge())
    framed = sb.value(providers(library), sb.EstimatorUtility(model, rows.X, rows.y), **arguments)
    sources = [provider.source.records for provider in providers(library)]
    arrays = [
        sb.Provider(f"site {seed}", sb.ArraySource(batch.X.to_numpy(), batch.y))
        for seed, batch in enumerate(sources)
    ]
    utility = sb.EstimatorUtility(model, rows.X.to_numpy(), rows.y)
    np.testing.assert_allclose(
        framed.games, sb.value(arrays, utility, **arguments).games, atol=1e-12
    )
