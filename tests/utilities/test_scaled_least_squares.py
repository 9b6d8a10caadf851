"""Scalers before least squares, also where a coalition has fewer records than features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from tests.conftest import linear_providers

import shapband as sb

SCALERS: list[Any] = [StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler()]


def unequal_units() -> tuple[list[sb.Provider], tuple[Any, Any]]:
    """Four providers with six features in units that differ a thousandfold."""
    made, (X, y) = linear_providers(n=4, features=6, seed=3)
    units = 10.0 ** np.arange(-1, 5) / 7
    records = [one.source.records for one in made]
    return [
        sb.Provider(one.name, sb.ArraySource(batch.X * units, batch.y))
        for one, batch in zip(made, records, strict=True)
    ], (X * units, y)


@pytest.mark.parametrize("scaler", SCALERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("n_sample", [1, 2, 3, 6, 7])
def test_values_are_those_of_the_pipeline(scaler: Any, n_sample: int) -> None:
    providers, rows = unequal_units()
    model = make_pipeline(scaler, LinearRegression())
    fast = sb.utility_for(model, *rows, "neg_mean_squared_error")
    assert type(fast) is sb.LinearUtility, fast.chosen
    slow = sb.EstimatorUtility(model, *rows, "neg_mean_squared_error")
    batches = [one.source.records.take(np.arange(n_sample)) for one in providers]
    # A coalition of one record is worth v(∅), as `chosen` says.
    coalitions = [one for one in range(1, 16) if one.bit_count() * n_sample > 1]
    expected = slow.evaluate(batches, coalitions)
    found = fast.evaluate([fast.summarise(one) for one in batches], coalitions)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_without_the_scaler_small_coalitions_would_differ() -> None:
    providers, rows = unequal_units()
    scaled = sb.utility_for(make_pipeline(StandardScaler(), LinearRegression()), *rows)
    plain = sb.utility_for(LinearRegression(), *rows)
    batch = providers[0].source.records.take(np.arange(4))
    values = [one.evaluate([one.summarise(batch)], [1])[0] for one in (scaled, plain)]
    assert abs(values[0] - values[1]) > 0.1


@pytest.mark.parametrize("solver", [sb.Exact(), sb.Permutation(3), sb.BalancedPermutation(8)])
def test_all_solvers_and_the_error_of_the_rows_follow_the_scaler(solver: sb.Solver) -> None:
    providers, rows = unequal_units()
    model = make_pipeline(StandardScaler(), LinearRegression())
    given: dict[str, Any] = {"sampling": sb.Fresh(3), "solver": solver, "n_games": 4, "seed": 0}
    found = sb.value(providers, sb.utility_for(model, *rows), **given)
    slow = sb.value(providers, sb.EstimatorUtility(model, *rows), **given)
    np.testing.assert_allclose(found.games, slow.games, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.standard_error, slow.standard_error, rtol=1e-6)
    assert "the pipeline itself is fitted to one with no more records" in str(found).replace(
        "\n         ", " "
    )


def test_a_run_knows_the_pipeline(tmp_path: Any) -> None:
    providers, rows = unequal_units()
    given: dict[str, Any] = {
        "sampling": sb.Fresh(3),
        "n_games": 4,
        "seed": 0,
        "run": tmp_path / "r",
    }
    model = make_pipeline(StandardScaler(), LinearRegression())
    first = sb.value(providers, sb.utility_for(model, *rows), **given)
    again = sb.value(providers, sb.utility_for(model, *rows), **given)
    assert again.games.tolist() == first.games.tolist()
    with pytest.raises(sb.errors.RunError, match="utility"):
        sb.value(providers, sb.utility_for(LinearRegression(), *rows), **given)
