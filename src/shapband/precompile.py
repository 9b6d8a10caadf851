"""Compile all kernels ahead: ``python -m shapband.precompile``.

For container images and machines on which the first valuation should not wait. The kernels are
compiled by small valuations with every utility that has kernels, every kind of sampling and every
solver, so that they are compiled for the very types that real valuations use.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator

import numpy as np

import shapband as sb
from shapband._typing import AnyArray, FloatArray

_PROVIDERS = 9  # the fewest providers with which `Strata` and `Arcs` use all their kernels
_RECORDS = 12
_SAMPLINGS = (sb.Fresh(4), sb.Pooled(10, 4), sb.Pooled(8, 4, replace=False))
_SOLVERS = (sb.Exact(), sb.Permutation(2), sb.Strata(4 * _PROVIDERS), sb.Arcs(8))


def precompile() -> None:
    """Value nine providers in all ways that use different kernels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_PROVIDERS + 1, _RECORDS, 2))
    quantities = X.sum(axis=2) + rng.normal(size=X.shape[:2])
    labels = rng.integers(3, size=X.shape[:2])
    labels[:, :3] = 0, 1, 2
    for sampling in _SAMPLINGS:
        _value_all(X, quantities, sb.LinearUtility(X[-1], quantities[-1]), sampling)
    for k in (1, 2, 60):
        _value_all(X, quantities, _neighbors(X[-1], quantities[-1], k))
    for utility in _classifications(X[-1], labels[-1]):
        _value_all(X, labels, utility)
    _value_all(X[..., :1], quantities, _neighbors(X[-1, :, :1], quantities[-1], 1))
    wide = rng.normal(size=(*X.shape[:2], 5))  # more features than a draw has records
    _value_all(wide, quantities, sb.LinearUtility(wide[-1], quantities[-1]))
    many = rng.normal(size=(*X.shape[:2], 160))  # enough features for the kernels for many features
    _value_all(many, quantities, sb.LinearUtility(many[-1], quantities[-1], alpha=1.0))
    _value_all(many, labels > 0, sb.LogisticUtility(many[-1], labels[-1] > 0))
    twice = np.concatenate([X, X[..., :1]], axis=2)  # dependent features, fitted in 32 digits
    _value_all(twice, quantities, sb.LinearUtility(twice[-1], quantities[-1]))
    # Averages over who takes part, for games with draws and for a game given as a table.
    sb.theory.random_participation([0.0, 1.0], [0.5])
    sb.value(
        _providers(X, quantities), sb.LinearUtility(X[-1], quantities[-1]),
        sampling=sb.Pooled(10, 4), participation=sb.Independent(0.8), n_games=4, seed=0,
    )  # fmt: skip


def _classifications(X_val: FloatArray, y_val: AnyArray) -> Iterator[sb.Utility]:
    yield sb.LogisticUtility(X_val, y_val)
    yield sb.GaussianNBUtility(X_val, y_val)
    yield sb.LDAUtility(X_val, y_val)
    yield sb.NetworkUtility(X_val, y_val, hidden=(2,), max_iter=2)


def _neighbors(X_val: FloatArray, y_val: FloatArray, k: int) -> sb.Utility:
    return sb.NeighborUtility(X_val, y_val, k=k, task="regression")


def _value_all(
    X: FloatArray, y: AnyArray, utility: sb.Utility, sampling: sb.Sampling = _SAMPLINGS[0]
) -> None:
    for solver in _SOLVERS:
        sb.value(_providers(X, y), utility, sampling=sampling, solver=solver, n_games=2, seed=0)


def _providers(X: FloatArray, y: AnyArray) -> list[sb.Provider]:
    sources = [sb.ArraySource(X[i], y[i]) for i in range(_PROVIDERS)]
    return [sb.Provider(f"p{i}", source) for i, source in enumerate(sources)]


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.errors.RepeatedRecords)
        precompile()
    sys.stdout.write("shapband: all kernels are compiled\n")
