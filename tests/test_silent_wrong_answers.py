"""Wrong numbers without a word: each numbered kind is either right or an error."""

import sys
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shapband as sb
from shapband.app.config.config import Config
from shapband.errors import EvaluationError, InvalidInput, SourceError
from tests.conftest import linear_providers


@pytest.fixture
def task():
    providers, (X_val, y_val) = linear_providers(n=3)
    return providers, X_val, y_val


def value(providers, utility, **options):
    settings = {"sampling": sb.Fresh(12), "n_games": 6, "seed": 0}
    return sb.value(providers, utility, **{**settings, **options})


# 1. Models that work in place.


@pytest.mark.parametrize(
    ("in_place", "copying"),
    [
        (Ridge(copy_X=False), Ridge()),
        (
            make_pipeline(StandardScaler(copy=False), LinearRegression()),
            make_pipeline(StandardScaler(), LinearRegression()),
        ),
    ],
    ids=["ridge", "scaler"],
)
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, pl.DataFrame], ids=["np", "pd", "pl"])
def test_1_a_model_that_works_in_place_gives_the_right_answer(task, in_place, copying, kind):
    """Number 1."""
    providers, X_val, y_val = task
    if kind is not np.asarray:
        columns = ["a", "b", "c"]
        providers = [
            sb.Provider(
                p.name,
                sb.FrameSource(
                    kind({**dict(zip(columns, p.source.records.X.T, strict=True)),
                          "y": p.source.records.y}), "y"),
            )
            for p in providers
        ]  # fmt: skip
        rows = kind(dict(zip(columns, X_val.T, strict=True)))
    else:
        rows = X_val
    kept = X_val.copy(), y_val.copy()
    found = value(providers, sb.EstimatorUtility(in_place, rows, y_val))
    expected = value(providers, sb.EstimatorUtility(copying, rows, y_val))
    np.testing.assert_allclose(found.games, expected.games, rtol=1e-9)
    np.testing.assert_array_equal(X_val, kept[0])
    np.testing.assert_array_equal(y_val, kept[1])


def test_1_scores_and_functions_may_write_into_what_they_get(task):
    """Number 1: the score of a model, and the function of a FunctionUtility."""
    providers, X_val, y_val = task

    def writing_score(model, X, y):
        error = float(np.mean((model.predict(X) - y) ** 2))
        X[:] = 0.0
        y[:] = 7.0
        return -error

    def score(model, X, y):
        return -float(np.mean((model.predict(X) - y) ** 2))

    found = value(providers, sb.EstimatorUtility(Ridge(), X_val, y_val, writing_score))
    expected = value(providers, sb.EstimatorUtility(Ridge(), X_val, y_val, score))
    np.testing.assert_array_equal(found.games, expected.games)

    def writing(X, y):
        worth = float(y.mean() + X.sum())
        X[:] = y[:] = 1e6
        return worth

    found = value(providers, sb.FunctionUtility(writing))
    expected = value(providers, sb.FunctionUtility(lambda X, y: float(y.mean() + X.sum())))
    np.testing.assert_array_equal(found.games, expected.games)


# 2. Reads past the end.


@pytest.mark.parametrize("short", ["X", "y"])
@pytest.mark.parametrize("utility", [sb.AdditiveUtility(), "linear", "neighbors"], ids=str)
def test_2_features_and_targets_of_different_lengths_are_refused(short, utility):
    """Number 2."""

    def draw(size, rng):
        X, y = rng.normal(size=(size, 2)), rng.normal(size=size)
        return (X[:-1], y) if short == "X" else (X, y[:-1])

    class Own(sb.GenerativeSource):
        def draw(self, size, rng):
            return sb.Batch(*draw(size, rng))

    X, y = np.random.default_rng(0).normal(size=(9, 2)), np.random.default_rng(1).normal(size=9)
    made = {"linear": sb.LinearUtility(X, y), "neighbors": sb.NeighborUtility(X, y)}
    for source in (Own(), sb.FunctionSource(draw)):
        with pytest.raises(SourceError, match=r"'far'.*one target for each of the"):
            value([sb.Provider("far", source)], made.get(utility, utility))


