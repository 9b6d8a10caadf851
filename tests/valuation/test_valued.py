"""What was valued, and the values of nobody and of everybody."""

import numpy as np
import pytest

import shapband as sb
from shapband.valuation.valued import method_of_value, the_score, valued, whole_of
from tests.conftest import redesigned
from tests.report.made_up import made_up, valuation_of

SOLVERS = [sb.Exact(), sb.Permutation(4), sb.BalancedPermutation(20), sb.Strata(40), None]


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_the_value_of_everybody_is_the_mean_over_games_of_their_score(wine, solver):
    utility = wine.utility
    found = sb.value(
        wine.providers, utility, sampling=sb.Fresh(40), n_games=6, seed=0, solver=solver
    )
    exact = sb.value(
        wine.providers, utility, sampling=sb.Fresh(40), n_games=6, seed=0, solver=sb.Exact()
    )
    one, other = whole_of(found), whole_of(exact)
    assert one is not None
    assert other is not None
    assert one.everybody == pytest.approx(other.everybody, abs=1e-9)
    assert one.gain == pytest.approx(found.games.sum(axis=1).mean(), abs=1e-9)
    assert one.nobody == pytest.approx(utility.empty, rel=1e-5, abs=1e-12)


def test_the_value_of_everybody_is_v_of_n_of_a_known_game():
    table = [0.25, 1.0, 2.0, 5.0]
    source = sb.ArraySource(np.zeros((4, 1)), np.arange(4.0))
    providers = [sb.Provider(name, source) for name in "ab"]
    found = sb.value(providers, sb.TableUtility(table), sampling=sb.Fresh(2), n_games=3, seed=0)
    whole = whole_of(found)
    assert whole is not None
    assert (whole.nobody, whole.everybody, whole.gain) == (0.25, 5.0, 4.75)
    banzhaf = sb.value(providers, sb.TableUtility(table), sampling=sb.Fresh(2), n_games=3, seed=0,
                       index=sb.Banzhaf())  # fmt: skip
    assert whole_of(banzhaf) is None


def test_the_error_of_the_gain_is_that_of_the_sum():
    games = np.random.default_rng(0).normal(1.0, 0.2, (400, 3))
    whole = whole_of(valuation_of(games))
    assert whole is not None
    expected = 1.966 * games.sum(axis=1).std(ddof=1) / np.sqrt(400)
    assert whole.half_width == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("empty", ["", "v(∅)", "v(∅) = unknown"])
def test_results_without_a_known_value_of_nobody_have_none_of_everybody(empty):
    made = made_up(3)
    assert whole_of(redesigned(made, setup={**made.setup, "empty": empty})) is None


def test_older_results_name_the_class_of_the_utility():
    old = {"utility": "EstimatorUtility", "empty": "v(∅) = 0"}
    design = redesigned(made_up(2), setup=old).design
    assert valued(design) == "EstimatorUtility"
    assert method_of_value(old) == "EstimatorUtility"
    assert the_score(old) == "the value of a coalition"
    assert valued(redesigned(made_up(2), setup={}).design) == "a utility without a name"
