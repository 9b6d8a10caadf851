"""`Strata` with few evaluations in XOR-like games, which no slope of a provider explains."""

import numpy as np
import pytest
from tests.solvers.test_overlap import Expensive

import shapband as sb
from shapband.games import Games
from shapband.seeds import Seeds
from shapband.solvers.exact import index_values


def parities(n):
    """Tables of 2**n values."""
    inside = np.arange(2**n)[:, None] >> np.arange(n) & 1
    size = inside.sum(axis=1)
    two = inside[:, 0] ^ inside[:, 1]
    pairs = inside[:, 0 : n - 1 : 2] ^ inside[:, 1:n:2]
    return {
        "of two": two,
        "of three": two ^ inside[:, 2],
        "of pairs": pairs @ np.arange(1, n // 2 + 1),
        "of two, and a curve": two + np.sqrt(size),
        "of two, in large coalitions": two * (size > n / 2),
        "of two, in small coalitions": two * (size <= n / 2),
    }


def check(name, n, factor, count):
    """Mean errors within 5 standard errors and below 5 % of the error of one game."""
    table = np.asarray(parities(n)[name], dtype=float)
    names = tuple(f"p{i:02}" for i in range(n))
    chunk = Games(Expensive(table), np.zeros((count, n)), names, range(count), Seeds(0))
    solution = sb.Strata(factor * n).solve(chunk)
    errors = solution.values - index_values(table[None], sb.Shapley())
    squares, standard = (errors**2).mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(count)

    def biased(errors):
        mean = errors.mean(axis=0)
        beyond_chance = (mean**2 - standard**2).sum()
        return (np.abs(mean) > 5 * standard).any() or beyond_chance > 0.05**2 * squares.sum()

    assert not biased(errors)
    assert biased(errors + 0.1 * np.sqrt(squares.max()))  # the control: 10 % of the error
    assert 0.85 < solution.noise.mean() / squares.mean() < 1.2


@pytest.mark.parametrize(
    "name",
    ["of two", *(pytest.param(one, marks=pytest.mark.long) for one in ("of three", "of pairs"))],
)
def test_few_evaluations_of_parities_are_without_bias(name):
    check(name, n=8, factor=6, count=3000)


@pytest.mark.long
@pytest.mark.parametrize("factor", [5, 6])
@pytest.mark.parametrize("n", [8, 10, 12])
@pytest.mark.parametrize("name", parities(8))
def test_few_evaluations_of_all_parities_are_without_bias(name, n, factor):
    check(name, n, factor, count=5000)
