"""Networks of scikit-learn, the definition of `NetworkUtility`.

Training has no closed form, so 60 digits settle nothing: it is a sequence of float64 steps. A case
in which the two differ is ill-posed if scikit-learn's own accuracy changes when the records move by
1e-12 of themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shapband._typing import AnyArray, FloatArray
from tests.differential.cases import Case, classes_case, stream
from tests.differential.settle import Truth, wiggles

MOVE = 1e-12  # rounding errors grow about as much in a few iterations
TRIES = 6


def network_case(number: int) -> Case:
    """Return a case with a small network that is trained for a few iterations."""
    case = classes_case("networks", number)
    rng = stream("network settings", number)
    settings: dict[str, Any] = {
        "hidden": (int(rng.choice([1, 3, 8])),),
        "alpha": float(rng.choice([1e-4, 1.0])),
        "max_iter": int(rng.choice([1, 3, 8])),
        "seed": int(rng.integers(100)),
    }
    return replace(case, settings=settings)


def network_reference(case: Case, X: FloatArray, y: AnyArray) -> float:
    """Accuracy of scikit-learn's network; one class is predicted without a network."""
    return _accuracy(case, X, y, case.X_val)


def _accuracy(case: Case, X: FloatArray, y: AnyArray, rows: FloatArray) -> float:
    if len(np.unique(y)) == 1:
        return float((case.y_val == y[0]).mean())
    settings = dict(case.settings)
    network = MLPClassifier(
        settings.pop("hidden"), solver="lbfgs", random_state=settings.pop("seed"), **settings
    )
    try:
        return float(make_pipeline(StandardScaler(), network).fit(X, y).score(rows, case.y_val))
    except ValueError:
        return float("nan")


def network_truth(case: Case, X: FloatArray, y: AnyArray) -> Truth:
    """The range of scikit-learn's accuracies of records that move a little."""
    found = [network_reference(case, X, y)]

    def range_of() -> tuple[float, float]:
        rng = np.random.default_rng(0)
        for _ in range(TRIES):
            of_X, of_rows = wiggles(rng, [X, case.X_val])
            moved = X * (1 + MOVE * of_X), case.X_val * (1 + MOVE * of_rows)
            found.append(_accuracy(case, moved[0], y, moved[1]))
        spread = max(found) - min(found)
        return min(found) - spread, max(found) + spread

    return Truth(found[0], range_of)
