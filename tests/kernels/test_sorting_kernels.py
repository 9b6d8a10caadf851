"""Sorting and searching, compared with NumPy."""

import numpy as np
import pytest
from numba import njit

from shapband.kernels.compiling import import_compiled

SORTING = import_compiled("sorting")


# Only compiled functions can call them.
@njit
def sort(numbers):
    SORTING.sort(numbers)


@njit
def count_below(ordered, number, or_equal):
    return SORTING.count_below(ordered, number, or_equal)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 13, 40, 41, 1000])
def test_numbers_are_sorted_as_numpy_sorts_them(size):
    rng = np.random.default_rng(size)
    for numbers in (rng.normal(size=size), rng.integers(4, size=size) * 1.0, -np.arange(size) / 7):
        numbers[: size // 3] = np.inf
        numbers[size // 3 : size // 2] *= -1e300
        expected = np.sort(numbers)
        sort(numbers)
        assert numbers.tolist() == expected.tolist()


@pytest.mark.parametrize(("or_equal", "side"), [(False, "left"), (True, "right")])
def test_numbers_below_are_counted_as_numpy_counts_them(or_equal, side):
    ordered = np.array([-np.inf, -2.0, 0.0, 0.0, 0.0, 1.0, 1.0, np.inf])
    for held in range(ordered.size + 1):
        for number in (-np.inf, -3.0, -2.0, -0.0, 0.5, 1.0, 2.0, np.inf):
            found = count_below(ordered[:held], number, or_equal)
            assert found == np.searchsorted(ordered[:held], number, side=side)
