"""Sizes that no sampling and no solver can have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.bad_input import (
    few,
    refused,
    wholes_below,
)

import shapband as sb

SIZES = [
    (sb.Fresh, {"n_sample": 4}),
    (sb.Pooled, {"n_pool": 8, "n_boot": 4}),
    (sb.Stratified, {"n_pool": 8, "n_boot": 4, "alpha": 0.75}),
    (sb.Permutation, {"n_iter": 4}),
    (sb.BalancedPermutation, {"n_iter": 4}),
]
DRAW = ", a fraction of each stock between 0 and 1, or whole numbers by provider name"
MEAN = " (the mean over providers, whose sizes follow their pools; Pooled takes others)"
RULES = {
    (sb.Fresh, "n_sample"): f"1{DRAW}",
    (sb.Pooled, "n_boot"): f"1{DRAW}",
    (sb.Stratified, "n_boot"): f"1{MEAN}",
    (sb.Pooled, "n_pool"): f"2{DRAW}",
    (sb.Stratified, "n_pool"): "2 (one record has no variance)",
}


@pytest.mark.parametrize(
    ("made_by", "sizes", "name"),
    [(made_by, sizes, name) for made_by, sizes in SIZES for name in sizes if name != "alpha"],
)
@settings(max_examples=8)
@given(wholes_below(1) | st.none())
@example(0)
def test_sizes_that_are_no_counts_are_refused(made_by, sizes, name, size):
    assert made_by(**sizes)
    if DRAW in RULES.get((made_by, name), ""):
        assume(not (isinstance(size, float) and 0 < size < 1))
    least = RULES.get((made_by, name), "1")
    assert refused(made_by, **(sizes | {name: size})) == (
        f"{made_by.__name__}: {name} must be a whole number of at least {least}; received {size!r}"
    )


@few
@given(st.floats(max_value=0.0) | st.floats(1.0, exclude_min=True) | st.just(np.nan))
@example(0.0)
@example(1.01)
def test_alpha_outside_its_range_is_refused(alpha):
    said = (
        f"alpha must lie in (0, 1]; received {alpha!r}"
        if np.isfinite(alpha)
        else f"alpha must be a finite number in (0, 1]; received {alpha!r}"
    )
    assert refused(sb.Stratified, n_pool=8, n_boot=4, alpha=alpha) == said
    assert refused(sb.theory.allocate, scores=[1, 2], n_pool=8, n_boot=4, alpha=alpha) == said


@pytest.mark.parametrize("alpha", ["half", None, [0.5], 0.5j], ids=str)
def test_alpha_that_is_no_number_is_refused(alpha):
    refused(sb.Stratified, "alpha", n_pool=8, n_boot=4, alpha=alpha)


@few
@given(st.integers(2, 20), st.floats(0.01, 1), st.integers(2, 100))
def test_a_cap_below_the_mean_draw_is_refused(n_boot, alpha, n_pool):
    fits = int(alpha * n_pool) >= n_boot
    if fits:
        assert sb.Stratified(n_pool, n_boot, alpha).n_boot == n_boot
    else:
        refused(sb.Stratified, "cap", "alpha", "n_boot", n_pool=n_pool, n_boot=n_boot, alpha=alpha)


@few
@given(st.integers(1, 30), st.integers(1, 60))
def test_dealt_draws_need_room_for_two(n_boot, n_pool):
    if n_pool >= 2 * n_boot:
        assert sb.Pooled(n_pool, n_boot, replace=False).n_pool == n_pool
    else:
        said = refused(sb.Pooled, n_pool=n_pool, n_boot=n_boot, replace=False)
        assert n_pool < 2 or f"raise n_pool to {2 * n_boot}, or lower n_boot" in said


@pytest.mark.parametrize(
    ("sampling", "asked"),
    [(sb.Fresh(25), "n_sample=25"), (sb.Pooled(60, 13, replace=False), "2 draws of n_boot=13")],
    ids=repr,
)
@pytest.mark.parametrize("size", [24, 25, 26, 27])
def test_stocks_that_are_too_small_are_refused(sampling, asked, size):
    numbers = np.arange(100.0)
    providers = [
        sb.Provider("large", sb.ArraySource(numbers, numbers)),
        sb.Provider("small", sb.ArraySource(numbers[:size], numbers[:size])),
    ]
    if size >= (25 if isinstance(sampling, sb.Fresh) else 26):
        sampling.check(providers)
        return
    argument = "n_sample" if isinstance(sampling, sb.Fresh) else "n_boot"
    assert refused(sampling.check, providers=providers) == (
        f"{type(sampling).__name__}: provider 'small' has {size} records, fewer than {asked}: "
        f"lower {argument}, give sizes by provider name, or leave the provider out"
    )
