"""What the choice of the pools adds to the errors of both moments."""

from __future__ import annotations

from dataclasses import dataclass

from shapband._typing import FloatArray


@dataclass(frozen=True, eq=False)
class PoolErrors:
    """The variance that the pools add, estimated from the games of one valuation.

    Attributes
    ----------
    variance : (n,) variance of the expectation over the choice of the pools
    freedom : (n,) degrees of freedom of Student's quantile for the whole error
    """

    variance: FloatArray
    freedom: FloatArray
