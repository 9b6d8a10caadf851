import numpy as np
import pytest

import shapband as sb
from tests import known_games


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


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(sb.errors.InvalidInput, match="closed_form"):
        sb.theory.closed_form(np.zeros(3), np.zeros((3, 3)))
