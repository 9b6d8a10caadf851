"""Both kernels average alike over who is present, and every game alone."""

import numpy as np
import pytest
from tests.reference import presence as plain

from shapband.kernels.compiled import presence as compiled
from shapband.solvers.presence import presence_chances

BOTH = pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])


def some_games(n, n_games=5):
    rng = np.random.default_rng(n)
    rates = rng.random(n)
    rates[::3] = 1.0
    return rng.normal(size=(n_games, 2**n)), rates, presence_chances(rates)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 10])
def test_both_kernels_agree(n):
    table, rates, chances = some_games(n)
    np.testing.assert_allclose(compiled.potentials(table), plain.potentials(table), atol=1e-13)
    found, expected = (one.average(table, rates, chances) for one in (compiled, plain))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)


@BOTH
def test_the_potential_is_what_its_definition_says(kernels):
    table = some_games(4)[0]
    found = kernels.potentials(table)
    for T in range(1, 16):
        inside = [j for j in range(4) if T >> j & 1]
        left = sum(found[:, T ^ (1 << j)] for j in inside)
        expected = (table[:, T] - table[:, 0] + left) / len(inside)
        np.testing.assert_allclose(found[:, T], expected, rtol=0, atol=1e-14)
    assert (found[:, 0] == 0).all()


@BOTH
def test_a_game_has_the_same_bits_alone(kernels):
    table, rates, chances = some_games(7, n_games=20)
    together = kernels.average(table, rates, chances)
    for g in range(20):
        for one, all_games in zip(
            kernels.average(table[g : g + 1], rates, chances), together, strict=True
        ):
            np.testing.assert_array_equal(one[0], all_games[g])


@BOTH
@pytest.mark.parametrize("rate", [1e-9, 1 - 1e-9])
def test_nothing_is_lost_if_presence_hardly_varies(kernels, rate):
    """One provider of value 3: the mean is 3 p, the variance 9 p (1 - p)."""
    rates = np.array([rate])
    mean, variance = kernels.average(np.array([[1.0, 4.0]]), rates, presence_chances(rates))
    assert mean[0, 0] == pytest.approx(3 * rate, rel=1e-12)
    assert variance[0, 0] == pytest.approx(9 * rate * (1 - rate), rel=1e-12)
