"""Solvers that users write: a solution of the wrong shape is told at once."""

import numpy as np
import pytest
from tests.conftest import linear_providers

import shapband as sb
from shapband.errors import ConformanceError


class Odd(sb.Solver):
    """Exact, with one thing changed from some game on."""

    def __init__(self, change, start=0):
        self._change = change
        self._start = start

    def check(self, n_providers):
        pass

    def floats_per_game(self, n_providers):
        return 2**n_providers

    def solve(self, games):
        solution = sb.Exact().solve(games)
        if games.indices.start < self._start:
            return solution
        return self._change(solution.values, solution.noise, solution.evaluations)


def value(solver, **options):
    providers, validation = linear_providers(n=3)
    arguments = {"sampling": sb.Fresh(5), "n_games": 4, "seed": 0, "chunk_size": 2} | options
    return sb.value(providers, sb.LinearUtility(*validation), solver=solver, **arguments)


@pytest.mark.parametrize("start", [0, 2])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda v, s, e: (v, s, e), r"a Solution\(values, noise, evaluations\); received tuple"),
        (lambda v, s, e: sb.Solution(v[0], s, e), r"values .*\(2, 3\).* shape \(3,\)"),
        (lambda v, s, e: sb.Solution(v.T, s, e), r"values .*\(2, 3\).* shape \(3, 2\)"),
        (lambda v, s, e: sb.Solution(v.tolist(), s, e), r"values .*\(2, 3\).* received a list"),
        (lambda v, s, e: sb.Solution(v, s[:1], e), r"noise .*\(2, 3\).* shape \(1, 3\)"),
        (lambda v, s, e: sb.Solution(v, None, e), r"noise .*\(2, 3\).* received a NoneType"),
        (lambda v, s, e: sb.Solution(v, s.astype(int), e), "noise .* dtype int64"),
        (lambda v, s, e: sb.Solution(v, s - 1.0, e), r"noise of at least 0.* received -1\.0"),
        (lambda v, s, e: sb.Solution(v / 0.0, s, e), "finite values"),
        (lambda v, s, e: sb.Solution(v, s, [7, 7]), r"evaluations .*received \[7, 7\]"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_wrong_solution_is_named_with_the_shapes(change, said, start):
    with pytest.raises(ConformanceError, match=rf"Odd\.solve must return {said}") as caught:
        value(Odd(change, start))
    assert "\n" not in str(caught.value)


def test_unknown_noise_and_a_count_of_numpy_will_do():
    def unknown(values, noise, evaluations):
        return sb.Solution(values, noise * np.nan, np.int64(evaluations))

    valuation = value(Odd(unknown))
    np.testing.assert_array_equal(valuation.games, value(sb.Exact()).games)
    assert sb.Valuation.from_json(valuation.to_json()).evaluations == 4 * 7
