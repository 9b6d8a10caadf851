"""Solvers that do not suit the number of providers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bad_input import (
    counted,
    few,
    refused,
    refused_unasked,
    setups,
)

import shapband as sb


@pytest.mark.parametrize("n", [21, 40, 20_000])
def test_exact_values_of_too_many_providers_are_refused(n):
    sources = [counted([1.0, 2.0], [1.0, 2.0]) for _ in range(n)]
    providers = [sb.Provider(f"p{i}", source) for i, source in enumerate(sources)]
    refused(
        sb.value, "Exact", str(n), "20", "BalancedPermutation",
        providers=providers, utility=sb.AdditiveUtility(), sampling=sb.Fresh(1),
        solver=sb.Exact(), n_games=2, seed=0,
    )  # fmt: skip
    assert sum(source.asked for source in sources) == 0


@few
@given(setups(), st.integers(1, 12))
def test_balanced_permutations_need_whole_blocks(setup, n_iter):
    n = len(setup.sources)
    solver = sb.BalancedPermutation(n_iter)
    if n_iter % n == 0 and n_iter >= 2 * n:
        assert setup.value(solver=solver).n_games == 3
    else:
        message = refused_unasked(setup, "BalancedPermutation", "n_iter", solver=solver)
        proposed = int(message.rsplit("use ", 1)[1])
        assert setup.value(solver=sb.BalancedPermutation(proposed)).n_games == 3
