"""The answer does not depend on anything but the seed, the providers and the set-up."""

import numpy as np
import pytest

import shapband as sb
from tests.conftest import gaussian_providers, linear_providers

SAMPLINGS = [
    sb.Fresh(12),
    sb.Pooled(30, 12),
    sb.Stratified(30, 12, 0.8),
    sb.Pooled(36, 12, replace=False),
]
SOLVERS = [sb.Exact(), sb.Permutation(7), sb.Permutation(40), sb.BalancedPermutation(10)]


def run(providers, validation, **arguments):
    arguments = {"sampling": sb.Fresh(12), "n_games": 13, "seed": 5} | arguments
    return sb.value(providers, sb.LinearUtility(*validation), **arguments)


def same_bits(one, other):
    np.testing.assert_array_equal(one.games, other.games)
    np.testing.assert_array_equal(one.expectation, other.expectation)
    np.testing.assert_array_equal(one.variance, other.variance)
    np.testing.assert_array_equal(one.variance_interval(), other.variance_interval())


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_every_chunk_size_and_run_gives_the_same_bits(sampling, solver):
    providers, validation = linear_providers()
    whole = run(providers, validation, sampling=sampling, solver=solver)
    for chunk_size in (1, 4, 13):
        part = run(providers, validation, sampling=sampling, solver=solver, chunk_size=chunk_size)
        same_bits(part, whole)
    same_bits(run(providers, validation, sampling=sampling, solver=solver), whole)


def test_so_do_games_with_too_few_records_for_a_unique_fit():
    providers, validation = linear_providers(features=5)
    whole = run(providers, validation, sampling=sb.Fresh(2))
    for chunk_size in (1, 4):
        part = run(providers, validation, sampling=sb.Fresh(2), chunk_size=chunk_size)
        same_bits(part, whole)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_any_number_of_threads_gives_the_same_bits(n_jobs):
    providers, validation = linear_providers()
    same_bits(run(providers, validation, n_jobs=n_jobs), run(providers, validation))


def test_processes_give_the_same_bits():
    providers, (X_val, y_val) = linear_providers(n=3)
    from sklearn.linear_model import Ridge

    utility = sb.EstimatorUtility(Ridge(), X_val, y_val)
    arguments = {"sampling": sb.Pooled(30, 12), "n_games": 6, "seed": 0}
    one = sb.value(providers, utility, **arguments)
    same_bits(sb.value(providers, utility, n_jobs=2, **arguments), one)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
def test_another_seed_gives_other_games(sampling):
    providers, validation = linear_providers()
    one = run(providers, validation, sampling=sampling)
    other = run(providers, validation, sampling=sampling, seed=6)
    assert (one.games != other.games).all()


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_reordering_the_providers_reorders_the_results(sampling, solver):
    providers, validation = linear_providers()
    order = [3, 0, 4, 1, 2]
    straight = run(providers, validation, sampling=sampling, solver=solver)
    shuffled = run([providers[i] for i in order], validation, sampling=sampling, solver=solver)
    assert shuffled.names == tuple(straight.names[i] for i in order)
    np.testing.assert_allclose(shuffled.games, straight.games[:, order], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "sampling", [sb.Fresh(12), sb.Pooled(30, 12), sb.Pooled(36, 12, replace=False)], ids=repr
)
def test_a_further_provider_leaves_the_draws_of_the_others(sampling):
    """In the additive game a value is the mean of the provider's own draw."""
    providers = gaussian_providers([0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 1.0, 0.5])
    arguments = {"sampling": sampling, "n_games": 8, "seed": 1}
    few = sb.value(providers[:3], sb.AdditiveUtility(), **arguments)
    more = sb.value([providers[3], *providers[:3]], sb.AdditiveUtility(), **arguments)
    np.testing.assert_allclose(more.games[:, 1:], few.games, rtol=0, atol=1e-12)


def test_draws_depend_on_the_name():
    one = gaussian_providers([0.0, 0.0], [1.0, 1.0])
    valuation = sb.value(one, sb.AdditiveUtility(), sampling=sb.Fresh(5), n_games=4, seed=0)
    assert (valuation.games[:, 0] != valuation.games[:, 1]).all()


def test_json_keeps_every_bit():
    providers, validation = linear_providers()
    for arguments in (
        {"solver": sb.Permutation(1)},
        {"solver": sb.Permutation(5)},
        {"sampling": sb.Pooled(36, 12, replace=False)},
        {"sampling": sb.Pooled(30, 12), "budget": sb.Budget(records=1000)},
    ):
        valuation = run(providers, validation, **arguments)
        text = valuation.to_json()
        again = sb.Valuation.from_json(text)
        assert again.to_json() == text
        np.testing.assert_array_equal(again.games, valuation.games)
        np.testing.assert_array_equal(again.interval(), valuation.interval())
        np.testing.assert_array_equal(again.variance_interval(), valuation.variance_interval())
        assert again.access == valuation.access
        assert str(again) == str(valuation)


def test_unknown_solver_noise_is_nan_never_zero():
    providers, validation = linear_providers()
    valuation = run(providers, validation, solver=sb.Permutation(1))
    assert np.isnan(valuation.solver_variance).all()
    assert np.isnan(valuation.variance).all()
    assert np.isfinite(valuation.raw_variance).all()
    assert "not known" in str(valuation)
