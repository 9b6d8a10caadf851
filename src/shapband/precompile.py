"""Compile all kernels ahead: ``python -m shapband.precompile``.

For container images and machines on which the first valuation should not wait. The kernels are
compiled by small valuations with every utility that has kernels and every solver, so that they are
compiled for the very types that real valuations use.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import shapband as sb
from shapband._typing import FloatArray

_SAMPLINGS = (sb.Fresh(4), sb.Pooled(10, 4), sb.Blocks(8, 4))
_SOLVERS = (sb.Exact(), sb.Permutation(2), sb.Strata(12))


def precompile() -> None:
    """Value four providers in all ways that use different kernels."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5, 12, 2)), rng.normal(size=(5, 12))
    _value_all(X, y, sb.LinearUtility(X[4], y[4]))
    for features in (1, 2):
        for k in (1, 2):
            some = np.ascontiguousarray(X[..., :features])
            _value_all(some, y, sb.NeighborUtility(some[4], y[4], k=k, task="regression"))


def _value_all(X: FloatArray, y: FloatArray, utility: sb.Utility) -> None:
    providers = [sb.Provider(f"p{i}", sb.ArraySource(X[i], y[i])) for i in range(4)]
    for sampling in _SAMPLINGS:
        for solver in _SOLVERS:
            sb.value(providers, utility, sampling=sampling, solver=solver, n_games=4, seed=0)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.errors.RepeatedRecords)
        precompile()
    sys.stdout.write("shapband: all kernels are compiled\n")
