"""Moments of groups of providers, and moments as documents."""

import json
from dataclasses import fields, replace
from importlib.util import find_spec, module_from_spec

import numpy as np
import pytest

from shapband.errors import InvalidInput
from shapband.estimate.accumulate import Moments
from shapband.estimate.documents import moments_document, moments_of
from shapband.estimate.fold import Fold
from shapband.estimate.grouped import GroupFold, together
from shapband.estimate.pools import PoolErrors
from shapband.grouping import Grouping

GROUPING = Grouping(("g", "h", "one"), ((0, 2), (1, 3, 4), (5,)))
OTHERS = (
    "n_games", "group", "n_groups", "products", "pools", "presence", "averaged", "certain",
)  # fmt: skip
ARRAYS = [field.name for field in fields(Moments) if field.name not in OTHERS]


def games(n_games=50, n=7):
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(n, n))
    return rng.normal(size=(n_games, n)) @ mixed, rng.random((n_games, n))


def sums_of(x):
    return np.stack([x[:, list(places)].sum(axis=1) for places in GROUPING.members], axis=1)


def folded(x, group_noise, per_shuffle=None, chunk=7):
    fold = GroupFold(GROUPING, per_shuffle)
    for at in range(0, len(x), chunk):
        fold.add(x[at : at + chunk], group_noise[at : at + chunk])
    return fold


@pytest.mark.parametrize("per_shuffle", [None, 5])
def test_a_groups_moments_are_those_of_the_sum(per_shuffle):
    x, w = games()
    providers = Estimate.of(x, w, per_shuffle)
    found = folded(x, w[:, :3], per_shuffle).moments(providers)
    expected = Estimate.of(sums_of(x), w[:, :3], per_shuffle)
    assert (found.n_games, found.group, found.n_groups) == (50, per_shuffle, expected.n_groups)
    for name in ARRAYS:
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-11, atol=1e-9, err_msg=name
        )
    assert found.pools is None


def pools_of(n):
    rng = np.random.default_rng(1)
    return PoolErrors(*(rng.random(n) + 0.5 for _ in range(5)))


def quadratic(variance):
    """Variance of sums of errors with the correlations of the values, by a double loop."""
    correlation = np.corrcoef(games()[0].T)
    return [
        sum(np.sqrt(variance[i] * variance[j]) * correlation[i, j] for i in places for j in places)
        for places in GROUPING.members
    ]


def test_errors_of_pools_are_those_of_correlated_members():
    x, w = games()
    pools = pools_of(7)
    providers = replace(Estimate.of(x, w), pools=pools)
    found = folded(x, w[:, :3]).moments(providers).pools
    np.testing.assert_allclose(found.games, quadratic(pools.games), rtol=1e-10)
    np.testing.assert_allclose(found.variance, quadratic(pools.variance), rtol=1e-10)
    np.testing.assert_allclose(found.hidden, quadratic(pools.hidden), rtol=1e-10)
    members = [list(places) for places in GROUPING.members]
    assert found.freedom.tolist() == [pools.freedom[places].min() for places in members]
    assert found.square.tolist() == [pools.square[places].max() for places in members]


def test_the_part_of_the_games_is_the_variance_of_the_mean():
    """With errors V / n of the members, the sum has the variance of the sum over n."""
    x, w = games()
    moments = Estimate.of(x, w)
    pools = replace(pools_of(7), games=moments.raw_variance / 50)
    found = folded(x, w[:, :3]).moments(replace(moments, pools=pools)).pools
    np.testing.assert_allclose(found.games, sums_of(x).var(axis=0, ddof=1) / 50, rtol=1e-10)


def test_without_covariances_the_sum_of_the_errors_is_a_bound():
    x, w = games()
    pools = pools_of(7)
    providers = replace(Estimate.of(x, w), pools=pools, products=None)
    found = folded(x, w[:, :3]).moments(providers).pools
    for name in ("variance", "hidden"):
        errors = np.sqrt(getattr(pools, name))
        bound = [errors[list(places)].sum() ** 2 for places in GROUPING.members]
        np.testing.assert_allclose(getattr(found, name), bound)
    np.testing.assert_allclose(found.games, sums_of(x).var(axis=0, ddof=1) / 50, rtol=1e-10)