# 3. Buffers used again.


class Refilling(sb.GenerativeSource):
    """Fills and gives the same arrays at every request."""

    def __init__(self):
        self.X, self.y = np.empty((12, 3)), np.empty(12)

    def draw(self, size, rng):
        self.X[:] = rng.normal(size=(size, 3))
        self.y[:] = self.X.sum(axis=1)
        return sb.Batch(self.X, self.y)


class Careful(sb.GenerativeSource):
    def draw(self, size, rng):
        X = rng.normal(size=(size, 3))
        return sb.Batch(X, X.sum(axis=1))


@pytest.mark.parametrize("chunk_size", [1, 4, None])
def test_3_a_source_may_use_its_buffers_again(task, chunk_size):
    """Number 3: at any chunk size, and the same when a run is resumed."""
    _, X_val, y_val = task

    def games(source):
        providers = [sb.Provider("a", source), sb.Provider("b", Careful())]
        return value(providers, sb.LinearUtility(X_val, y_val), chunk_size=chunk_size).games

    np.testing.assert_array_equal(games(Refilling()), games(Careful()))


def test_3_arrays_of_the_caller_may_be_used_again(task):
    """Number 3: an ArraySource and a utility own their records."""
    _, X_val, y_val = task
    rng = np.random.default_rng(0)
    buffer, targets, providers, copies = np.empty((20, 3)), np.empty(20), [], []
    for name in "ab":
        buffer[:], targets[:] = rng.normal(size=(20, 3)), rng.normal(size=20)
        providers.append(sb.Provider(name, sb.ArraySource(buffer, targets)))
        copies.append(sb.Provider(name, sb.ArraySource(buffer.copy(), targets.copy())))
    utility = sb.LinearUtility(X_val.copy(), y_val)
    np.testing.assert_array_equal(value(providers, utility).games, value(copies, utility).games)


# 4. Scores whose nothing is not 0.


def classes(task):
    providers, X_val, y_val = task
    named = [
        sb.Provider(p.name, sb.ArraySource(p.source.records.X, p.source.records.y > 0))
        for p in providers
    ]
    return named, X_val, y_val > 0


@pytest.mark.parametrize(
    ("model", "score", "expected"),
    [
        (Ridge(), "neg_root_mean_squared_error", lambda y: -np.std(y)),
        (Ridge(), "r2", lambda y: 0.0),
        (Ridge(), None, lambda y: 0.0),
        (LogisticRegression(), "accuracy", lambda y: max(y.mean(), 1 - y.mean())),
        (
            LogisticRegression(),
            "neg_log_loss",
            lambda y: y.mean() * np.log(y.mean()) + (1 - y.mean()) * np.log(1 - y.mean()),
        ),
    ],
    ids=["rmse", "r2", "own", "accuracy", "log loss"],
)
def test_4_nobody_is_worth_what_a_dummy_model_scores(task, model, score, expected):
    """Number 4: values share what is gained over guessing."""
    providers, X_val, y_val = classes(task) if "Logistic" in repr(model) else task
    utility = sb.EstimatorUtility(model, X_val, y_val, score)
    assert utility.empty == pytest.approx(expected(y_val), abs=1e-12)
    assert utility.baseline
    found = value(providers, utility)
    assert found.expectation.sum() > 0
    assert "(a dummy model)" in str(found)
    totals = [utility.score(batch) for batch in unions(providers)]
    np.testing.assert_allclose(found.games.sum(axis=1), np.array(totals) - utility.empty)


def unions(providers):
    """The records of all providers in each of the six games of `value`."""
    from shapband.records.batch import concat
    from shapband.records.draws import RandomRows, Stream
    from shapband.seeds import Seeds

    draws = []
    for provider in providers:
        stream = Stream(Seeds(0), "draw", provider.name, range(6))
        rows = RandomRows(stream, 12, provider.source.size, replace=False).rows()
        draws.append([provider.source.take(row) for row in rows])
    return [concat(list(game)) for game in zip(*draws, strict=True)]


