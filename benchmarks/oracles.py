"""Games as arrays, and their coalition values in NumPy alone.

The interpreter of the peers has no shapband. A game therefore travels to it as arrays in an
`.npz` file, and `worth` evaluates coalitions from them in either interpreter. The arrays are one
of these sets:

- `table` (2**n,): the value of every coalition, by bitmask
- `grams` (n, p, p), `products` (n, p), `A` (p, p), `b` (p,), `c` (), `alone` (n,): least squares
  with the score 1 / (1 + MSE). `alone` are the values of single providers, whose own records may
  be too few for a unique fit
- `order` (rows, n), `errors` (rows, n): nearest neighbour with the same score. For each
  validation row: the providers from the nearest to the farthest, and the squared error of each
- `single` (n,), `pairs` (n, n): the square root of |Σ a_i + Σ b_ij| over members and pairs of them

Nobody is worth 0 in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

Arrays = Mapping[str, np.ndarray]
Function = Callable[[Arrays, np.ndarray], np.ndarray]
CONSTANT = 1e-10  # variance over mean square of a feature, below which it does not vary
AT_ONCE = 4096  # coalitions whose temporary arrays are held at once


def worth(arrays: Arrays, inside: np.ndarray) -> np.ndarray:
    """Values of the coalitions in the rows of inside (m, n), True for members: (m,)."""
    inside = np.asarray(inside, dtype=bool)
    if "table" in arrays:
        return arrays["table"][inside @ (1 << np.arange(inside.shape[1]))]
    for name, function in FUNCTIONS.items():
        if name in arrays:
            parts = [
                _of_somebody(function, arrays, inside[start : start + AT_ONCE])
                for start in range(0, len(inside), AT_ONCE)
            ]
            return np.concatenate(parts)
    raise ValueError(f"no game is made of the arrays {', '.join(sorted(arrays))}")


class Counted:
    """A game that remembers which coalitions it was asked for."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._seen: set[bytes] = set()

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        inside = np.atleast_2d(np.asarray(coalitions, dtype=bool))
        self._seen.update(row.tobytes() for row in np.packbits(inside, axis=1))
        return worth(self._arrays, inside)

    @property
    def evaluations(self) -> int:
        """The number of distinct coalitions, without that of nobody."""
        return sum(any(row) for row in self._seen)


def _of_somebody(function: Function, arrays: Arrays, inside: np.ndarray) -> np.ndarray:
    values = np.zeros(len(inside))
    some = inside.any(axis=1)
    values[some] = function(arrays, inside[some])
    return values


def least_squares(arrays: Arrays, inside: np.ndarray) -> np.ndarray:
    members = inside.astype(float)
    p = len(arrays["b"])
    grams = (members @ arrays["grams"].reshape(-1, p * p)).reshape(-1, p, p)
    products = members @ arrays["products"]
    single = inside.sum(axis=1) == 1
    grams[single] = np.eye(p)  # their values are known
    _leave_out_constants(grams, products)
    beta = np.linalg.solve(grams, products[:, :, None])[:, :, 0]
    mse = ((beta @ arrays["A"]) * beta).sum(axis=1) - 2 * beta @ arrays["b"] + arrays["c"]
    return np.where(single, members @ arrays["alone"], 1 / (1 + mse))


def _leave_out_constants(grams: np.ndarray, products: np.ndarray) -> None:
    """Give features that do not vary within a coalition the coefficient 0, in place."""
    square = np.diagonal(grams, axis1=1, axis2=2)
    total = grams[:, 0, :]
    constant = square - total**2 / total[:, :1] <= CONSTANT * square
    constant[:, 0] = False  # the intercept
    coalition, feature = np.nonzero(constant)
    grams[coalition, feature, :] = grams[coalition, :, feature] = 0.0
    grams[coalition, feature, feature] = 1.0
    products[coalition, feature] = 0.0


def nearest_neighbour(arrays: Arrays, inside: np.ndarray) -> np.ndarray:
    """Ask the providers of each validation row from the nearest on, until one is a member."""
    order, errors = arrays["order"], arrays["errors"]
    found = np.empty((len(inside), len(order)))
    coalition, row = (index.ravel() for index in np.indices(found.shape))
    for rank in range(order.shape[1]):
        nearest = order[row, rank]
        hit = inside[coalition, nearest]
        found[coalition[hit], row[hit]] = errors[row[hit], nearest[hit]]
        coalition, row = coalition[~hit], row[~hit]
    return 1 / (1 + found.mean(axis=1))


def square_root(arrays: Arrays, inside: np.ndarray) -> np.ndarray:
    members = inside.astype(float)
    of_pairs = ((members @ arrays["pairs"]) * members).sum(axis=1)
    return np.sqrt(np.abs(members @ arrays["single"] + of_pairs))


FUNCTIONS = {"grams": least_squares, "order": nearest_neighbour, "single": square_root}
