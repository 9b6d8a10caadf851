"""Processes of this machine, and what travels to and from other processes."""

import sys
import threading

import numpy as np
import pytest
import tests.cluster_cases as cases
from tests.conftest import linear_providers
from threadpoolctl import threadpool_info, threadpool_limits

import shapband as sb
from shapband.engine.chunks import Job
from shapband.engine.workers.local import ProcessWorkers
from shapband.engine.workers.remote import opened_result, perform, seal
from shapband.errors import EvaluationError, InvalidInput
from shapband.seeds import Seeds


@pytest.fixture
def workers():
    return ProcessWorkers(2)


class TestProcesses(cases.Workers):
    pass


def test_workers_of_another_kind_are_refused():
    providers, utility, arguments = cases.linear_pooled()
    with pytest.raises(InvalidInput, match="workers must be DaskWorkers"):
        sb.value(providers, utility, workers=4, **arguments)


@pytest.mark.parametrize(
    ("kind", "package", "extra"),
    [("DaskWorkers", "distributed", "dask"), ("RayWorkers", "ray", "ray")],
)
def test_a_missing_package_is_named(monkeypatch, kind, package, extra):
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(InvalidInput, match=rf"pip install 'shapband\[{extra}\]'"):
        getattr(sb, kind)("tcp://127.0.0.1:8786")


def test_a_utility_that_cannot_be_sent_is_refused(workers):
    lock = threading.Lock()
    utility = sb.FunctionUtility(lambda X, y: float(lock.locked()))
    providers, _, arguments = cases.black_box()
    with pytest.raises(InvalidInput, match="the utility or the solver cannot be sent"):
        sb.value(providers, utility, workers=workers, **arguments)


class Locked(Exception):
    """Cannot be pickled."""

    def __init__(self, message):
        super().__init__(message)
        self.lock = threading.Lock()


class Failing:
    def __call__(self, task):
        raise Locked("no way out")

    def rehearse(self, task):
        pass

    def set_up_worker(self):
        pass


def test_an_error_that_cannot_travel_arrives_as_its_kind_and_message():
    done = perform("a token", lambda: seal(Failing(), "a job"), seal(None, "a task"))
    with pytest.raises(EvaluationError, match="Locked: no way out"):
        opened_result(done)


def test_a_job_that_cannot_be_opened_is_an_error_of_the_task():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        opened_result(perform("another token", lambda: b"cno_such_module\nthing\n.", b""))


@pytest.mark.parametrize(("case", "threads"), [(cases.black_box, 1), (cases.linear_pooled, 2)])
def test_black_boxes_calm_the_linear_algebra_where_they_arrive(case, threads):
    providers, utility, _ = case()
    with threadpool_limits(limits=2):
        names = tuple(provider.name for provider in providers)
        Job(utility, sb.Exact(), names, Seeds(0), summaries_travel=False).set_up_worker()
        assert {library["num_threads"] for library in threadpool_info()} == {threads}


class Scales(ProcessWorkers):
    """Weighs what is sent."""

    def __init__(self):
        super().__init__(2)
        self.bytes = []

    def submit(self, shipped, task):
        self.bytes.append(len(task))
        return super().submit(shipped, task)


def wire_bytes(utility, providers, n_boot):
    """Bytes of a task of four games."""
    scales = Scales()
    arguments = {"sampling": sb.Pooled(400, n_boot), "n_games": 4, "seed": 0}
    sb.value(providers, utility, chunk_size=4, workers=scales, **arguments)
    (weight,) = scales.bytes
    return weight


def test_summaries_travel_instead_of_records():
    providers, (X_val, y_val) = linear_providers(n=3, records=400)
    linear = sb.LinearUtility(X_val, y_val)
    assert wire_bytes(linear, providers, 300) == wire_bytes(linear, providers, 30)
    assert wire_bytes(linear, providers, 300) < 4 * 3 * 8 * 54 + 1000
    few_rows = sb.NeighborUtility(X_val[:20], y_val[:20], k=2)
    assert wire_bytes(few_rows, providers, 300) == wire_bytes(few_rows, providers, 30)
    assert wire_bytes(sb.TableUtility(np.zeros(8)), providers, 300) < 1000


@pytest.mark.parametrize("black_box", [True, False], ids=["black box", "larger summaries"])
def test_otherwise_the_records_travel_that_are_used_and_no_others(black_box):
    providers, validation = linear_providers(n=3, records=400)
    many = sb.NeighborUtility(*validation, k=50)
    utility = sb.FunctionUtility(lambda X, y: float(np.median(y))) if black_box else many
    records = 4 * 3 * 30 * (3 + 1) * 8
    assert records < wire_bytes(utility, providers, 30) < 1.5 * records + 2000
