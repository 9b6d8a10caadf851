"""Tests of the network kernels, compiled and plain."""

import numpy as np
import pytest
from tests.reference import network as plain

from shapband.kernels.compiled import network as compiled


@pytest.mark.parametrize("units", [[3, 5, 1], [3, 5, 3], [1, 4, 2, 6, 4], [7, 1, 1]])
def test_the_loss_and_its_gradient_are_the_same(units):
    rng = np.random.default_rng(sum(units))
    units, n = np.array(units), 20
    size = ((units[:-1] + 1) * units[1:]).sum()
    X, target = rng.normal(size=(n, units[0])), rng.integers(0, max(2, units[-1]), n)
    weights, count = rng.normal(size=size), rng.integers(1, 5, n).astype(float)
    rooms = np.empty((2, n * units[1:].sum()))
    found = []
    for module in (compiled, plain):
        gradient = np.empty(size)
        arguments = (units, X, target, count, 0.3, *rooms)
        loss = module.loss_and_gradient(weights, *arguments, gradient)
        found.append((loss, gradient, module.forward(weights, units, X, rooms[0]).copy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)

    def loss(k, by):
        moved = weights.copy()
        moved[k] += by
        return plain.loss_and_gradient(moved, *arguments, np.empty(size))

    slopes = [(loss(k, 1e-6) - loss(k, -1e-6)) / 2e-6 for k in range(size)]
    np.testing.assert_allclose(found[0][1], slopes, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kept", [0, 1, 3, 4])
def test_the_direction_is_that_of_the_bfgs_matrix(kept):
    rng = np.random.default_rng(kept)
    memory, size, newest = 4, 6, 1
    steps, gradient = rng.normal(size=(memory, size)), rng.normal(size=size)
    changes = steps * rng.uniform(0.5, 2.0, size)
    products = (steps * changes).sum(axis=1)
    inverse = np.eye(size)
    for back in range(kept - 1, -1, -1):  # the textbook's update, from the oldest step
        s, y = steps[newest - back], changes[newest - back]
        if back == kept - 1:
            inverse *= products[newest] / (changes[newest] @ changes[newest])
        left = np.eye(size) - np.outer(s, y) / (s @ y)
        inverse = left @ inverse @ left.T + np.outer(s, s) / (s @ y)
    for module in (compiled, plain):
        direction = np.empty(size)
        module.descend(gradient, steps, changes, products, newest, kept, direction)
        np.testing.assert_allclose(direction, -inverse @ gradient, rtol=1e-10, atol=1e-12)