def test_4_a_number_is_taken_as_it_is_and_the_paper_keeps_zero(task):
    """Number 4."""
    _, X_val, y_val = task
    fixed = sb.EstimatorUtility(Ridge(), X_val, y_val, empty=0.25)
    assert (fixed.empty, fixed.baseline) == (0.25, False)
    assert sb.LinearUtility(X_val, y_val).empty == 0.0
    assert sb.LinearUtility(X_val, y_val, "neg_mse").empty == pytest.approx(-y_val.var())
    assert sb.LinearUtility(X_val, y_val, "r2").empty == 0.0
    assert sb.NeighborUtility(X_val, y_val).empty == 0.0
    labels = np.array(["a", "b", "b", "b"] * 25)
    assert sb.NeighborUtility(X_val, labels).empty == 0.75
    for task in (sb.datasets.wine(), sb.datasets.digits(), sb.datasets.synthetic(seed=0)):
        assert (task.utility.empty, task.utility.baseline) == (0.0, False)


def test_4_a_score_that_a_dummy_cannot_have_asks_for_a_number(task):
    """Number 4."""
    _, X_val, y_val = task
    with pytest.raises(InvalidInput, match=r"dummy model.*, empty=0\.0\)"):
        sb.EstimatorUtility(Ridge(), X_val, y_val, lambda model, X, y: model.coef_[0])


# 5. Fits that fail.


class Failing(RegressorMixin, BaseEstimator):
    """Cannot be fitted to few records."""

    def __init__(self, least=20):
        self.least = least

    def fit(self, X, y):
        if len(y) < self.least:
            raise ValueError("too few records")
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_5_failures_are_counted_and_printed(task, n_jobs, tmp_path):
    """Number 5: three of seven coalitions of a game are too small, in every game."""
    providers, X_val, y_val = task
    utility = sb.EstimatorUtility(Failing(), X_val, y_val, failed=0.5)
    found = value(providers, utility, n_jobs=n_jobs)
    assert (found.failures, found.evaluations) == (3 * 6, 7 * 6)
    assert "18 of 42 coalitions could not be evaluated" in str(found)
    assert sb.Valuation.from_json(found.to_json()).failures == 18
    kept = value(providers, utility, run=tmp_path / "run")
    assert sb.load(tmp_path / "run").valuation.failures == kept.failures == 18


def test_5_all_failing_is_an_error(task):
    """Number 5."""
    providers, X_val, y_val = task
    for n_games in (2, 100):
        utility = sb.EstimatorUtility(Failing(10**6), X_val, y_val, failed=0.5)
        with pytest.raises(EvaluationError, match=r"all providers together.*too few records"):
            value(providers, utility, n_games=n_games)


def test_5_a_provider_with_one_class_is_told_the_remedy(task):
    """Number 5."""
    providers, X_val, y_val = classes(task)
    X, _ = providers[0].source.records.X, None
    one_class = [sb.Provider("one class", sb.ArraySource(X, np.ones(len(X)))), *providers[1:]]
    utility = sb.EstimatorUtility(LogisticRegression(), X_val, y_val.astype(float))
    with pytest.raises(EvaluationError, match=r"\{'one class'\}.*pass failed= to EstimatorUtility"):
        value(one_class, utility)


# 6. Input that means something else.


def test_6_a_csv_with_a_header_twice_is_refused(tmp_path):
    """Number 6."""
    (tmp_path / "x.csv").write_text("x,t,t\n1,2,2\n2,3,3\n3,5,5\n")
    config = Config.parse(
        'providers = [{ name = "a", source = { kind = "csv", path = "x.csv", target = "t" } }]\n'
        'sampling = { kind = "fresh", n_sample = 2 }\nutility = { kind = "additive" }\n'
    )
    with pytest.raises(InvalidInput, match=r"header of .*x\.csv has the column 't' more than once"):
        config.build(tmp_path)


