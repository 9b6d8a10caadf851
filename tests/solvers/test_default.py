"""Which solver is taken when the user names none, and which sizes a solver refuses."""

import re
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from tests.conftest import linear_providers

import shapband as sb
from shapband.errors import InvalidInput
from shapband.solvers.default import default_group_solver, default_solver
from shapband.solvers.trial import Trial

X, Y = np.arange(8.0).reshape(4, 2), np.arange(4.0)
LINEAR = sb.LinearUtility(X, Y)
NEAREST = sb.NeighborUtility(X, Y, task="regression")
NEAR = sb.NeighborUtility(X, Y, k=3, task="regression")
MODEL = sb.EstimatorUtility(Ridge(), X, Y)
POOLED = sb.Pooled(20, 5)


@pytest.mark.parametrize(
    ("utility", "most", "then"),
    [
        (LINEAR, 11, Trial),
        (NEAREST, 15, Trial),
        (NEAR, 11, Trial),
        (MODEL, 6, Trial),
        (sb.AdditiveUtility(), 11, sb.Known),
    ],
    ids=repr,
)
def test_small_games_are_solved_exactly_as_long_as_that_is_cheap(utility, most, then):
    for n in range(1, most + 1):
        solver, reason = default_solver(n, utility, POOLED)
        assert solver == sb.Exact()
        assert "all coalitions" in reason
    assert isinstance(default_solver(most + 1, utility, POOLED)[0], then)


def candidates(n, utility, sampling=POOLED):
    return default_solver(n, utility, sampling)[0].candidates


@pytest.mark.parametrize("n", [9, 16, 30, 100, 1000])
def test_cheap_utilities_are_solved_by_arcs_and_expensive_ones_by_strata(n):
    assert candidates(n + 10, LINEAR)[0] == sb.Arcs(8)
    assert candidates(n, MODEL) == (sb.Strata(5 * n), sb.Strata(10 * n), sb.Strata(20 * n))
    wide = sb.LinearUtility(np.ones((4, 200)), Y)
    assert candidates(n + 10, wide)[0] == sb.Strata(5 * (n + 10))


def test_balanced_permutations_are_tried_while_they_are_few():
    assert candidates(12, LINEAR) == (sb.Arcs(8), sb.BalancedPermutation(24))
    assert candidates(50, LINEAR) == (sb.Arcs(8), sb.BalancedPermutation(100))
    assert candidates(51, LINEAR) == (sb.Arcs(8),)


def test_all_coalitions_are_tried_if_they_are_not_many():
    assert candidates(7, MODEL) == (sb.Strata(35), sb.Strata(70), sb.Exact())
    assert candidates(8, MODEL)[-1] == sb.Exact()
    assert candidates(9, MODEL)[-1] == sb.Strata(180)


def decided(trial, noises, variance=1.0, n=4000):
    """The decision of a trial whose candidates have these noises."""
    rng = np.random.default_rng(0)
    parts = [len(part) for part in trial.parts(range(8))]
    noise = np.repeat(noises, parts)[:, None] * np.ones(n)
    values = rng.normal(size=(8, n)) * np.sqrt(variance + noise)
    return trial.decided(values, noise)[0]


def test_a_trial_takes_the_least_work_for_the_same_error():
    trial = default_solver(20, MODEL, POOLED)[0]
    few, more, many = trial.candidates
    # Work is (variance + noise) times about 5, 10 and 20.
    assert decided(trial, [0.05, 0.02, 0.001]) == few
    assert decided(trial, [9.0, 1.0, 0.9]) == more
    assert decided(trial, [30.0, 20.0, 0.05]) == many
    assert decided(trial, [0.3, 0.02, 0.01]) == few  # half the noise is not worth twice the work


def test_a_trial_takes_arcs_or_balanced_permutations_by_their_noise():
    trial = default_solver(30, LINEAR, POOLED)[0]
    assert decided(trial, [0.05, 3.0]) == sb.Arcs(8)
    assert decided(trial, [3.0, 0.05]) == sb.BalancedPermutation(60)
    assert decided(trial, [1e4, 1e3]) == sb.BalancedPermutation(240)


