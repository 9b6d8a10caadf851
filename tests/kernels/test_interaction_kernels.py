"""Interactions are summed alike by both kernels, and every game alone."""

import numpy as np
import pytest
from tests.reference import interactions as plain

from shapband.kernels.compiled import interactions as compiled


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
def test_both_kernels_sum_tables_alike(n):
    rng = np.random.default_rng(n)
    given = rng.normal(size=(4, 2**n)), rng.random(2**n), rng.random(2**n)
    for one, other in zip(plain.table_sums(*given), compiled.table_sums(*given), strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-11)


def test_a_table_has_the_same_bits_alone():
    rng = np.random.default_rng(1)
    table, *weights = rng.normal(size=(20, 2**8)), rng.random(2**8), rng.random(2**8)
    together = compiled.table_sums(table, *weights)
    for g in range(20):
        alone = compiled.table_sums(table[g : g + 1], *weights)
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one[0], other[g])


@pytest.mark.parametrize("n", [5, 8, 13])
def test_both_kernels_treat_samples_alike(n):
    rng = np.random.default_rng(n)
    rows = (rng.random((30, n)) < 0.5).astype(np.uint8)
    terms, spreads = rng.normal(size=(2, 30))
    starts, weights = np.array([0, 12, 30]), rng.normal(size=(3, 2))
    given = rows, terms, spreads, starts, *weights, np.array([0.0, 0.1])
    for one, other in zip(plain.sampled(*given), compiled.sampled(*given), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)
    sizes = rows.sum(axis=1, dtype=np.int64) + 1
    given = rows, sizes, *rng.normal(size=(2, n))
    np.testing.assert_allclose(compiled.additive_values(*given), plain.additive_values(*given))
