"""The compiled regression over coalitions against the readable one."""

import numpy as np
import pytest
from tests.reference import overlap as plain

from shapband.kernels.compiled import overlap as compiled


def coalitions(count, n, seed=0):
    rng = np.random.default_rng(seed)
    inside = rng.random((count, n)) < rng.uniform(0.2, 0.8, (count, 1))
    inside[:, 0] |= ~inside.any(axis=1)
    inside = np.unique(inside, axis=0)
    masks = (inside * (np.uint64(1) << np.arange(n, dtype=np.uint64))).sum(axis=1, dtype=np.uint64)
    return masks, inside.sum(axis=1)


@pytest.mark.parametrize("n", [8, 30, 64])
@pytest.mark.parametrize("count", [1, 3, 61, 64])
def test_both_fit_and_predict_the_same(n, count):
    masks, sizes = coalitions(count, n)
    values = np.random.default_rng(1).normal(size=len(masks))
    ours, reference = (kernel.fit(masks, sizes, values, 0.03) for kernel in (compiled, plain))
    np.testing.assert_allclose(ours, reference, rtol=1e-9, atol=1e-9)
    others = coalitions(40, n, seed=2)
    np.testing.assert_allclose(
        compiled.predict(*others, masks, sizes, ours),
        plain.predict(*others, masks, sizes, reference),
        rtol=1e-9,
        atol=1e-9,
    )


def test_without_noise_the_fitted_values_are_met_and_with_noise_they_are_not():
    masks, sizes = coalitions(60, 20)
    values = np.random.default_rng(1).normal(size=len(masks))
    for noise, met in ((1e-10, True), (0.5, False)):
        coefficients = compiled.fit(masks, sizes, values, noise)
        predicted = compiled.predict(masks, sizes, masks, sizes, coefficients)
        assert np.allclose(predicted, values, atol=1e-6) == met