def test_a_trial_of_arcs_takes_more_circles_for_more_noise():
    trial = default_solver(60, LINEAR, POOLED)[0]
    noises = (0.01, 0.05, 1.0, 10.0, 1e4)
    circles = [decided(trial, [noise]).n_circles for noise in noises]
    assert circles[0] == 8
    assert circles == sorted(circles)
    assert circles[-1] == 80
    assert decided(trial, [0.0], variance=0.0).n_circles == 8
    quiet = decided(trial, [0.12])
    assert 0.12 * 8 / quiet.n_circles <= 0.1


def test_a_candidate_that_is_all_noise_does_not_hide_the_variance():
    trial = default_solver(30, LINEAR, POOLED)[0]
    rng = np.random.default_rng(0)
    noise = np.repeat([0.5, 1e6], 4)[:, None] * np.ones(60)
    values = rng.normal(size=(8, 60)) * np.sqrt(1 + noise)
    found = trial._variance(values, noise, [0.5, 1e6])
    # The mean of 60 variances of 4 games each has a standard error of 1.5 sqrt(2 / 3 / 60).
    assert abs(found - 1.0) < 4 * 1.5 * np.sqrt(2 / 180)
    hidden = values.var(axis=0, ddof=1).mean() - noise.mean()
    assert abs(hidden - 1.0) > 100  # with all candidates it would be far off


def test_a_trial_takes_plain_permutations_if_the_probe_is_quiet():
    trial = default_solver(300, LINEAR, POOLED)[0]
    assert trial.probe == sb.Permutation(2)
    noise = np.full((8, 4000), 3.0)
    values = np.random.default_rng(0).normal(size=(8, 4000)) * 2  # a variance of 1, and the noise
    few, more, loud = (
        trial.decided(values, noise, np.full(8, probe))[0] for probe in (0.01, 10.0, 1e5)
    )
    assert few == sb.Permutation(8)
    assert isinstance(more, sb.Permutation)
    assert more.n_iter > 8
    assert loud == trial.decided(values, noise)[0]  # as if there had been no probe
    assert isinstance(loud, sb.Arcs)
    some = np.where(np.arange(8) < 6, np.nan, 0.01)  # too few providers in six of the games
    assert trial.decided(values, noise, some)[0] == few
    assert trial.decided(values, noise, np.full(8, np.nan))[0] == loud


def test_a_probe_changes_no_values_and_shows_the_noise_of_permutations():
    providers, rows = linear_providers(14, 60, 3)
    utility, given = sb.LinearUtility(*rows), {"sampling": sb.Fresh(10), "seed": 1, "n_games": 4}
    tried = sb.value(providers, utility, **given)
    assert tried.design.setup["solver"].startswith("Trial(")
    alone = sb.value(providers, utility, **given, solver=sb.Arcs(8))
    assert np.array_equal(tried.games, alone.games)
    assert tried.evaluations > alone.evaluations
    assert tried.evaluations <= alone.evaluations + 4 * 2 * 14


class Gloves(sb.Utility):
    """Pairs of a left and a right glove; evaluations cost little."""

    mergeable = True

    def summarise(self, batch):
        return float(batch.y.mean())

    def evaluate(self, summaries, coalitions):
        rows = np.array([[mask >> i & 1 for i in range(len(summaries))] for mask in coalitions])
        weights = np.asarray(summaries)
        return np.minimum(rows[:, ::2] @ weights[::2], rows[:, 1::2] @ weights[1::2])


def gloves(n):
    rng = np.random.default_rng(3)
    numbers = np.exp(rng.normal(size=(n, 40)))
    return [sb.Provider(f"p{i}", sb.ArraySource(y[:, None], y)) for i, y in enumerate(numbers)]


def test_a_game_that_circles_solve_badly_is_solved_by_permutations():
    given = {"sampling": sb.Fresh(10), "seed": 1}
    whole = sb.value(gloves(60), Gloves(), **given, n_games=30)
    assert whole.design.setup["solver"].startswith("Permutation(")
    short = sb.value(gloves(60), Gloves(), **given, n_games=11, chunk_size=3, n_jobs=2)
    assert np.array_equal(short.games, whole.games[:11])


