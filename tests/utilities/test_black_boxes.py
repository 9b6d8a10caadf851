import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor
from tests.conftest import linear_providers

import shapband as sb


def test_an_estimator_gives_the_values_of_the_fast_utility():
    providers, (X_val, y_val) = linear_providers()
    arguments = {"sampling": sb.Pooled(30, 12), "n_games": 5, "seed": 0}
    fast = sb.value(providers, sb.LinearUtility(X_val, y_val, score="r2"), **arguments)
    slow = sb.value(providers, sb.EstimatorUtility(LinearRegression(), X_val, y_val), **arguments)
    np.testing.assert_allclose(slow.games, fast.games, atol=1e-9)


@pytest.mark.parametrize("solver", [sb.Permutation(6), sb.BalancedPermutation(10)])
def test_so_it_does_along_permutations(solver):
    providers, (X_val, y_val) = linear_providers()
    arguments = {"sampling": sb.Fresh(12), "solver": solver, "n_games": 4, "seed": 0}
    fast = sb.value(providers, sb.LinearUtility(X_val, y_val, score="neg_mse"), **arguments)
    slow = sb.value(
        providers,
        sb.EstimatorUtility(LinearRegression(), X_val, y_val, "neg_mean_squared_error"),
        **arguments,
    )
    np.testing.assert_allclose(slow.games, fast.games, atol=1e-9)
    np.testing.assert_allclose(slow.solver_variance, fast.solver_variance, atol=1e-9)


def test_a_function_sees_the_union_of_the_records():
    providers, _ = linear_providers(n=3)
    seen = []

    def count(X, y):
        seen.append(len(X))
        return float(len(y))

    valuation = sb.value(
        providers, sb.FunctionUtility(count), sampling=sb.Fresh(7), n_games=2, seed=0
    )
    np.testing.assert_allclose(valuation.expectation, 7)
    assert sorted(seen[:7]) == [7, 7, 7, 14, 14, 14, 21]


def test_a_callable_score_gets_the_fitted_model_and_the_validation_rows():
    providers, (X_val, y_val) = linear_providers(n=2)

    def depth(model, X, y):
        assert X.shape == X_val.shape
        np.testing.assert_array_equal(y, y_val)
        return model.get_depth()

    utility = sb.EstimatorUtility(
        DecisionTreeRegressor(max_depth=2), X_val, y_val, depth, empty=0.0
    )
    valuation = sb.value(providers, utility, sampling=sb.Fresh(10), n_games=2, seed=0)
    np.testing.assert_allclose(valuation.expectation.sum(), 2)


class Fussy(LinearRegression):
    def fit(self, X, y):
        if len(X) > 12:
            raise RuntimeError("too much for me")
        return super().fit(X, y)


def test_a_failing_model_stops_with_the_coalition_and_the_cause():
    providers, (X_val, y_val) = linear_providers(n=2)
    utility = sb.EstimatorUtility(Fussy(), X_val, y_val)
    message = r"\{'site 0', 'site 1'\}.*RuntimeError: too much for me"
    with pytest.raises(sb.errors.EvaluationError, match=message):
        sb.value(providers, utility, sampling=sb.Fresh(10), n_games=2, seed=0)


class Choosy(LinearRegression):
    def fit(self, X, y):
        if len(X) < 12:
            raise RuntimeError("too little for me")
        return super().fit(X, y)


def test_a_coalition_that_fails_has_the_value_that_the_user_gave():
    providers, (X_val, y_val) = linear_providers(n=2)
    utility = sb.EstimatorUtility(Choosy(), X_val, y_val, failed=-1.0, empty=0.0)
    valuation = sb.value(providers, utility, sampling=sb.Fresh(10), n_games=2, seed=0)
    assert valuation.failures == 4
    # Both providers alone are worth -1, so they share the worth of both together equally.
    np.testing.assert_allclose(valuation.games[:, 0], valuation.games[:, 1])
    assert (valuation.games > 0).all()


def test_a_value_for_failures_does_not_hide_that_all_providers_together_fail():
    providers, (X_val, y_val) = linear_providers(n=2)
    utility = sb.EstimatorUtility(Fussy(), X_val, y_val, failed=-1.0)
    with pytest.raises(sb.errors.EvaluationError, match=r"all providers together.*too much for me"):
        sb.value(providers, utility, sampling=sb.Fresh(10), n_games=2, seed=0)


def test_a_utility_that_returns_nan_is_an_error():
    providers, _ = linear_providers(n=2)
    utility = sb.FunctionUtility(lambda X, y: float("nan") if len(y) > 10 else 1.0)
    with pytest.raises(sb.errors.EvaluationError, match=r"'site 0', 'site 1'.*returned nan"):
        sb.value(providers, utility, sampling=sb.Fresh(10), n_games=2, seed=0)
