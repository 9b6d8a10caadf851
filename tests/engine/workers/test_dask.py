"""A real Dask cluster of two worker processes gives the bits of one process."""

import distributed
import pytest
import tests.cluster_cases as cases

import shapband as sb
from shapband.errors import InvalidInput, WorkerError


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


class TestDask(cases.ClusterWorkers):
    pass


def test_a_task_that_kills_every_worker_ends_the_valuation(
    workers, scheduler, tmp_path, monkeypatch
):
    monkeypatch.setattr(scheduler, "allowed_failures", 1)
    with pytest.raises(WorkerError, match="gave up a task"):
        cases.check_lost_workers(workers, tmp_path, losses=1000)


def test_nobody_at_the_address(monkeypatch):
    monkeypatch.setattr("shapband.cluster.dask._CONNECT_SECONDS", 0.2)
    providers, utility, arguments = cases.linear_pooled()
    with pytest.raises(WorkerError, match="no Dask scheduler answers at tcp"):
        sb.value(providers, utility, workers=sb.DaskWorkers("tcp://127.0.0.1:9"), **arguments)


def test_a_cluster_without_workers(monkeypatch):
    """Only the wait for workers is short: a busy machine may take long to connect."""
    wait = distributed.Client.wait_for_workers
    monkeypatch.setattr(
        distributed.Client,
        "wait_for_workers",
        lambda client, n, timeout: wait(client, n, timeout=0.1),
    )
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
