"""Networks with ReLU layers: their loss, its gradient, and the direction of a step of L-BFGS.

A network is a flat array of weights: for each layer the matrix (inputs, outputs), row by row, and
then the intercepts, which is the order in which scikit-learn draws them. `units` are the numbers
of inputs, of hidden units and of outputs. Two classes have one output, the log odds; more classes
have one output each. Matrix products are BLAS calls.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import OPTIONS

EPSILON = np.finfo(np.float64).eps  # probabilities are at least this far from 0 and 1


@njit(**OPTIONS)
def forward(weights, units, X, activations):
    """Write the outputs of all layers, one after the other; the last layer is not rectified."""
    n, inputs, at, last = X.shape[0], X, 0, units.shape[0] - 2
    to = 0
    for layer in range(last + 1):
        wide, high = units[layer], units[layer + 1]
        matrix = weights[at : at + wide * high].reshape(wide, high)
        intercepts = weights[at + wide * high : at + (wide + 1) * high]
        outputs = activations[to : to + n * high].reshape(n, high)
        np.dot(inputs, matrix, outputs)
        for i in range(n):
            if layer < last:
                for j in range(high):
                    found = outputs[i, j] + intercepts[j]
                    outputs[i, j] = 0.0 if found < 0.0 else found
            else:
                for j in range(high):
                    outputs[i, j] += intercepts[j]
        inputs = outputs
        at += (wide + 1) * high
        to += n * high
    return inputs


@njit(**OPTIONS)
def loss_and_gradient(weights, units, X, target, count, alpha, activations, deltas, gradient):
    """Return the mean log loss with its L2 penalty, and write the gradient.

    Parameters
    ----------
    target : (n_records,) the class of each record, from 0
    count : (n_records,) how often each record occurs
    alpha : strength of the L2 penalty, divided by the number of records as in scikit-learn
    activations, deltas : room for the outputs of all layers, and for their gradients
    """
    n, last = X.shape[0], units.shape[0] - 2
    total = count.sum()
    outputs = forward(weights, units, X, activations)
    to, at = n * units[1:-1].sum(), weights.shape[0]
    delta = deltas[to : to + outputs.size].reshape(outputs.shape)
    loss = _log_loss(outputs, target, count, delta) / total
    squares = 0.0
    for layer in range(last, -1, -1):
        wide, high = units[layer], units[layer + 1]
        at -= (wide + 1) * high
        flat = weights[at : at + wide * high]
        squares += np.dot(flat, flat)
        matrix = flat.reshape(wide, high)
        if layer > 0:
            to -= n * wide
            inputs = activations[to : to + n * wide].reshape(n, wide)
        else:
            inputs = X
        _layer_gradient(inputs, delta, flat, alpha, total, gradient[at : at + (wide + 1) * high])
        if layer > 0:
            behind = deltas[to : to + n * wide].reshape(n, wide)
            np.dot(delta, matrix.T, behind)
            _rectify_gradient(inputs, behind)
            delta = behind
    return loss + 0.5 * alpha * squares / total


@njit(**OPTIONS)
def _layer_gradient(inputs, delta, flat, alpha, total, gradient):
    wide, high = inputs.shape[1], delta.shape[1]
    np.dot(inputs.T, delta, gradient[: wide * high].reshape(wide, high))
    for k in range(wide * high):
        gradient[k] = (gradient[k] + alpha * flat[k]) / total
    intercepts = gradient[wide * high :]
    intercepts[:] = 0.0
    for i in range(delta.shape[0]):
        for j in range(high):
            intercepts[j] += delta[i, j]
    for j in range(high):
        intercepts[j] /= total


@njit(**OPTIONS)
def _rectify_gradient(outputs, delta):
    """Set the gradient to 0 at units whose output is 0, because ReLU is constant there."""
    for i in range(delta.shape[0]):
        for j in range(delta.shape[1]):
            delta[i, j] = 0.0 if outputs[i, j] == 0.0 else delta[i, j]


@njit(**OPTIONS)
def _log_loss(outputs, target, count, delta):
    """Return the sum of the log losses, and write their gradients by the outputs."""
    n, high = outputs.shape
    loss = 0.0
    for i in range(n):
        if high == 1:
            chance = 1.0 / (1.0 + np.exp(-outputs[i, 0]))
            delta[i, 0] = (chance - target[i]) * count[i]
            right = chance if target[i] == 1 else 1.0 - chance
        else:
            top = outputs[i].max()
            total = 0.0
            for j in range(high):
                delta[i, j] = np.exp(outputs[i, j] - top)
                total += delta[i, j]
            right = delta[i, target[i]] / total
            for j in range(high):
                own = 1.0 if j == target[i] else 0.0
                delta[i, j] = (delta[i, j] / total - own) * count[i]
        loss -= count[i] * np.log(min(max(right, EPSILON), 1.0 - EPSILON))
    return loss


@njit(**OPTIONS)
def descend(gradient, steps, changes, products, newest, kept, direction):
    """Write minus the gradient times the inverse Hessian of the last steps: a two-loop recursion.

    Parameters
    ----------
    steps, changes : (n_memory, n_weights) steps, and the changes of the gradient that they made
    products : (n_memory,) the inner products of both
    newest, kept : the place of the newest step, and the number of steps; older ones come before it
    direction : (n_weights,) written here
    """
    memory, size = steps.shape
    factors = np.empty(memory)
    for k in range(size):
        direction[k] = -gradient[k]
    for back in range(kept):
        at = (newest - back) % memory
        factors[at] = np.dot(steps[at], direction) / products[at]
        for k in range(size):
            direction[k] -= factors[at] * changes[at, k]
    if kept > 0:
        scale = products[newest] / np.dot(changes[newest], changes[newest])
        for k in range(size):
            direction[k] *= scale
    for back in range(kept - 1, -1, -1):
        at = (newest - back) % memory
        factor = factors[at] - np.dot(changes[at], direction) / products[at]
        for k in range(size):
            direction[k] += factor * steps[at, k]
