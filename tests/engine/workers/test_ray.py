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


class TestRay(cases.ClusterWorkers):
    pass


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
