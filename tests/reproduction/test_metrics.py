"""The metrics, their errors, and the laws they are compared with."""

import numpy as np
import pytest

from reproduction.laws import Source, predicted
from reproduction.metrics import (
    Measured,
    paired_interval,
    paper_agrees,
    paper_ratio_agrees,
    reduction,
    stability,
)
from reproduction.paper import MAE_E, MAE_VAR, VAR_E, VAR_VAR
from reproduction.pilots import Pilot


def test_stability_is_the_mean_variance_over_replications():
    estimates = np.random.default_rng(0).normal(size=(7, 3))
    assert stability(estimates).value == pytest.approx(estimates.var(axis=0, ddof=1).mean())


def test_the_error_of_stability_is_its_scatter():
    """The jackknife's error over 400 sets of replications, against their scatter: 15 %."""
    rng = np.random.default_rng(1)
    found = [stability(rng.normal(size=(20, 10))) for _ in range(400)]
    scatter = np.std([one.value for one in found])
    assert np.mean([one.error for one in found]) == pytest.approx(scatter, rel=0.15)


def test_a_number_agrees_within_the_scatter_of_five_replications_and_not_beyond():
    ours = Measured(1e-5, 1e-6)
    assert paper_agrees(1.2e-5, ours, 20)
    assert not paper_agrees(1e-4, ours, 20)
    assert paper_ratio_agrees((1.0, 10.0), (Measured(2.0, 0.2), Measured(19.0, 2.0)), 20)
    assert not paper_ratio_agrees((1.0, 100.0), (Measured(2.0, 0.2), Measured(19.0, 2.0)), 20)


def test_a_reduction_and_its_words():
    saved = reduction(Measured(4.0, 0.4), Measured(1.0, 0.1))
    assert saved.value == 0.75
    assert saved.words.startswith("75.0 % ± 3.5 lower")
    assert reduction(Measured(1.0, 0.1), Measured(1.5, 0.1)).words.endswith("higher")


def test_paired_interval_covers_the_mean():
    """95 % intervals over 2,000 draws: within 4 standard errors of 1.9 points."""
    rng = np.random.default_rng(2)
    ends = [paired_interval(rng.normal(1.0, 2.0, 10)) for _ in range(2000)]
    cover = np.mean([low <= 1.0 <= high for low, high in ends])
    assert cover == pytest.approx(0.95, abs=0.02)


def test_the_pilot_predicts_v_plus_c_over_n():
    ones = np.ones(3)
    pilot = Pilot(ones, 2 * ones, 12 * ones, 30 * ones, 0.1 * ones, 0.0 * ones)
    assert pilot.predict(VAR_E, 50, 10) == pytest.approx(0.1 + (2 + 3) / 50)
    assert pilot.predict(VAR_E, 50, None) == pytest.approx(0.1 + 2 / 50)
    assert pilot.predict(VAR_VAR, 50, 10) == pytest.approx(2 * 25 / 49)  # normal: 2σ⁴/(m-1)
    assert pilot.data_share(10) == pytest.approx(0.4)


def test_the_law_of_the_baseline_at_many_providers():
    """At 1,000 providers mean(σ²) / 512 is 1.30e-3 and 2 mean(σ⁴) / (3 · 128²) is 5.46e-5."""
    variance = np.geomspace(0.1, 2.0, 1000) ** 2
    source = Source(np.zeros(1000), variance, 3 * variance**2)
    law = predicted(source, "baseline", np.full(1000, 128.0), replications=10)
    assert law[VAR_E].value == pytest.approx(variance.mean() / 512)
    assert law[VAR_E].value == pytest.approx(1.30e-3, rel=0.01)
    assert law[VAR_VAR].value == pytest.approx(2 * (variance**2).mean() / (3 * 128**2))
    assert law[VAR_VAR].value == pytest.approx(5.46e-5, rel=0.01)


@pytest.mark.parametrize("method", ["baseline", "pooled", "blocks"])
def test_the_laws_of_all_methods_against_simulation(method):
    """One provider drawn directly with NumPy, 4,000 times; within 4 standard errors."""
    rng = np.random.default_rng(3)
    pool = rng.normal(size=(4000, 512))
    if method == "baseline":
        games = pool.reshape(4000, 4, 128).mean(axis=2)
        estimate = games.var(axis=1, ddof=1)
    elif method == "pooled":
        rows = rng.integers(0, 512, size=(4000, 50 * 128))
        games = np.take_along_axis(pool, rows, axis=1).reshape(4000, 50, 128).mean(axis=2)
        estimate = games.var(axis=1, ddof=1) * 512 / 511
    else:
        shuffled = [rng.permuted(pool, axis=1).reshape(4000, 4, 128) for _ in range(12)]
        games = np.stack([one.mean(axis=2) for one in shuffled], axis=1)
        estimate = games.var(axis=2, ddof=1).mean(axis=1)
        games = games.reshape(4000, 48)
    source = Source(np.zeros(1), np.ones(1), np.full(1, 3.0))
    law = predicted(source, method, np.full(1, 128.0), replications=4000)
    mean = games.mean(axis=1)
    seen = {
        VAR_E: mean.var(ddof=1),
        VAR_VAR: estimate.var(ddof=1),
        MAE_E: np.abs(mean).mean(),
        MAE_VAR: np.abs(estimate - 1 / 128).mean(),
    }
    for metric, value in seen.items():
        assert abs(value - law[metric].value) < 4 * law[metric].error, metric
