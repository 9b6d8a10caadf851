"""The compiled fit of drifting slopes against the readable one."""

import numpy as np
import pytest
from tests.reference import drift as plain

from shapband.kernels.compiled import drift as compiled


def arguments(n, rows=150):
    rng = np.random.default_rng(n)
    inside = (rng.random((rows, n)) < rng.uniform(0.1, 0.9, (rows, 1))).astype(float)
    values = inside @ rng.normal(size=n) + rng.normal(size=rows)
    return (
        inside,
        inside.sum(axis=1).astype(int),
        values,
        np.array([2.0, 0.3]),
        np.array([0.9, 0.8]),
    )


@pytest.mark.parametrize("n", [5, 12, 30])
def test_both_fit_the_same_levels_and_slopes(n):
    given = arguments(n)
    pairs = zip(compiled.fit(*given, 1e-24), plain.fit(*given, 0.0), strict=True)
    for ours, reference in pairs:
        np.testing.assert_allclose(ours, reference, rtol=1e-9, atol=1e-9)
    # The control: a rough fit differs.
    assert not np.allclose(compiled.fit(*given, 0.1)[1], plain.fit(*given, 0.0)[1], atol=1e-3)


def test_values_of_zero_have_slopes_of_zero():
    inside, sizes, values, *rest = arguments(8)
    for found in compiled.fit(inside, sizes, 0.0 * values, *rest, 1e-3):
        assert (found == 0.0).all()


def test_slopes_of_a_size_sum_to_zero():
    """Those of a size's members add the same to all its coalitions: this is left to the levels."""
    _, slopes = compiled.fit(*arguments(9), 1e-3)
    np.testing.assert_allclose(slopes.sum(axis=1), 0.0, atol=1e-12)
    assert np.abs(slopes).max() > 0.1


def test_a_rough_fit_has_the_same_digits_in_every_unit():
    """Seen without preconditioning by the levels: slopes that differ in the fourth digit."""
    inside, sizes, values, *rest = arguments(10, rows=300)
    one, other = (compiled.fit(inside, sizes, unit * values, *rest, 1e-3)[1] for unit in (1, 1e30))
    np.testing.assert_allclose(other / 1e30, one, rtol=0, atol=1e-12)
