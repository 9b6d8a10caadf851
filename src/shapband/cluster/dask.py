"""Workers of a Dask cluster."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

from shapband.checks import one_line
from shapband.engine.workers.base import Job
from shapband.engine.workers.remote import JOB, RemoteWorkers, ShippedJob, perform_sealed, seal
from shapband.errors import InvalidInput, WorkerError

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT_SECONDS = 30
# Tasks carry their draws through the scheduler on purpose: if a worker is lost, the scheduler can
# then give its tasks to another. Dask warns about such tasks from 10 MB on.
_QUIET = {"distributed.admin.large-graph-warning-threshold": "1 TB"}


class DaskWorkers(RemoteWorkers):
    """The workers of a Dask cluster.

    The connection lasts as long as a valuation. A worker that is lost is replaced by another,
    which repeats the lost tasks; the result is the same bit for bit.

    Parameters
    ----------
    scheduler : address of the cluster's scheduler, such as ``"tcp://10.0.0.1:8786"``

    Examples
    --------
    >>> import shapband as sb
    >>> sb.DaskWorkers("tcp://10.0.0.1:8786")
    DaskWorkers('tcp://10.0.0.1:8786')
    """

    def __init__(self, scheduler: str) -> None:
        super().__init__()
        if not isinstance(scheduler, str) or "://" not in scheduler:
            raise InvalidInput(
                "DaskWorkers: scheduler must be an address such as 'tcp://10.0.0.1:8786'; "
                f"received {scheduler!r}"
            )
        try:
            import distributed  # noqa: F401
        except ImportError as cause:
            raise InvalidInput(
                "DaskWorkers needs another package: pip install 'shapband[dask]'"
            ) from cause
        self._scheduler = scheduler
        self._client: Client | None = None

    def __repr__(self) -> str:
        return f"DaskWorkers({self._scheduler!r})"

    def __enter__(self) -> DaskWorkers:
        """Connect, and count the threads of the workers that are there."""
        from distributed import Client

        try:
            self._client = Client(self._scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as cause:
            raise WorkerError(
                f"no Dask scheduler answers at {self._scheduler}: {one_line(cause)}"
            ) from cause
        try:
            self._client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except TimeoutError as cause:
            self._disconnect()
            raise WorkerError(
                f"the Dask scheduler at {self._scheduler} has had no workers for "
                f"{_CONNECT_SECONDS} seconds: start some with `dask worker {self._scheduler}`"
            ) from cause
        self.n_jobs = sum(self._client.nthreads().values())
        return self

    def __exit__(self, *raised: object) -> None:
        """Disconnect; the cluster drops what was sent to it."""
        self._disconnect()

    def ship(self, job: Job[Any]) -> Future:
        """Copy the job to all workers.

        The job is sent as a task that returns it, not as scattered data: if all workers that hold
        the job are lost, the scheduler runs the task again.
        """
        sent = self._submitted(_given, seal(job, JOB))
        self._connected().replicate([sent])
        return sent

    def submit(self, shipped: ShippedJob, task: bytes) -> Future:
        return self._submitted(perform_sealed, shipped.token, shipped.place, task)

    def result(self, handle: Future) -> bytes:
        """Wait for a result; only the cluster itself can fail here."""
        from distributed import KilledWorker

        try:
            sealed: bytes = handle.result()
        except (KilledWorker, CancelledError, OSError) as cause:
            raise WorkerError(
                f"the Dask cluster at {self._scheduler} gave up a task, or was lost: "
                f"{one_line(cause)}"
            ) from cause
        return sealed

    def cancel(self, handle: Future) -> None:
        handle.cancel()

    def _submitted(self, function: Any, *arguments: Any) -> Future:
        import dask

        with dask.config.set(_QUIET):
            return self._connected().submit(function, *arguments, pure=False)

    def _connected(self) -> Client:
        if self._client is None:
            raise WorkerError(f"{self!r} is not connected: use it as `with workers: ...`")
        return self._client

    def _disconnect(self) -> None:
        self._shipped_job = None
        if self._client is not None:
            self._client.close()
            self._client = None


def _given(sealed: bytes) -> bytes:
    return sealed
