"""Shapley, Banzhaf and Beta values: their weights, every solver, and what says which it was."""

from dataclasses import dataclass
from itertools import permutations
from math import comb, factorial

import numpy as np
import pytest
from scipy import stats
from scipy.special import beta as beta_function

import shapband as sb
from shapband.coalitions import coalition_weights
from shapband.engine.arguments import Arguments
from shapband.errors import InvalidInput, RunError
from shapband.indices import check_index
from tests import known_games
from tests.bad_input import counted
from tests.conftest import linear_providers, one_record_providers

BETA = sb.Beta(3, 0.5)
INDICES = [sb.Shapley(), sb.Banzhaf(), sb.Beta(4, 1), BETA]
OTHERS = INDICES[1:]


def weight(index, n, s):
    """What one coalition of s others counts, as the literature writes it."""
    if isinstance(index, sb.Shapley):
        return factorial(s) * factorial(n - s - 1) / factorial(n)
    if isinstance(index, sb.Banzhaf):
        return 1 / 2 ** (n - 1)
    # Kwon and Zou (2022), their equation for a set of j - 1 = s others.
    a, b = index.alpha, index.beta
    return beta_function(s + b, n - 1 - s + a) / beta_function(a, b)


def brute_force(table, index):
    n = len(table).bit_length() - 1
    values = np.zeros(n)
    for i in range(n):
        for c in range(2**n):
            if not c >> i & 1:
                values[i] += weight(index, n, c.bit_count()) * (table[c | 1 << i] - table[c])
    return values


def value(table, solver, index, n_games=2, seed=0, **options):
    providers = one_record_providers(len(table).bit_length() - 1)
    arguments = {"sampling": sb.Fresh(1), "n_games": n_games, "seed": seed} | options
    return sb.value(providers, sb.TableUtility(table), solver=solver, index=index, **arguments)


# Weights of sizes and of coalitions


@pytest.mark.parametrize("n", [1, 2, 3, 10, 50, 1000, 3000])
def test_the_weights_of_sizes_are_the_known_distributions(n):
    s = np.arange(n)
    known = {
        sb.Shapley(): np.full(n, 1 / n),
        sb.Banzhaf(): stats.binom.pmf(s, n - 1, 0.5),
        sb.Beta(1, 1): np.full(n, 1 / n),
        sb.Beta(16, 1): stats.betabinom.pmf(s, n - 1, 1, 16),
        BETA: stats.betabinom.pmf(s, n - 1, 0.5, 3),
    }
    for index, weights in known.items():
        found = index.size_weights(n)
        assert found.shape == (n,)
        np.testing.assert_allclose(found, weights, rtol=1e-9, atol=1e-300)
        assert abs(found.sum() - 1) < 1e-12


def test_a_large_alpha_favours_small_coalitions():
    sizes = np.arange(20)
    for alpha, beta in [(16, 1), (1, 16), (4, 1), (0.5, 2.5)]:
        mean = sb.Beta(alpha, beta).size_weights(20) @ sizes
        assert mean == pytest.approx(19 * beta / (alpha + beta))


@pytest.mark.parametrize("parameters", [(1e300, 1e-300), (1e-300, 1e300), (1e-300, 1e-300)])
def test_extreme_parameters_give_finite_weights(parameters):
    for n in (1, 2, 1000):
        check_index(sb.Beta(*parameters), n)


def test_the_weights_of_coalitions_in_a_shapley_value_are_rounded_once():
    for n in range(1, 21):
        inside, outside = coalition_weights(sb.Shapley().size_weights(n))
        assert inside.tolist() == [0.0] + [1 / (s * comb(n, s)) for s in range(1, n + 1)]
        assert outside.tolist() == [1 / ((n - s) * comb(n, s)) for s in range(n)] + [0.0]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_the_weights_of_coalitions_are_those_of_the_literature(index):
    for n in range(1, 21):
        inside, outside = coalition_weights(index.size_weights(n))
        known = [weight(index, n, s) for s in range(n)]
        np.testing.assert_allclose(inside, [0.0, *known], rtol=1e-11)
        np.testing.assert_allclose(outside, [*known, 0.0], rtol=1e-11)


