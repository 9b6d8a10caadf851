"""Coalitions sampled by size: unbiased, with honest noise, and never more than was allowed."""

import subprocess
import sys
from math import comb

import numpy as np
import pytest
from tests.conftest import linear_providers

import shapband as sb
from shapband.coalitions import row_masks
from shapband.errors import InvalidInput
from shapband.games import Games
from shapband.seeds import Seeds
from shapband.solvers.exact import index_values
from shapband.solvers.sizes import Sizes, allocate

INDICES = [sb.Shapley(), sb.Banzhaf(), sb.Beta(4, 1)]


def table_of(n, seed=0, pairs=0.3):
    """A learning curve with pairs that help or hurt each other, v(∅) = 0.5."""
    rng = np.random.default_rng(seed)
    inside = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(float)
    weight = pairs * rng.normal(size=(n, n))
    amount = inside @ rng.gamma(2, 1, n) + np.einsum("si,ij,sj->s", inside, weight, inside)
    return 0.5 + np.sqrt(np.abs(amount)) + 0.01 * rng.normal(size=2**n) * (inside.sum(axis=1) > 0)


def solved(table, n_evaluations, games=range(1), index=INDICES[0], names=None, seed=0):
    n = table.size.bit_length() - 1
    utility = sb.TableUtility(table)
    names = names or tuple(f"p{i:02}" for i in range(n))
    chunk = Games(utility, np.zeros((len(games), n)), names, games, Seeds(seed), index)
    return sb.Strata(n_evaluations).solve(chunk)


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize(
    ("n", "n_evaluations"),
    [
        (5, 20),
        (6, 24),
        *(pytest.param(*one, marks=pytest.mark.long) for one in [(6, 40), (7, 28), (9, 100)]),
    ],
)
def test_values_are_unbiased_and_their_noise_is_the_noise(n, n_evaluations, index):
    table = table_of(n)
    solution = solved(table, n_evaluations, range(1200), index)
    errors = solution.values - index_values(table[None], index)
    standard = errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
    if n_evaluations > 4 * n:
        assert (np.abs(errors.mean(axis=0)) < 4.5 * standard + 1e-9).all()
    # With the fewest evaluations of few providers, sizes compete for what is left after the pilot.
    assert (errors.mean(axis=0) ** 2).sum() < 0.03 * (errors**2).mean(axis=0).sum()
    assert 0.75 < solution.noise.mean() / (errors**2).mean() < 1.3
    assert solution.evaluations <= 1200 * n_evaluations


RARE = {
    "dictator": lambda inside: inside[:, 0],
    "veto": lambda inside: inside[:, 0] * np.sqrt(inside.sum(axis=1)),
    "one dear": lambda inside: (inside * np.append(np.arange(9.0) ** 2, 3000.0)).max(axis=1),
    "either": lambda inside: inside[:, :2].max(axis=1),
    "both": lambda inside: inside[:, :2].min(axis=1),
}


@pytest.mark.parametrize("n_evaluations", [100, 200])
@pytest.mark.parametrize("name", RARE)
def test_ties_and_rare_values_neither_bias_the_values_nor_hide_the_noise(name, n_evaluations):
    """Few coalitions of a size may differ from the others, and the pilot may miss them."""
    inside = (np.arange(2**10)[:, None] >> np.arange(10) & 1).astype(float)
    table = RARE[name](inside)
    solution = solved(table, n_evaluations, range(500))
    errors = solution.values - index_values(table[None], sb.Shapley())
    standard = errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
    assert (np.abs(errors.mean(axis=0)) < 4.5 * standard + 1e-6).all()
    assert 0.8 < solution.noise.mean() / (errors**2).mean() < 1.4 or (errors**2).mean() < 1e-7


def test_a_wrong_table_is_noticed_by_the_same_check():
    table = table_of(7)
    errors = solved(table, 28, range(2000)).values - index_values(
        (table + 0.02 * (np.arange(128) & 1))[None], INDICES[0]
    )
    standard = errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
    assert (np.abs(errors.mean(axis=0)) > 4.5 * standard).any()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_enough_evaluations_give_the_exact_values_bit_for_bit(n):
    table = table_of(n)
    chunk = Games(
        sb.TableUtility(table), np.zeros((3, n)), tuple("abcdefg"[:n]), range(3), Seeds(0)
    )
    exact, strata = sb.Exact().solve(chunk), sb.Strata(2**n - 1).solve(chunk)
    assert np.array_equal(exact.values, strata.values)
    assert (strata.noise == 0).all()


