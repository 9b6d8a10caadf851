import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shapband as sb
from shapband.records.batch import Batch
from shapband.sampling.allocation import allocation_bounds, variability_scores

scores = st.lists(st.floats(0, 1e3, allow_subnormal=False), min_size=1, max_size=12)
sizes = st.tuples(st.integers(1, 400), st.integers(1, 120), st.floats(0.05, 1.0))


def feasible(n_pool, n_boot, alpha):
    floor = max(1, n_boot // 2)
    return max(floor, int(np.floor(alpha * n_pool))) >= n_boot


@settings(max_examples=300)
@given(scores, sizes)
def test_the_total_is_exact_and_the_bounds_hold(scores, sizes):
    assume(feasible(*sizes))
    n_pool, n_boot, alpha = sizes
    allocated = sb.theory.allocate(scores, n_pool, n_boot, alpha)
    floor, cap = allocation_bounds(n_pool, n_boot, alpha)
    assert allocated.sum() == len(scores) * n_boot
    assert allocated.min() >= floor
    assert allocated.max() <= cap


@settings(max_examples=300)
@given(scores, sizes)
def test_a_higher_score_never_gets_less(scores, sizes):
    assume(feasible(*sizes))
    allocated = sb.theory.allocate(scores, *sizes)
    order = np.argsort(scores, kind="stable")
    ranked, given_ = np.array(scores)[order], allocated[order]
    higher = np.diff(ranked) > 0
    assert (np.diff(given_)[higher] >= 0).all()


@settings(max_examples=200)
@given(st.lists(st.floats(0, 1e3), min_size=2, max_size=10, unique=True), sizes, st.randoms())
def test_reordering_the_providers_reorders_the_allocation(scores, sizes, random):
    assume(feasible(*sizes))
    # Scores closer than rounding can tell apart are ties, which go by position.
    assume(np.diff(np.sort(scores)).min() > 1e-6 * max(scores))
    order = list(range(len(scores)))
    random.shuffle(order)
    straight = sb.theory.allocate(scores, *sizes)
    shuffled = sb.theory.allocate(np.array(scores)[order], *sizes)
    ties = len(np.unique(np.round(straight, 0))) < len(scores)
    if not ties:
        np.testing.assert_array_equal(shuffled, straight[order])
    assert sorted(shuffled) == sorted(straight)


def test_ties_go_to_the_earlier_provider_every_time():
    # Each of the four gets 2 to 5 more than the floor; quotas end in .5 twice.
    first = sb.theory.allocate([0.0, 1.0, 1.0, 1.0], 100, 7, 1.0)
    assert first.tolist() == [3, 9, 8, 8]
    assert sb.theory.allocate([0.0, 1.0, 1.0, 1.0], 100, 7, 1.0).tolist() == first.tolist()


def test_ties_go_to_the_higher_score_first():
    # The quotas are 1, 2.5 and 5.5.
    assert sb.theory.allocate([0.0, 1.0, 3.0], 100, 3, 1.0).tolist() == [1, 2, 6]
    assert sb.theory.allocate([3.0, 1.0, 0.0], 100, 3, 1.0).tolist() == [6, 2, 1]


def test_allocations_are_whole_numbers():
    for scores in ([1.0, 2.0], [1.0, 1.0]):
        assert sb.theory.allocate(scores, 100, 7, 1.0).dtype == np.int64


def test_equal_scores_get_equal_shares():
    assert sb.theory.allocate([2.0, 2.0, 2.0], 250, 60, 0.5).tolist() == [60, 60, 60]


def test_what_capped_providers_cannot_take_goes_to_the_others():
    # Floor 5, total 40; the cap of 12 stops the two highest, the rest goes to the third.
    assert sb.theory.allocate([0.0, 0.2, 1.0, 1.0], 24, 10, 0.5).tolist() == [5, 11, 12, 12]


def test_when_only_the_lowest_are_left_they_share_the_rest():
    assert sb.theory.allocate([0.0, 0.0, 1.0], 24, 10, 0.5).tolist() == [9, 9, 12]


def test_an_infeasible_cap_is_a_clear_error():
    said = (
        "the cap of 50 records per provider (alpha=0.5 of n_pool=100) is below n_boot=60, so the "
        "total cannot be allocated: raise alpha or n_pool, or lower n_boot"
    )
    with pytest.raises(sb.errors.InvalidInput, match=f"^{re.escape(said)}$"):
        sb.Stratified(n_pool=100, n_boot=60, alpha=0.5)
    assert sb.Stratified(n_pool=100, n_boot=50, alpha=0.5).n_boot == 50


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"scores": []}, "allocate: scores is empty: pass one number for each provider"),
        (
            {"n_pool": 0},
            "allocate: n_pool must be a whole number of at least 1; received 0",
        ),
        (
            {"n_boot": 0},
            "allocate: n_boot must be a whole number of at least 1; received 0",
        ),
        (
            {"scores": [1.0, np.nan]},
            "allocate: scores must be a row of finite numbers, without NaN or infinite ones; "
            "received the shape (2,)",
        ),
    ],
)
def test_what_cannot_be_allocated_is_refused(arguments, said):
    arguments = {"scores": [1.0, 2.0], "n_pool": 8, "n_boot": 4, "alpha": 1.0} | arguments
    with pytest.raises(sb.errors.InvalidInput, match=f"^{re.escape(said)}$"):
        sb.theory.allocate(**arguments)


