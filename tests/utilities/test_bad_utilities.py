"""Utilities that cannot be made, that do not suit the providers, or that fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from tests.bad_input import (
    NAMES,
    few,
    not_finite,
    refused,
    refused_unasked,
    setups,
    wholes_below,
)

import shapband as sb
from shapband.errors import EvaluationError, InvalidInput


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


@pytest.mark.parametrize(
    "thing", [None, 3, "ridge", object()], ids=lambda thing: type(thing).__name__
)
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
    arguments = {"X_val": [[1.0], [2.0]], "y_val": [1.5, 2.0], "score": score}
    refused(sb.LinearUtility, "LinearUtility", "score", **arguments)
    refused(sb.NeighborUtility, "NeighborUtility", "score", **arguments)
    with pytest.raises(InvalidInput, match="score"):
        sb.EstimatorUtility(LinearRegression(), **arguments)


@few
@given(wholes_below(1) | st.none())
def test_a_number_of_neighbours_that_is_no_count_is_refused(k):
    refused(sb.NeighborUtility, "NeighborUtility", "k must", X_val=[[1.0]], y_val=[1.5], k=k)


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


def test_a_provider_with_whom_every_coalition_fails_is_named_although_failures_have_a_value():
    refused(
        squeamish_value, "that is too much", "without provider 'strong' they can",
        kind=EvaluationError, estimator=Squeamish(), failed=-5.0, empty=0.0,
        score="neg_mean_absolute_error",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda *rows: sb.EstimatorUtility(LinearRegression(), *rows), "EstimatorUtility"),
        (sb.LinearUtility, "LinearUtility"),
        (sb.LogisticUtility, "LogisticUtility"),
        (sb.GaussianNBUtility, "GaussianNBUtility"),
        (sb.LDAUtility, "LDAUtility"),
        (lambda *rows: sb.NeighborUtility(*rows, k=1), "NeighborUtility"),
        (sb.NetworkUtility, "NetworkUtility"),
    ],
)
def test_validation_rows_without_a_target_each_are_refused_by_the_utility_that_has_them(make, name):
    with pytest.raises(InvalidInput) as refused:
        make(np.ones((3, 2)), np.ones(2))
    told = f"{name}: y_val must be one target for each of the 3 records; received the shape (2,)"
    assert str(refused.value) == told