def test_members_that_cancel_leave_no_error():
    x = np.random.default_rng(0).normal(size=(40, 2))
    x[:, 1] = -x[:, 0]
    ones = PoolErrors(*(np.ones(2) for _ in range(5)))
    fold = GroupFold(Grouping(("g",), ((0, 1),)), None)
    fold.add(x, np.zeros((40, 1)))
    found = fold.moments(replace(Estimate.of(x), pools=ones)).pools
    assert 0 <= found.variance[0] < 1e-15


def test_moments_of_providers_and_groups_stand_together():
    x, w = games()
    providers = replace(Estimate.of(x, w), pools=pools_of(7))
    groups = folded(x, w[:, :3]).moments(providers)
    both = together(providers, groups)
    for name in ARRAYS:
        parts = [getattr(providers, name), getattr(groups, name)]
        np.testing.assert_array_equal(getattr(both, name), np.concatenate(parts))
    for field in fields(PoolErrors):
        parts = [getattr(one.pools, field.name) for one in (providers, groups)]
        np.testing.assert_array_equal(getattr(both.pools, field.name), np.concatenate(parts))
    assert both.products is None
    assert both.n_games == 50
    assert together(replace(providers, pools=None), replace(groups, pools=None)).pools is None


@pytest.mark.parametrize("pools", [None, pools_of(7)], ids=["games", "pools"])
@pytest.mark.parametrize("kept", [True, False])
def test_moments_round_trip_as_documents(pools, kept):
    x, w = games()
    fold = Fold(7, 5)
    fold.add(x, np.where(w > 0.99, np.nan, w))
    moments = replace(fold.moments(), pools=pools)
    moments = moments if kept else replace(moments, products=None)
    text = json.dumps(moments_document(moments), allow_nan=False)
    again = moments_of(json.loads(text))
    for name in [field.name for field in fields(Moments) if field.name != "pools"]:
        one, other = getattr(again, name), getattr(moments, name)
        if other is None:
            assert one is None
        else:
            np.testing.assert_array_equal(one, other)
    if pools is None:
        assert again.pools is None
    else:
        for field in fields(PoolErrors):
            np.testing.assert_array_equal(
                getattr(again.pools, field.name), getattr(pools, field.name)
            )


def test_an_older_document_has_no_shuffles():
    document = moments_document(Estimate.of(games()[0]))
    for key in ("group_m2", "products", "pools"):
        del document[key]
    again = moments_of(document)
    assert again.group_m2.tolist() == [0.0] * 7
    assert again.products is None
    assert again.pools is None


def test_infinite_moments_cannot_be_written():
    moments = Estimate.of(games()[0])
    with pytest.raises(InvalidInput, match="infinite values cannot be written as JSON"):
        moments_document(replace(moments, m4=np.full(7, np.inf)))


def test_arrays_are_known_by_their_values_whatever_their_type_is_called(monkeypatch):
    """The name of a type may change with an import; intervals and documents must not."""
    x, w = games()
    providers = replace(Estimate.of(x, w), pools=pools_of(7))
    groups = folded(x, w[:, :3]).moments(providers)
    for record in (Moments, PoolErrors):
        for field in fields(record):
            monkeypatch.setattr(field, "type", str(field.type).replace("FloatArray", "Floats"))
    both = together(providers, groups)
    assert both.mean.tolist() == [*providers.mean, *groups.mean]
    assert both.pools.variance.tolist() == [*providers.pools.variance, *groups.pools.variance]
    spec = find_spec("shapband.estimate.documents")
    documents = module_from_spec(spec)  # loaded again, with the types as they are called now
    spec.loader.exec_module(documents)
    document = documents.moments_document(providers)
    assert document == moments_document(providers)
    assert documents.moments_of(document).m4.tolist() == providers.m4.tolist()
