"""Coalitions that are arcs of random circles."""

import numpy as np
import pytest
from tests.conftest import linear_providers
from tests.reference import arcs as reference

import shapband as sb
from shapband.coalitions import arc_rows
from shapband.errors import InvalidInput
from shapband.games import Games
from shapband.seeds import Seeds
from shapband.solvers.arcs import _Sizes
from shapband.solvers.base import Solution


class Shape(sb.Utility):
    """A function of the members' weights, which are the summaries."""

    mergeable = True

    def __init__(self, worth):
        self.worth = worth

    def summarise(self, batch):
        raise AssertionError("these games have no records")

    def evaluate(self, summaries, coalitions):
        n = len(summaries)
        rows = np.array([[c >> i & 1 for i in range(n)] for c in coalitions], dtype=float)
        return self.worth(np.asarray(summaries), rows)

    def evaluate_rows(self, games, inside, of_game):
        assert all(game is games[0] for game in games)
        return self.worth(games[0], inside.astype(float))


SHAPES = {
    "additive": lambda w, rows: rows @ w,
    "root": lambda w, rows: np.sqrt(rows @ w),
    "largest": lambda w, rows: (rows * w).max(axis=1),
    "threshold": lambda w, rows: (rows @ w >= w.sum() / 2) * 1.0,
    "veto": lambda w, rows: rows[:, 0] * rows[:, 1] * (rows @ w),
    "two differ": lambda _, rows: np.abs(rows[:, 0] - rows[:, 1]),
    "rare": lambda _, rows: (rows[:, :3].sum(axis=1) >= 2) * 1.0,
    "flat": lambda _, rows: np.full(len(rows), 0.25),
}


def games_of(worth, n, n_games, seed=5):
    weights = np.exp(np.random.default_rng(n).normal(size=n) / 2)
    names = tuple(f"p{i}" for i in range(n))
    return Games(Shape(worth), [weights] * n_games, names, range(n_games), Seeds(seed))


@pytest.mark.parametrize(("n", "circles"), [(9, 8), (12, 8), (12, 20)])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_are_right_on_average_and_the_noise_is_as_large_as_it_says(shape, n, circles):
    n_games = 1500
    games = games_of(SHAPES[shape], n, n_games)
    exact = sb.Exact().solve(games_of(SHAPES[shape], n, 1)).values
    found = sb.Arcs(circles).solve(games)
    errors = found.values - exact
    unit = max(np.abs(exact).max(), 0.01)
    standard = errors.std(axis=0) / np.sqrt(n_games) + 1e-9 * unit
    assert np.abs(errors.mean(axis=0) / standard).max() < 4.5
    seen, said = np.mean(errors**2), found.noise.mean()
    # Additive games have errors of rounding only, which the circles have in common.
    assert said == pytest.approx(seen, rel=0.2, abs=1e-9 * unit**2)
    np.testing.assert_allclose(found.values.sum(axis=1), exact.sum(), atol=1e-9 * unit)


@pytest.mark.parametrize("index", [sb.Banzhaf(), sb.Beta(4, 1), sb.Beta(1, 16)], ids=repr)
def test_other_indices_are_right_on_average(index):
    n, n_games = 9, 1500
    names = tuple(f"p{i}" for i in range(n))
    weights = np.arange(1.0, n + 1)

    def games(count):
        utility = Shape(SHAPES["root"])
        return Games(utility, [weights] * count, names, range(count), Seeds(1), index)

    exact = sb.Exact().solve(games(1)).values
    errors = sb.Arcs(8).solve(games(n_games)).values - exact
    standard = errors.std(axis=0) / np.sqrt(n_games) + 1e-9
    assert np.abs(errors.mean(axis=0) / standard).max() < 4.5


def test_a_wrong_weight_of_a_size_would_be_noticed(monkeypatch):
    """The negative control of the tests above."""
    right = _Sizes.weights.fget
    monkeypatch.setattr(_Sizes, "weights", property(lambda self: 1.1 * right(self)))
    games = games_of(SHAPES["threshold"], 9, 1500)
    exact = sb.Exact().solve(games_of(SHAPES["threshold"], 9, 1)).values
    values = sb.Arcs(8).solve(games).values
    # The values still sum to the whole, so what is wrong is how it is shared.
    errors = values - exact
    assert np.abs(errors.mean(axis=0) / errors.std(axis=0) * np.sqrt(1500)).max() > 4.5


def test_additive_games_have_no_noise_to_speak_of():
    found = sb.Arcs(8).solve(games_of(SHAPES["additive"], 30, 3))
    weights = np.exp(np.random.default_rng(30).normal(size=30) / 2)
    np.testing.assert_allclose(found.values, [weights] * 3, rtol=1e-4)
    assert found.noise.max() < 1e-8


@pytest.mark.parametrize(("n", "circles"), [(9, 8), (12, 20), (40, 8)])
def test_the_kernel_agrees_with_the_readable_one(n, circles, monkeypatch):
    asked = []
    from shapband import kernels

    compiled = kernels.load("arcs").solve_arcs

    class Both:
        @staticmethod
        def solve_arcs(*arguments):
            found = compiled(*arguments)
            asked.append(np.abs(found - reference.solve_arcs(*arguments)).max())
            return found

    monkeypatch.setattr("shapband.solvers.arcs.kernels.load", lambda _: Both)
    for shape in ("root", "threshold", "two differ"):
        sb.Arcs(circles).solve(games_of(SHAPES[shape], n, 3))
    assert len(asked) == 3
    assert max(asked) < 1e-6


