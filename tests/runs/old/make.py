"""Writes runs in the present version, as fixtures of later ones: ``python make.py FOLDER``.

The files beside it were written by version 0.1.0, and the runs "subsets" and "blocks" shortly
before draws were dealt from shuffles; the sampling of "blocks" was Blocks(12, 4). An unfinished run
holds the first four of its eight games.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import shapband as sb

# Powers as the nearest floats: those of NumPy differ in their last bits between processors, and the
# runs hold fingerprints of the records.
X = np.array(
    [
        [float(Fraction(x) ** power) for power, x in enumerate(row, start=1)]
        for row in np.linspace(-1.0, 1.0, 180).reshape(60, 3).tolist()
    ]
)
Y = (X @ np.array([1.0, -2.0, 0.5])).round(3)
LABELS = (Y.mean() < Y).astype(float)
SPREAD = np.random.default_rng(0).permutation(60)


def providers(y: Any) -> list[sb.Provider]:
    parts = zip(("north", "south", "east"), np.split(SPREAD[:45], 3), strict=True)
    return [sb.Provider(name, sb.ArraySource(X[rows], y[rows])) for name, rows in parts]


def cases() -> dict[str, dict[str, Any]]:
    """The arguments of each run."""
    from sklearn.linear_model import Ridge
    from sklearn.tree import DecisionTreeRegressor

    held = SPREAD[45:]
    rows, numbers, labels = X[held], Y[held], LABELS[held]
    orders, fresh = sb.Permutation(3), sb.Fresh(6)
    logistic = sb.LogisticUtility(rows, labels)
    auc = sb.LogisticUtility(rows, labels, score="roc_auc")
    tree = sb.EstimatorUtility(DecisionTreeRegressor(max_depth=2), rows, numbers)
    ridge = sb.EstimatorUtility(Ridge(random_state=0), rows, numbers)
    neighbors = sb.NeighborUtility(rows, numbers)
    return {
        "linear": case(Y, sb.LinearUtility(rows, numbers), fresh, orders),
        "strata": case(Y, neighbors, fresh, sb.Strata(7)),
        "auc": case(LABELS, auc, fresh, orders),
        "tree": case(Y, tree, fresh, orders),
        "neighbors": case(Y, neighbors, fresh, orders),
        "logistic": case(LABELS, logistic, sb.Pooled(10, 6), orders),
        "ridge": case(Y, ridge, fresh, orders),
        "subsets": case(Y, ridge, sb.Pooled(12, 4, replace=False), orders),
        "blocks": case(Y, ridge, sb.Pooled(12, 4, replace=False), orders),
    }


def case(y: Any, utility: sb.Utility, sampling: sb.Sampling, solver: sb.Solver) -> dict[str, Any]:
    return {
        "providers": providers(y),
        "utility": utility,
        "sampling": sampling,
        "solver": solver,
        "n_games": 8,
        "seed": 5,
    }


class Ended(BaseException):
    """Ends a run as a crash does."""


def end_after(games: int) -> Any:
    def watch(progress: Any) -> None:
        if progress.done >= games:
            raise Ended

    return watch


def main(folder: Path) -> None:
    from shapband.engine.arguments import check_arguments
    from shapband.engine.workers.local import LocalWorkers
    from shapband.runs.run import begin

    for name, arguments in cases().items():
        for games in (4, 8):
            with tempfile.TemporaryDirectory() as kept:
                run = Path(kept) / "run"
                plan = check_arguments(**arguments, chunk_size=2)
                with suppress(Ended):
                    begin(
                        run,
                        plan,
                        LocalWorkers(1, threads=True),
                        end_after(games) if games < 8 else str,
                    )
                state = "unfinished" if games < 8 else "finished"
                content = gzip.compress((run / "run.db").read_bytes(), 9, mtime=0)
                (folder / f"{name}-{state}.db.gz").write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
