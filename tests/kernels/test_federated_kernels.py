"""Tests of the kernels of federated training and its scores, compiled and plain."""

from typing import Any

import numpy as np
import pytest
from tests.reference import federated as plain
from tests.reference import federated_scores as plain_scores

from shapband.kernels.compiled import federated as compiled
from shapband.kernels.compiled import federated_scores as compiled_scores

UNITS: list[tuple[int, list[int]]] = [
    (0, [3, 1]),
    (1, [6, 1]),
    (2, [4, 3]),
    (1, [3, 5, 1]),
    (2, [1, 4, 2, 3]),
]


def parameters_of(rng: Any, m: int, units: Any) -> Any:
    return rng.normal(size=(m, ((units[:-1] + 1) * units[1:]).sum()))


@pytest.mark.parametrize(("loss", "units"), UNITS, ids=str)
def test_updates_of_members_are_the_same(loss, units):
    rng, units = np.random.default_rng(sum(units)), np.array(units)
    n, most, m = 4, 13, 19
    counts, begin = np.array([1, 9, 4, 0]), np.array([2, 0, 5, 0])
    X, targets = rng.normal(size=(n, most, units[0])), rng.normal(size=(n, most))
    if loss:
        targets = rng.integers(0, max(2, units[-1]), (n, most)).astype(float)
    inside = rng.integers(0, 2, (m, n)).astype(np.uint8)
    inside[:, 3] = 0  # a client without records takes no part
    current, shares = parameters_of(rng, m, units), rng.random(n)
    kept, found = current.copy(), []
    for module in (compiled, plain):
        sums = np.ones_like(current)
        given = shares, X, targets, begin, counts, units, (loss, 3, 0.2, 0.7)
        module.add_updates(current, inside, *given, sums)
        module.add_known(inside, shares, current[:n], sums)
        found.append(sums)
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(current, kept)
    nobody = ~inside.any(axis=1)
    assert (found[0][nobody] == 1.0).all()


@pytest.mark.parametrize(("loss", "units"), UNITS[1:], ids=str)
def test_the_gradient_is_the_slope_of_the_loss(loss, units):
    """The twin itself is checked by differences of its loss."""
    rng, units = np.random.default_rng(1), np.array(units)
    X, own = rng.normal(size=(6, units[0])), parameters_of(rng, 1, units)[0]
    classes = max(2, units[-1])
    targets = rng.integers(0, classes, 6).astype(float)

    def mean_loss(parameters: Any) -> float:
        logits = plain.outputs_of(parameters, units, X)[-1]
        if loss == 1:
            logits = np.column_stack([np.zeros(6), logits])
        true = logits[np.arange(6), targets.astype(int)]
        return float(np.mean(np.log(np.exp(logits).sum(axis=1)) - true))

    slopes = []
    for k in range(len(own)):
        step = np.zeros(len(own))
        step[k] = 1e-6
        slopes.append((mean_loss(own + step) - mean_loss(own - step)) / 2e-6)
    found = plain.gradient(own, units, X, targets, loss)
    np.testing.assert_allclose(found, slopes, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("score", range(4))
@pytest.mark.parametrize("units", [[3, 1], [3, 2], [3, 4], [2, 5, 3]], ids=str)
def test_scores_of_classifiers_are_the_same(units, score):
    rng, units = np.random.default_rng(0), np.array(units)
    labels, rows, m = max(2, units[-1]), 70, 11
    if score == 2 and labels > 2:
        return  # the AUC is for two labels
    X = np.zeros((72, units[0]))
    X[:rows] = rng.normal(size=(rows, units[0]))
    codes = rng.integers(0, labels, rows)
    own, fold_of = parameters_of(rng, m, units), np.arange(rows) % 3
    own[4, 0] = np.nan
    own[5] = 1e301
    found = []
    for module in (compiled_scores, plain_scores):
        parts = np.full((m, 3), 7.0)
        whole = module.class_scores(own, units, X, codes, labels, score, (fold_of, parts))
        np.testing.assert_array_equal(
            module.class_scores(own, units, X, codes, labels, score), whole
        )
        found.append((whole, parts))
    assert np.isnan(found[0][0]).tolist() == [at in (4, 5) for at in range(m)]
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-11, atol=1e-12)
    fine = ~np.isnan(found[0][0])
    np.testing.assert_allclose(found[0][1][fine], found[1][1][fine], rtol=1e-11, atol=1e-12)


def test_squared_errors_and_their_products_are_the_same():
    rng, units = np.random.default_rng(0), np.array([3, 1])
    X = np.zeros((72, 3))
    X[:70] = rng.normal(size=(70, 3))
    y, fold_of = rng.normal(size=70), rng.integers(0, 4, 70)
    own, shares = parameters_of(rng, 11, units), rng.random(11)
    inside = rng.integers(0, 2, (20, 11)).astype(np.uint8)
    inside[:, 2] = 1
    for folds in (0, 4):
        given = units, X, y, fold_of, folds
        sums, products = (
            [getattr(module, name)(own, *given) for module in (compiled_scores, plain_scores)]
            for name in ("squared_errors", "error_products")
        )
        np.testing.assert_allclose(*sums, rtol=1e-12)
        np.testing.assert_allclose(products[0][:, :, :11], products[1], rtol=1e-11, atol=1e-11)
        means = [
            module.mean_errors(inside, shares, found)
            for module, found in zip((compiled_scores, plain_scores), products, strict=True)
        ]
        np.testing.assert_allclose(*means, rtol=1e-11, atol=1e-11)
