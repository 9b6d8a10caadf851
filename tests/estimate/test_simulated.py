"""Simulated numbers follow from their streams: a change would alter intervals for the same seed."""

import numpy as np
import pytest
from scipy import stats

from shapband.estimate.simulate import (
    critical_value,
    normal_blocks,
    normal_errors,
    pairwise_critical_value,
    sidak_value,
    student_blocks,
    student_errors,
)

# As computed with the streams of 0.3.0.
EACH, PAIRS = 2.4383154378180163, 2.364629405112075
FIRST = {
    "student": 3.040791057654438,
    "normal": 2.843743608068854,
    "student blocks": 3.7108872640482695,
    "normal blocks": 1.3649550251810565,
}
COVARIANCE = np.diag([1.0, 4.0, 9.0])


def independent(count, rng):
    return rng.standard_normal((count, 3))


def test_critical_values_of_a_diagonal_covariance():
    assert critical_value(COVARIANCE, 10.0, 0.9) == pytest.approx(EACH, rel=1e-9)
    assert pairwise_critical_value(COVARIANCE, 10.0, 0.9) == pytest.approx(PAIRS, rel=1e-9)
    # About the values of independent comparisons, which are a bound.
    assert sidak_value(10.0, 0.9, 3) == pytest.approx(EACH, rel=0.05)


@pytest.mark.parametrize(
    ("errors", "first"),
    [
        (lambda: student_errors(COVARIANCE, 10.0), "student"),
        (lambda: normal_errors(COVARIANCE), "normal"),
        (lambda: np.concatenate([*student_blocks(independent, 10.0, 3)]), "student blocks"),
        (lambda: np.concatenate([*normal_blocks(independent, 3)]), "normal blocks"),
    ],
    ids=["student", "normal", "student blocks", "normal blocks"],
)
def test_errors_have_their_streams_and_distributions(errors, first):
    found = errors()
    assert np.abs(found[0]).sum() == pytest.approx(FIRST[first], rel=1e-9)
    scale = 1.0 if "blocks" in first else np.sqrt(np.diag(COVARIANCE))
    distribution = stats.t(10.0) if "student" in first else stats.norm()
    for column in (found / scale).T:
        assert stats.kstest(column, distribution.cdf).pvalue > 1e-4
        assert stats.kstest(1.3 * column, distribution.cdf).pvalue < 1e-3  # the control
