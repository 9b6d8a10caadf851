"""Tables are weighed alike by both kernels, and every game alone."""

import numpy as np
import pytest
from tests.reference import shapley as plain

from shapband.kernels.compiled import shapley as compiled


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 10, 13])
def test_both_kernels_agree(n):
    rng = np.random.default_rng(n)
    table, both, outside = rng.normal(size=(5, 2**n)), rng.random(2**n), rng.random(2**n)
    one, other = plain.weigh(table, both, outside), compiled.weigh(table, both, outside)
    np.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])
def test_they_sum_over_the_coalitions_with_and_without(kernels):
    n = 6
    rng = np.random.default_rng(0)
    table, both, outside = rng.normal(size=(3, 2**n)), rng.random(2**n), rng.random(2**n)
    inside = np.arange(2**n)[:, None] >> np.arange(n) & 1
    expected = (table * both) @ inside - (table @ outside)[:, None]
    np.testing.assert_allclose(kernels.weigh(table, both, outside), expected, atol=1e-12)


@pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])
def test_a_game_has_the_same_bits_alone(kernels):
    rng = np.random.default_rng(1)
    table, both, outside = rng.normal(size=(30, 2**9)), rng.random(2**9), rng.random(2**9)
    together = kernels.weigh(table, both, outside)
    for g in range(30):
        alone = kernels.weigh(table[g : g + 1], both, outside)
        np.testing.assert_array_equal(alone[0], together[g])
