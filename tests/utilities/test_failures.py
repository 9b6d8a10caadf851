"""Failures are counted by chunks of games, whoever evaluates them."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

import shapband as sb
from shapband.engine.workers.local import ThreadWorkers


class Fussy(RegressorMixin, BaseEstimator):
    """Cannot be fitted to fewer than 20 records, and waits, so that threads take turns."""

    def fit(self, X, y):
        if len(y) < 20:
            sum(range(20_000))
            raise ValueError("too few records")
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(40, 2)) for _ in range(4)]
    providers = [
        sb.Provider(name, sb.ArraySource(X, X.sum(axis=1)))
        for name, X in zip("abc", tables, strict=False)
    ]
    return providers, (tables[3], tables[3].sum(axis=1))


class Doubled(sb.Utility):
    """A utility of the user's own around another one."""

    def __init__(self, inner):
        self.inner = inner

    def summarise(self, batch):
        return self.inner.summarise(batch)

    def evaluate(self, summaries, coalitions):
        return 2 * self.inner.evaluate(summaries, coalitions)


class Counting(sb.Utility):
    """A utility of the user's own that counts its failures itself."""

    def summarise(self, batch):
        return batch

    def evaluate(self, summaries, coalitions):
        sizes = [sum(len(summaries[i]) for i in sb.extend.members(mask)) for mask in coalitions]
        for size in sizes:
            sum(range(20_000))
            self.failures += size == 12
        return np.array(sizes, dtype=float)


def estimator(task):
    return sb.EstimatorUtility(Fussy(), *task[1], failed=0.5)


UTILITIES = [estimator, lambda task: Doubled(estimator(task)), lambda task: Counting()]


@pytest.mark.parametrize("make", UTILITIES, ids=["estimator", "wrapped", "own"])
def test_threads_that_share_a_utility_count_every_failure_once(task, make):
    """Three of seven coalitions have 12 records, in each of 30 games."""
    utility = make(task)
    options = {"sampling": sb.Fresh(12), "n_games": 30, "seed": 0, "chunk_size": 1}
    found = {1: sb.value(task[0], utility, **options)}
    for n_jobs in (2, 4):
        with ThreadWorkers(n_jobs) as threads:
            found[n_jobs] = sb.value(task[0], utility, workers=threads, **options)
    assert {n: one.failures for n, one in found.items()} == dict.fromkeys([1, 2, 4], 90)


def test_failures_are_counted_with_participation_and_after_a_resume(task, tmp_path, monkeypatch):
    utility = estimator(task)
    options = {"sampling": sb.Fresh(12), "n_games": 40, "seed": 0, "chunk_size": 3}
    options |= {"participation": sb.Cohort(2)}  # two of three coalitions of a game are too small
    assert sb.value(task[0], utility, **options).failures == 80
    fit, calls = sb.EstimatorUtility._fit_and_score, []

    def interrupted(self, batch, rows):
        calls.append(1)
        if len(calls) > 50:
            raise KeyboardInterrupt
        return fit(self, batch, rows)

    monkeypatch.setattr(sb.EstimatorUtility, "_fit_and_score", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sb.value(task[0], utility, run=tmp_path / "run", **options)
    monkeypatch.undo()
    resumed = sb.value(task[0], utility, run=tmp_path / "run", **options)
    assert resumed.failures == sb.load(tmp_path / "run").valuation.failures == 80
