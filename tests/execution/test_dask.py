"""A real Dask cluster of two worker processes gives the bits of one process."""

import pytest
import tests.cluster_cases as cases

import shapband as sb
from shapband.errors import InvalidInput, WorkerError

distributed = pytest.importorskip(
    "distributed", reason="dask is not installed: pip install 'shapband[dask]'"
)


def local_cluster(n_workers):
    """Worker processes of one thread each, on the loopback, at ports that are free."""
    return distributed.LocalCluster(
        n_workers=n_workers,
        processes=True,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    )


@pytest.fixture(scope="module")
def scheduler():
    with local_cluster(2) as cluster:
        yield cluster.scheduler


@pytest.fixture
def workers(scheduler):
    return sb.DaskWorkers(scheduler.address)


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.__name__)
def test_a_cluster_gives_the_same_bits(case, workers):
    cases.check_same_bits(case, workers)


@pytest.mark.parametrize("losses", [1, 2])
def test_lost_workers_leave_no_trace(workers, tmp_path, losses):
    """With two losses every worker that had the job is gone."""
    cases.check_lost_workers(workers, tmp_path, losses)


def test_a_task_that_raises_gives_the_error_of_one_process(workers):
    cases.check_evaluation_error(workers)


def test_an_exception_of_the_users_own_comes_back_as_it_is(workers):
    cases.check_custom_error(workers)


def test_every_process_opens_the_job_once(workers, tmp_path):
    cases.check_shipped_once(workers, tmp_path)


def test_tasks_are_made_a_few_ahead(workers):
    cases.check_few_ahead(workers)


def test_a_task_that_kills_every_worker_ends_the_valuation(
    workers, scheduler, tmp_path, monkeypatch
):
    monkeypatch.setattr(scheduler, "allowed_failures", 1)
    with pytest.raises(WorkerError, match="gave up a task"):
        cases.check_lost_workers(workers, tmp_path, losses=1000)


def test_nobody_at_the_address(monkeypatch):
    monkeypatch.setattr("shapband.execution.dask._CONNECT_SECONDS", 0.2)
    providers, utility, arguments = cases.linear_pooled()
    with pytest.raises(WorkerError, match="no Dask scheduler answers at tcp"):
        sb.value(providers, utility, workers=sb.DaskWorkers("tcp://127.0.0.1:9"), **arguments)


def test_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr("shapband.execution.dask._CONNECT_SECONDS", 0.5)
    with (
        local_cluster(0) as empty,
        pytest.raises(WorkerError, match="has had no workers"),
        sb.DaskWorkers(empty.scheduler_address),
    ):
        pass


@pytest.mark.parametrize("address", ["10.0.0.1:8786", "", None, 8786])
def test_an_address_that_is_none(address):
    with pytest.raises(InvalidInput, match="scheduler must be an address"):
        sb.DaskWorkers(address)
