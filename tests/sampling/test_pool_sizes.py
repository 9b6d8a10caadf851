"""Pools whose sizes are fractions of each stock, or numbers by provider name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.conftest import gaussian_providers, linear_providers

import shapband as sb
from shapband.errors import InvalidInput


def providers() -> tuple[list[sb.Provider], sb.Utility]:
    made, (X, y) = linear_providers(n=3, records=100)
    few = sb.ArraySource(made[0].source.records.X[:25], made[0].source.records.y[:25])
    return [sb.Provider("few", few), *made[1:]], sb.LinearUtility(X, y)


@pytest.mark.parametrize(
    ("n_pool", "sizes"),
    [
        (40, [25, 40, 40]),
        (0.4, [10, 40, 40]),
        (0.02, [2, 2, 2]),
        ({"few": 10, "site 1": 30, "site 2": 500}, [10, 30, 100]),
    ],
)
def test_the_sizes_of_pools(n_pool: Any, sizes: list[int]) -> None:
    made, utility = providers()
    sampling = sb.Pooled(n_pool, 2)
    assert list(sampling.purchases(made).once) == sizes
    valuation = sb.value(made, utility, sampling=sampling, n_games=4, seed=0)
    assert valuation.design.pool_sizes.tolist() == sizes
    assert [valuation.access.by_provider[p.name].records for p in made] == sizes
    assert eval(repr(sampling), {"Pooled": sb.Pooled}) == sampling  # noqa: S307


def test_equal_pools_give_the_same_games_in_every_form() -> None:
    made, (X, y) = linear_providers(n=2, records=100)
    utility = sb.LinearUtility(X, y)
    games = [
        sb.value(
            made, utility, sampling=sb.Pooled(n_pool, 5, replace=False), n_games=9, seed=1
        ).games
        for n_pool in (50, 0.5, {"site 1": 50, "site 0": 50})
    ]
    np.testing.assert_array_equal(games[0], games[1])
    np.testing.assert_array_equal(games[0], games[2])


@pytest.mark.parametrize(
    ("n_pool", "n_boot", "message"),
    [
        ({"few": 1}, 5, "Pooled: n_pool of provider 'few' must be a whole number of at least 2"),
        ({}, 5, "Pooled: n_pool must name every provider; it is empty"),
        (0.3, 0.2, "Pooled: without replacement n_boot=0.2 must be at most half of n_pool=0.3"),
        ({"few": 10}, 5, "Pooled: n_pool must name every provider, and 'site 1' is missing"),
        (
            0.3,
            5,
            "Pooled: n_pool=0.3 (7 records) must hold two draws of every provider, and a draw of "
            "'few' has n_boot=5: raise n_pool to 0.4 (10 records), or lower n_boot",
        ),
        (
            {"few": 20, "site 1": 20, "site 2": 8},
            5,
            "Pooled: n_pool=8 must hold two draws of every provider, and a draw of 'site 2' has "
            "n_boot=5: raise n_pool to 10, or lower n_boot",
        ),
    ],
)
def test_pools_that_cannot_be_used(n_pool: Any, n_boot: Any, message: str) -> None:
    made, utility = providers()
    with pytest.raises(InvalidInput) as refused:
        sb.value(made, utility, sampling=sb.Pooled(n_pool, n_boot, replace=False), n_games=4)
    assert str(refused.value).startswith(message)


def test_a_fraction_needs_a_source_of_known_size() -> None:
    made = gaussian_providers([1.0, 2.0], [1.0, 1.0])
    with pytest.raises(InvalidInput, match=r"Pooled: n_pool=0\.5 is a fraction of each stock, but"):
        sb.value(made, sb.AdditiveUtility(), sampling=sb.Pooled(0.5, 5), n_games=4)
