"""The games and ratios of the benchmark of solvers."""

import dataclasses

import numpy as np
import pytest

import shapband as sb
from benchmarks.oracles import Counted, worth
from benchmarks.solver_games import KINDS, check_same_values, from_arrays, split_wine
from benchmarks.solver_results import PERMUTATIONS, STRATA, Ratio, Results, Runs, Setting
from benchmarks.solvers import true_values


@pytest.mark.parametrize("kind", KINDS)
def test_a_game_is_the_same_as_arrays_and_as_a_table(kind: str) -> None:
    (large,), (small,) = KINDS[kind](17, 1), KINDS[kind](5, 1)
    rows = np.concatenate([np.eye(17), 1 - np.eye(17), np.zeros((1, 17))]).astype(np.uint8)
    ours = large.utility.evaluate_rows([large.summaries], rows[:-1], np.zeros(34, dtype=np.int64))
    assert worth(large.arrays, rows)[:-1] == pytest.approx(ours, abs=1e-9)
    assert worth(large.arrays, rows)[-1] == 0.0
    assert list(small.arrays) == ["table"]


@pytest.mark.parametrize("kind", ["wine by alcohol", "wine at random", "synthetic", "nearest wine"])
def test_arrays_of_another_game_are_noticed(kind: str) -> None:
    first, second = KINDS[kind](17, 2)
    check_same_values(first)
    with pytest.raises(RuntimeError, match="another game"):
        check_same_values(dataclasses.replace(first, arrays=second.arrays))


def test_features_that_do_not_vary_are_left_out_of_least_squares() -> None:
    """With 120 providers, neighbours in the order of alcohol have wines of the same content."""
    (game,) = KINDS["wine by alcohol"](120, 1)
    pairs = np.eye(120, dtype=np.uint8) + np.eye(120, k=1, dtype=np.uint8)
    alcohol = [p.source.records.X[:, -1] for p in split_wine(120, by_alcohol=True, shared=60)]
    ends = [np.ptp(np.concatenate(alcohol[i : i + 2])) for i in range(119)]
    assert min(ends) == 0.0
    ours = game.utility.evaluate_rows([game.summaries], pairs[:-1], np.zeros(119, dtype=np.int64))
    assert worth(game.arrays, pairs[:-1]) == pytest.approx(ours, abs=1e-9)


def test_the_square_root_is_that_of_members_and_their_pairs() -> None:
    arrays = {"single": np.array([1.0, 2.0, -7.0]), "pairs": np.triu(np.full((3, 3), 0.5), 1)}
    assert worth(arrays, [[1, 1, 0], [1, 0, 1], [0, 0, 0]]) == pytest.approx(
        [3.5**0.5, 5.5**0.5, 0.0]
    )


def test_distinct_coalitions_are_counted_without_that_of_nobody() -> None:
    counted = Counted({"table": np.arange(8.0)})
    assert counted([[1, 1, 0], [0, 0, 0], [1, 1, 0]]).tolist() == [3.0, 0.0, 3.0]
    counted([0, 0, 1])
    assert counted.evaluations == 2


def test_small_games_have_exact_values() -> None:
    table = np.array([0.0, 1.0, 2.0, 5.0])
    values, error = true_values(from_arrays({"table": table}, 2), "table", seed=0)
    assert values == pytest.approx([2.0, 3.0])
    assert error == 0.0


def test_copies_of_a_game_are_solved_with_different_random_numbers() -> None:
    (game,) = KINDS["square root"](8, 1)
    values = sb.Permutation(4).solve(game.copies(3, seed=0)).values
    assert len(np.unique(values[:, 0])) > 1


def test_a_ratio_is_the_root_of_the_mean_over_games_of_relative_squares() -> None:
    base = Runs(squares=[[4.0, 4.0], [100.0, 100.0]])
    ratio = Ratio.of(Runs(squares=[[1.0, 1.0], [25.0, 25.0]]), base)
    assert ratio.value == 0.5
    assert ratio.error == 0.0
    noisy = Ratio.of(Runs(squares=[[0.5, 1.5], [12.5, 37.5]]), base)
    # Relative squares of 0.25 ± 0.125: relative standard error (1/3)**0.5 / 2, halved by the root.
    assert noisy.error == pytest.approx(0.5 * (1 / 3) ** 0.5 / 4)


def test_the_best_peer_and_uneven_evaluations_are_found() -> None:
    results, setting = Results(), Setting("wine by alcohol", 10, 5)
    for method, square, share in (
        (PERMUTATIONS, 4.0, 1.0),
        (STRATA, 1.0, 1.01),
        ("near", 2.0, 0.9),
        ("far", 3.0, 1.0),
    ):
        results.add(setting, method, [square, square], [share])
    best = results.best_peer(setting)
    assert best is not None
    assert best[0] == "near"
    assert results.uneven() == {"near": pytest.approx(0.9)}
