"""What the overlap of coalitions explains beyond the learning curve."""

import numpy as np
import pytest
from tests.solvers.voting_games import WeightGame

import shapband as sb
from shapband.games import Games
from shapband.seeds import Seeds
from shapband.solvers.exact import index_values
from shapband.solvers.overlap import MOST_PROVIDERS, Overlap, linear_part, operations

N = 10
INSIDE = (np.arange(2**N)[:, None] >> np.arange(N) & 1).astype(float)


def neighbours(points=40, seed=0):
    """The nearest-neighbour game: at each point the worth of the nearest member."""
    rng = np.random.default_rng(seed)
    order = np.argsort(np.abs(rng.uniform(0, N, (points, 1)) - np.arange(N)), axis=1)
    worth = rng.normal(size=(points, N))
    nearest = INSIDE[:, order].argmax(axis=2)  # the first member in the order of each point
    values = np.take_along_axis(worth, np.take_along_axis(order, nearest.T, axis=1), axis=1)
    return values.mean(axis=0) * INSIDE.any(axis=1)


def pairs_only(seed=0):
    weights = np.triu(np.random.default_rng(seed).normal(size=(N, N)), 1)
    return np.einsum("si,ij,sj->s", INSIDE, weights, INSIDE)


class Expensive(sb.TableUtility):
    """A table whose evaluations count as much as fits of a model."""

    def operations(self, n_providers):
        return 1e7


def expensive(table, n_evaluations, games=range(1), utility=Expensive):
    names = tuple(f"p{i:02}" for i in range(N))
    chunk = Games(utility(table), np.zeros((len(games), N)), names, games, Seeds(0))
    return sb.Strata(n_evaluations).solve(chunk)


def errors(table, n_evaluations, games=200):
    solution = expensive(table, n_evaluations, range(games))
    return solution.values - index_values(table[None], sb.Shapley()), solution.noise


@pytest.fixture
def never(monkeypatch):
    def refuse():
        monkeypatch.setattr(Overlap, "is_worth_it", lambda *_: False)

    return refuse


@pytest.fixture
def decisions(monkeypatch):
    found, decide = [], Overlap.is_worth_it

    def watched(self, weights):
        found.append(decide(self, weights))
        return found[-1]

    monkeypatch.setattr(Overlap, "is_worth_it", watched)
    return found


@pytest.mark.parametrize("n_evaluations", [200, 400])
def test_neighbours_are_valued_without_bias_and_with_honest_noise(n_evaluations, decisions):
    table = neighbours()
    off, noise = errors(table, n_evaluations)
    assert np.mean(decisions) > 0.9
    standard = off.std(axis=0, ddof=1) / np.sqrt(len(off))
    assert (np.abs(off.mean(axis=0)) < 4 * standard).all()
    assert 0.85 < noise.mean() / (off**2).mean() < 1.2
    # The control: another game is noticed by the same check.
    wrong = off + 0.01 * np.arange(N)
    assert (np.abs(wrong.mean(axis=0)) > 4 * standard).any()


@pytest.mark.parametrize(
    ("game", "limit"), [(neighbours, 0.75), (pairs_only, 0.6)], ids=["neighbours", "pairs"]
)
def test_the_error_is_a_part_of_that_of_the_first_two_surrogates_alone(game, limit, never):
    with_overlap, _ = errors(game(), 400, games=40)
    never()
    without, _ = errors(game(), 400, games=40)
    assert np.sqrt((with_overlap**2).mean() / (without**2).mean()) < limit


def test_pairs_are_valued_to_a_few_per_cent(never):
    """Below 0.05 of the spread of the values, and above that without the overlaps."""
    table = pairs_only()
    limit = 0.05 * index_values(table[None], sb.Shapley()).std()
    assert np.sqrt((errors(table, 400, games=40)[0] ** 2).mean()) < limit
    never()
    assert np.sqrt((errors(table, 400, games=40)[0] ** 2).mean()) > limit


def test_chunks_do_not_matter_with_overlaps(decisions):
    table = neighbours()
    whole = expensive(table, 300, range(5))
    parts = [expensive(table, 300, range(2)), expensive(table, 300, range(2, 5))]
    assert all(decisions)
    for name in ("values", "noise"):
        apart = np.concatenate([getattr(part, name) for part in parts])
        assert np.array_equal(getattr(whole, name), apart)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_values_grow_with_the_unit_of_the_utility(scale, decisions):
    table = neighbours()
    one, many = expensive(table, 300), expensive(scale * table, 300)
    assert all(decisions)
    np.testing.assert_allclose(many.values, scale * one.values, rtol=1e-6)


def test_noise_without_structure_is_left_to_the_learning_curve(decisions):
    errors(np.random.default_rng(0).normal(size=2**N), 300, games=40)
    assert np.mean(decisions) < 0.1


@pytest.mark.parametrize(("n", "n_evaluations"), [(7, 100), (MOST_PROVIDERS + 1, 400)])
def test_few_or_many_providers_have_no_trial(n, n_evaluations, decisions):
    assert operations(10 * n, n, 4) == np.inf
    game = WeightGame(np.arange(n), lambda _, weight: np.sqrt(weight))
    sb.Strata(n_evaluations).solve(game.copies(1))
    assert decisions == []


def test_a_trial_is_made_where_evaluations_take_more_operations_than_the_regression(decisions):
    table = neighbours()
    expensive(table, 300, utility=sb.TableUtility)
    assert decisions == []
    least = operations(300 - 1, N, 4) / 300  # all but the coalition of all providers
    for share, count in ((0.99, 0), (1.01, 1)):
        each = share * least
        utility = type("Counted", (sb.TableUtility,), {"operations": lambda *_, each=each: each})
        expensive(table, 300, utility=utility)
        assert len(decisions) == count


@pytest.mark.parametrize(("t", "s"), [(2, 3), (3, 3), (5, 2), (1, 4), (6, 3)])
def test_the_linear_part_is_that_of_least_squares_over_all_coalitions(t, s):
    n = 7
    inside = np.arange(2**n)[:, None] >> np.arange(n) & 1
    inside = inside[inside.sum(axis=1) == t]
    given = np.arange(n) < s
    common = inside @ given
    similarity = common / (s + t - common)
    columns = np.column_stack([np.ones(len(inside)), inside[:, 1:]])
    fitted = columns @ np.linalg.lstsq(columns, similarity)[0]
    means, slopes = linear_part(n)
    np.testing.assert_allclose(means[t, s] + slopes[t, s] * common, fitted, atol=1e-12)
    # The rest counts nothing in the value of any provider.
    np.testing.assert_allclose(inside.T @ (similarity - fitted), 0.0, atol=1e-12)
