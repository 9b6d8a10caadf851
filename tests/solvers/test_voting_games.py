"""`Strata` in games of 0 and 1, where the pilot of a size often does not vary."""

import numpy as np
import pytest
from tests.solvers.voting_games import WeightGame, voting_games

import shapband as sb
from shapband.solvers.exact import index_values

INDICES = [sb.Shapley(), sb.Banzhaf(), sb.Beta(4, 1)]


def errors(game, factor, count, index=INDICES[0], seed=0):
    solution = sb.Strata(factor * game.n).solve(game.copies(count, index, seed))
    return solution.values - game.exact(index), solution.noise


def permutation_errors(game, n_evaluations, count):
    """Errors of as many permutations as take at least so many distinct evaluations."""
    n_iter = n_evaluations // game.n
    while sb.Permutation(n_iter).solve(game.copies(20)).evaluations < 20 * n_evaluations:
        n_iter += 1
    return sb.Permutation(n_iter).solve(game.copies(count)).values - game.exact(INDICES[0])


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize("name", voting_games(8))
def test_counted_coalitions_give_the_values_of_the_whole_table(name, index):
    game = voting_games(8)[name]
    table = game.evaluate([], range(2**8))
    np.testing.assert_allclose(game.exact(index), index_values(table[None], index)[0], atol=1e-12)


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize("name", ["quota 4/5", "two vetoes", "five together"])
def test_no_error_is_half_as_large_as_the_range_of_the_values(name, index):
    """Seen before sizes that did not vary had a bound on their weight: errors of 10 to 5,000."""
    off, _ = errors(voting_games(12)[name], 10, 100, index)
    assert np.abs(off).max() < 0.5


@pytest.mark.parametrize("name", ["quota 1/2", "quota 4/5", "two vetoes"])
def test_few_evaluations_have_no_larger_error_than_permutations(name):
    game = voting_games(10)[name]
    off, _ = errors(game, 5, 150)
    plain = permutation_errors(game, 50, 150)
    assert (off**2).mean() < (plain**2).mean()


@pytest.mark.parametrize("scale", [1e12, 1e-12])
def test_voting_games_have_the_same_relative_error_in_every_unit(scale):
    game = voting_games(10)["quota 1/2"]
    scaled = WeightGame(game.weights, lambda size, weight: scale * game.table[size, weight])
    one, _ = errors(game, 10, 20)
    many, _ = errors(scaled, 10, 20)
    np.testing.assert_allclose(many / scale, one, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("factor", [5, 10, 20])
@pytest.mark.parametrize("n", [8, 12, 14, 20, 30])
@pytest.mark.parametrize("name", voting_games(8))
def test_voting_games_are_valued_without_bias_with_honest_noise_and_small_errors(name, n, factor):
    game = voting_games(n)[name]
    off, noise = errors(game, factor, 800)
    assert np.abs(off).max() <= 0.5
    squares = (off**2).mean()
    if squares < 1e-12:  # only the size matters, and all is known
        return
    plain = (permutation_errors(game, factor * n, 800) ** 2).mean()
    assert squares <= plain
    standard = off.std(axis=0, ddof=1) / np.sqrt(len(off))
    assert (np.abs(off.mean(axis=0)) < 5.0 * standard + 1e-9).all()
    assert (np.abs(off.mean(axis=0) + 6 * standard.max()) > 5.0 * standard).any()  # the control
    assert 0.8 < noise.mean() / squares < 1.25


@pytest.mark.parametrize("unit", [1e-150, 1e70])
def test_values_of_any_size_are_solved_as_those_near_one(unit):
    """Squares of the values are near the smallest or the largest float."""
    plain = voting_games(10)["quota 1/2"]
    scaled = WeightGame(plain.weights, lambda _, weight: unit * plain.table[0][weight])
    one, other = (sb.Strata(100).solve(game.copies(20)) for game in (plain, scaled))
    np.testing.assert_allclose(other.values / unit, one.values, rtol=0, atol=1e-9)
