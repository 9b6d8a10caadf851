"""Sizes that no sampling and no solver can have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bad_input import (
    few,
    refused,
    wholes_below,
)

import shapband as sb


@few
@given(wholes_below(1) | st.none(), st.data())
def test_sizes_that_are_no_counts_are_refused(size, data):
    made_by, rest = data.draw(
        st.sampled_from(
            [
                (sb.Fresh, {"n_sample": 4}),
                (sb.Pooled, {"n_pool": 8, "n_boot": 4}),
                (sb.Blocks, {"n_pool": 8, "n_sample": 4}),
                (sb.Stratified, {"n_pool": 8, "n_boot": 4, "alpha": 0.75}),
                (sb.Permutation, {"n_iter": 4}),
                (sb.BalancedPermutation, {"n_iter": 4}),
            ]
        )
    )
    assert made_by(**rest)
    name = data.draw(st.sampled_from([name for name in rest if name != "alpha"]))
    refused(made_by, made_by.__name__, name, **(rest | {name: size}))


@few
@given(st.floats(max_value=0.0) | st.floats(1.0, exclude_min=True) | st.just(np.nan))
def test_alpha_outside_its_range_is_refused(alpha):
    refused(sb.Stratified, "alpha", "(0, 1]", n_pool=8, n_boot=4, alpha=alpha)
    refused(
        sb.theory.allocate, "alpha", "(0, 1]", scores=[1.0, 2.0], n_pool=8, n_boot=4, alpha=alpha
    )


@pytest.mark.parametrize("alpha", ["half", None, [0.5], 0.5j], ids=str)
def test_alpha_that_is_no_number_is_refused(alpha):
    refused(sb.Stratified, "alpha", n_pool=8, n_boot=4, alpha=alpha)


@few
@given(st.integers(2, 20), st.floats(0.01, 1), st.integers(1, 100))
def test_a_cap_below_the_mean_draw_is_refused(n_boot, alpha, n_pool):
    fits = int(alpha * n_pool) >= n_boot
    if fits:
        assert sb.Stratified(n_pool, n_boot, alpha).n_boot == n_boot
    else:
        refused(sb.Stratified, "cap", "alpha", "n_boot", n_pool=n_pool, n_boot=n_boot, alpha=alpha)


@few
@given(st.integers(1, 30), st.integers(1, 60))
def test_blocks_need_room_for_two_draws(n_sample, n_pool):
    if n_pool >= 2 * n_sample:
        assert sb.Blocks(n_pool, n_sample).n_pool == n_pool
    else:
        refused(sb.Blocks, "n_pool", "n_sample", n_pool=n_pool, n_sample=n_sample)
