"""All public sources, utilities, samplings and solvers pass the conformance checks."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.linear_model import LogisticRegression, Ridge
from tests.conftest import gaussian_providers, linear_providers

import shapband as sb

X, Y = np.random.default_rng(0).normal(size=(2, 40, 1))
LABELS = np.where(Y[:, 0] > 0, "high", "low")
TABLE = {"a": [1, 2, 3, 4], "b": ["x", None, "y", "x"], "y": [0.0, 1.0, 0.5, 2.0]}


def draw(size, rng):
    x = rng.normal(size=(size, 2))
    return x, x.sum(axis=1)


SOURCES = {
    "array": sb.ArraySource(X, Y[:, 0]),
    "array, replace": sb.ArraySource(X, LABELS, replace=True),
    "one record": sb.ArraySource([[1.0]], [1.0]),
    "pandas": sb.FrameSource(pd.DataFrame(TABLE), "y"),
    "polars": sb.FrameSource(pl.DataFrame(TABLE), "y"),
    "function": sb.FunctionSource(draw),
    "waiting function": sb.FunctionSource(draw, waits=True),
    "distribution": sb.DistributionSource(norm(2.0, 1.0)),
    "distributions": sb.DistributionSource(multivariate_normal([0.0, 1.0]), lambda x: x[:, 1]),
    "delayed finite": sb.with_delay(sb.ArraySource(X, Y[:, 0]), 0.0),
    "delayed generative": sb.with_delay(sb.FunctionSource(draw), 0.0),
}
UTILITIES = {
    "additive": sb.AdditiveUtility(),
    "weighted": sb.AdditiveUtility([1.0, 2.0, 3.0], empty=0.5),
    "table": sb.TableUtility([1.0, 2.0, 4.0, 1.0, 0.0, 3.0, 5.0, 9.0]),
    "linear": sb.LinearUtility(X, Y[:, 0]),
    "linear r2": sb.LinearUtility(X, Y[:, 0], score="r2", empty=-1.0),
    "neighbors": sb.NeighborUtility(X, Y[:, 0], k=3),
    "estimator": sb.EstimatorUtility(Ridge(), X, Y[:, 0]),
    "function": sb.FunctionUtility(lambda x, y: float(np.median(y)), empty=0.1),
}
CLASSIFIERS = [
    sb.NeighborUtility(X, LABELS, k=2, task="classification"),
    sb.EstimatorUtility(LogisticRegression(), X, LABELS),
    sb.LogisticUtility(X, LABELS, score="neg_log_loss"),
    sb.GaussianNBUtility(X, LABELS, score="neg_log_loss"),
    sb.LDAUtility(X, LABELS, score="neg_log_loss"),
    sb.NetworkUtility(X, LABELS, hidden=(3,), max_iter=20),
    sb.FederatedUtility("logistic", X, LABELS, rounds=1),
    sb.FederatedUtility("network", X, LABELS, rounds=2, hidden=(3,)),
]
SAMPLINGS = [
    sb.Fresh(60),
    sb.Fresh(1),
    sb.Pooled(250, 60),
    sb.Stratified(250, 60, 0.5),
    sb.Pooled(240, 60, replace=False),
]
SOLVERS = [
    sb.Exact(),
    sb.Permutation(1),
    sb.Permutation(2),
    sb.Permutation(40),
    sb.BalancedPermutation(10),
    sb.BalancedPermutation(12),
    sb.BalancedPermutation(60),
    sb.Strata(40),
    sb.Arcs(8),
]


@pytest.mark.parametrize("name", SOURCES)
def test_our_sources_conform(name):
    sb.testing.check_source(SOURCES[name])


@pytest.mark.parametrize("name", UTILITIES)
def test_our_utilities_conform(name):
    sb.testing.check_utility(UTILITIES[name])


@pytest.mark.parametrize("utility", CLASSIFIERS, ids=repr)
def test_our_classifiers_conform(utility):
    sb.testing.check_utility(utility, [(X + i, LABELS) for i in range(4)])


def test_a_utility_of_data_frames_conforms():
    frame = pd.DataFrame({"a": X[:, 0]})
    utility = sb.EstimatorUtility(Ridge(), frame, Y[:, 0])
    sb.testing.check_utility(utility, [(frame, Y[:, 0]), sb.Batch(frame, -Y[:, 0])])


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
def test_our_samplings_conform(sampling):
    sb.testing.check_sampling(sampling)
    sb.testing.check_sampling(sampling, gaussian_providers([0.0, 1.0], [1.0, 2.0]))
    delayed = [sb.Provider(name, sb.with_delay(SOURCES["function"], 0.0)) for name in "ab"]
    sb.testing.check_sampling(sampling, delayed)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_our_solvers_conform(solver):
    sb.testing.check_solver(solver)


def public(kind):
    return {
        name
        for name in sb.__all__
        if isinstance(found := getattr(sb, name), type) and issubclass(found, kind)
    }


def test_every_public_class_is_checked_here():
    abstract = {"Source", "FiniteSource", "GenerativeSource", "Utility", "Sampling", "Solver"}
    # Known asks the utility, and serves no other; tests/solvers/test_default.py compares it.
    # Tests in tests/sources check these with a server, with files and with databases.
    elsewhere = {"Known", "HTTPSource", "FileSource", "SQLSource"}
    checked = [*SOURCES.values(), *UTILITIES.values(), *CLASSIFIERS, *SAMPLINGS, *SOLVERS]
    names = {type(thing).__name__ for thing in checked}
    assert public((sb.Source, sb.Utility, sb.Sampling, sb.Solver)) - abstract - elsewhere <= names


def test_what_a_check_cannot_use_is_refused_with_what_to_pass():
    providers, _ = linear_providers(n=2, records=20)
    with pytest.raises(sb.errors.InvalidInput, match=r"Fresh.* refuses the providers: pass others"):
        sb.testing.check_sampling(sb.Fresh(60), providers)
    with pytest.raises(sb.errors.InvalidInput, match=r"4 weights .* pass other batches"):
        sb.testing.check_utility(sb.AdditiveUtility([1.0] * 4))
    with pytest.raises(sb.errors.InvalidInput, match="batches must be 1 to 6; received 0"):
        sb.testing.check_utility(sb.AdditiveUtility(), [])
