"""Networks of scikit-learn, the definition of `NetworkUtility`.

Training has no closed form, so 60 digits settle nothing: it is a sequence of float64 steps. The
features are standardised in 60 digits, because a `StandardScaler` leaves the rounding error of the
mean of a large constant. A case in which the two differ is ill-posed if scikit-learn's own accuracy
changes when the standardised records move by 1e-12 of themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath as mp
import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from shapband._typing import AnyArray, FloatArray
from tests.differential.cases import Case, classes_case, stream
from tests.differential.exact import DIGITS, exact_rows
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
    scaler = StandardScaler().fit(X)
    return _accuracy(case, scaler.transform(X), y, scaler.transform(case.X_val))


def _accuracy(case: Case, Z: FloatArray, y: AnyArray, rows: FloatArray) -> float:
    """Accuracy of a network of standardised features."""
    if len(np.unique(y)) == 1:
        return float((case.y_val == y[0]).mean())
    settings = dict(case.settings)
    network = MLPClassifier(
        settings.pop("hidden"), solver="lbfgs", random_state=settings.pop("seed"), **settings
    )
    try:
        return float(network.fit(Z, y).score(rows, case.y_val))
    except ValueError:
        return float("nan")


def _standardised(X: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Records and rows in deviations of the records from their means, by 60 digits."""
    with mp.workdps(DIGITS):
        moments = []
        for column in exact_rows(X.T):
            mean = mp.fsum(column) / len(column)
            variance = mp.fsum((x - mean) ** 2 for x in column) / len(column)
            moments.append((mean, mp.sqrt(variance) if column.count(column[0]) < len(X) else 1))
        standard = [
            np.array(
                [
                    [float((x - m) / s) for x, (m, s) in zip(row, moments, strict=True)]
                    for row in exact_rows(of)
                ]
            )
            for of in (X, rows)
        ]
    return standard[0], standard[1]


def network_truth(case: Case, X: FloatArray, y: AnyArray) -> Truth:
    """The range of scikit-learn's accuracies of records that move a little."""
    Z, rows = _standardised(X, case.X_val)
    found = [_accuracy(case, Z, y, rows)]

    def range_of() -> tuple[float, float]:
        rng = np.random.default_rng(0)
        for _ in range(TRIES):
            of_Z, of_rows = wiggles(rng, [Z, rows])
            found.append(_accuracy(case, Z * (1 + MOVE * of_Z), y, rows * (1 + MOVE * of_rows)))
        largest = max(abs(one - found[0]) for one in found)
        return found[0] - largest, found[0] + largest

    return Truth(found[0], range_of)
