"""Scores of many models with few layers on the same validation rows.

`compiled.federated_scores` describes the parameters.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.kernels.careful.class_scores import class_scores as scores_of_logits
from tests.reference.federated import outputs_of

_LARGEST = 1e300


def class_scores(
    parameters: FloatArray,
    units: IntArray,
    X: FloatArray,
    codes: IntArray,
    n_labels: int,
    score: int,
    folds: tuple[IntArray, FloatArray] | None = None,
) -> FloatArray:
    """Scores of classifiers; NaN if their logits are not finite."""
    found = np.full(len(parameters), np.nan)
    for model, own in enumerate(parameters):
        with np.errstate(over="ignore", invalid="ignore"):
            logits = outputs_of(own, units, X[: len(codes)])[-1].T
        if not (np.abs(logits) < _LARGEST).all():
            continue
        if units[-1] == 1:
            logits = np.concatenate([np.zeros_like(logits), logits])
        found[model] = scores_of_logits(logits[None], codes, n_labels, score)[0]
        if folds is not None:
            fold_of, parts = folds
            for fold in range(parts.shape[1]):
                kept = fold_of != fold
                parts[model, fold] = scores_of_logits(
                    logits[None][:, :, kept], codes[kept], n_labels, score
                )[0]
    return found


def squared_errors(
    parameters: FloatArray,
    units: IntArray,
    X: FloatArray,
    y: FloatArray,
    fold_of: IntArray,
    n_folds: int,
) -> FloatArray:
    """Sums of squared errors on all rows and on each fold: (m, 1 + n_folds)."""
    products = error_products(parameters, units, X, y, fold_of, n_folds)
    return np.ascontiguousarray(np.diagonal(products, axis1=1, axis2=2).T)


def error_products(
    parameters: FloatArray,
    units: IntArray,
    X: FloatArray,
    y: FloatArray,
    fold_of: IntArray,
    n_folds: int,
) -> FloatArray:
    """Products of the errors of all pairs of models: (1 + n_folds, n, n)."""
    errors = np.stack([outputs_of(own, units, X[: len(y)])[-1][:, 0] - y for own in parameters])
    parts = [errors, *(errors[:, fold_of == fold] for fold in range(n_folds))]
    return np.stack([part @ part.T for part in parts])


def mean_errors(inside: MemberArray, shares: FloatArray, products: FloatArray) -> FloatArray:
    """Sums of squared errors of the means of the members' models: (m, parts)."""
    weights = inside * shares
    weights = weights / weights.sum(axis=1, keepdims=True)
    return np.einsum("mi,mj,pij->mp", weights, weights, products)
