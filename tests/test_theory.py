import numpy as np
import pytest

import shapband as sb
from tests import known_games
from tests.conftest import one_record_providers


@pytest.mark.parametrize("name", known_games.ALL)
def test_the_matrix_gives_the_known_values(name):
    table, known = known_games.ALL[name]()
    np.testing.assert_allclose(sb.theory.shapley_matrix(len(known)) @ table, known, atol=1e-14)


def test_covariance_follows_the_utilities():
    """Proposition 2, against the moments of many random games."""
    rng = np.random.default_rng(0)
    mean = rng.normal(size=8)
    mean[0] = 0.0
    factor = rng.normal(size=(8, 8)) * 0.3
    factor[0] = 0.0
    exact = sb.theory.closed_form(mean, factor @ factor.T)
    tables = mean + rng.normal(size=(40_000, 8)) @ factor.T
    values = tables @ sb.theory.shapley_matrix(3).T
    error = np.sqrt(exact.variance / len(tables))
    assert (np.abs(values.mean(axis=0) - exact.expectation) < 4 * error).all()
    np.testing.assert_allclose(np.cov(values.T), exact.covariance, atol=0.02)


def test_the_additive_game_is_a_special_case_of_the_general_form():
    mu, sd, w = np.array([1.0, -2.0, 0.5]), np.array([0.5, 1.0, 2.0]), np.array([2.0, 1.0, -1.0])
    inside = (np.arange(8)[:, None] >> np.arange(3)) & 1
    means = inside @ (w * mu)
    covariance = inside @ np.diag((w * sd) ** 2 / 16) @ inside.T
    general = sb.theory.closed_form(means, covariance)
    special = sb.theory.additive_gaussian(mu, sd, weights=w, n_sample=16)
    np.testing.assert_allclose(special.expectation, general.expectation, atol=1e-14)
    np.testing.assert_allclose(special.covariance, general.covariance, atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_the_participation_matrix_is_the_mean_over_all_who_may_take_part(n):
    rng = np.random.default_rng(n)
    v, p = rng.normal(size=2**n), rng.uniform(size=n)
    expected = np.zeros(n)
    for mask in range(2**n):
        inside = [i for i in range(n) if mask >> i & 1]
        chance = np.prod([p[i] if i in inside else 1 - p[i] for i in range(n)])
        coalitions = [sum(1 << inside[k] for k in range(len(inside)) if s >> k & 1)
                      for s in range(2 ** len(inside))]  # fmt: skip
        if inside:
            expected[inside] += chance * sb.theory.shapley_matrix(len(inside)) @ v[coalitions]
    np.testing.assert_allclose(sb.theory.participation_matrix(p) @ v, expected, atol=1e-12)


def test_if_all_take_part_the_participation_matrix_is_shapleys():
    found = sb.theory.participation_matrix(np.ones(7))
    np.testing.assert_allclose(found, sb.theory.shapley_matrix(7), atol=1e-14)
    values = np.random.default_rng(0).normal(size=128)
    np.testing.assert_allclose(
        sb.theory.random_participation(values, np.ones(7)).covariance, 0, atol=1e-12
    )


def test_exact_moments_of_a_random_participation_agree_with_sampled_ones():
    values = np.random.default_rng(1).normal(size=16)
    p = {"p0": 0.9, "p1": 0.5, "p2": 0.3, "p3": 1.0}
    exact = sb.theory.random_participation(values, list(p.values()))
    sampled = sb.value(
        one_record_providers(4), sb.TableUtility(values), sampling=sb.Fresh(1), n_games=4000,
        seed=0, participation=sb.Independent(p),
    )  # fmt: skip
    off = (sampled.expectation - exact.expectation) / sampled.standard_error
    assert (np.abs(off) < 4).all()
    off = (sampled.variance - exact.variance) / sampled.variance_standard_error
    assert (np.abs(off) < 4).all()
    wrong = sb.theory.random_participation(values, [0.8, 0.6, 0.4, 1.0])
    assert (np.abs(sampled.expectation - wrong.expectation) > 4 * sampled.standard_error).any()


def test_odd_participations_are_refused():
    with pytest.raises(sb.errors.InvalidInput, match="1 to 20 numbers between 0 and 1"):
        sb.theory.participation_matrix([0.5, 1.5])
    with pytest.raises(sb.errors.InvalidInput, match="random_participation: values must be"):
        sb.theory.random_participation(np.zeros(5), [0.5, 0.5])


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(sb.errors.InvalidInput, match="closed_form"):
        sb.theory.closed_form(np.zeros(3), np.zeros((3, 3)))
