"""Networks with ReLU layers: their loss, its gradient, and the direction of a step of L-BFGS.

`compiled.network` describes the parameters.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import expit, softmax

from shapband._typing import FloatArray, IntArray

_EPSILON = np.finfo(np.float64).eps
_Layers = list[tuple[FloatArray, FloatArray]]


def forward(
    weights: FloatArray,
    units: IntArray,
    X: FloatArray,
    activations: FloatArray,
) -> FloatArray:
    """Return the outputs of the last layer, which are not rectified: (n_rows, n_outputs)."""
    return _outputs(_layers(weights, units), X)[-1]


def loss_and_gradient(
    weights: FloatArray,
    units: IntArray,
    X: FloatArray,
    target: IntArray,
    count: FloatArray,
    alpha: float,
    activations: FloatArray,
    deltas: FloatArray,
    gradient: FloatArray,
) -> float:
    """Return the mean log loss with its L2 penalty, and write the gradient."""
    layers, total = _layers(weights, units), count.sum()
    outputs = _outputs(layers, X)
    if units[-1] == 1:
        own = (target == 1)[:, None]
        chances = expit(outputs[-1])
        right = np.where(own, chances, 1.0 - chances)
    else:
        own = target[:, None] == np.arange(units[-1])
        chances = softmax(outputs[-1], axis=1)
        right = chances[own]
    loss = -count @ np.log(np.clip(right.ravel(), _EPSILON, 1.0 - _EPSILON)) / total
    loss += 0.5 * alpha * sum((matrix**2).sum() for matrix, _ in layers) / total
    delta = (chances - own) * count[:, None]
    parts: list[FloatArray] = []
    for inputs, (matrix, _) in zip(outputs[-2::-1], layers[::-1], strict=True):
        parts = [(inputs.T @ delta + alpha * matrix).ravel(), delta.sum(axis=0), *parts]
        delta = (delta @ matrix.T) * (inputs != 0.0)  # nothing flows through units that are off
    gradient[:] = np.concatenate(parts) / total
    return float(loss)


def descend(
    gradient: FloatArray,
    steps: FloatArray,
    changes: FloatArray,
    products: FloatArray,
    newest: int,
    kept: int,
    direction: FloatArray,
) -> None:
    """Write minus the gradient times the inverse Hessian of the last steps."""
    direction[:] = -gradient
    places = [(newest - back) % len(steps) for back in range(kept)]
    factors = np.empty(len(steps))
    for at in places:
        factors[at] = steps[at] @ direction / products[at]
        direction -= factors[at] * changes[at]
    if kept:
        direction *= products[newest] / (changes[newest] @ changes[newest])
    for at in reversed(places):
        direction += (factors[at] - changes[at] @ direction / products[at]) * steps[at]


def _layers(weights: FloatArray, units: IntArray) -> _Layers:
    """The matrix and the intercepts of every layer."""
    layers, at = [], 0
    for wide, high in pairwise(units):
        middle, end = at + wide * high, at + (wide + 1) * high
        layers.append((weights[at:middle].reshape(wide, high), weights[middle:end]))
        at = end
    return layers


def _outputs(layers: _Layers, X: FloatArray) -> list[FloatArray]:
    """The inputs, and the outputs of all layers."""
    outputs = [X]
    for matrix, intercepts in layers[:-1]:
        outputs.append(np.maximum(outputs[-1] @ matrix + intercepts, 0.0))
    matrix, intercepts = layers[-1]
    return [*outputs, outputs[-1] @ matrix + intercepts]
