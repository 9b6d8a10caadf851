"""The components of the variance across games."""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray


def raw_variance(m2: FloatArray, n_games: int, n_groups: int) -> FloatArray:
    """Sample variance across games, or within groups if there are any; NaN if undefined."""
    freedom = n_games - n_groups
    return m2 / freedom if freedom > 0 else np.full_like(m2, np.nan)  # Eq. (7)


def fourth_moment(m4: FloatArray, variance: FloatArray, n_games: int, n_groups: int) -> FloatArray:
    """Fourth central moment, corrected for the bias of deviations from the group's mean.

    For a group of m games E[Σ(x - x̄)⁴] = (m-1)/m² · ((m² - 3m + 3) μ4 + 3(2m - 3) σ⁴). The
    estimate is kept at or above σ⁴, as every fourth moment is.
    """
    m = n_games / n_groups
    if m <= 1:
        return np.full_like(variance, np.nan)
    plain = m4 / n_games
    unbiased = (plain * m**3 / (m - 1) - 3 * (2 * m - 3) * variance**2) / (m**2 - 3 * m + 3)
    return np.maximum(unbiased, variance**2)


def variance_of_variance(mu4: FloatArray, variance: FloatArray, m: int) -> FloatArray:
    """Exact variance of the sample variance of m independent games; NaN for a single one."""
    if m < 2:
        return np.full_like(variance, np.nan)
    return (mu4 - (m - 3) / (m - 1) * variance**2) / m  # Eq. (11)
