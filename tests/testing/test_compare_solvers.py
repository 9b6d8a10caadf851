"""Solvers compared at equal distinct evaluations, and flaws that the comparison must show."""

from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
import pytest
from tests.known_games import airport, weighted_majority

import shapband as sb
from shapband.testing import KnownGame, compare_solvers

VOTES = np.array([5, 4, 3, 3, 2, 2, 1, 1])
MAJORITY = KnownGame(lambda inside: float(VOTES[list(inside)].sum() > 10), 8)
OURS = [sb.Permutation, sb.BalancedPermutation, sb.Strata]


@dataclass(frozen=True)
class Walks(sb.Solver):
    """A sound solver of one's own, to be broken in one way each."""

    n_iter: int

    def check(self, n_providers):
        pass

    def floats_per_game(self, n_providers):
        return 8 * self.n_iter * n_providers

    def solve(self, games):
        orders = sb.extend.random_orders(games, self.n_iter)
        values, evaluations = games.prefixes(orders)
        marginals = sb.extend.marginal_contributions(orders, values, games.utility.empty)
        noise = sb.extend.variance_of_mean(marginals)
        return sb.Solution(marginals.mean(axis=1), noise, evaluations)


class Biased(Walks):
    def solve(self, games):
        solution = super().solve(games)
        shift = np.zeros_like(solution.values)
        shift[:, 0], shift[:, 1] = 0.05, -0.05
        return replace(solution, values=solution.values + shift)


class Boasting(Walks):
    def solve(self, games):
        solution = super().solve(games)
        return replace(solution, noise=solution.noise / 9)


class CountsAll(Walks):
    def solve(self, games):
        solution = super().solve(games)
        return replace(solution, evaluations=len(solution.values) * self.n_iter * games.n_providers)


class Silent(Walks):
    def solve(self, games):
        solution = super().solve(games)
        return replace(solution, noise=np.full_like(solution.noise, np.nan))


def score(solver, game=MAJORITY, budget=100, **more):
    (found,) = compare_solvers({"own": solver}, {"game": game}, budget, **more).scores
    return found


def by_orders(game):
    """Shapley values from the definition: all n! orders."""
    total, orders = np.zeros(game.n_providers), list(permutations(range(game.n_providers)))
    for order in orders:
        before = game.value(())
        for at, provider in enumerate(order):
            after = game.value(tuple(sorted(order[: at + 1])))
            total[provider] += after - before
            before = after
    return total / len(orders)


