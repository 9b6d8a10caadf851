"""A surrogate for few evaluations: slopes that drift with the size of a coalition.

The value of a coalition S of s members is c_s + Σ a_i(s) over its members i, plus noise. The levels
c_s and the slopes a_i(s) are random functions of the size with a mean of zero. The nearer two sizes
s and t are, the more alike are their slopes: the correlation is exp(-|s - t| / reach). The
surrogate is the most likely function given the values. It has two advantages over a learning curve.
Slopes about which few values say anything stay near zero. And a provider that matters only in large
coalitions, such as one with a veto, has no slope in small ones.

Values are divided by their expected spread in each size. Apart from that the surrogate is linear in
the values: it has no parameter of its own that would have to be estimated from few values.
"""

from __future__ import annotations

import numpy as np

from shapband import kernels
from shapband._typing import BoolArray, FloatArray, IntArray, MemberArray

# Prior variances relative to the noise: of the levels, and of the sum of all members' slopes in a
# coalition of half of the providers. With 4 for the levels, errors were up to 6 % larger; with 0.5
# and 8 for the slopes, they were up to 21 and 11 % larger in voting games.
_LEVELS, _SLOPES = 2.0, 2.0
_LEVEL_REACH, _SLOPE_REACH = 0.3, 0.5  # reaches as shares of the number of providers
_TOLERANCE = 1e-3  # a fit ends at this squared residual of the equations over the squared values


class Drift:
    """Fits surrogates with drifting slopes to coalitions of one game.

    Parameters
    ----------
    inside : (n_rows, n) coalitions
    sizes : (n_rows,) their sizes
    values : (n_rows,) their values
    spreads : (n + 1,) expected spreads of the values of each size, up to a factor
    """

    def __init__(
        self, inside: MemberArray, sizes: IntArray, values: FloatArray, spreads: FloatArray
    ) -> None:
        n = inside.shape[1]
        self._inside = inside.astype(np.float64)
        self._sizes = sizes
        self._values = values
        self._spreads = spreads
        self._priors = np.array([_LEVELS, 4.0 * _SLOPES / n])
        self._ratios = np.exp(-1.0 / (n * np.array([_LEVEL_REACH, _SLOPE_REACH])))

    def fitted_to(self, rows: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Slopes (n + 1, n) and means (n + 1,), by size, of the surrogate fitted to some rows."""
        sizes, values = self._sizes[rows], self._values[rows]
        spreads = self._spreads[sizes]
        # Adding a constant to all values must add the same constant to the surrogate.
        weights = spreads**-2.0
        level = (weights * values).sum() / weights.sum()
        levels, slopes = kernels.load("drift").fit(
            self._inside[rows],
            sizes,
            (values - level) / spreads,
            self._priors,
            self._ratios,
            _TOLERANCE,
        )
        return self._spreads[:, None] * slopes, level + self._spreads * levels