@pytest.mark.parametrize("n", [5, 8, 30])
@pytest.mark.parametrize("factor", [4, 10])
def test_shares_add_up_and_additive_games_are_solved_exactly(n, factor):
    worth = np.random.default_rng(0).normal(size=(5, n))
    names = tuple(f"p{i:02}" for i in range(n))
    chunk = Games(sb.AdditiveUtility(empty=0.3), worth, names, range(5), Seeds(0))
    solution = sb.Strata(factor * n).solve(chunk)
    np.testing.assert_allclose(solution.values, worth, atol=1e-4)
    np.testing.assert_allclose(solution.values.sum(axis=1), worth.sum(axis=1), atol=1e-10)
    assert (solution.noise < 1e-8).all()


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_values_grow_with_the_unit_of_the_utility(scale):
    table = table_of(8)
    one, many = solved(table, 64), solved(scale * table, 64)
    np.testing.assert_allclose(many.values, scale * one.values, rtol=1e-6)
    np.testing.assert_allclose(many.noise, scale**2 * one.noise, rtol=1e-4)


def test_a_constant_game_is_worth_nothing_to_anyone():
    solution = solved(np.full(2**8, 3.0), 64)
    np.testing.assert_allclose(solution.values, 0.0, atol=1e-12)
    np.testing.assert_allclose(solution.noise, 0.0, atol=1e-12)


def test_chunks_do_not_matter():
    table = table_of(9)
    whole = solved(table, 80, range(7))
    parts = [solved(table, 80, range(3)), solved(table, 80, range(3, 7))]
    for name in ("values", "noise"):
        apart = np.concatenate([getattr(part, name) for part in parts])
        assert np.array_equal(getattr(whole, name), apart)


def test_the_order_of_the_providers_does_not_matter():
    n, table = 7, table_of(7)
    order = np.random.default_rng(3).permutation(n)
    names = np.array([f"p{i:02}" for i in range(n)])
    masks = np.arange(2**n)
    # Bit j of the turned game is provider order[j] of the first one.
    turned = table[sum((masks >> j & 1) << int(i) for j, i in enumerate(order))]
    first, second = solved(table, 60), solved(turned, 60, names=tuple(names[order].tolist()))
    np.testing.assert_allclose(second.values, first.values[:, order], rtol=1e-9, atol=1e-12)


class Counting(sb.Utility):
    """Remembers which coalitions were evaluated."""

    def __init__(self):
        self.seen = []

    def summarise(self, batch):
        return batch.y.mean()

    def evaluate(self, summaries, coalitions):
        self.seen.extend(coalitions)
        inside = [[summaries[i] for i in sb.extend.members(c)] for c in coalitions]
        return np.array([np.sqrt(abs(sum(found))) for found in inside])


@pytest.mark.parametrize("n", [4, 5, 8, 9, 70])
@pytest.mark.parametrize("factor", [4, 9, 20])
def test_every_coalition_is_evaluated_once_and_not_more_than_allowed(n, factor):
    utility = Counting()
    names = tuple(f"p{i:02}" for i in range(n))
    draws = np.random.default_rng(n).gamma(2, 1, (1, n))
    solution = sb.Strata(factor * n).solve(Games(utility, draws, names, range(1), Seeds(1)))
    allowed = min(factor * n, 2**n - 1)
    assert len(utility.seen) == len(set(utility.seen)) == solution.evaluations
    assert 0.9 * allowed <= solution.evaluations <= allowed


@pytest.mark.parametrize(("n", "least"), [(3, 7), (4, 15), (5, 20), (10, 40), (300, 1200)])
def test_too_few_evaluations_are_refused_with_the_least_number(n, least):
    sb.Strata(least).check(n)
    with pytest.raises(InvalidInput, match=rf"n_evaluations must be at least {least} for {n} pro"):
        sb.Strata(least - 1).check(n)


def test_the_pilot_is_pairs_of_complements_and_the_sample_begins_with_it():
    sizes = Sizes(9, 150, sb.Shapley())
    pilot = sizes.pilot(np.uint64(5))
    assert (pilot.rows[0::2] + pilot.rows[1::2] == 1).all()
    assert (pilot.mates == np.arange(len(pilot.rows)) ^ 1).all()
    for correlated in (0.99, -0.9):
        residuals = np.random.default_rng(0).normal(size=len(pilot.rows))
        # Pairs help if the residuals of complements are alike.
        residuals[1::2] = correlated * residuals[0::2] + (1 - abs(correlated)) * residuals[1::2]
        first = np.repeat([1.0, correlated], 9)
        sample = sizes.sample(pilot, sizes.spreads(first, residuals), first, np.uint64(5))
        assert np.array_equal(sample.rows[: len(pilot.rows)], pilot.rows)
        assert len(set(row_masks(sample.rows))) == len(sample.rows) <= 150 - 19
        alone = sample.mates == np.arange(len(sample.rows))
        # Pairs are drawn as long as both sizes want more; none of them are in the other case.
        assert (alone[len(pilot.rows) :].mean() < 0.5) == (correlated > 0)
        assert (sample.mates[sample.mates] == np.arange(len(sample.rows))).all()
        pairs = sample.rows[~alone] + sample.rows[sample.mates[~alone]]
        assert (pairs == 1).all()
        assert np.array_equal(sample.sizes, sample.rows.sum(axis=1))


