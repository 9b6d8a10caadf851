"""The parts of a variance: against simulated draws, and from what one pool shows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import shapband as sb
from shapband._typing import FloatArray
from shapband.market.planning.parts import (
    ORDERS,
    Shuffled,
    likely_parts,
    shuffled,
    variance_between,
    variance_of_dealt,
    variance_of_draws,
)

B, M = 15, 30  # records in a draw and in a pool
NONE = np.zeros(2)


def sets_of(records: FloatArray) -> FloatArray:
    """Sums over all single records, pairs and triples of their products, each of variance 1."""
    first, second, third = ((records**k).sum(axis=-1) for k in (1, 2, 3))
    pairs = (first**2 - second) / 2
    triples = (first**3 - 3 * first * second + 2 * third) / 6
    sizes = [B, B * (B - 1) / 2, B * (B - 1) * (B - 2) / 6]
    return np.stack([first, pairs, triples], axis=-1) / np.sqrt(sizes)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_variances_are_those_of_simulated_draws(order: int) -> None:
    """100,000 pools of 30 normal records, each dealt into two draws, twice."""
    rng = np.random.default_rng(order)
    records = rng.normal(size=(100_000, M // B, B))
    again = rng.permuted(records.reshape(-1, M), axis=1).reshape(records.shape)
    values, other = (sets_of(one)[..., order - 1] for one in (records, again))
    product, dealt = (values * other).ravel(), values.mean(axis=1) - other.mean(axis=1)
    x, none = np.array([B / M]), np.zeros(1)
    parts = np.eye(3)[:, order - 1 : order]
    # Draws of two shuffles have only the pool in common. That a record is in both is not quite
    # independent of the others, so x² and x³ are a little too large.
    error, bias = product.std() / np.sqrt(product.size), x[0] ** order * (order - 1) * order / 2 / B
    between = variance_between(parts, x, none)[0]
    assert abs(product.mean() - between) < 4 * error + bias
    within = variance_of_draws(parts, x)[0]
    assert abs((values**2).mean() - product.mean() - within) < 4 * error + bias
    # The difference of two means of dealt draws has twice their variance.
    left = variance_of_dealt(parts, x, M / B)[0] / (M / B)
    square = dealt**2 / 2
    assert abs(square.mean() - left) < 4 * square.std() / np.sqrt(len(square)) + bias + 1e-12
    foreign = np.eye(3)[:, order % 3 : order % 3 + 1]  # a control
    assert abs(product.mean() - variance_between(foreign, x, none)[0]) > 4 * error + bias


def shown(parts: FloatArray, x: FloatArray, least: FloatArray) -> tuple[FloatArray, ...]:
    """What a pool with these parts shows: the variance within it and the influence."""
    within = (parts * (1 - x**ORDERS)).sum(axis=0)
    influence = (ORDERS * parts * x ** (ORDERS - 1) * (x - least)).sum(axis=0)
    return within, influence


def dealt(parts: FloatArray, x: FloatArray, size: int, freedom: float) -> Shuffled:
    raw = (parts * (1 - x**ORDERS)).sum(axis=0)
    factor = float(variance_of_dealt(parts, x, size).sum() / raw.sum())
    return Shuffled(size, factor, freedom, raw)


@pytest.mark.parametrize(
    "shares", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.4, 0.6, 0), (0.2, 0.5, 0.3)]
)
def test_the_parts_are_near_those_that_explain_what_a_pool_shows(shares: tuple[float, ...]) -> None:
    x, least = np.full(2, 0.5), np.full(2, 0.01)
    parts = np.outer(shares, [1.0, 2.0])
    within, influence = shown(parts, x, least)
    found = likely_parts(within, influence, x, least, dealt(parts, x, 2, 100))
    np.testing.assert_allclose((found * (1 - x**ORDERS)).sum(axis=0), within)
    true, near = (variance_between(one, np.full(2, 0.1), least) for one in (parts, found))
    # With what 25 degrees of freedom show, small parts are uncertain.
    assert (np.abs(near - true) < 0.03 * within).all()
    blind = likely_parts(within, NONE, x, least, None)
    np.testing.assert_allclose(blind * (1 - x**ORDERS), np.tile(within / 3, (3, 1)))


def test_more_influence_and_shuffles_that_cancel_more_give_more_to_single_records() -> None:
    x, least, parts = np.full(2, 0.3), np.full(2, 0.01), np.outer([0.3, 0.4, 0.3], [1.0, 2.0])
    within, influence = shown(parts, x, least)
    of_influence = [
        likely_parts(within, factor * influence, x, least, None)[0, 0] for factor in (0.6, 1, 1.6)
    ]
    known = dealt(parts, x, 3, 100)
    of_shuffles = [
        likely_parts(within, NONE, x, least, known._replace(factor=factor))[0, 0]
        for factor in (0.9, 0.6, 0.3)
    ]
    for found in (of_influence, of_shuffles):
        assert all(low < high for low, high in pairwise(found))


def test_noise_of_solvers_and_presence_does_not_hide_what_shuffles_cancel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Games whose variance is half noise cancel half as much; the parts are the same."""
    monkeypatch.setattr("shapband.market.planning.parts.FREEDOM", 1000.0)  # sure of the shuffles
    x, parts = np.full(2, 0.5), np.outer([1.0, 0.0, 0.0], [1.0, 2.0])
    within, _ = shown(parts, x, NONE)
    clean = dealt(parts, x, 2, 1000)
    noisy = clean._replace(raw=2 * clean.raw, factor=(1 + clean.factor) / 2)
    found = likely_parts(within, NONE, x, NONE, noisy)
    share = found[0, 0] * 0.5 / within[0]
    assert share > 0.9
    ignored = likely_parts(within, NONE, x, NONE, noisy._replace(raw=clean.raw))
    assert ignored[0, 0] * 0.5 / within[0] < 0.7  # a control


def test_degrees_of_freedom_of_shuffles_are_those_of_correlated_providers() -> None:
    rng = np.random.default_rng(4)
    common = rng.normal(size=(400, 1))
    for values, providers in ((rng.normal(size=(400, 3)), 3), (common @ np.ones((1, 3)), 1)):
        found = shuffled(sb.Estimate.of(values, per_shuffle=4))
        assert found is not None
        assert found.size == 4
        assert found.freedom == pytest.approx(99 * providers, rel=0.06)
        assert found.factor == pytest.approx(1, abs=4 * np.sqrt(2 / found.freedom))
    assert shuffled(sb.Estimate.of(common[:7], per_shuffle=4)) is None
    assert shuffled(sb.Estimate.of(common)) is None
    assert shuffled(sb.Estimate.of(np.ones((40, 2)), per_shuffle=4)) is None
