"""Games with groups: Owen values, and the Shapley values of the groups among each other."""

from dataclasses import dataclass

import numpy as np
import pytest
from tests.conftest import one_record_providers
from tests.known_games import ALL
from tests.owen import admissible_orders, owen_values, shapley_between

import shapband as sb
from shapband.errors import ConformanceError, InvalidInput
from shapband.games import Games
from shapband.grouping import Grouping
from shapband.indices import SHAPLEY
from shapband.seeds import Seeds
from shapband.solvers.default import default_group_solver
from shapband.solvers.exact import index_values
from shapband.solvers.owen import count_coalitions, needed_coalitions
from shapband.solvers.permutation import random_orders

PARTITIONS = [
    ((0, 1),),
    ((0,), (1,)),
    ((0, 1), (2,)),
    ((2,), (0, 1), (3,)),
    ((1, 3), (0, 2)),
    ((0, 1, 2), (3, 4)),
    ((0,), (1, 2), (3, 4), (5,)),
    ((0, 1, 2), (3, 4, 5)),
    ((0, 2, 4), (1,), (3, 5)),
    ((0, 1, 2, 3, 4, 5),),
]


def grouping_of(players):
    """Every player of two or more is a group."""
    groups = [members for members in players if len(members) > 1]
    return Grouping(tuple(f"group {at}" for at in range(len(groups))), tuple(groups))


def games_of(tables, players, *, mergeable=True, seed=0, start=0):
    """Games whose tables are their summaries."""
    n = sum(map(len, players))
    names = tuple(f"p{i}" for i in range(n))
    summaries = [[table] * n for table in np.asarray(tables)]
    indices = range(start, start + len(summaries))
    grouping = grouping_of(players)
    utility = Own(mergeable)
    utility.empty = float(np.asarray(tables)[0][0])
    return Games(utility, summaries, names, indices, Seeds(seed), grouping=grouping)


class Own(sb.Utility):
    """Every game has a table of its own; coalitions without a table are counted."""

    def __init__(self, mergeable):
        self.mergeable = mergeable
        self.asked = []

    def summarise(self, batch):
        raise NotImplementedError

    def evaluate(self, summaries, coalitions):
        self.asked.append(list(coalitions))
        return np.array([summaries[0][mask] for mask in coalitions])


def random_tables(n, count=3, scale=1.0, seed=0):
    tables = scale * np.random.default_rng(seed).normal(size=(count, 2**n))
    tables[:, 0] = 0.25 * scale
    return tables


@pytest.mark.parametrize("mergeable", [True, False])
@pytest.mark.parametrize("players", PARTITIONS[:1] + PARTITIONS[2:], ids=str)
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_exact_values_are_the_mean_over_all_admissible_orders(players, mergeable, scale):
    tables = random_tables(sum(map(len, players)), scale=scale)
    solution = sb.Exact().solve(games_of(tables, players, mergeable=mergeable))
    expected = [owen_values(table, players) for table in tables]
    np.testing.assert_allclose(solution.values, expected, rtol=0, atol=1e-13 * scale)
    assert (solution.noise == 0).all()
    assert (solution.group_noise == 0).all()


@pytest.mark.parametrize("solver", [sb.Exact(), sb.Permutation(7)], ids=repr)
@pytest.mark.parametrize("players", PARTITIONS[2:], ids=str)
def test_members_share_the_value_of_their_group_among_the_groups(players, solver):
    tables = random_tables(sum(map(len, players)))
    games = games_of(tables, players)
    values = solver.solve(games).values
    sums = np.array([[row[list(members)].sum() for members in players] for row in values])
    if solver == sb.Exact():
        between = np.array([shapley_between(table, players) for table in tables])
    else:  # the same orders of the groups give the groups' values
        orders = random_orders(games, 7)
        between = np.array([walked(t, o, players) for t, o in zip(tables, orders, strict=True)])
    np.testing.assert_allclose(sums, between, rtol=0, atol=1e-12)
    np.testing.assert_allclose(values.sum(axis=1), tables[:, -1] - tables[:, 0], atol=1e-12)


def walked(table, orders, players):
    """Mean marginal contributions of whole players along orders."""
    sums = np.zeros(len(players))
    for order in orders.tolist():
        coalition = 0
        while order:
            player = next(at for at, members in enumerate(players) if order[0] in members)
            joined = coalition | sum(1 << member for member in players[player])
            sums[player] += table[joined] - table[coalition]
            coalition, order = joined, order[len(players[player]) :]
    return sums / len(orders)


