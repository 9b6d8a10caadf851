"""Kernel ridge regression over coalitions in NumPy; see the compiled kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray


def fit(masks: NDArray[np.uint64], sizes: IntArray, values: FloatArray, noise: float) -> FloatArray:
    """Coefficients of kernel ridge regression, one for each coalition."""
    G = _similarities(masks, sizes, masks, sizes) + noise * np.eye(len(masks))
    return np.asarray(np.linalg.solve(G, values))


def predict(
    masks: NDArray[np.uint64],
    sizes: IntArray,
    fitted_masks: NDArray[np.uint64],
    fitted_sizes: IntArray,
    coefficients: FloatArray,
) -> FloatArray:
    """Sum over the fitted coalitions of coefficient × similarity, for each coalition."""
    return np.asarray(_similarities(masks, sizes, fitted_masks, fitted_sizes) @ coefficients)


def _similarities(
    masks: NDArray[np.uint64],
    sizes: IntArray,
    others: NDArray[np.uint64],
    other_sizes: IntArray,
) -> FloatArray:
    """Number of common members over the number of all members, for all pairs."""
    common = np.bitwise_count(masks[:, None] & others).astype(np.int64)
    return np.asarray(common / (sizes[:, None] + other_sizes - common))
