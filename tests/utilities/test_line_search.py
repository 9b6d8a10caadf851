"""The line search takes the steps of the one in scipy."""

import numpy as np
from scipy.optimize._dcsrch import DCSRCH

from shapband.utilities.networks.line_search import LONGEST, LineSearch, Point


def wave(rng):
    """A function with many minima, and its slope."""
    height = rng.normal(size=6) * rng.choice([0.1, 1.0, 10.0], 6)
    speed = rng.exponential(size=6)
    return (
        lambda s: float((height * np.sin(speed * s + height)).sum() + 0.05 * s * s),
        lambda s: float((height * speed * np.cos(speed * s + height)).sum() + 0.1 * s),
    )


def scipy_steps(value, slope, first):
    tried = []

    def told(step):
        tried.append(float(step))
        return value(step)

    DCSRCH(told, slope, 1e-3, 0.9, 0.1, 0.0, LONGEST)(first, value(0.0), slope(0.0), maxiter=21)
    return tried


def own_steps(value, slope, first):
    search, tried, step = LineSearch(value(0.0), slope(0.0), first), [], first
    while step is not None and len(tried) < 20:
        tried.append(step)
        step = search.following(Point(step, value(step), slope(step)))
    return tried


def test_steps_equal_those_of_scipy():
    rng = np.random.default_rng(0)
    lengths = []
    for _ in range(1000):
        value, slope = wave(rng)
        if slope(0.0) < 0.0:
            first = float(rng.choice([0.01, 0.3, 1.0, 5.0, 50.0]))
            tried = own_steps(value, slope, first)
            np.testing.assert_allclose(tried, scipy_steps(value, slope, first), rtol=1e-6)
            lengths.append(len(tried))
    assert max(lengths) >= 7  # long searches, which use every rule, are among them
