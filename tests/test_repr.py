"""What sources and utilities say of themselves in one line."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shapband as sb

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
FRAME = pd.DataFrame({"a": Y, "b": Y, "y": Y})


def coin(size, rng):
    return rng.normal(size=size), rng.normal(size=size)


class Lost(sb.FiniteSource):
    replace = True

    @property
    def size(self):
        raise ConnectionError("no route")

    def take(self, rows):
        raise ConnectionError("no route")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: sb.ArraySource(X, Y), "ArraySource(6 records, 2 features)"),
        (
            lambda: sb.ArraySource(X, Y, replace=True),
            "ArraySource(6 records, 2 features, replace=True)",
        ),
        (lambda: sb.FrameSource(FRAME, "y"), "FrameSource(6 records, 2 features)"),
        (lambda: sb.FunctionSource(coin), "FunctionSource(coin)"),
        (lambda: sb.FunctionSource(coin, waits=True), "FunctionSource(coin, waits=True)"),
        (lambda: sb.DistributionSource(norm()), "DistributionSource(norm)"),
        (
            lambda: sb.DistributionSource(multivariate_normal([0.0, 1.0]), label=np.sum),
            "DistributionSource(multivariate_normal_frozen, label='sum')",
        ),
        (
            lambda: sb.with_delay(sb.ArraySource(X, Y), 0.5),
            "with_delay(ArraySource(6 records, 2 features), seconds=0.5)",
        ),
        (
            lambda: sb.with_delay(sb.FunctionSource(coin), 0.5),
            "with_delay(FunctionSource(coin), seconds=0.5)",
        ),
        (lambda: Lost(), "Lost(replace=True)"),
        (lambda: sb.AdditiveUtility(), "AdditiveUtility()"),
        (
            lambda: sb.AdditiveUtility([1.0, 2.0], empty=0.5),
            "AdditiveUtility(2 weights, empty=0.5)",
        ),
        (lambda: sb.TableUtility([0.0, 1.0]), "TableUtility(2 values)"),
        (
            lambda: sb.LinearUtility(X, Y),
            "LinearUtility(6 validation rows, 2 features, score='inverse_mse')",
        ),
        (
            lambda: sb.NeighborUtility(X, Y, k=3, task="regression", score="r2", empty=-1.0),
            "NeighborUtility(6 validation rows, 2 features, k=3, score='r2', empty=-1)",
        ),
        (
            lambda: sb.NeighborUtility(X, Y, task="classification"),
            "NeighborUtility(6 validation rows, 2 features, k=1, task='classification', "
            "empty=0.166667)",
        ),
        (
            lambda: sb.LogisticUtility(X, ["a", "b", "b"] * 2, C=0.5),
            "LogisticUtility(6 validation rows, 2 features, C=0.5, score='accuracy', "
            "empty=0.666667)",
        ),
        (
            lambda: sb.NetworkUtility(X, Y, (8, 4), seed=2),
            "NetworkUtility(6 validation rows, 2 features, hidden=(8, 4), alpha=0.0001, "
            "max_iter=200, seed=2, empty=0.166667)",
        ),
        (
            lambda: sb.EstimatorUtility(Ridge(), X, Y, "r2"),
            "EstimatorUtility(Ridge(), 6 validation rows, 2 features, score='r2')",
        ),
        (lambda: sb.FunctionUtility(len, empty=2), "FunctionUtility(len, empty=2)"),
    ],
)
def test_sources_and_utilities_say_what_they_are(make, text):
    assert repr(make()) == text


def test_a_pipeline_stays_on_one_line():
    utility = sb.EstimatorUtility(make_pipeline(StandardScaler(), Ridge()), X, Y)
    assert "\n" not in repr(utility)
    assert repr(utility).endswith("6 validation rows, 2 features)")


def test_the_set_up_of_a_valuation_keeps_the_name_of_the_utility():
    providers = [sb.Provider("a", sb.ArraySource(X, Y))]
    valuation = sb.value(
        providers, sb.AdditiveUtility(empty=1.0), sampling=sb.Fresh(2), n_games=2, seed=0
    )
    assert valuation.setup["utility"] == "AdditiveUtility"
