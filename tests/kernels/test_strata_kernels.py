"""The compiled loops of `Strata` against the readable ones."""

import numpy as np
import pytest
from tests.reference import strata as plain

from shapband.coalitions import set_marks
from shapband.indices import Banzhaf, Shapley
from shapband.kernels.compiled import strata as compiled
from shapband.solvers.sizes import Sizes

SEED = np.uint64(123456789012345678)


@pytest.mark.parametrize("n", [4, 7, 64, 130])
@pytest.mark.parametrize("paired", [True, False])
def test_both_draw_the_same_rows(n, paired):
    for size in {2, n // 2}:
        both = []
        for kernel in (compiled, plain):
            rows = np.zeros((6, n), dtype=np.uint8)
            kernel.draw_rows(rows[:2], 0, size, paired, SEED, set_marks(n))
            kernel.draw_rows(rows, 2, size, paired, SEED, set_marks(n))
            both.append(rows)
        assert np.array_equal(*both)


def sampled(n=9, rows=120, index=None):
    sizes = Sizes(n, 2 * n + 1 + rows, index or Shapley())
    pilot = sizes.pilot(SEED)
    rng = np.random.default_rng(0)
    residuals = rng.normal(size=len(pilot.rows))
    sample = sizes.sample(pilot, sizes.spreads(np.ones(2 * n), residuals), residuals[: 2 * n], SEED)
    values = np.sqrt(sample.rows @ rng.gamma(2, 1, n)) + 0.1 * rng.normal(size=len(sample.rows))
    return sizes, sample, values


def test_both_fit_the_same_surrogate():
    sizes, sample, values = sampled()
    weights = np.linspace(1.0, 3.0, sizes.n + 1)
    folds = sample.units % 4
    folds[:5] = -1
    arguments = (sample.rows, sample.sizes, values, weights, folds, 4, 1e-6)
    for ours, reference in zip(
        compiled.cross_fit(*arguments, 1e-20), plain.cross_fit(*arguments, 0.0), strict=True
    ):
        np.testing.assert_allclose(ours, reference, atol=1e-6)
    rough = compiled.cross_fit(*arguments, 1e3)[0]
    assert not np.allclose(rough, plain.cross_fit(*arguments, 0.0)[0], atol=1e-3)


@pytest.mark.parametrize("index", [Shapley(), Banzhaf()], ids=repr)
def test_both_estimate_the_same_values_and_noise(index):
    sizes, sample, values = sampled(index=index)
    folds = sample.units % 4
    _, slopes, means = plain.cross_fit(
        sample.rows, sample.sizes, values, np.ones(sizes.n + 1), folds, 4, 1e-6, 0.0
    )
    by_size = slopes[:, None, 0] + slopes[:, None, 1] / np.arange(1, sizes.n + 2)[:, None]
    arguments = (
        sample.rows,
        sample.sizes,
        values,
        folds,
        sample.mates,
        by_size,
        means,
        sizes.joins,
        sizes.leaves,
        sizes.capacities,
    )
    for ours, reference in zip(
        compiled.estimate(*arguments), plain.estimate(*arguments), strict=True
    ):
        np.testing.assert_allclose(ours, reference, rtol=1e-9, atol=1e-12)