# Values


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize("n", range(1, 7))
def test_exact_values_are_those_of_brute_force(index, n):
    table = np.random.default_rng(n).normal(size=2**n)
    found = value(table, sb.Exact(), index)
    np.testing.assert_allclose(found.games[0], brute_force(table, index), atol=1e-12)
    assert (found.solver_variance == 0).all()


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize("n", range(1, 7))
def test_the_mean_over_all_permutations_is_the_value(index, n):
    table = np.random.default_rng(n).normal(size=2**n)
    orders = np.array(list(permutations(range(n))))
    prefixes = table[np.cumsum(1 << orders, axis=1)]
    marginals = sb.extend.marginal_contributions(orders, prefixes, table[0], index)
    np.testing.assert_allclose(marginals.mean(axis=0), brute_force(table, index), atol=1e-12)


@pytest.mark.parametrize("solver", [sb.Permutation(8), sb.BalancedPermutation(12)], ids=repr)
@pytest.mark.parametrize("index", OTHERS, ids=repr)
def test_sampled_values_are_unbiased(index, solver):
    """Within four standard errors of the right index, and further from all others."""
    table = 5 * np.random.default_rng(2).normal(size=2**6)
    found = value(table, solver, index, n_games=800)
    error = np.sqrt(found.solver_variance / found.n_games)
    assert (np.abs(found.expectation - brute_force(table, index)) < 4 * error).all()
    for wrong in INDICES:
        if wrong != index:
            off = np.abs(found.expectation - brute_force(table, wrong))
            assert (off > 4 * error).any(), wrong


@pytest.mark.parametrize("solver", [sb.Permutation(6), sb.BalancedPermutation(10)], ids=repr)
@pytest.mark.parametrize("index", [sb.Banzhaf(), BETA], ids=repr)
def test_the_stated_noise_is_the_noise(index, solver):
    """The game never varies, so all variance across games is noise; that of Shapley is another."""
    table = np.random.default_rng(3).normal(size=2**5)
    found = value(table, solver, index, n_games=3000)
    moments = found.estimate.moments

    def off(stated, stated_error):
        spread = found.raw_variance
        fourth = moments.m4 / moments.n_games
        error = np.sqrt((fourth - spread**2) / moments.n_games)
        return np.abs(stated - spread) / np.hypot(error, stated_error)

    stated_error = np.sqrt(moments.noise_m2 / (moments.n_games - 1) / moments.n_games)
    assert (off(found.solver_variance, stated_error) < 4).all()
    shapley = value(table, solver, None, n_games=3000)
    assert (off(shapley.solver_variance, stated_error) > 4).any()


@pytest.mark.parametrize("index", OTHERS, ids=repr)
@pytest.mark.parametrize("solver", [sb.Exact(), sb.BalancedPermutation(12)], ids=repr)
def test_all_indices_agree_in_additive_games(index, solver):
    table, known = known_games.random_additive()
    solver = solver if solver == sb.Exact() else sb.BalancedPermutation(2 * len(known))
    found = value(table, solver, index)
    np.testing.assert_allclose(found.games, np.tile(known, (2, 1)), atol=1e-12)


def test_other_indices_need_not_sum_to_the_value_of_all():
    table, _ = known_games.unanimity()
    total = table[-1] - table[0]
    assert value(table, sb.Exact(), sb.Banzhaf()).expectation.sum() < 0.9 * total
    assert value(table, sb.Exact(), sb.Shapley()).expectation.sum() == pytest.approx(total)


