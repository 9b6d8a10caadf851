"""Train one network and use it; the matrix products of one already keep a core busy."""

import numpy as np
from numba import njit

from shapband.kernels.compiled.backpropagation import forward
from shapband.kernels.compiled.lanes import OPTIONS
from shapband.kernels.compiled.lbfgs import minimise


@njit(**OPTIONS)
def train(X, target, count, units, uniforms, alpha, max_iter, tol):
    """Train a network, and return its weights, its loss and the number of iterations.

    Parameters
    ----------
    X : (n_records, n_features) standardised records
    target : (n_records,) their classes, from 0
    count : (n_records,) how often each record occurs
    units : numbers of inputs, of the units of every hidden layer, and of outputs
    uniforms : random numbers in [0, 1), one for each weight
    alpha, max_iter, tol : those of scikit-learn's MLPClassifier
    """
    weights = np.empty(uniforms.shape[0])
    at = 0
    for layer in range(units.shape[0] - 1):
        # Uniform weights with the bounds of Glorot, in the order of scikit-learn's draws.
        bound = np.sqrt(6.0 / (units[layer] + units[layer + 1]))
        end = at + (units[layer] + 1) * units[layer + 1]
        for k in range(at, end):
            weights[k] = 2.0 * bound * uniforms[k] - bound
        at = end
    loss, iterations = minimise(weights, units, X, target, count, alpha, max_iter, tol)
    return weights, loss, iterations


@njit(**OPTIONS)
def predict(weights, units, X):
    """Return the predicted class of every row: (n_rows,)."""
    outputs = forward(weights, units, X, np.empty(X.shape[0] * units[1:].sum()))
    classes = np.empty(X.shape[0], dtype=np.int64)
    for i in range(X.shape[0]):
        classes[i] = int(outputs[i, 0] > 0.0) if units[-1] == 1 else np.argmax(outputs[i])
    return classes