def test_6_neighbours_do_not_regress_labels(task):
    """Number 6: words are labels, whole numbers may be either, and must be said."""
    _, X_val, y_val = task
    assert "classification" in repr(sb.NeighborUtility(X_val, np.where(y_val > 0, "a", "b")))
    assert "classification" not in repr(sb.NeighborUtility(X_val, y_val))
    with pytest.raises(InvalidInput, match=r"whole numbers only \(2 different ones\).*pass task="):
        sb.NeighborUtility(X_val, (y_val > 0).astype(int))
    for name in ("classification", "regression"):
        sb.NeighborUtility(X_val, (y_val > 0).astype(int), task=name)


@pytest.mark.parametrize("solver", [sb.Exact(), sb.Permutation(3)])
@pytest.mark.parametrize("worth", [1e306, -1e80])
def test_6_values_whose_moments_overflow_are_refused(task, worth, solver):
    """Number 6."""
    with pytest.raises(EvaluationError, match=r"beyond the limit of 1e\+75: rescale it"):
        value(task[0], sb.FunctionUtility(lambda X, y: worth * len(y)), solver=solver)
    found = value(task[0], sb.FunctionUtility(lambda X, y: 1e70 * y.sum()), solver=solver)
    assert np.isfinite(found.interval()).all()
    assert np.isfinite(found.variance_interval()).all()


@pytest.mark.parametrize(
    "line",
    [
        f"n_games = {2**63}",
        f"n_games = {10**30}",
        f"sampling = {{ kind = 'pooled', n_pool = 9, n_boot = {10**25} }}",
    ],
)
def test_6_absurd_counts_are_refused(line):
    """Number 6."""
    base = "providers = [{ source = { kind = 'task', task = 'wine' } }]\n"
    if "sampling" not in line:
        base += "sampling = { kind = 'fresh', n_sample = 9 }\n"
    with pytest.raises(InvalidInput, match="must be at most"):
        Config.parse(f"{line}\n{base}")


def test_6_more_neighbours_than_records_take_no_longer(task):
    """Number 6: no coalition has more than 36 records, so the lists are no longer."""
    providers, X_val, y_val = task
    few = value(providers, sb.NeighborUtility(X_val, y_val, k=36))
    started = time.perf_counter()
    many = value(providers, sb.NeighborUtility(X_val, y_val, k=10_000))
    assert time.perf_counter() - started < 5.0
    np.testing.assert_array_equal(many.games, few.games)


# 15. Equal warnings.


class Warning600(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        warnings.warn("did not converge", RuntimeWarning, stacklevel=2)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_15_equal_warnings_are_given_once(task):
    """Number 15."""
    providers, X_val, y_val = classes(task)
    utility = sb.EstimatorUtility(Warning600(), X_val, y_val)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value(providers, utility)
    assert [str(one.message) for one in caught] == ["did not converge"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_5_a_utility_that_exits_does_not_end_the_program(n_jobs):
    """Number 5."""

    def leave(X, y):
        sys.exit(0)

    providers = [sb.Provider(name, sb.ArraySource([[1.0], [2.0]], [0.0, 1.0])) for name in "ab"]
    with pytest.raises(EvaluationError, match=r"could not be evaluated: SystemExit: 0"):
        sb.value(
            providers, sb.FunctionUtility(leave), sampling=sb.Fresh(1), n_games=2, seed=0,
            n_jobs=n_jobs,
        )  # fmt: skip


def test_15_warnings_of_worker_processes_are_issued_here_once_each():
    """Number 15: there they would bypass the hiding of secrets."""

    def warn(X, y):
        warnings.warn("the records look odd", stacklevel=1)
        return float(len(y))

    providers = [sb.Provider(name, sb.ArraySource([[1.0], [2.0]], [0.0, 1.0])) for name in "ab"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        sb.value(
            providers, sb.FunctionUtility(warn), sampling=sb.Fresh(1), n_games=8, seed=0, n_jobs=2
        )
    assert [str(one.message) for one in caught] == ["the records look odd"]
