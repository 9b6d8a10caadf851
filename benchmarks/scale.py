"""Measure the constants of docs/scale.md, and write them there: `python -m benchmarks.scale`.

It needs `shapband[dask]`, and measures Ray if that is installed. All times are of this machine.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import shapband as sb
from benchmarks.defaults import squares
from benchmarks.games import draws_of
from benchmarks.harness import check_pinned, number, say
from shapband.engine.workers.remote import RemoteWorkers

PAGE = Path(__file__).resolve().parent.parent / "docs" / "scale.md"
BEGIN, END = "<!-- constants: python -m benchmarks.scale -->", "<!-- end of constants -->"
MANY, GAMES, SEED = 2000, 40, 1
TASKS = 400
PROVIDERS, MILLION, WORKERS = 10_000, 1_000_000, 100


class Nothing:
    """A job that does nothing, so that a task of it takes the overhead alone."""

    def __call__(self, task: int) -> int:
        return task

    def packed(self, task: int) -> int:
        return task

    def rehearse(self, task: int) -> None:
        pass

    def set_up_worker(self) -> None:
        pass


def per_task(workers: RemoteWorkers) -> float:
    """Seconds of an empty task, with as many under way as a valuation has."""
    with workers:
        list(workers.map(Nothing(), iter(range(8)), 8))
        began = time.perf_counter()
        list(workers.map(Nothing(), iter(range(TASKS)), TASKS))
        return (time.perf_counter() - began) / TASKS


def request_overhead() -> float:
    """Processor seconds of a request to a source that waits, without the wait."""
    x = np.random.default_rng(SEED).normal(size=(200, 1))
    far = sb.with_delay(sb.ArraySource(x, x[:, 0]), 1e-3)
    providers = [sb.Provider(f"far {i}", far) for i in range(20)]
    value = partial(sb.value, providers, sb.AdditiveUtility(), sampling=sb.Fresh(60), seed=SEED)
    value(n_games=2)
    began = time.process_time()
    value(n_games=100)
    return (time.process_time() - began) / (100 * len(providers))


def coalition_seconds(solver: sb.Solver, n: int, games: int) -> float:
    """Processor seconds per coalition of least squares, with drawing and summarising."""
    providers, utility = squares(n)
    value = partial(sb.value, providers, utility, sampling=sb.Fresh(60), solver=solver, seed=SEED)
    value(n_games=2)
    began = time.process_time()
    evaluations = value(n_games=games).evaluations
    return (time.process_time() - began) / evaluations


def worker_start() -> float:
    """Seconds until a new process has imported what a worker needs."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import shapband; shapband.value"], check=True)
    return time.perf_counter() - began


def cluster(address: str) -> tuple[float, float, float, float, str]:
    """Seconds per game of many providers: of one process; elapsed, own and of workers on Dask."""
    workers = sb.DaskWorkers(address)
    providers, utility = squares(MANY)
    value = partial(sb.value, providers, utility, sampling=sb.Fresh(60), seed=SEED)
    value(n_games=10)
    began = time.process_time()
    alone = value(n_games=GAMES)
    one = (time.process_time() - began) / GAMES
    solver = alone.setup["solver"]
    value(n_games=10, workers=workers)
    before = worker_seconds(address)
    wall, own = time.perf_counter(), time.process_time()
    spread = value(n_games=GAMES, workers=workers)
    elapsed, here = time.perf_counter() - wall, time.process_time() - own
    took = [part / GAMES for part in (elapsed, here, worker_seconds(address) - before)]
    if not np.array_equal(alone.games, spread.games):
        raise RuntimeError("the cluster gave other values than one process")
    return one, took[0], took[1], took[2], str(solver)


def worker_seconds(address: str) -> float:
    """Processor seconds of all workers so far."""
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        return float(sum(client.run(time.process_time).values()))


def summaries_bytes(n: int) -> float:
    """Bytes of a game that are sent to a worker."""
    providers, utility = squares(n)
    summaries = utility.summarise_games(draws_of(providers, sb.Fresh(60), 8, SEED))
    return len(pickle.dumps(summaries)) / 8


def rows() -> list[tuple[str, str]]:
    from distributed import LocalCluster

    found = [
        ("coalition of ten providers, `Exact`",
         f"{number(coalition_seconds(sb.Exact(), 10, 400) * 1e6)} µs"),
        ("coalition of 1,000 providers, `Arcs(8)`",
         f"{number(coalition_seconds(sb.Arcs(8), 1000, 20) * 1e6)} µs"),
        ("request to a source that waits", f"{number(request_overhead() * 1e6)} µs"),
        (f"bytes of a game sent to a worker, {MANY:,} providers",
         f"{number(summaries_bytes(MANY) / 1e6)} MB"),
        ("start of a worker, kernels stored", f"{number(worker_start())} s"),
    ]  # fmt: skip
    say("  constants of one process are measured")
    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as local:
        address = local.scheduler_address
        task = per_task(sb.DaskWorkers(address))
        found.append(("empty Dask task, two workers", f"{number(task * 1e3)} ms"))
        one, wall, client, there, solver = cluster(address)
    found.append(("empty Ray task", ray_task()))
    return [
        *found,
        (f"game of {MANY:,} providers in one process, `{solver}`",
         f"{number(one * 1e3)} ms of processor time"),
        ("the same on two Dask workers: your own process",
         f"{number(client * 1e3)} ms of processor time"),
        ("the same: both workers together", f"{number(there * 1e3)} ms of processor time"),
        ("the same: elapsed", f"{number(wall * 1e3)} ms; the arithmetic says at least "
         f"{number(max(client, there / 2, (client + there) / 2) * 1e3)} ms on two cores"),
        *forecast(there / MANY, client / MANY),
    ]  # fmt: skip


def forecast(there: float, client: float) -> list[tuple[str, str]]:
    """The arithmetic of many providers and games on many workers; seconds per provider."""
    days = 24 * 3600
    work, own = (PROVIDERS * MILLION * each / days for each in (there, client))
    return [
        (f"{PROVIDERS:,} providers × {MILLION:,} games, work of the workers",
         f"{number(work)} days of one core, {number(work / WORKERS)} days on {WORKERS}"),
        ("the same, work of your own process", f"{number(own)} days"),
    ]  # fmt: skip


def ray_task() -> str:
    if find_spec("ray") is None:
        return "not measured: Ray is not installed here"
    import ray

    ray.init(num_cpus=2, include_dashboard=False)
    try:
        return f"{number(per_task(sb.RayWorkers()) * 1e3)} ms"
    finally:
        ray.shutdown()


def written(page: str, found: list[tuple[str, str]]) -> str:
    """Replace the table of constants in a page."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    lines = [f"| {what} | {value} |" for what, value in found]
    table = "\n".join(["| what | measured |", "| --- | --- |", *lines])
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


if __name__ == "__main__":
    check_pinned()
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), rows()), encoding="utf-8")
