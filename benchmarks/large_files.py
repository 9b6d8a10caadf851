"""Draws from Parquet files that do not fit into memory: time and memory of every way to read them.

``python -m benchmarks.large_files 50000000`` writes so many rows of 8 float32 columns, as four
files, to a temporary directory, and removes it at the end. Every way runs in a process of its own,
whose largest resident memory is measured. It is not part of `make bench`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

Times = tuple[float, float]
SITES = ("east", "north", "south", "west")
GROUP = 131_072  # rows of a row group
DRAW = 60
GAMES = {"one draw at a time": 5, "200 draws together": 200, "Arrow copy, one draw at a time": 200}


def write(folder: Path, rows: int) -> None:
    """Write the files, one row group at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(f"x{place}", pa.float32()) for place in range(7)] + [("y", pa.float32())])
    for seed, site in enumerate(SITES):
        rng = np.random.default_rng(seed)
        path, left = folder / f"{site}.parquet", rows // len(SITES)
        options = {"compression": "zstd", "use_dictionary": False}
        with pq.ParquetWriter(path, schema, **options) as writer:
            while left:
                count = min(GROUP, left)
                cells = rng.standard_normal((8, count), dtype=np.float32)
                cells[7] = cells[0] + cells[7] / 2
                writer.write_table(pa.table(list(cells), schema=schema), row_group_size=count)
                left -= count


def draw(folder: Path, way: str) -> dict[str, float]:
    """Draw the games of one way."""
    import shapband as sb

    began = _now()
    copy = way.startswith("Arrow")
    providers = sb.providers_from_files(folder / "*.parquet", target="y", copy=copy)
    opened = _now()
    rng = np.random.default_rng(0)
    for provider in providers:
        source = provider.source
        draws = [rng.choice(source.size, DRAW, replace=False) for _ in range(GAMES[way])]
        if way.startswith("200"):
            source.take_many(draws)
        else:
            for rows in draws:
                source.take(rows)
    return _measured(began, opened, GAMES[way])


def play(folder: Path) -> dict[str, float]:
    """Value the providers by 200 fresh games, with the choices that the library makes itself."""
    import shapband as sb

    began = _now()
    providers = sb.providers_from_files(folder / "*.parquet", target="y")
    opened = _now()
    rng = np.random.default_rng(9)
    X = rng.normal(size=(200, 7))
    sb.value(
        providers,
        sb.LinearUtility(X, X[:, 0]),
        sampling=sb.Fresh(DRAW),
        n_games=200,
        seed=0,
        progress=False,
    )
    return _measured(began, opened, 200)


def _now() -> Times:
    """Seconds on the clock, and of the processor, which depend less on other programs."""
    return time.perf_counter(), time.process_time()


def _measured(began: Times, opened: Times, games: int) -> dict[str, float]:
    now = _now()
    return {
        "open": opened[0] - began[0],
        "per game": (now[0] - opened[0]) / games,
        "processor": (now[1] - opened[1]) / games,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main(rows: int) -> None:
    """Measure all ways and print a table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, rows)
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{rows:,} rows, {size / 1e9:.2f} GB, load {os.getloadavg()[0]:.0f}")
        print("| way | to open, s | games per second | processor, ms per game | peak memory, MB |")
        print("| --- | --- | --- | --- | --- |")
        for way in (*GAMES, "value"):
            environment = {**os.environ, "SHAPBAND_COPIES": str(folder / "copies")}
            command = [sys.executable, "-m", "benchmarks.large_files", name, way]
            out = subprocess.run(command, env=environment, check=True, capture_output=True)
            found = json.loads(out.stdout.splitlines()[-1])
            speed = 1 / found["per game"]
            cells = f"{found['open']:.1f} | {speed:.3g} | {1e3 * found['processor']:.3g}"
            print(f"| {way} | {cells} | {found['peak MB']:.0f} |", flush=True)
            for copy in (folder / "copies").glob("*"):
                copy.unlink()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(int(sys.argv[1]))
    else:
        where, chosen = Path(sys.argv[1]), sys.argv[2]
        print(json.dumps(play(where) if chosen == "value" else draw(where, chosen)))