@pytest.mark.parametrize("rate", [0.7, 0.02])  # with the second, nobody is present in some games
def test_a_probe_of_games_with_absent_providers(tmp_path, rate):
    given = {"sampling": sb.Fresh(10), "seed": 1, "n_games": 12}
    given |= {"participation": sb.Independent(rate)}
    whole = sb.value(gloves(60), Gloves(), **given)
    stored = sb.value(gloves(60), Gloves(), **given, run=tmp_path / "run", chunk_size=2)
    assert np.array_equal(stored.games, whole.games)
    assert not whole.design.setup["solver"].startswith("Trial(")


def test_rows_of_many_members_count_as_work():
    """A utility with its own loops over arcs merges them at a cost that n does not change."""

    def of_a_circle(utility, n):
        eight, nine = default_solver(n, utility, POOLED)[0].options[:2]
        return (nine.operations - eight.operations) / n

    assert of_a_circle(LINEAR, 1000) == pytest.approx(of_a_circle(LINEAR, 100))
    assert of_a_circle(Gloves(), 1000) > 5 * of_a_circle(Gloves(), 100)


@pytest.mark.parametrize("chunk_size", [1, 3, None])
def test_the_decision_depends_on_the_first_games_alone(chunk_size):
    providers, rows = linear_providers(14, 60, 3)
    given = {"sampling": sb.Fresh(10), "seed": 1}
    utility = sb.LinearUtility(*rows)
    long = sb.value(providers, utility, **given, n_games=40)
    short = sb.value(providers, utility, **given, n_games=12, chunk_size=chunk_size)
    assert short.design.setup["solver"] == long.design.setup["solver"]
    assert re.match(r"(Arcs|BalancedPermutation)\(", short.design.setup["solver"])
    assert np.array_equal(short.games, long.games[:12])
    stopped = sb.value(
        providers, utility, **given, n_games=40, stop=sb.Precision(absolute=1e9), n_jobs=2
    )
    assert np.array_equal(stopped.games, long.games[: len(stopped.games)])


def test_fewer_games_than_a_trial_are_solved_by_its_candidates():
    providers = [sb.Provider(name, sb.ArraySource(X, Y)) for name in "abcdefghi"]
    found = sb.value(providers, MODEL, sampling=sb.Pooled(4, 3), n_games=4, seed=0)
    assert found.design.setup["solver"].startswith("Trial(Strata(n_evaluations=45), ")
    assert "judged" not in str(found)
    first = sb.value(
        providers, MODEL, sampling=sb.Pooled(4, 3), n_games=2, seed=0, solver=sb.Strata(45)
    )
    assert np.array_equal(first.games, found.games[:2])


class Interrupted(Exception):
    pass


def squares_of_14():
    providers, rows = linear_providers(14, 60, 3)
    return providers, sb.LinearUtility(*rows)


@pytest.mark.parametrize(
    ("game", "taken"), [(squares_of_14, "Arcs|Balanced"), (lambda: (gloves(60), Gloves()), "Perm")]
)
def test_a_run_that_is_resumed_keeps_its_solver(tmp_path, monkeypatch, game, taken):
    providers, utility = game()
    given = {"sampling": sb.Fresh(10), "seed": 1, "n_games": 30}
    whole = sb.value(providers, utility, **given)
    assert re.match(taken, whole.design.setup["solver"])
    for stop_after in (3, 8, 17):

        def watch(progress, after=stop_after):
            if progress.done >= after:
                raise Interrupted

        run = tmp_path / f"after {stop_after}"
        with monkeypatch.context() as patched:
            patched.setattr("shapband._value.progress_display", lambda _, w=watch: nullcontext(w))
            with pytest.raises(Interrupted):
                sb.value(providers, utility, **given, run=run, chunk_size=1)
        resumed = sb.value(providers, utility, **given, run=run, chunk_size=1)
        assert np.array_equal(resumed.games, whole.games)
        assert resumed.design.setup == whole.design.setup
        assert sb.load(run).status.valuation.design.setup == whole.design.setup


