"""Workers of a Ray cluster."""

from __future__ import annotations

from typing import Any

from shapband.checks import one_line
from shapband.engine.workers.base import Job
from shapband.engine.workers.remote import JOB, RemoteWorkers, ShippedJob, perform, seal
from shapband.errors import InvalidInput, WorkerError

_RETRIES = 3  # a task may lose this many workers before it fails


class RayWorkers(RemoteWorkers):
    """The workers of a Ray cluster.

    If Ray is already connected, that connection is used and kept open; otherwise a connection is
    made for each valuation. A worker that is lost is replaced by another, which repeats the
    lost tasks; the result is the same bit for bit.

    Parameters
    ----------
    address : address of the cluster's head, such as ``"10.0.0.1:6379"``; "auto" finds a cluster
        that runs on this machine

    Examples
    --------
    >>> import shapband as sb
    >>> sb.RayWorkers("10.0.0.1:6379")  # doctest: +SKIP
    RayWorkers('10.0.0.1:6379')
    """

    def __init__(self, address: str = "auto") -> None:
        super().__init__()
        if not isinstance(address, str) or not address:
            raise InvalidInput(
                "RayWorkers: address must be one such as '10.0.0.1:6379', or 'auto'; "
                f"received {address!r}"
            )
        try:
            import ray  # noqa: F401
        except ImportError as cause:
            raise InvalidInput(
                "RayWorkers needs another package: pip install 'shapband[ray]'"
            ) from cause
        self._address = address
        self._own_connection = False
        self._remote: Any = None

    def __repr__(self) -> str:
        return f"RayWorkers({self._address!r})"

    def __enter__(self) -> RayWorkers:
        """Connect unless that is done, and count the cluster's cores."""
        import ray

        if not ray.is_initialized():
            try:
                ray.init(address=self._address)
            except (ConnectionError, OSError, RuntimeError, ValueError) as cause:
                raise WorkerError(
                    f"no Ray cluster answers at {self._address}: {one_line(cause)}"
                ) from cause
            self._own_connection = True
        self._remote = ray.remote(max_retries=_RETRIES)(_perform)
        self.n_jobs = max(1, int(ray.cluster_resources().get("CPU", 1)))
        return self

    def __exit__(self, *raised: object) -> None:
        """Disconnect if the connection was made here."""
        self._shipped_job = None
        if self._own_connection:
            import ray

            ray.shutdown()
            self._own_connection = False

    def ship(self, job: Job[Any]) -> list[Any]:
        """Put the job into the object store.

        The reference is sent inside a list, which Ray does not resolve: a process fetches the job
        once, not for every task.
        """
        import ray

        return [ray.put(seal(job, JOB))]

    def submit(self, shipped: ShippedJob, task: bytes) -> Any:
        if self._remote is None:
            raise WorkerError(f"{self!r} is not connected: use it as `with workers: ...`")
        return self._remote.remote(shipped.token, shipped.place, task)

    def result(self, handle: Any) -> bytes:
        """Wait for a result; only the cluster itself can fail here."""
        import ray

        try:
            sealed: bytes = ray.get(handle)
        except ray.exceptions.RayError as cause:
            raise WorkerError(f"the Ray cluster gave up a task: {one_line(cause)}") from cause
        return sealed

    def cancel(self, handle: Any) -> None:
        import ray

        ray.cancel(handle)


def _perform(token: str, place: list[Any], task: bytes) -> bytes:
    import ray

    return perform(token, lambda: ray.get(place[0]), task)