def test_owen_values_are_not_shapley_values():
    """The control of the tests above: without groups the values are others."""
    table, _ = ALL["glove"]()
    grouped = sb.Exact().solve(games_of([table], ((0, 1), (2,)))).values[0]
    np.testing.assert_allclose(grouped, [3 / 4, 1 / 4, 0], atol=1e-15)
    assert np.abs(grouped - index_values(table[None], SHAPLEY)[0]).max() > 0.08


def test_a_game_of_symmetric_votes_is_known_on_paper():
    """Five equal votes, simple majority, unions {0, 1, 2} and the rest: the majority shares all."""
    table = np.array([float(mask.bit_count() >= 3) for mask in range(32)])
    values = sb.Exact().solve(games_of([table], ((0, 1, 2), (3,), (4,)))).values[0]
    np.testing.assert_allclose(values, [1 / 3, 1 / 3, 1 / 3, 0, 0], atol=1e-15)


@pytest.mark.parametrize("players", PARTITIONS[2:], ids=str)
def test_only_coalitions_that_matter_are_evaluated(players):
    games = games_of(random_tables(sum(map(len, players))), players, mergeable=False)
    solution = sb.Exact().solve(games)
    seen = {
        sum(1 << member for member in order[:size])
        for order in admissible_orders(players)
        for size in range(1, len(order) + 1)
    }
    assert [set(asked) for asked in games.utility.asked] == [seen] * 3
    assert all(len(asked) == len(seen) for asked in games.utility.asked)
    sizes = [len(members) for members in players]
    assert count_coalitions(sizes) == len(seen) == len(needed_coalitions(players)[0]) - 1
    assert solution.evaluations == 3 * len(seen)


def test_thirty_providers_in_three_groups_are_solved_exactly():
    """Too many for a table of all coalitions; squares of sums are shared in a known way."""
    players = tuple(tuple(range(start, start + 10)) for start in (0, 10, 20))
    worth = np.random.default_rng(3).normal(size=30)

    class Square(sb.Utility):
        mergeable = True

        def summarise(self, batch):
            raise NotImplementedError

        def evaluate(self, summaries, coalitions):
            return np.array([worth[sb.extend.members(c)].sum() ** 2 for c in coalitions])

    sb.Exact().check_groups([10, 10, 10])
    names = tuple(f"p{i}" for i in range(30))
    grouping = grouping_of(players)
    games = Games(Square(), [[None] * 30], names, range(1), Seeds(0), grouping=grouping)
    solution = sb.Exact().solve(games)
    # Every product of two is shared equally, so i gets its own worth times the sum of all.
    np.testing.assert_allclose(solution.values[0], worth * worth.sum(), atol=1e-10)
    assert solution.evaluations == 12271


def test_more_coalitions_than_one_call_evaluates_are_cut_into_parts():
    players = (tuple(range(12)), (12,))
    tables = random_tables(13, count=2)
    games = games_of(tables, players, mergeable=False)
    values = sb.Exact().solve(games).values
    assert [len(asked) for asked in games.utility.asked] == [4096, 4096, 4095, 4095]
    whole = sb.Exact().solve(games_of(tables, players)).values
    np.testing.assert_array_equal(values, whole)


@pytest.mark.parametrize("players", [((0, 1), (2,)), ((0, 1), (2, 3)), ((0, 1, 2),)], ids=str)
def test_random_orders_are_uniform_among_the_admissible_ones(players):
    n = sum(map(len, players))
    games = games_of(np.zeros((2000, 2**n)), players)
    orders = random_orders(games, 3).reshape(-1, n)
    found, counts = np.unique(orders, axis=0, return_counts=True)
    admissible = sorted(admissible_orders(players))
    assert found.tolist() == admissible
    expected = len(orders) / len(admissible)
    # Chi-square with at most 7 degrees of freedom exceeds 29.9 once in 10,000.
    assert ((counts - expected) ** 2 / expected).sum() < 29.9


def test_permutations_are_unbiased_and_state_their_noise():
    players = ((0, 1, 2), (3, 4), (5,))
    table = random_tables(6, count=1)[0]
    games = games_of([table] * 2000, players)
    solution = sb.Permutation(5).solve(games)
    known = owen_values(table, players)
    error = solution.values.std(axis=0, ddof=1) / np.sqrt(2000)
    assert (np.abs(solution.values.mean(axis=0) - known) < 4.5 * error).all()
    # The control: the Shapley values are far outside.
    other = index_values(table[None], SHAPLEY)[0]
    assert (np.abs(solution.values.mean(axis=0) - other) > 20 * error).any()
    seen = games.grouping.totals(solution.values).var(axis=0, ddof=1)
    np.testing.assert_allclose(solution.group_noise.mean(axis=0), seen, rtol=0.12)
    # Another control: the noise of the members does not add up to that of their group.
    added = games.grouping.totals(solution.noise).mean(axis=0)
    assert (np.abs(added / seen - 1) > 0.2).any()