@pytest.mark.parametrize("n", [8, 9, 12, 14, 20, 30])
def test_a_pilot_that_never_varied_is_followed_by_single_coalitions(n):
    """Pairs are neither better nor worse then; rounding errors decided before."""
    sizes = Sizes(n, 5 * n, sb.Shapley())
    pilot, level = sizes.pilot(np.uint64(5)), np.zeros(2 * n)
    spreads = sizes.spreads(level, np.zeros(len(pilot.rows)))
    sample = sizes.sample(pilot, spreads, level, np.uint64(5))
    later = np.arange(len(pilot.rows), len(sample.rows))
    assert len(later) > 0
    assert np.array_equal(sample.mates[later], later)


def test_random_coalitions_of_a_size_are_equally_likely():
    sizes = Sizes(6, 45, sb.Shapley())
    drawn = np.concatenate([sizes.pilot(np.uint64(seed)).rows for seed in range(4000)])
    masks, counts = np.unique(row_masks(drawn), return_counts=True)
    of_size = np.bitwise_count(masks)
    for size in (2, 3, 4):
        seen = counts[of_size == size]
        assert len(seen) == comb(6, size)
        expected = seen.sum() / len(seen)
        # Draws of one game repel each other, so this is on the safe side of a chi-square.
        assert ((seen - expected) ** 2 / expected).sum() < 2 * len(seen)


@pytest.mark.parametrize(
    ("wanted", "total", "expected"),
    [
        ([1.0, 1.0, 1.0], 12, [4, 4, 4]),
        ([0.0, 0.0, 0.0], 13, [5, 4, 4]),
        ([1.0, 0.0, 0.0], 13, [9, 2, 2]),
        ([5.0, 1.0, 0.0], 40, [10, 10, 2]),
        ([0.2, 3.0, 6.0], 12, [2, 3, 7]),
    ],
)
def test_evaluations_follow_what_is_wanted_between_the_bounds(wanted, total, expected):
    counts = allocate(np.array(wanted), np.array([2, 2, 2]), np.array([10.0, 10.0, 1e9]), total)
    assert counts[:2] == expected[:2]
    assert counts[2] >= 2
    assert sum(counts) == total or counts == [10, 10, 20]


def test_strata_in_a_valuation_agree_with_the_exact_values():
    providers, (X, y) = linear_providers(n=8, features=2)
    arguments = {"sampling": sb.Fresh(12), "n_games": 20, "seed": 0}
    exact = sb.value(providers, sb.LinearUtility(X, y), solver=sb.Exact(), **arguments)
    found = sb.value(providers, sb.LinearUtility(X, y), solver=sb.Strata(100), **arguments)
    spread = np.sqrt(found.solver_variance)
    assert (np.abs(found.games - exact.games) < 8 * spread).all()
    assert 20 * 99 <= found.evaluations <= 20 * 100


MANY = """
import resource, sys
import numpy as np
import shapband as sb
from shapband.games import Games
from shapband.seeds import Seeds

class Root(sb.Utility):
    def summarise(self, batch):
        return None

    def evaluate(self, summaries, coalitions):
        raise NotImplementedError

    def evaluate_rows(self, games, inside, of_game):
        return np.sqrt([row.sum(dtype=float) for row in inside])

n = 10_000
names = tuple(f"p{i:05}" for i in range(n))
solution = sb.Strata(5 * n).solve(Games(Root(), np.zeros((1, n)), names, range(1), Seeds(0)))
assert np.isclose(solution.values.sum(), np.sqrt(n))
unit = 1 if sys.platform == "darwin" else 1024
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
"""


@pytest.mark.long
def test_ten_thousand_providers_take_less_than_two_gigabytes():
    pytest.importorskip("resource")  # not on Windows
    done = subprocess.run(  # noqa: S603  our own script
        [sys.executable, "-c", MANY], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 2e9
