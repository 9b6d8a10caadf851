"""Estimates of groups of providers."""

from dataclasses import fields, replace

import numpy as np
import pytest

import shapband as sb
from shapband.estimate.estimator import Estimator
from shapband.estimate.grouped import from_moments, of_groups
from shapband.estimate.moments import Moments, moments_of_games
from shapband.estimate.pools import PoolErrors
from shapband.grouping import Grouping

GROUPING = Grouping(("g", "h", "one"), ((0, 2), (1, 3, 4), (5,)))
NO_FOLDS = np.empty((0, 1, 3))  # no effects of folds of validation rows
OTHERS = (
    "n_games", "products", "products_21", "shuffles", "pools", "presence", "averaged", "certain",
    "validation",
)  # fmt: skip
ARRAYS = [field.name for field in fields(Moments) if field.name not in OTHERS]


def games(n_games=50, n=7):
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(n, n))
    return rng.normal(size=(n_games, n)) @ mixed, rng.random((n_games, n))


def sums_of(x):
    return np.stack([x[:, list(places)].sum(axis=1) for places in GROUPING.members], axis=1)


def group_sums():
    """Sums over games of the groups' values."""
    x, w = games()
    return moments_of_games(sums_of(x), w[:, :3])


def pooled(pools, **parts):
    """Sums over games of the providers' values, with the errors of pools."""
    return replace(moments_of_games(*games()), pools=pools, **parts)


def pools_of_groups(providers):
    return of_groups(GROUPING, group_sums(), providers, NO_FOLDS).estimate.moments.pools


@pytest.mark.parametrize("per_shuffle", [None, 5])
def test_a_groups_moments_are_those_of_the_sum(per_shuffle):
    x, w = games()
    design = sb.Design(
        names=tuple("abcdefg"),
        seed=0,
        draw_sizes=np.full(7, 5),
        estimand="any draws",
        grouping=GROUPING,
        per_shuffle=per_shuffle,
    )
    estimator = Estimator(design)
    for at in range(0, len(x), 7):
        part = slice(at, at + 7)
        estimator.add(sb.Solution(x[part], w[part], 0, group_noise=w[part, :3]))
    found = estimator.group_estimate().estimate.moments
    expected = moments_of_games(sums_of(x), w[:, :3], per_shuffle)
    assert found.n_games == 50
    assert (found.shuffles is None) == (per_shuffle is None)
    if per_shuffle is not None:
        assert (found.shuffles.size, found.shuffles.count) == (5, 10)
        np.testing.assert_allclose(found.shuffles.square, expected.shuffles.square, rtol=1e-11)
    for name in ARRAYS:
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-11, atol=1e-9, err_msg=name
        )
    assert found.pools is None


def pools_of(n):
    rng = np.random.default_rng(1)
    return PoolErrors(*(rng.random(n) + 0.5 for _ in range(7)))


def quadratic(variance):
    """Variance of sums of errors with the correlations of the values, by a double loop."""
    correlation = np.corrcoef(games()[0].T)
    return [
        sum(np.sqrt(variance[i] * variance[j]) * correlation[i, j] for i in places for j in places)
        for places in GROUPING.members
    ]


def test_errors_of_pools_are_those_of_correlated_members():
    pools = pools_of(7)
    found = pools_of_groups(pooled(pools))
    np.testing.assert_allclose(found.games, quadratic(pools.games), rtol=1e-10)
    np.testing.assert_allclose(found.variance, quadratic(pools.variance), rtol=1e-10)
    np.testing.assert_allclose(found.hidden, quadratic(pools.hidden), rtol=1e-10)
    members = [list(places) for places in GROUPING.members]
    assert found.freedom.tolist() == [pools.freedom[places].min() for places in members]
    assert found.square.tolist() == [pools.square[places].max() for places in members]


def test_the_part_of_the_games_is_the_variance_of_the_mean():
    """With errors V / n of the members, the sum has the variance of the sum over n."""
    x, _ = games()
    found = pools_of_groups(pooled(replace(pools_of(7), games=x.var(axis=0, ddof=1) / 50)))
    np.testing.assert_allclose(found.games, sums_of(x).var(axis=0, ddof=1) / 50, rtol=1e-10)


def test_without_covariances_the_sum_of_the_errors_is_a_bound():
    x, _ = games()
    pools = pools_of(7)
    found = pools_of_groups(pooled(pools, products=None))
    for name in ("variance", "hidden"):
        errors = np.sqrt(getattr(pools, name))
        bound = [errors[list(places)].sum() ** 2 for places in GROUPING.members]
        np.testing.assert_allclose(getattr(found, name), bound)
    np.testing.assert_allclose(found.games, sums_of(x).var(axis=0, ddof=1) / 50, rtol=1e-10)


def test_third_moments_of_the_members_add_up():
    pools = pools_of(7)
    found = pools_of_groups(pooled(pools))
    third = pools.skewness * pools.variance**1.5
    expected = [third[list(places)].sum() for places in GROUPING.members]
    np.testing.assert_allclose(found.skewness * found.variance**1.5, expected)
    assert found.square_skewness[1] == pools.square_skewness[[1, 3, 4]].max()
    older = pools_of_groups(pooled(replace(pools, skewness=None, square_skewness=None)))
    assert older.skewness is None


def test_members_that_cancel_leave_no_error():
    x = np.random.default_rng(0).normal(size=(40, 2))
    x[:, 1] = -x[:, 0]
    ones = PoolErrors(*(np.ones(2) for _ in range(5)))
    providers = replace(moments_of_games(x, np.zeros_like(x)), pools=ones)
    none = np.zeros((40, 1))
    grouping, nothing = Grouping(("g",), ((0, 1),)), np.empty((0, 1, 1))
    found = of_groups(grouping, moments_of_games(none, none), providers, nothing)
    assert 0 <= found.estimate.moments.pools.variance[0] < 1e-15


def test_moments_of_providers_and_groups_stand_together():
    providers = pooled(pools_of(7))
    found = of_groups(GROUPING, group_sums(), providers, NO_FOLDS)
    groups, both = found.estimate.moments, found.whole.moments
    for name in ARRAYS:
        parts = [getattr(providers, name), getattr(groups, name)]
        np.testing.assert_array_equal(getattr(both, name), np.concatenate(parts))
    for field in fields(PoolErrors):
        parts = [getattr(one.pools, field.name) for one in (providers, groups)]
        np.testing.assert_array_equal(getattr(both.pools, field.name), np.concatenate(parts))
    assert both.products is None
    assert both.products_21 is None
    assert both.n_games == 50
    without = from_moments(replace(groups, pools=None), replace(providers, pools=None))
    assert without.whole.moments.pools is None


def test_arrays_are_known_by_their_values_whatever_their_type_is_called(monkeypatch):
    """The name of a type may change with an import; intervals must not."""
    providers = pooled(pools_of(7))
    groups = of_groups(GROUPING, group_sums(), providers, NO_FOLDS).estimate.moments
    for record in (Moments, PoolErrors):
        for field in fields(record):
            monkeypatch.setattr(field, "type", str(field.type).replace("FloatArray", "Floats"))
    both = from_moments(groups, providers).whole.moments
    assert both.mean.tolist() == [*providers.mean, *groups.mean]
    assert both.pools.variance.tolist() == [*providers.pools.variance, *groups.pools.variance]
