"""Checks that the squares of features and targets neither overflow nor underflow.

Kernels add up squares and products of numbers. Floats end at 1.8e308, so the square of a number
beyond 1e154 is infinite, and the square of a number below 1e-162 is zero. Both would give wrong
values without any error.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray
from shapband.errors import InvalidInput

LARGEST = 1e151  # 100,000 squares of such numbers have a finite sum
SMALLEST = 1e-151  # squares of such deviations have all their digits
FARTHEST = 1e70  # standard deviations; products of four such numbers are finite


def standard_units(X_val: FloatArray, owner: str) -> tuple[FloatArray, FloatArray]:
    """Return the means (d,) and standard deviations (d,) of the validation rows.

    The deviation of a feature that does not vary is 1.
    """
    check_features_magnitude(X_val, f"{owner}: X_val")
    # The computed deviation of equal numbers such as 0.1 is not zero, but their range is.
    varies = np.ptp(X_val, axis=0) > 0
    deviation = X_val.std(axis=0)
    small = varies & (deviation < SMALLEST)
    if small.any():
        raise InvalidInput(
            f"{owner}: X_val: feature {int(small.argmax())} varies by less than {SMALLEST:g}, "
            "whose square is not a normal float: pass it in other units"
        )
    return X_val.mean(axis=0), np.where(varies, deviation, 1.0)


def check_features_magnitude(X: FloatArray, what: str) -> None:
    """Check that squares of the features are finite."""
    if X.size and max(X.max(), -X.min()) > LARGEST:
        row, feature = (int(place) for place in np.argwhere(np.abs(X) > LARGEST)[0])
        raise InvalidInput(
            f"{what}: feature {feature} holds {float(X[row, feature])!r}, and squares of numbers "
            f"beyond {LARGEST:g} overflow: pass it in other units"
        )


def check_targets_magnitude(y: FloatArray, what: str) -> None:
    """Check that squares of the targets are finite."""
    if y.size and max(y.max(), -y.min()) > LARGEST:
        raise InvalidInput(
            f"{what} hold {float(y[np.abs(y).argmax()])!r}, and squares of numbers beyond "
            f"{LARGEST:g} overflow: pass them in other units"
        )


def check_distances(X: FloatArray, mean: FloatArray, inv_scale: FloatArray) -> None:
    """Check that records are within `FARTHEST` standard deviations of the validation rows."""
    check_features_magnitude(X, "the records")
    if not len(X):
        return
    far = np.maximum(X.max(axis=0) - mean, mean - X.min(axis=0)) * inv_scale > FARTHEST
    if far.any():
        feature = int(far.argmax())
        held = float(X[np.abs(X[:, feature] - mean[feature]).argmax(), feature])
        raise InvalidInput(
            f"feature {feature} holds {held!r}, more than {FARTHEST:g} standard deviations of "
            "X_val away from its mean there: use the same units for records and validation rows"
        )
