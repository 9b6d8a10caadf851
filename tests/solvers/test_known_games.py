import numpy as np
import pytest
from tests import known_games
from tests.conftest import one_record_providers

import shapband as sb
from shapband.solvers.exact import index_values


@pytest.mark.parametrize("name", known_games.ALL)
def test_exact_gives_the_known_values(name):
    table, known = known_games.ALL[name]()
    valuation = sb.value(
        one_record_providers(len(known)),
        sb.TableUtility(table),
        sampling=sb.Fresh(1),
        solver=sb.Exact(),
        n_games=2,
        seed=0,
    )
    np.testing.assert_allclose(valuation.expectation, known, rtol=0, atol=1e-12)
    np.testing.assert_allclose(valuation.variance, 0, atol=1e-24)


@pytest.mark.parametrize("name", known_games.ALL)
@pytest.mark.parametrize("solver", [sb.Permutation(60), sb.BalancedPermutation(420)])
def test_sampling_solvers_stay_within_four_of_their_own_standard_errors(name, solver):
    table, known = known_games.ALL[name]()
    n = len(known)
    n_iter = solver.n_iter - solver.n_iter % n
    valuation = sb.value(
        one_record_providers(n),
        sb.TableUtility(table),
        sampling=sb.Fresh(1),
        solver=type(solver)(n_iter),
        n_games=50,
        seed=3,
    )
    # The game never varies, so all variance is solver noise; additive games have none.
    error = np.maximum(np.sqrt(valuation.solver_variance / valuation.n_games), 1e-13)
    assert (np.abs(valuation.expectation - known) < 4 * error).all()


def test_the_same_check_fails_for_wrong_values():
    table, known = known_games.weighted_majority()
    valuation = sb.value(
        one_record_providers(4),
        sb.TableUtility(table),
        sampling=sb.Fresh(1),
        solver=sb.Permutation(60),
        n_games=50,
        seed=3,
    )
    wrong = known[[1, 0, 2, 3]]
    error = np.sqrt(valuation.solver_variance / valuation.n_games)
    assert (np.abs(valuation.expectation - wrong) > 4 * error)[:2].all()


@pytest.mark.parametrize(
    "solver", [sb.Exact(), sb.Permutation(1), sb.Permutation(7), sb.BalancedPermutation(12)]
)
def test_efficiency_holds_in_every_game(solver):
    rng = np.random.default_rng(5)
    table = rng.normal(size=2**6)
    valuation = sb.value(
        one_record_providers(6),
        sb.TableUtility(table),
        sampling=sb.Fresh(1),
        solver=solver,
        n_games=20,
        seed=0,
    )
    np.testing.assert_allclose(valuation.games.sum(axis=1), table[-1] - table[0], atol=1e-12)


def test_exact_refuses_too_many_providers_with_the_number_it_would_need():
    with pytest.raises(sb.errors.InvalidInput, match=r"1,073,741,823 coalitions"):
        sb.Exact().check(30)


def test_tables_of_whole_numbers_give_the_values_of_their_floats():
    table = np.array([[0, 1, 2, 5], [0, 4, 1, 4]])
    for rows in (table, table[:, ::1].T.copy().T):
        assert index_values(rows, sb.Shapley()).tolist() == [[2.0, 3.0], [3.5, 0.5]]


def test_the_paper_s_worked_example():
    """Section II-C: two games, two permutations each."""
    game_1 = sb.extend.marginal_contributions([[0, 1, 2], [1, 2, 0]], [[2, 5, 9], [1, 6, 9]])
    game_2 = sb.extend.marginal_contributions([[0, 2, 1], [2, 1, 0]], [[1, 4, 8], [2, 5, 8]])
    np.testing.assert_array_equal(game_1, [[2, 3, 4], [3, 1, 5]])
    np.testing.assert_array_equal(game_2, [[1, 4, 3], [3, 3, 2]])
    moments = sb.Estimate.of([game_1.mean(axis=0), game_2.mean(axis=0)])
    np.testing.assert_allclose(moments.expectation, [2.25, 2.75, 3.50], rtol=0, atol=1e-15)
    np.testing.assert_allclose(moments.raw_variance, [0.125, 1.125, 2.000], rtol=0, atol=1e-15)