@pytest.mark.parametrize("n", [2, 7, 49, 98])
def test_shapley_multiplies_nothing(n):
    """49 × (1 / 49) is not 1 in floats, so the weights must not be used."""
    rng = np.random.default_rng(n)
    orders, prefixes = np.argsort(rng.random((4, n)), axis=1), rng.normal(size=(4, n))
    found = sb.extend.marginal_contributions(orders, prefixes, 0.5, sb.Shapley())
    steps = np.diff(prefixes, axis=1, prepend=0.5)
    assert (np.take_along_axis(found, orders, axis=1) == steps).all()
    weighed = sb.extend.marginal_contributions(orders, prefixes, 0.5, sb.Beta(1, 1))
    np.testing.assert_allclose(weighed, found, rtol=1e-11)


@pytest.mark.parametrize("index", OTHERS, ids=repr)
@pytest.mark.parametrize("solver", [sb.Exact(), sb.Permutation(7), sb.BalancedPermutation(10)])
def test_chunks_and_workers_do_not_change_the_bits(index, solver):
    providers, validation = linear_providers()
    arguments = {"sampling": sb.Pooled(30, 12), "solver": solver, "index": index}
    utility = sb.LinearUtility(*validation)

    def games(**options):
        return sb.value(providers, utility, n_games=13, seed=5, **arguments, **options).games

    for options in ({"chunk_size": 1}, {"chunk_size": 4}, {"n_jobs": 2, "chunk_size": 4}):
        np.testing.assert_array_equal(games(**options), games())


def test_worker_processes_compute_the_index():
    providers, _ = linear_providers(n=3)
    utility = sb.FunctionUtility(_length)
    arguments = {"sampling": sb.Fresh(4), "index": sb.Banzhaf(), "n_games": 4, "seed": 0}
    here = sb.value(providers, utility, **arguments)
    there = sb.value(providers, utility, n_jobs=2, **arguments)
    np.testing.assert_array_equal(here.games, there.games)
    assert (here.games != sb.value(providers, utility, **{**arguments, "index": None}).games).all()


def _length(X, y):
    return float(np.sqrt(len(y)))


def test_an_index_costs_no_request_and_no_evaluation():
    providers, validation = linear_providers()
    utility = sb.LinearUtility(*validation)
    arguments = {"sampling": sb.Fresh(8), "solver": sb.Permutation(3), "n_games": 6, "seed": 1}
    bills = {
        (found.access.requests, found.access.records, found.evaluations)
        for found in (sb.value(providers, utility, index=one, **arguments) for one in INDICES)
    }
    assert len(bills) == 1


# What is refused


@dataclass(frozen=True)
class Own(sb.Index):
    weights: object

    def size_weights(self, n_providers):
        if isinstance(self.weights, Exception):
            raise self.weights
        return self.weights


def refused(match, **arguments):
    source = counted([1.0, 2.0], [1.0, 2.0])
    providers = [sb.Provider(name, source) for name in ("a", "b")]
    with pytest.raises(InvalidInput, match=match) as caught:
        sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(1), n_games=2, **arguments)
    assert "\n" not in str(caught.value)
    assert source.asked == 0


@pytest.mark.parametrize("index", ["banzhaf", sb.Banzhaf, 0, False, "", [], np.array([0.5, 0.5])])
def test_what_is_no_index_is_refused(index):
    refused(r"^index must be Shapley\(\), Banzhaf\(\), Beta\(alpha, beta\) or", index=index)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([0.5, 0.5], "as a float64 array; received a list"),
        (np.array([1, 0]), "as a float64 array; received .* int64"),
        (np.array([1.0]), r"; received an array of shape \(1,\)"),
        (np.array([0.5, 0.6]), "sum to 1; received .* a sum of 1.1: divide by the sum"),
        (np.array([1.5, -0.5]), "of at least 0 that sum to 1; received a least one of -0.5"),
        (np.array([np.nan, 1.0]), "of at least 0 that sum to 1"),
        (KeyError("lost"), "but it raised KeyError: 'lost'"),
    ],
)
def test_an_index_of_ones_own_with_wrong_weights_is_refused(weights, said):
    refused(rf"^index: Own\.size_weights must return 2 probabilities.*{said}", index=Own(weights))


