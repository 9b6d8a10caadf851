"""Train one network by scipy's L-BFGS-B, and use it; `compiled.network` has the parameters."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, softmax

from shapband._typing import FloatArray, IntArray

_EPSILON = np.finfo(np.float64).eps
_Layers = list[tuple[FloatArray, FloatArray]]


def train(
    X: FloatArray,
    target: IntArray,
    count: FloatArray,
    units: IntArray,
    uniforms: FloatArray,
    alpha: float,
    max_iter: int,
    tol: float,
) -> tuple[FloatArray, float, int]:
    """Train a network, and return its weights, its loss and the number of iterations."""
    sizes = [(wide + 1) * high for wide, high in pairwise(units)]
    bounds = np.repeat([np.sqrt(6.0 / (wide + high)) for wide, high in pairwise(units)], sizes)
    classes = np.arange(max(2, units[-1]))
    own = (target[:, None] == classes).astype(np.float64)
    found = minimize(
        _loss_and_gradient,
        2.0 * bounds * uniforms - bounds,
        args=(units, X, own[:, 1:] if units[-1] == 1 else own, count, alpha),
        method="L-BFGS-B",
        jac=True,
        options={"maxiter": max_iter, "gtol": tol},
    )
    return found.x, float(found.fun), int(found.nit)


def predict(weights: FloatArray, units: IntArray, X: FloatArray) -> IntArray:
    """Return the predicted class of every row: (n_rows,)."""
    outputs = _forward(_layers(weights, units), X)[-1]
    if units[-1] == 1:
        return np.asarray(outputs[:, 0] > 0.0, dtype=np.int64)
    return np.asarray(outputs.argmax(axis=1), dtype=np.int64)


def _layers(weights: FloatArray, units: IntArray) -> _Layers:
    """The matrix and the intercepts of every layer."""
    layers, at = [], 0
    for wide, high in pairwise(units):
        middle, end = at + wide * high, at + (wide + 1) * high
        layers.append((weights[at:middle].reshape(wide, high), weights[middle:end]))
        at = end
    return layers


def _forward(layers: _Layers, X: FloatArray) -> list[FloatArray]:
    """The inputs, and the outputs of all layers; those of the last are not rectified."""
    outputs = [X]
    for matrix, intercepts in layers[:-1]:
        outputs.append(np.maximum(outputs[-1] @ matrix + intercepts, 0.0))
    matrix, intercepts = layers[-1]
    return [*outputs, outputs[-1] @ matrix + intercepts]


def _loss_and_gradient(
    weights: FloatArray,
    units: IntArray,
    X: FloatArray,
    own: FloatArray,
    count: FloatArray,
    alpha: float,
) -> tuple[float, FloatArray]:
    """The mean log loss with its L2 penalty, and its gradient by the weights."""
    layers, total = _layers(weights, units), count.sum()
    outputs = _forward(layers, X)
    one = units[-1] == 1
    chances = expit(outputs[-1]) if one else softmax(outputs[-1], axis=1)
    right = np.where(own == 1.0, chances, 1.0 - chances)[:, 0] if one else (chances * own).sum(1)
    loss = -count @ np.log(np.clip(right, _EPSILON, 1.0 - _EPSILON)) / total
    loss += 0.5 * alpha * sum((matrix**2).sum() for matrix, _ in layers) / total
    delta = (chances - own) * count[:, None]
    gradients: list[FloatArray] = []
    for inputs, (matrix, _) in zip(outputs[-2::-1], layers[::-1], strict=True):
        gradients = [inputs.T @ delta + alpha * matrix, delta.sum(axis=0), *gradients]
        delta = (delta @ matrix.T) * (inputs != 0.0)  # nothing flows through units that are off
    return float(loss), np.concatenate([one.ravel() for one in gradients]) / total
