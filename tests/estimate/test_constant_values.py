"""A provider whose value never varies, among others, in every design of games."""

from dataclasses import replace

import numpy as np
import pytest
from tests.conftest import with_pools

import shapband as sb
from shapband.estimate.estimate import Estimate
from shapband.estimate.variance import variance_interval

DESIGNS = {
    "fresh": {"sampling": sb.Fresh(5)},
    "pools": {"sampling": sb.Pooled(20, 5)},
    "pools without replacement": {"sampling": sb.Pooled(20, 5, replace=False)},
    "shuffles": {"sampling": sb.Pooled(20, 5, replace=False)},
    "presence": {"sampling": sb.Fresh(5), "participation": sb.Independent(0.7)},
    "presence in pools": {"sampling": sb.Pooled(20, 5), "participation": sb.Independent(0.7)},
    "chains": {"sampling": sb.Fresh(5), "participation": sb.MarkovChain(0.4, 0.8)},
    "chains in pools": {"sampling": sb.Pooled(20, 5), "participation": sb.MarkovChain(0.4, 0.8)},
}


def valued(design, **options):
    """Two providers whose values vary, one whose value is 3, and one whose value is 0."""
    rng = np.random.default_rng(1)
    targets = {"a": rng.normal(2.0, 1.0, 40), "still": np.full(40, 3.0), "b": rng.normal(size=40)}
    targets["nothing"] = np.zeros(40)
    providers = [
        sb.Provider(name, sb.ArraySource(np.arange(40.0)[:, None], y))
        for name, y in targets.items()
    ]
    options = {"solver": sb.Known(), "n_games": 40, "seed": 0} | DESIGNS[design] | options
    return sb.value(providers, sb.AdditiveUtility(), **options)


@pytest.mark.parametrize("design", DESIGNS)
def test_constant_values_have_no_error_and_all_numbers_are_finite(design):
    valuation = valued(design)
    estimate = valuation.estimate
    columns = {
        name: getattr(estimate, name)
        for name in ("expectation", "variance", "raw_variance", "solver_variance", "kurtosis",
                     "standard_error", "variance_standard_error")
    }  # fmt: skip
    columns |= estimate.errors.by_cause | {"freedom": estimate.errors.freedom}
    columns |= dict(zip(("low", "high"), valuation.interval().T, strict=True))
    if estimate.takes_part_at_random:
        columns |= dict(estimate.participation)
    else:
        assert estimate.expectation[[1, 3]].tolist() == [3.0, 0.0]
        for name in ("variance", "raw_variance", "standard_error", "variance_standard_error"):
            assert columns[name][[1, 3]].tolist() == [0.0, 0.0], name
            assert (columns[name][[0, 2]] > 0).all(), name
        for end in ("low", "high"):  # rounding of the largest value is left
            assert columns[end][[1, 3]] == pytest.approx([3.0, 0.0], abs=1e-13)
    for name, column in columns.items():
        assert column.dtype == np.float64, name
        assert np.isfinite(column).all(), name
    assert estimate.standard_error[3] == estimate.variance[3] == 0.0


@pytest.mark.parametrize("participation", [sb.Independent(0.7), sb.MarkovChain(0.4, 0.8)])
def test_the_variance_of_a_constant_value_is_due_to_presence_alone(participation):
    """A value of 3 in some games: q (1 - q) 9, with q the rate of presence."""
    valuation = valued("fresh", participation=participation, n_games=400)
    rate = valuation.participation["rate"].to_numpy()[1]
    part = valuation.estimate.participation
    assert part["expectation_present"][1] == pytest.approx(3.0)
    assert part["variance_present"][1] == pytest.approx(0.0, abs=1e-9)
    assert valuation.estimate.raw_variance[1] == pytest.approx(9 * rate * (1 - rate) * 400 / 399)


def test_a_constant_value_from_pools_that_differ_without_bound_gives_no_warning():
    """The degrees of freedom are then near 0, and so is their quantile."""
    estimate = with_pools(Estimate.of(np.full((20, 1), 3.0)), 0.1, 9.0)
    pools = replace(estimate.moments.pools, square=np.array([1e12]))
    (interval,) = variance_interval(replace(estimate.moments, pools=pools), 0.95)
    assert (interval[0], interval[1] >= 0) == (0.0, True)
