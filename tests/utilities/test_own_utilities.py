"""Utilities that users write: how their failures are told, and which workers they get."""

import os
import time

import numpy as np
import pytest
from tests.conftest import linear_providers

import shapband as sb
from shapband.engine.workers import local
from shapband.errors import EvaluationError

SOLVERS = [sb.Exact(), sb.Permutation(2), sb.Permutation(40)]


def value(utility, n=3, **options):
    providers, _ = linear_providers(n=n)
    arguments = {"sampling": sb.Fresh(5), "n_games": 3, "seed": 0} | options
    return sb.value(providers, utility, **arguments)


class Sum(sb.Utility):
    mergeable = True

    def summarise(self, batch):
        return float(batch.y.sum())

    def evaluate(self, summaries, coalitions):
        return np.array([sum(summaries[i] for i in sb.extend.members(c)) for c in coalitions])


class Breaks(Sum):
    """Cannot evaluate sites 0 and 2 together."""

    def evaluate(self, summaries, coalitions):
        if 0b101 in coalitions or 0b111 in coalitions:
            raise KeyError("no such pair")
        return super().evaluate(summaries, coalitions)


class BreaksTogether(Sum):
    def evaluate(self, summaries, coalitions):
        if len(coalitions) > 1:
            raise TypeError("one at a time,\nplease")
        return super().evaluate(summaries, coalitions)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_an_error_in_evaluate_names_the_coalition_and_the_cause(solver):
    with pytest.raises(EvaluationError) as caught:
        value(Breaks(), solver=solver)
    assert "{'site 0', 'site 2'}" in str(caught.value) or "'site 1', 'site 2'}" in str(caught.value)
    assert str(caught.value).endswith("could not be evaluated: KeyError: 'no such pair'")
    assert isinstance(caught.value.__cause__, KeyError)


def test_the_first_coalition_that_fails_is_named():
    with pytest.raises(EvaluationError, match=r"the coalition \{'site 0', 'site 2'\} could not"):
        value(Breaks())


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_an_error_that_no_coalition_has_alone_says_so(solver):
    said = "BreaksTogether could evaluate each coalition alone, but not together: TypeError: one at"
    with pytest.raises(EvaluationError, match=said) as caught:
        value(BreaksTogether(), solver=solver)
    assert "\n" not in str(caught.value)


def test_processes_tell_the_same():
    with pytest.raises(EvaluationError, match=r"\{'site 0', 'site 2'\}.*KeyError"):
        value(Breaks(), workers=local.ProcessWorkers(2))


def test_memory_that_is_short_is_not_blamed_on_a_coalition():
    class Hungry(Sum):
        def evaluate(self, summaries, coalitions):
            raise MemoryError

    with pytest.raises(MemoryError):
        value(Hungry())


def returning(change, method="evaluate"):
    def changed(self, *arguments):
        return change(getattr(Sum, method)(self, *arguments))

    return type("Odd", (Sum,), {method: changed})()


@pytest.mark.parametrize("solver", SOLVERS[:2], ids=repr)
@pytest.mark.parametrize(
    ("change", "received"),
    [
        (lambda values: 1.0, r"shape \(\)"),
        (lambda values: values[:1], r"shape \(1,\)"),
        (lambda values: values[:, None], r"shape \(\d, 1\)"),
        (lambda values: None, "dtype object"),
        (lambda values: values.astype(str), "dtype <U"),
        (lambda values: values * 1j, "dtype complex"),
    ],
)
def test_values_of_the_wrong_shape_or_type_are_named(change, received, solver):
    said = rf"Odd\.evaluate must return an array of numbers of shape \(\d,\); received .*{received}"
    with pytest.raises(EvaluationError, match=said):
        value(returning(change), solver=solver)


@pytest.mark.parametrize(
    ("method", "solver", "shape"),
    [
        ("evaluate_all", sb.Exact(), r"\(3, 8\)"),
        ("evaluate_prefixes", sb.Permutation(2), r"\(3, 2, 3\)"),
    ],
)
def test_so_are_tables_and_prefixes(method, solver, shape):
    with pytest.raises(EvaluationError, match=rf"Odd\.{method} must return .*{shape}; received"):
        value(returning(lambda table: table[:, :1], method), solver=solver)


def test_whole_numbers_lists_and_read_only_tables_will_do():
    plain = value(Sum())
    np.testing.assert_array_equal(value(returning(np.ndarray.tolist)).games, plain.games)

    class Fixed(Sum):
        def evaluate_all(self, games):
            return np.broadcast_to(np.arange(8), (len(games), 8))

    np.testing.assert_allclose(value(Fixed()).games, [[1.0, 2.0, 4.0]] * 3)


class Process(Sum):
    """Worth the number of the process that evaluates it; slow where it is made."""

    def __init__(self):
        self._home = os.getpid()

    def evaluate(self, summaries, coalitions):
        time.sleep(0.05 if os.getpid() == self._home else 0.0)
        return np.full(len(coalitions), float(os.getpid()))


class ThreadedProcess(Process):
    threaded = True


@pytest.mark.parametrize(("utility", "stays"), [(Process(), False), (ThreadedProcess(), True)])
def test_n_jobs_are_processes_unless_a_utility_says_that_threads_will_do(
    monkeypatch, utility, stays
):
    monkeypatch.setattr(local, "_COLD", 0.0)
    valuation = value(utility, n=1, n_jobs=2, n_games=12 if stays else 1000, chunk_size=1)
    assert (set(valuation.games.ravel()) == {float(os.getpid())}) == stays


class Weighed(local.ProcessWorkers):
    """Adds up the bytes that are sent."""

    def __init__(self):
        super().__init__(2)
        self.bytes = 0

    def submit(self, parcel, task):
        self.bytes += len(task)
        return super().submit(parcel, task)


class SmallSummary(Sum):
    summaries_travel = True

    def summary_floats(self, draw_size):
        return 1


@pytest.mark.parametrize(("utility", "records"), [(Sum(), True), (SmallSummary(), False)])
def test_records_are_sent_unless_a_utility_says_that_summaries_are(utility, records):
    workers = Weighed()
    value(utility, workers=workers, sampling=sb.Fresh(30), chunk_size=3)
    assert (workers.bytes > 3 * 3 * 30 * 4 * 8) == records


@pytest.mark.parametrize("name", ["Additive", "Linear", "Neighbor", "Table"])
def test_our_mergeable_utilities_use_threads_and_send_summaries(name):
    kind = getattr(sb, f"{name}Utility")
    assert kind.mergeable
    assert kind.threaded
    assert kind.summaries_travel


@pytest.mark.parametrize("name", ["Estimator", "Function"])
def test_our_black_boxes_use_processes_and_send_records(name):
    kind = getattr(sb, f"{name}Utility")
    assert (kind.mergeable, kind.threaded, kind.summaries_travel) == (False, False, False)
