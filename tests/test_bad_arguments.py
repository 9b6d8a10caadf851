"""Arguments that `value` refuses before any source is asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapband as sb
from tests.bad_input import (
    few,
    refused,
    refused_unasked,
    setups,
    wholes_below,
    wrong_things,
)


@few
@given(setups())
def test_the_unbroken_setup_is_valued_and_asks_every_source(setup):
    valuation = setup.value()
    assert valuation.n_games == 3
    assert np.isfinite(valuation.games).all()
    assert all(source.asked > 0 for source in setup.sources)


@few
@given(setups(), wholes_below(2) | st.none())
def test_fewer_than_two_games_are_refused(setup, n_games):
    refused_unasked(setup, "n_games", "2", n_games=n_games)


@few
@given(setups(), wholes_below(1))
def test_a_chunk_size_that_is_no_count_is_refused(setup, chunk_size):
    refused_unasked(setup, "chunk_size", chunk_size=chunk_size)


@few
@given(setups(), wholes_below(0))
def test_a_seed_that_is_no_count_is_refused(setup, seed):
    refused_unasked(setup, "seed", seed=seed)


@few
@given(setups(), wholes_below(-1) | st.sampled_from([0, None]))
def test_n_jobs_that_is_no_count_is_refused(setup, n_jobs):
    refused_unasked(setup, "n_jobs", n_jobs=n_jobs)


@few
@given(setups(), st.sampled_from(["utility", "sampling", "solver", "index"]), wrong_things)
def test_parts_of_the_wrong_type_are_refused(setup, part, thing):
    refused_unasked(setup, part, **{part: thing})


@few
@given(setups(), st.sampled_from(["utility", "sampling"]))
def test_missing_parts_are_refused(setup, part):
    refused_unasked(setup, part, **{part: None})


@few
@given(setups(), st.sampled_from([0, "", [], False, 0.0]))
def test_a_solver_that_happens_to_be_false_is_refused(setup, solver):
    refused_unasked(setup, "solver", solver=solver)


@few
@given(setups(), wrong_things | st.sampled_from([0, False, ""]))
def test_a_budget_of_the_wrong_type_is_refused(setup, budget):
    refused_unasked(setup, "budget", budget=budget)


@few
@given(st.sampled_from(["records", "requests"]), st.integers(-9, 0) | st.floats(1.1, 1.9))
def test_a_budget_limit_that_is_no_count_is_refused(limit, number):
    refused(sb.Budget, "Budget", limit, **{limit: number})


@pytest.mark.parametrize("number", [True, np.inf, np.nan, "many", [3]], ids=str)
@pytest.mark.parametrize("limit", ["records", "requests"])
def test_a_budget_limit_that_is_no_number_is_refused(limit, number):
    refused(sb.Budget, "Budget", limit, **{limit: number})
