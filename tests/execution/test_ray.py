"""A real Ray cluster of two worker processes gives the bits of one process."""

import pytest
import tests.cluster_cases as cases

import shapband as sb
from shapband.errors import InvalidInput, WorkerError

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'shapband[ray]'")

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def workers(cluster):
    return sb.RayWorkers()


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.__name__)
def test_a_cluster_gives_the_same_bits(case, workers):
    cases.check_same_bits(case, workers)


@pytest.mark.parametrize("losses", [1, 2])
def test_lost_workers_leave_no_trace(workers, tmp_path, losses):
    cases.check_lost_workers(workers, tmp_path, losses)


def test_a_task_that_raises_gives_the_error_of_one_process(workers):
    cases.check_evaluation_error(workers)


def test_an_exception_of_the_users_own_comes_back_as_it_is(workers):
    cases.check_custom_error(workers)


def test_every_process_opens_the_job_once(workers, tmp_path):
    cases.check_shipped_once(workers, tmp_path)


def test_tasks_are_made_a_few_ahead(workers):
    cases.check_few_ahead(workers)


def test_a_task_that_kills_every_worker_ends_the_valuation(workers, tmp_path):
    with pytest.raises(WorkerError, match="gave up a task"):
        cases.check_lost_workers(workers, tmp_path, losses=1000)


def test_a_connection_of_the_users_own_stays(workers):
    with workers:
        assert workers.n_jobs == 2
    assert ray.is_initialized()


def test_nobody_at_the_address():
    ray.shutdown()
    with pytest.raises(WorkerError, match="no Ray cluster answers at auto"), sb.RayWorkers():
        pass


@pytest.mark.parametrize("address", ["", None, 6379])
def test_an_address_that_is_none(address):
    with pytest.raises(InvalidInput, match="address must be"):
        sb.RayWorkers(address)