@pytest.mark.parametrize("number", [0, -1.0, np.nan, np.inf, "1", None, True])
@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_parameters_of_beta_must_be_above_0(name, number):
    with pytest.raises(InvalidInput, match=f"^Beta: {name} must be "):
        sb.Beta(**{"alpha": 1.0, "beta": 1.0, name: number})


def test_the_same_beta_has_the_same_text():
    assert repr(sb.Beta(4, np.float64(1))) == repr(sb.Beta(4.0, 1)) == "Beta(alpha=4.0, beta=1.0)"


class ShapleyOnly(sb.Solver):
    def check(self, n_providers):
        pass

    def floats_per_game(self, n_providers):
        return 2**n_providers

    def solve(self, games):
        return sb.Exact().solve(games)


def test_a_solver_of_shapley_values_refuses_other_indices_before_any_request():
    refused(
        r"^ShapleyOnly computes Shapley values only; received the index Banzhaf\(\): use Exact",
        index=sb.Banzhaf(),
        solver=ShapleyOnly(),
    )
    table, known = known_games.airport()
    for index in (None, sb.Shapley()):
        np.testing.assert_allclose(value(table, ShapleyOnly(), index).expectation, known)


# What says which index it was


def test_the_result_says_the_index():
    table, _ = known_games.airport()
    found, shapley = (value(table, None, index) for index in (sb.Banzhaf(), None))
    assert (found.index, shapley.index) == ("Banzhaf()", "Shapley()")
    said = "values of the index Banzhaf(), which need not sum to v(N) − v(∅)"
    assert said in str(found).splitlines()
    assert said in found._repr_html_()
    assert "index" not in str(shapley)
    assert set(found.to_frame()["index"]) == {"Banzhaf()"}
    assert sb.Valuation.from_json(found.to_json()).index == "Banzhaf()"
    assert str(sb.Valuation.from_json(found.to_json())) == str(found)
    assert "Banzhaf" not in str(found).splitlines()[-1]
    assert str(found).splitlines()[-1] == str(shapley).splitlines()[-1]


def test_a_comparison_of_two_indices_warns():
    table, _ = known_games.airport()
    notes = sb.compare(value(table, None, sb.Banzhaf()), value(table, None, None)).notes
    assert "because the valuations compute different indices, Banzhaf() and Shapley()" in notes[0]
    assert not any("index differs" in note for note in notes)
    same = sb.compare(value(table, None, BETA), value(table, None, BETA)).notes
    assert not any("indices" in note for note in same)


def test_a_run_of_another_index_is_refused_and_the_same_is_read(tmp_path):
    table, _ = known_games.airport()
    first = value(table, None, sb.Beta(4, 1), run=tmp_path / "run")
    assert sb.load(tmp_path / "run").valuation.index == "Beta(alpha=4.0, beta=1.0)"
    again = value(table, None, sb.Beta(4.0, 1.0), run=tmp_path / "run")
    np.testing.assert_array_equal(again.games, first.games)
    for index in (None, sb.Beta(1, 4)):
        with pytest.raises(RunError, match=r"^the index changed .* from Beta\(alpha=4.0, beta=1"):
            value(table, None, index, run=tmp_path / "run")


def test_a_run_from_before_there_were_indices_is_one_of_shapley_values(tmp_path, monkeypatch):
    table, _ = known_games.airport()
    setup = Arguments.setup.fget
    with monkeypatch.context() as patch:
        without = property(lambda plan: {k: v for k, v in setup(plan).items() if k != "index"})
        patch.setattr(Arguments, "setup", without)
        value(table, None, None, run=tmp_path / "run")
    assert sb.load(tmp_path / "run").valuation.index == "Shapley()"
    value(table, None, sb.Shapley(), run=tmp_path / "run")
    with pytest.raises(RunError, match=r"^the index changed .* from Shapley\(\) to Banzhaf\(\)"):
        value(table, None, sb.Banzhaf(), run=tmp_path / "run")
