"""The compiled fit of drifting slopes against the readable one."""

import numpy as np
import pytest
from tests.reference import drift as plain

from shapband.kernels.compiled import drift as compiled
from shapband.solvers.listed import LANES, Blocks, Listed


def arguments(n, rows=150, unit=1.0):
    """Each lane is fitted to other rows; the last one to none."""
    rng = np.random.default_rng(n)
    inside = (rng.random((rows, n)) < rng.uniform(0.1, 0.9, (rows, 1))).astype(np.uint8)
    listed = Listed.of([inside[:40], inside[40:]], inside.sum(axis=1).astype(int))
    values = (inside @ rng.normal(size=n) + rng.normal(size=rows))[listed.order]
    trained = (np.arange(rows)[:, None] % LANES != np.arange(LANES)).astype(float)
    trained[:, -1] = 0.0
    blocks = Blocks.of(n, 8, 3)
    return (
        n,
        listed.starts,
        listed.members,
        listed.sizes,
        np.repeat(unit * values, LANES),
        trained,
        listed.edges(blocks),
        np.array([2.0, 0.3]),
        0.9,
        0.8 ** np.diff(blocks.middles, prepend=0.0),
    )


@pytest.mark.parametrize("n", [5, 12, 30])
def test_both_fit_the_same_levels_slopes_and_predictions(n):
    given = arguments(n)
    pairs = zip(compiled.fit(*given, 1e-24), plain.fit(*given, 0.0), strict=True)
    for ours, reference in pairs:
        np.testing.assert_allclose(ours, reference, rtol=1e-9, atol=1e-9)
    # The control: a rough fit differs.
    assert not np.allclose(compiled.fit(*given, 0.1)[1], plain.fit(*given, 0.0)[1], atol=1e-3)


def test_values_of_zero_have_slopes_of_zero():
    for found in compiled.fit(*arguments(8, unit=0.0), 1e-3):
        assert (found == 0.0).all()


def test_slopes_of_a_size_sum_to_zero():
    """A common slope of all members adds the same to all coalitions of a size: to its level."""
    _, slopes, _ = compiled.fit(*arguments(9), 1e-3)
    by_provider = slopes.reshape(len(slopes), 9, LANES)
    np.testing.assert_allclose(by_provider.sum(axis=1), 0.0, atol=1e-12)
    assert np.abs(slopes).max() > 0.1


def test_a_lane_does_not_depend_on_the_other_lanes():
    given = list(arguments(10))
    _, whole, _ = compiled.fit(*given, 1e-3)
    given[5] = given[5] * (np.arange(LANES) == 2)
    _, alone, _ = compiled.fit(*given, 1e-3)
    assert np.array_equal(whole[:, 2::LANES], alone[:, 2::LANES])
    assert (alone[:, 3::LANES] == 0.0).all()


def test_a_rough_fit_has_the_same_digits_in_every_unit():
    """Seen without preconditioning by the levels: slopes that differ in the fourth digit."""
    one, other = (compiled.fit(*arguments(10, 300, unit), 1e-3)[1] for unit in (1, 1e30))
    np.testing.assert_allclose(other / 1e30, one, rtol=0, atol=1e-12)
