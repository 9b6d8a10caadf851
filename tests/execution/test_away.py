"""Processes of this machine, and what travels to and from other processes."""

import threading

import numpy as np
import pytest
import tests.cluster_cases as cases
from threadpoolctl import threadpool_info, threadpool_limits

import shapband as sb
from shapband.access.access import Access
from shapband.access.budget import Budget
from shapband.engine import Chunk, Job
from shapband.errors import EvaluationError, InvalidInput
from shapband.execution.away import opened_result, perform, seal
from shapband.execution.local import ProcessWorkers
from shapband.seeds import Seeds
from shapband.utilities.base import RecordsUtility


@pytest.fixture
def workers():
    return ProcessWorkers(2)


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.__name__)
def test_processes_give_the_same_bits(case, workers):
    cases.check_same_bits(case, workers)


def test_a_task_that_raises_gives_the_error_of_one_process(workers):
    cases.check_evaluation_error(workers)


def test_an_exception_of_the_users_own_comes_back_as_it_is(workers):
    cases.check_custom_error(workers)


def test_every_process_opens_the_job_once(workers, tmp_path):
    cases.check_shipped_once(workers, tmp_path)


def test_tasks_are_made_a_few_ahead(workers):
    cases.check_few_ahead(workers)


def test_workers_of_another_kind_are_refused():
    providers, utility, arguments = cases.linear_pooled()
    with pytest.raises(InvalidInput, match="workers must be DaskWorkers"):
        sb.value(providers, utility, workers=4, **arguments)


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

    def arrived(self):
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
        Job(utility, sb.Exact(), tuple(p.name for p in providers), Seeds(0)).arrived()
        assert {library["num_threads"] for library in threadpool_info()} == {threads}


def wire_bytes(utility, providers, n_boot):
    """Bytes of a task of four games."""
    seeds = Seeds(0)
    with Access(providers, seeds, Budget()) as access:
        realisation = sb.Pooled(400, n_boot).prepare(access)
        games = range(4)
        job = Job(utility, sb.Exact(), tuple(p.name for p in providers), seeds)
        return len(seal(job.packed(Chunk(games, realisation.draws(games))), "a task"))


def test_summaries_travel_instead_of_records():
    providers, (X_val, y_val) = cases.linear_providers(n=3, records=400)
    linear = sb.LinearUtility(X_val, y_val)
    assert wire_bytes(linear, providers, 300) == wire_bytes(linear, providers, 30)
    assert wire_bytes(linear, providers, 300) < 4 * 3 * 8 * 14 + 1000
    assert wire_bytes(sb.TableUtility(np.zeros(8)), providers, 300) < 1000


def test_black_boxes_get_the_records_they_use_and_no_others():
    providers, _ = cases.linear_providers(n=3, records=400)

    class Median(RecordsUtility):
        def score(self, batch):
            return float(np.median(batch.y))

    records = 4 * 3 * 30 * (3 + 1) * 8
    assert records < wire_bytes(Median(), providers, 30) < 1.5 * records + 2000
