import numpy as np
import pytest

import shapband as sb


def test_sizes_are_those_of_the_paper(wine):
    sizes = [provider.source.size for provider in wine.providers]
    assert sizes == [227, 450, 323, 349, 351, 307, 339, 396, 332, 355]
    assert sum(sizes) == 3429
    assert wine.X_val.shape == (1469, 11)


@pytest.mark.parametrize(("n_pool", "records"), [(250, 2477), (350, 3277)])
def test_pool_records_are_those_of_the_paper(wine, n_pool, records):
    for sampling in (sb.Pooled(n_pool, 60), sb.Stratified(n_pool, 60, 0.5)):
        valuation = sb.value(wine.providers, wine.utility, sampling=sampling, n_games=2, seed=0)
        assert valuation.access.records == records
        assert valuation.access.requests == 10


def test_request_counts_of_the_latency_experiment(wine):
    """Five games: 50 requests for the baseline, 10 for the pooled methods."""
    fresh = sb.value(wine.providers, wine.utility, sampling=sb.Fresh(32), n_games=5, seed=0)
    pooled = sb.value(wine.providers, wine.utility, sampling=sb.Pooled(128, 32), n_games=5, seed=0)
    assert (fresh.access.requests, pooled.access.requests) == (50, 10)


def test_a_budget_of_2500_records_pays_four_baseline_games(wine):
    valuation = sb.value(
        wine.providers,
        wine.utility,
        sampling=sb.Fresh(60),
        n_games=200,
        seed=0,
        budget=sb.Budget(records=2500),
    )
    assert valuation.n_games == 4
    assert valuation.access.records == 2400
    assert "budget" in valuation.stopped


def test_the_value_and_its_variance_are_where_independent_trials_put_them(wine):
    """v(N) about 0.64 and a mean variance of about 3.0e-4, for fresh draws of 60."""
    valuation = sb.value(wine.providers, wine.utility, sampling=sb.Fresh(60), n_games=200, seed=0)
    assert valuation.expectation.sum() == pytest.approx(0.64, abs=0.01)
    error = np.sqrt(np.mean(valuation.variance_standard_error**2) / 10)
    assert valuation.variance.mean() == pytest.approx(3.0e-4, abs=5 * error)


def test_tasks_are_the_shapes_of_the_paper():
    synthetic = sb.datasets.synthetic(seed=0)
    assert len(synthetic.providers) == 10
    assert synthetic.X_val.shape == (1000, 1)
    digits = sb.datasets.digits()
    assert [p.name for p in digits.providers] == [f"digit {d}" for d in range(10)]
    assert sum(p.source.size for p in digits.providers) + len(digits.y_val) == 1797