@pytest.mark.parametrize("n", [3, 5, 9, 30])
def test_sizes_are_drawn_with_their_chances(n):
    sizes = _Sizes.of(n, sb.Shapley())
    starts = (np.arange(20_000) + 0.5) / 20_000
    drawn = sizes.drawn(starts)
    counts = np.bincount(drawn.ravel(), minlength=n)[: n - 1]
    np.testing.assert_allclose(counts[1:] / len(starts), sizes.chances[1 : n - 1], atol=2e-4)
    for row in drawn[::500]:
        positive = row[row > 0]
        assert len(set(positive)) == len(positive)
    assert sizes.chances.sum() == pytest.approx(min(3, n - 2))


def test_arcs_begin_at_each_position():
    circles = np.array([[3, 0, 2, 1], [3, 0, 2, 1]])
    three, all_four = arc_rows(circles, np.array([3, 4]))
    members = [set(np.flatnonzero(row)) for row in three]
    assert members == [{3, 0, 2}, {0, 2, 1}, {2, 1, 3}, {1, 3, 0}]
    assert (all_four == 1).all()


@pytest.mark.parametrize("n", [13, 40])
@pytest.mark.parametrize("draw", [4, 15])
def test_linear_arcs_are_the_rows_of_their_members(n, draw):
    """With draws of 4 records arcs of one and two have fewer records than features."""
    providers, (X, y) = linear_providers(n, 60, 11)
    utility = sb.LinearUtility(X, y)
    draws = [provider.source.records for provider in providers]
    summaries = [[utility.summarise(batch.take(np.arange(draw))) for batch in draws]] * 2
    rng = np.random.default_rng(0)
    circles = np.argsort(rng.random((2, 3, n)), axis=2)
    arcs = np.array([(g, r, size) for g in range(2) for r in range(3) for size in (1, 2, 7, n - 1)])
    found = utility.evaluate_arcs(summaries, circles, arcs)
    expected = sb.Utility.evaluate_arcs(utility, summaries, circles, arcs)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_neither_chunks_nor_the_order_of_providers_nor_workers_change_a_bit():
    providers, (X, y) = linear_providers(25, 60, 3)
    utility = sb.LinearUtility(X, y)
    given = {"sampling": sb.Fresh(12), "solver": sb.Arcs(8), "n_games": 9, "seed": 4}
    whole = sb.value(providers, utility, **given)
    parts = sb.value(providers, utility, **given, chunk_size=2)
    turned = sb.value(providers[::-1], utility, **given)
    shared = sb.value(providers, utility, **given, n_jobs=2)
    assert np.array_equal(whole.games, parts.games)
    assert np.array_equal(whole.games, shared.games)
    np.testing.assert_allclose(whole.games, turned.games[:, ::-1], rtol=1e-12, atol=1e-14)


def test_few_providers_are_solved_exactly():
    for n in (1, 2, 5):
        games = games_of(SHAPES["root"], n, 2)
        found, exact = sb.Arcs(10).solve(games), sb.Exact().solve(games)
        assert isinstance(found, Solution)
        assert np.array_equal(found.values, exact.values)
        assert (found.noise == 0).all()


def test_huge_and_tiny_values_are_solved_alike():
    plain = sb.Arcs(8).solve(games_of(SHAPES["root"], 20, 2))
    for unit in (2.0**200, 2.0**-200):
        scaled = sb.Arcs(8).solve(games_of(lambda w, r, u=unit: u * SHAPES["root"](w, r), 20, 2))
        np.testing.assert_allclose(scaled.values / unit, plain.values, rtol=1e-9)
        np.testing.assert_allclose(scaled.noise / unit**2, plain.noise, rtol=1e-6)


@pytest.mark.parametrize("circles", [7, 0, -1, 8.5, "8"])
def test_too_few_circles_are_refused(circles):
    with pytest.raises(InvalidInput, match="Arcs: n_circles"):
        sb.Arcs(circles)


def test_a_coalition_that_fails_is_named():
    class Fails(Shape):
        def evaluate_rows(self, games, inside, of_game):
            values = super().evaluate_rows(games, inside, of_game)
            only = (inside[:, 1:3] == 1).all(axis=1) & (inside.sum(axis=1) == 2)
            return np.where(only, np.nan, values)

    games = games_of(SHAPES["root"], 12, 40)
    failing = Games(Fails(SHAPES["root"]), games.summaries, games.names, games.indices, Seeds(0))
    with pytest.raises(sb.errors.EvaluationError, match=r"\{'p1', 'p2'\}"):
        sb.Arcs(8).solve(failing)


def test_sizes_are_drawn_at_every_whole_step_from_the_start():
    """With four providers both sizes are certain, and a third mark is beyond them."""
    sizes = _Sizes.of(4, sb.Shapley())
    assert sizes.chances.tolist() == [0.0, 1.0, 1.0, 0.0]
    assert sizes.drawn(np.array([0.0, 0.5])).tolist() == [[1, 2, 0], [1, 2, 0]]