@pytest.mark.parametrize(
    ("n_pool", "n_boot", "alpha", "bounds"),
    [
        (250, 60, 0.5, (30, 125)),
        (7, 3, 0.5, (1, 3)),
        (9, 1, 1.0, (1, 9)),
        (1, 1, 0.1, (1, 1)),
        (10, 5, 0.59, (2, 5)),
    ],
)
def test_floor_and_cap(n_pool, n_boot, alpha, bounds):
    assert allocation_bounds(n_pool, n_boot, alpha) == bounds


def test_scores_are_variances_in_units_of_the_pooled_ones():
    rng = np.random.default_rng(0)
    pools = [Batch(rng.normal(scale=s, size=(50, 2)) * [1, 1000], np.zeros(50)) for s in (1, 2)]
    together = np.concatenate([pool.X for pool in pools])
    expected = [(pool.X.var(axis=0) / together.var(axis=0)).sum() for pool in pools]
    np.testing.assert_allclose(variability_scores(pools), expected, rtol=1e-12)


def test_constant_features_are_left_out():
    rng = np.random.default_rng(0)
    varying = [Batch(rng.normal(size=(20, 1)), np.zeros(20)) for _ in range(2)]
    padded = [Batch(np.hstack([b.X, np.full((20, 1), 0.1)]), b.y) for b in varying]
    np.testing.assert_allclose(variability_scores(padded), variability_scores(varying))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_missing_values_and_text_are_left_out_of_the_scores(kind):
    rng = np.random.default_rng(0)
    pools, tables = [], []
    for scale in (1.0, 2.0, 3.0):
        a, b = rng.normal(scale=scale, size=(2, 30))
        a[:5] = np.nan
        whole = rng.integers(0, 9, size=30)
        constant = np.where(np.arange(30) % 3, 0.1, np.nan)
        columns = {"a": a, "word": ["x", "y"] * 15, "b": b, "whole": whole, "constant": constant}
        pools.append(Batch(kind(columns), np.zeros(30)))
        tables.append(np.column_stack([a, b, whole]))
    overall = np.nanvar(np.concatenate(tables), axis=0)
    expected = [(np.nanvar(table, axis=0) / overall).sum() for table in tables]
    np.testing.assert_allclose(variability_scores(pools), expected, rtol=1e-12)


def test_a_feature_that_one_pool_lacks_counts_for_the_others():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 20))
    lacking = pd.DataFrame({"a": a, "b": np.full(20, np.nan)})
    single = pd.DataFrame({"a": a, "b": np.where(np.arange(20) == 3, b, np.nan)})
    whole = pd.DataFrame({"a": a, "b": b})
    without, one, both = variability_scores([Batch(x, a) for x in (lacking, single, whole)])
    assert without == one == pytest.approx(1.0)
    assert both > 1.5


def test_pools_without_numbers_or_without_records_have_no_variability():
    words = [Batch(pd.DataFrame({"word": ["x", "y"] * n}), np.zeros(2 * n)) for n in (1, 40)]
    assert variability_scores(words).tolist() == [0.0, 0.0]
    pools = [Batch(np.empty((0, 1)), np.empty(0)), Batch(np.array([[1.0], [3.0]]), np.zeros(2))]
    assert variability_scores(pools).tolist() == [0.0, 1.0]


def test_no_variable_feature_means_equal_scores():
    pools = [Batch(np.full((20, 2), 0.1), np.zeros(20)) for _ in range(3)]
    assert np.ptp(variability_scores(pools)) == 0
