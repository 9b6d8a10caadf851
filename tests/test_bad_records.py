"""Records that no source and no utility can take, and what is said of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

import shapband as sb
from tests.bad_input import (
    counted,
    few,
    not_finite,
    refused,
    refused_unasked,
    setups,
)


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
    ("made_by", "options"),
    [(sb.LinearUtility, {}), (sb.NeighborUtility, {"task": "regression"})],
    ids=["linear", "neighbors"],
)
def test_validation_labels_where_numbers_are_needed_are_refused(made_by, options):
    arguments = {"X_val": [[1.0], [2.0]], "y_val": ["a", "b"], **options}
    refused(made_by, made_by.__name__, "y_val", **arguments)


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
        sb.Provider("known", known := counted(X, ["b", "a"] * 3)),
        sb.Provider("strange", sb.ArraySource(X, ["a", "moose"] * 3)),
    ]
    assert sb.value(providers[:1], utility, sampling=sb.Fresh(6), n_games=2, seed=0).n_games == 2
    known.asked = 0
    refused(
        sb.value, "'strange'", "moose",
        providers=providers, utility=utility, sampling=sb.Fresh(6), n_games=2, seed=0,
    )  # fmt: skip
    assert known.asked == 0
