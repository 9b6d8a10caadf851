"""Federated averaging: the local training of the members of coalitions.

`compiled.federated` describes the parameters.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import expit, softmax

from shapband._typing import FloatArray, IntArray, MemberArray

_SQUARED, _LOGISTIC, _SOFTMAX = range(3)


def add_updates(
    current: FloatArray,
    inside: MemberArray,
    shares: FloatArray,
    X: FloatArray,
    targets: FloatArray,
    begin: IntArray,
    counts: IntArray,
    units: IntArray,
    rules: tuple[int, int, float, float],
    sums: FloatArray,
) -> None:
    """Add the parameters of all members after their local steps, times their shares."""
    loss, steps, rate, strength = rules
    for coalition, client in zip(*np.nonzero(inside), strict=True):
        rows = slice(begin[client], begin[client] + counts[client])
        own, start = current[coalition].copy(), current[coalition]
        for _ in range(steps):
            slope = gradient(own, units, X[client, rows], targets[client, rows], loss)
            own -= rate * (slope + strength * (own - start))
        sums[coalition] += shares[client] * own


def add_known(
    inside: MemberArray, shares: FloatArray, updates: FloatArray, sums: FloatArray
) -> None:
    """Add the known updates of all members, times their shares."""
    for coalition, client in zip(*np.nonzero(inside), strict=True):
        sums[coalition] += shares[client] * updates[client]


def gradient(
    parameters: FloatArray, units: IntArray, X: FloatArray, targets: FloatArray, loss: int
) -> FloatArray:
    """Gradient of the mean loss of the records."""
    layers, outputs = layers_of(parameters, units), outputs_of(parameters, units, X)
    if loss == _SQUARED:
        error = outputs[-1] - targets[:, None]
    elif loss == _LOGISTIC:
        error = expit(outputs[-1]) - targets[:, None]
    else:
        error = softmax(outputs[-1], axis=1) - (targets[:, None] == np.arange(units[-1]))
    parts: list[FloatArray] = []
    for inputs, layer in zip(outputs[-2::-1], layers[::-1], strict=True):
        parts = [np.column_stack([error.T @ inputs, error.sum(axis=0)]).ravel(), *parts]
        error = (error @ layer[:, :-1]) * (inputs > 0.0)
    return np.concatenate(parts) / len(targets)


def outputs_of(parameters: FloatArray, units: IntArray, X: FloatArray) -> list[FloatArray]:
    """The inputs, and the outputs of all layers; the last one is not rectified."""
    *hidden, last = layers_of(parameters, units)
    outputs = [X]
    for layer in hidden:
        outputs.append(np.maximum(outputs[-1] @ layer[:, :-1].T + layer[:, -1], 0.0))
    return [*outputs, outputs[-1] @ last[:, :-1].T + last[:, -1]]


def layers_of(parameters: FloatArray, units: IntArray) -> list[FloatArray]:
    """The matrix (outputs, inputs + 1) of every layer, with the intercepts last."""
    layers, at = [], 0
    for wide, high in pairwise(units.tolist()):
        layers.append(parameters[at : at + high * (wide + 1)].reshape(high, wide + 1))
        at += high * (wide + 1)
    return layers