def test_a_further_member_leaves_the_order_of_all_others():
    few = random_orders(games_of(np.zeros((30, 16)), ((0, 1), (2,), (3,))), 5)
    more = games_of(np.zeros((30, 32)), ((0, 1, 4), (2,), (3,)))
    orders = random_orders(more, 5)
    np.testing.assert_array_equal(orders[orders != 4].reshape(few.shape), few)


def test_groups_of_one_have_the_orders_of_providers_alone():
    grouping = Grouping(("x", "y"), ((0, 1), (2,)))
    assert grouping.players(("a", "b", "c", "d")) == {"x": (0, 1), "c": (2,), "d": (3,)}
    assert not Grouping(("x", "y"), ((0,), (2,))).nested


@pytest.mark.parametrize("players", PARTITIONS[2:], ids=str)
@pytest.mark.parametrize("solver", [sb.Exact(), sb.Permutation(4)], ids=repr)
def test_a_games_bits_do_not_depend_on_its_chunk(players, solver):
    tables = random_tables(sum(map(len, players)), count=5)
    whole = solver.solve(games_of(tables, players))
    for at in range(5):
        alone = solver.solve(games_of(tables[at : at + 1], players, start=at))
        np.testing.assert_array_equal(alone.values[0], whole.values[at])
        np.testing.assert_array_equal(alone.noise[0], whole.noise[at])
        np.testing.assert_array_equal(alone.group_noise[0], whole.group_noise[at])


@dataclass(frozen=True)
class Walks(sb.Solver):
    """A solver that does not know of groups."""

    def check(self, n_providers):
        pass

    def floats_per_game(self, n_providers):
        return 2**n_providers

    def solve(self, games):
        values = index_values(games.table(), SHAPLEY)
        return sb.Solution(values, np.zeros_like(values), len(values))


@dataclass(frozen=True)
class Claims(Walks):
    """One that claims to know."""

    def check_groups(self, sizes):
        pass


def value(providers, solver, **options):
    utility = sb.TableUtility(np.arange(16.0))
    arguments = {"sampling": sb.Fresh(1), "n_games": 3, "seed": 0}
    return sb.value(providers, utility, solver=solver, **(arguments | options))


def test_a_solver_that_does_not_know_of_groups_is_refused():
    a, b, c, d = one_record_providers(4)
    with pytest.raises(InvalidInput, match=r"Walks cannot solve .* use Exact or Permutation"):
        value([sb.Group("g", [a, b]), c, d], Walks())
    # In groups of one there is nothing to share.
    alone = value([sb.Group("g", [a]), b, c, d], Walks())
    np.testing.assert_array_equal(alone.games, value([a, b, c, d], Walks()).games)
    assert alone.groups.expectation == alone.expectation[:1]


def test_a_solver_must_state_the_noise_of_groups():
    a, b, c, d = one_record_providers(4)
    with pytest.raises(ConformanceError, match=r"Claims\.solve .* group_noise .* shape \(3, 1\)"):
        value([sb.Group("g", [a, b]), c, d], Claims())


def test_balanced_permutations_name_the_solvers_that_take_groups():
    a, b, c, d = one_record_providers(4)
    with pytest.raises(InvalidInput, match=r"BalancedPermutation: .* use Permutation or Exact"):
        value([sb.Group("g", [a, b]), c, d], sb.BalancedPermutation(8))


def test_too_many_coalitions_are_refused():
    sb.Exact().check_groups([19, 1])
    with pytest.raises(InvalidInput, match=r"2 players.* 20 providers.* 2\*\*20 .*Permutation"):
        sb.Exact().check_groups([20, 1])
    with pytest.raises(InvalidInput, match="2000 players"):
        sb.Exact().check_groups([2] * 2000)


def test_the_default_is_exact_while_that_is_cheap():
    assert default_group_solver([10, 10, 10])[0] == sb.Permutation(200)
    assert default_group_solver([6, 6, 6])[0] == sb.Exact()
    a, b, c, d = one_record_providers(4)
    assert value([sb.Group("g", [a, b]), c, d], None).setup["solver"] == "Exact()"
