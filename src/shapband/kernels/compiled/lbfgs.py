"""Train a network by L-BFGS, step by step as scipy's L-BFGS-B does without bounds.

Rules, constants and stopping tests are scipy's, so that both give the same network to rounding;
this one needs a sixth of its time beside the loss. The direction comes from the two-loop
recursion over the last MEMORY steps.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.backpropagation import EPSILON, loss_and_gradient
from shapband.kernels.compiled.lanes import OPTIONS
from shapband.kernels.compiled.line_search import LONGEST, STATE, begin_search, next_step

MEMORY = 10  # steps that are remembered
MOST_TRIALS = 20  # of a line search
SMALL_FALL = 2.220446049250313e-09  # scipy's `ftol`: stop if the loss falls by less


@njit(**OPTIONS)
def minimise(weights, units, X, target, count, alpha, max_iter, tol):
    """Train `weights` in place, and return the loss and the number of iterations.

    Parameters
    ----------
    max_iter : most iterations
    tol : stop if no entry of the gradient is larger
    """
    size = weights.shape[0]
    room = X.shape[0] * units[1:].sum()
    problem = (units, X, target, count, alpha, np.empty(room), np.empty(room))
    state, products, factors = np.empty(STATE), np.empty(MEMORY), np.empty(MEMORY)
    steps, changes = np.empty((MEMORY, size)), np.empty((MEMORY, size))
    direction, gradient = np.empty(size), np.empty(size)
    loss = loss_and_gradient(weights, *problem, gradient)
    iteration, kept, newest, scale = 0, 0, -1, 1.0
    if _largest(gradient) <= tol:
        return loss, iteration
    while True:
        _descend(gradient, steps, changes, products, factors, kept, newest, scale, direction)
        before, old_gradient = loss, gradient.copy()
        slope_before = np.dot(gradient, direction)
        step = 1.0
        if iteration == 0:
            step = min(1.0 / np.sqrt(np.dot(direction, direction)), LONGEST)
        found, step, loss, slope = _search(
            weights, problem, gradient, direction, step, loss, slope_before, state
        )
        if not found:
            loss = before
            gradient[:] = old_gradient
            if kept == 0:
                return loss, iteration
            kept, newest, scale = 0, -1, 1.0  # forget the steps, and follow the gradient
            continue
        iteration += 1
        if iteration >= max_iter or _largest(gradient) <= tol:
            return loss, iteration
        if before - loss <= SMALL_FALL * max(abs(before), abs(loss), 1.0):
            return loss, iteration
        curvature = (slope - slope_before) * step
        if curvature > -EPSILON * slope_before * step:
            newest = (newest + 1) % MEMORY
            kept = min(kept + 1, MEMORY)
            products[newest] = curvature
            steps[newest] = step * direction
            changes[newest] = gradient - old_gradient
            scale = curvature / np.dot(changes[newest], changes[newest])


@njit(**OPTIONS)
def _search(weights, problem, gradient, direction, step, loss, slope, state):
    """Go along a direction: whether a good step was found, the step, its loss and its slope.

    The weights stay as they were if none was found.
    """
    start = weights.copy()
    if slope < 0.0:
        begin_search(state, step, loss, slope)
        for _ in range(MOST_TRIALS):
            for k in range(weights.shape[0]):
                weights[k] = start[k] + step * direction[k]
            loss = loss_and_gradient(weights, *problem, gradient)
            slope = np.dot(gradient, direction)
            following, ended = next_step(state, step, loss, slope)
            if ended:
                return True, step, loss, slope
            step = following
    weights[:] = start
    return False, step, loss, slope


@njit(**OPTIONS)
def _descend(gradient, steps, changes, products, factors, kept, newest, scale, direction):
    """Write minus the gradient times the inverse of the Hessian, from the remembered steps."""
    size = gradient.shape[0]
    for k in range(size):
        direction[k] = -gradient[k]
    for back in range(kept):
        at = (newest - back) % MEMORY
        factors[at] = np.dot(steps[at], direction) / products[at]
        _add(direction, -factors[at], changes[at])
    for k in range(size):
        direction[k] *= scale
    for back in range(kept - 1, -1, -1):
        at = (newest - back) % MEMORY
        factor = factors[at] - np.dot(changes[at], direction) / products[at]
        _add(direction, factor, steps[at])


@njit(**OPTIONS)
def _add(vector, factor, other):
    for k in range(vector.shape[0]):
        vector[k] += factor * other[k]


@njit(**OPTIONS)
def _largest(vector):
    most = 0.0
    for k in range(vector.shape[0]):
        most = max(most, abs(vector[k]))
    return most