def test_the_truth_is_that_of_all_orders():
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(2, 6))
        table = rng.normal(size=2**n) * 10.0 ** rng.integers(-3, 4)
        game = KnownGame(lambda inside, table=table: table[sum(1 << i for i in inside)], n)
        assert game.truth == pytest.approx(by_orders(game), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("known", [airport, weighted_majority])
def test_tables_have_the_truth_of_the_books(known):
    table, truth = known()
    (found,) = compare_solvers([sb.Permutation], {"known": table}, 10).scores
    assert found.bias_z < 4.5
    game = KnownGame(lambda inside: table[sum(1 << i for i in inside)], len(truth))
    assert game.truth == pytest.approx(truth)


def test_all_solvers_evaluate_equally_many_distinct_coalitions():
    found = compare_solvers(OURS, {"majority": MAJORITY}, [100, 180], n_repeats=40)
    for one in found.scores:
        assert 0.85 * one.budget <= one.evaluations <= 1.03 * one.budget
        assert one.stated_evaluations == one.evaluations
    assert [one.budget for one in found.scores] == [100] * 3 + [180] * 3


def test_the_numbers_are_those_of_a_plain_loop():
    """The same solver, game by game through the public interface, with the same seed."""
    found = score(Walks, n_repeats=50, seed=3)
    solver, utility = Walks(found.size), _Table(MAJORITY)
    names = tuple(f"provider {i}" for i in range(8))
    errors, noise, counts = [], [], []
    for g in range(50):
        utility.asked = set()
        games = sb.Games(utility, [[None] * 8], names, range(g, g + 1), sb.seeds.Seeds(3))
        solution = solver.solve(games)
        errors.append(solution.values[0] - by_orders_of_votes())
        noise.append(solution.noise[0])
        counts.append(len(utility.asked))
    squares = np.mean(np.square(errors), axis=1)
    rms = np.sqrt(squares.mean())
    assert found.rms_error == pytest.approx(rms)
    assert found.rms_standard_error == pytest.approx(squares.std(ddof=1) / np.sqrt(50) / 2 / rms)
    z = np.mean(errors, axis=0) / (np.std(errors, axis=0, ddof=1) / np.sqrt(50))
    assert found.bias_z == pytest.approx(np.abs(z).max())
    assert found.noise_ratio == pytest.approx(np.mean(noise) / squares.mean())
    assert found.evaluations == pytest.approx(np.mean(counts))


def by_orders_of_votes():
    """Shapley values of the majority, by counting swings over subsets."""
    values, masks = np.zeros(8), np.arange(2**8)
    inside = (masks[:, None] >> np.arange(8)) & 1
    wins = inside @ VOTES > 10
    sizes = inside.sum(axis=1)
    weight = [1 / (8 * len(masks[(sizes == s) & (inside[:, 0] == 0)])) for s in range(8)]
    for i in range(8):
        for mask in masks[inside[:, i] == 0]:
            values[i] += weight[sizes[mask]] * (int(wins[mask | 1 << i]) - int(wins[mask]))
    return values


class _Table(sb.Utility):
    def __init__(self, game):
        self.game, self.asked = game, set()

    def summarise(self, batch):
        return None

    def evaluate(self, summaries, coalitions):
        self.asked.update(coalitions)
        return np.array([self.game.of_mask(c) for c in coalitions])


def test_the_standard_error_is_the_scatter_of_the_rms_error():
    """Over 40 seeds of 40 repetitions; the sd of 40 numbers is known to 11 %, 3 of them allowed."""
    found = [score(Walks, n_repeats=40, seed=seed) for seed in range(40)]
    scatter = np.std([one.rms_error for one in found], ddof=1)
    assert np.mean([one.rms_standard_error for one in found]) == pytest.approx(scatter, rel=0.34)


def test_a_sound_solver_is_neither_biased_nor_too_sure():
    """Its noise is right within 4 standard errors of about 4 % at 1,000 repetitions."""
    found = score(Walks, n_repeats=1000)
    assert found.note == ""
    assert found.noise_ratio == pytest.approx(1.0, abs=0.15)


def test_a_biased_solver_is_named():
    assert "is biased" in score(Biased).note
    assert "is biased" not in score(Walks).note


def test_a_solver_that_is_too_sure_shows_in_the_ratio():
    assert score(Boasting).noise_ratio == pytest.approx(1 / 9, rel=0.3)


def test_a_solver_that_states_no_noise():
    found = compare_solvers({"own": Silent}, {"game": MAJORITY}, 100)
    assert np.isnan(found.scores[0].noise_ratio)
    assert "not stated" in str(found)


def test_repeated_coalitions_count_once_and_a_wrong_count_is_named():
    wrong, right = score(CountsAll), score(Walks)
    assert (wrong.evaluations, wrong.size) == (right.evaluations, right.size)
    assert wrong.stated_evaluations == 8 * wrong.size
    assert "does not count distinct evaluations" in wrong.note


def test_check_solver_names_a_wrong_count_first():
    with pytest.raises(sb.errors.ConformanceError) as raised:
        sb.testing.check_solver(CountsAll(3))
    first = str(raised.value).splitlines()[0]
    assert first.startswith("CountsAll.solve must count distinct evaluations: it returned ")
    sb.testing.check_solver(Walks(3))


@pytest.mark.parametrize(
    ("solver", "budget", "reason"),
    [
        (sb.Exact(), 100, "evaluates at least 255.0 coalitions per game, more than 100"),
        (sb.Arcs, 100, "evaluates at least 255.0 coalitions per game, more than 100"),
        (sb.Strata, 20, "evaluates at least 32.0 coalitions per game, more than 20"),
        (lambda size: sb.Strata(5), 100, "n_evaluations must be at least 32 for 8 providers"),
        (sb.BalancedPermutation, 50, "coalitions per game, more than 50"),
        (sb.Permutation(100), 100, "more than 100"),
    ],
)
def test_a_solver_that_cannot_use_the_budget_is_not_compared(solver, budget, reason):
    found = compare_solvers({"it": solver}, {"game": MAJORITY}, budget)
    (one,) = found.scores
    assert np.isnan(one.rms_error)
    assert one.note.startswith("is not compared: ")
    assert reason in one.note
    assert "not compared" in str(found)


def test_a_solver_that_uses_less_is_named():
    note = score(sb.Permutation(3)).note
    assert "coalitions per game, not 100" in note
    assert score(sb.BalancedPermutation).note.endswith("below the budget that it accepts")


def test_exact_answers_have_no_error():
    """A symmetric game, in which balanced permutations are exact."""
    found = score(sb.BalancedPermutation, KnownGame(lambda inside: len(inside) ** 2.0, 8))
    assert (found.rms_error, found.rms_standard_error, found.bias_z) == (0.0, 0.0, 0.0)


def test_many_providers_with_given_values():
    worth = np.random.default_rng(0).normal(size=40) * 1e6
    game = KnownGame(lambda inside: 5.0 + worth[list(inside)].sum(), 40, worth)
    found = score(sb.Permutation, game, 400, n_repeats=20)
    assert found.rms_error == 0.0  # marginal contributions are constant
    wrong = KnownGame(game.value, 40, worth + 1e3 * np.resize([1.0, -1.0], 40))
    assert score(sb.Permutation, wrong, 400, n_repeats=20).bias_z > 100


def test_the_frame_and_the_text_have_the_same_numbers():
    found = compare_solvers(OURS, {"majority": MAJORITY}, 100, n_repeats=20)
    frame = found.to_frame()
    assert frame.index.names == ["game", "budget", "solver"]
    assert frame.loc[("majority", 100, "Strata"), "rms_error"] == found.scores[2].rms_error
    assert "majority, 100 distinct evaluations per game" in str(found)
    for one in found.scores:
        assert f"{one.rms_error:.3g}" in str(found)


def test_the_same_seed_gives_the_same_numbers():
    one, same, other = (score(Walks, seed=seed) for seed in (0, 0, 1))
    assert replace(one, seconds=0.0) == replace(same, seconds=0.0)
    assert one.rms_error != other.rms_error


GAMES = {"game": MAJORITY}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], GAMES, 100), "solvers must hold at least one"),
        ((3, GAMES, 100), "solvers must be a dictionary"),
        (({"x": 3}, GAMES, 100), "'x' must be a solver, or a class"),
        (([sb.Permutation, sb.Permutation], GAMES, 100), "different names"),
        (([sb.Exact], GAMES, 100), "must make a solver from one whole number"),
        (([lambda size: size], GAMES, 100), "must make a Solver; received 1"),
        (([Walks], {}, 100), "games must be a dictionary"),
        (([Walks], [MAJORITY], 100), "games must be a dictionary"),
        (([Walks], {"x": [1.0, 2.0, 3.0]}, 2), "2\\*\\*n values"),
        (([Walks], {"x": [0.0, 1.0, np.nan, 3.0]}, 2), "x"),
        (([Walks], GAMES, 0), "evaluations must be"),
        (([Walks], GAMES, 1.5), "evaluations must be"),
        (([Walks], GAMES, []), "evaluations must be"),
        (([Walks], GAMES, "100"), "evaluations must be"),
        (([Walks], GAMES, 255), "fewer than the 255 coalitions"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(sb.errors.InvalidInput, match=message):
        compare_solvers(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 3), "value must be a function"),
        ((len, 1), "n_providers"),
        ((len, 21), "pass shapley"),
        ((len, 3, [1.0, 2.0]), "one value for each of 3"),
        ((len, 3, [1.0, 2.0, np.inf]), "shapley"),
    ],
)
def test_bad_games_are_refused(arguments, message):
    with pytest.raises(sb.errors.InvalidInput, match=message):
        KnownGame(*arguments)
