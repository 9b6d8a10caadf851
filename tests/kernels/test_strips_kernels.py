"""Factors of large matrices are those of NumPy, to rounding."""

import numpy as np
import pytest

from shapband.kernels.compiled import strips
from shapband.kernels.compiled.lanes import LANES

SIZES = [1, 3, 4, 7, 8, 9, 12, 31, 64, 101]


def definite(size, seed=0):
    A = np.random.default_rng(seed).normal(size=(2 * size + 3, size))
    return A.T @ A


def as_strips(matrix):
    """The upper half of a matrix; what is below the diagonal, and beyond, must not be read."""
    count = strips.strips_of(len(matrix))
    held = np.full(strips.strip_start(count), np.nan)
    for column in range(count * LANES):
        for row in range(count * LANES):
            if row <= column:
                inside = column < len(matrix)
                at = strips.entry_at(row, column)
                held[at] = matrix[row, column] if inside else 0.0
            elif row // LANES == column // LANES:
                held[strips.entry_at(row, column)] = 1e9
    return held, np.empty(count * LANES)


@pytest.mark.parametrize("size", SIZES)
def test_factors_agree(size):
    matrix = definite(size)
    held, inverses = as_strips(matrix)
    assert strips.factor_strips(held, size, size, 1e-13, inverses)
    expected = np.linalg.cholesky(matrix).T
    found = [held[strips.entry_at(i, j)] for i in range(size) for j in range(i, size)]
    np.testing.assert_allclose(found, expected[np.triu_indices(size)], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(inverses[:size], 1 / np.diag(expected), rtol=1e-11)


@pytest.mark.parametrize("size", SIZES)
def test_solutions_agree(size):
    matrix, right = definite(size, 1), np.random.default_rng(2).normal(size=size)
    held, inverses = as_strips(matrix)
    assert strips.factor_strips(held, size, size, 1e-13, inverses)
    x = np.zeros(len(inverses))
    x[:size] = right
    strips.solve_transposed(held, size, inverses, x)
    np.testing.assert_allclose(
        x[:size], np.linalg.solve(np.linalg.cholesky(matrix), right), rtol=1e-9
    )
    strips.solve_factor(held, size, inverses, x)
    np.testing.assert_allclose(x[:size], np.linalg.solve(matrix, right), rtol=1e-8, atol=1e-10)
    assert not x[size:].any()


@pytest.mark.parametrize("size", [5, 8, 11, 33])
@pytest.mark.parametrize("at", [0, 2, 3])
def test_a_pivot_that_is_too_small_is_reported(size, at):
    matrix = definite(size)
    matrix[at + 1] = matrix[at]
    matrix[:, at + 1] = matrix[:, at]
    held, inverses = as_strips(matrix)
    assert not strips.factor_strips(held, size, size, 1e-6, inverses)


@pytest.mark.parametrize("size", SIZES)
def test_a_last_column_without_a_pivot_is_the_forward_solution(size):
    """The right-hand side may make the whole matrix indefinite."""
    matrix, right = definite(size), np.arange(1.0, size + 1)
    bordered = np.zeros((size + 1, size + 1))
    bordered[:size, :size], bordered[:size, size] = matrix, right
    held, inverses = as_strips(bordered)
    assert strips.factor_strips(held, size + 1, size, 1e-13, inverses)
    found = [held[strips.entry_at(i, size)] for i in range(size)]
    np.testing.assert_allclose(found, np.linalg.solve(np.linalg.cholesky(matrix), right), rtol=1e-9)