def test_the_result_says_what_was_chosen_and_why():
    providers = [sb.Provider(name, sb.ArraySource(X, Y)) for name in "abcdefgh"]
    arguments = {"sampling": sb.Pooled(4, 3), "n_games": 10, "seed": 0}
    chosen = sb.value(providers, MODEL, **arguments)
    said = "because among 3 choices it takes the least work for the same error, or little more"
    assert said in " ".join(str(chosen).split())
    named = sb.value(providers, MODEL, solver=sb.Strata(80), **arguments)
    assert "because" not in str(named)
    again = sb.Valuation.from_json(chosen.to_json())
    assert said in " ".join(str(again).split())


def test_known_values_need_a_utility_that_knows_them():
    providers = [sb.Provider(name, sb.ArraySource(X, Y)) for name in "abcdefgh"]
    given = {"sampling": sb.Fresh(3), "n_games": 5, "seed": 0, "solver": sb.Known()}
    exact = sb.value(providers, sb.AdditiveUtility(), **given | {"solver": sb.Exact()})
    known = sb.value(providers, sb.AdditiveUtility(), **given)
    np.testing.assert_allclose(known.games, exact.games, rtol=1e-13)
    with pytest.raises(InvalidInput, match="EstimatorUtility does not know its Shapley values"):
        sb.value(providers, MODEL, **given)
    with pytest.raises(InvalidInput, match="Known computes Shapley values only"):
        sb.value(providers, sb.AdditiveUtility(), **given, index=sb.Banzhaf())


def test_a_class_that_changes_values_does_not_know_them():
    class Doubled(sb.AdditiveUtility):
        def evaluate_all(self, games):
            return 2 * super().evaluate_all(games)

    class Renamed(sb.AdditiveUtility):
        pass

    assert not Doubled().knows_values
    assert Renamed().knows_values
    assert not LINEAR.knows_values
    assert isinstance(default_solver(30, Doubled(), POOLED)[0], Trial)


@pytest.mark.parametrize(
    ("n", "coalitions"),
    [
        (21, "2,097,151"),
        (64, "18,446,744,073,709,551,615"),
        (65, "2**65 - 1"),
        (20_000, "2**20000 - 1"),
    ],
)
def test_exact_solving_ends_at_20_providers(n, coalitions):
    sb.Exact().check(20)
    said = (
        f"Exact: {n} providers have {coalitions} coalitions per game, too many to evaluate (the "
        "limit is 20 providers): use Strata, BalancedPermutation or Permutation"
    )
    with pytest.raises(InvalidInput, match=f"^{re.escape(said)}$"):
        sb.Exact().check(n)


@pytest.mark.parametrize(
    ("n_iter", "use"), [(1, 8), (4, 8), (7, 8), (9, 12), (11, 12), (13, 16), (401, 404)]
)
def test_balanced_permutations_say_which_number_to_use(n_iter, use):
    said = (
        "BalancedPermutation: n_iter must be a multiple of the 4 providers and at least 8; "
        f"received {n_iter}: use {use}"
    )
    with pytest.raises(InvalidInput, match=f"^{re.escape(said)}$"):
        sb.BalancedPermutation(n_iter).check(4)
    sb.BalancedPermutation(use).check(4)


def test_the_room_of_a_game_is_the_table_or_the_walks():
    assert sb.Exact().floats_per_game(10) == 2**10
    for solver in (sb.Permutation(50), sb.BalancedPermutation(50)):
        # Orders and values, at the least, and in proportion to both sizes.
        assert solver.floats_per_game(5) >= 2 * 50 * 5
        assert solver.floats_per_game(10) == 2 * solver.floats_per_game(5)


def test_reasons_in_words():
    """Of the solvers that are chosen without a trial, and of a trial."""
    enumerated = "enumerating all coalitions costs no more than sampling"
    assert default_solver(3, sb.AdditiveUtility()) == (sb.Exact(), enumerated)
    assert default_solver(99, sb.AdditiveUtility()) == (
        sb.Known(),
        "the utility knows its Shapley values",
    )
    assert default_solver(99, sb.AdditiveUtility(), index=sb.Banzhaf())[1] == (
        "the first 8 games show which takes the least work for the same error"
    )
    assert default_group_solver([3, 3, 1]) == (sb.Exact(), enumerated)
    assert default_group_solver([30, 30]) == (
        sb.Permutation(200),
        "groups have too many coalitions to enumerate all of them",
    )
