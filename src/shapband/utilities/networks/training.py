"""Train a network by L-BFGS, step by step as scipy's L-BFGS-B does without bounds.

Rules, constants and stopping tests are scipy's, so that both give the same network up to rounding.
scipy's own code is not used, because it takes longer for a step than a small network takes for its
loss. Networks are trained one at a time: the matrix products of one network keep a core busy, and
its bits cannot depend on other networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import isfinite, nan, sqrt

import numpy as np

from shapband import kernels
from shapband._typing import FloatArray, IntArray
from shapband.kernels.careful.class_scores import predicted
from shapband.utilities.networks.line_search import LONGEST, LineSearch, Point

_MEMORY = 10  # L-BFGS remembers this many steps, as in scipy
_TRIALS = 20  # a line search tries at most this many steps
_SMALL_FALL = 1e7 * np.finfo(np.float64).eps  # training ends if the loss falls by less than this


@dataclass(frozen=True, eq=False)
class Problem:
    """What a network is trained on.

    Attributes
    ----------
    units : numbers of inputs, of the units of every hidden layer, and of outputs; two classes
        have one output
    X : (n_records, n_features) standardised records
    target : (n_records,) their classes, from 0
    count : (n_records,) how often each record occurs
    alpha : strength of the L2 penalty
    """

    units: IntArray
    X: FloatArray
    target: IntArray
    count: FloatArray
    alpha: float


def first_weights(units: IntArray, seed: int) -> FloatArray:
    """Uniform weights within Glorot's bounds, in the order in which scikit-learn draws them.

    This is, for each layer, the matrix (inputs, outputs) row by row, and then the intercepts.
    """
    return _drawn_weights(tuple(units.tolist()), seed).copy()


@lru_cache(maxsize=16)  # thousands of networks differ only in their number of classes
def _drawn_weights(units: tuple[int, ...], seed: int) -> FloatArray:
    stream, drawn = np.random.RandomState(seed), []
    for wide, high in pairwise(units):
        bound = np.sqrt(6.0 / (wide + high))
        drawn.append(stream.uniform(-bound, bound, (wide + 1) * high))
    return np.concatenate(drawn)


def predict(weights: FloatArray, units: IntArray, X: FloatArray) -> IntArray:
    """Return the predicted class of every row: (n_rows,)."""
    room = np.empty(len(X) * units[1:].sum())
    outputs = kernels.load("network").forward(weights, units, X, room)
    logits = outputs.T
    if units[-1] == 1:
        logits = np.concatenate([np.zeros_like(logits), logits])
    return predicted(logits)


def train(weights: FloatArray, problem: Problem, max_iter: int, tol: float) -> tuple[float, int]:
    """Train `weights` in place, and return the loss and the number of iterations.

    Training ends after `max_iter` iterations, or if no entry of the gradient is larger than
    `tol`, or if the loss does not fall any more. The loss is NaN if its gradient overflows.
    """
    loss_of, memory = _Loss(problem), _Memory(len(weights))
    gradient = np.empty(len(weights))
    loss = loss_of(weights, gradient)
    iteration = 0
    if _largest(gradient) <= tol:
        return loss, iteration
    while True:
        direction = memory.direction(gradient)
        start = Point(0.0, loss, float(gradient @ direction))
        if not isfinite(start.slope):
            return nan, iteration
        first = 1.0 if iteration else min(1.0 / sqrt(direction @ direction), LONGEST)
        before = gradient.copy()
        found = _search(weights, loss_of, gradient, direction, start, first)
        if found is None:
            gradient = before
            if not memory.kept:
                return loss, iteration
            memory.forget()
            continue
        iteration += 1
        fall, loss = loss - found.value, found.value
        small = fall <= _SMALL_FALL * max(abs(start.value), abs(loss), 1.0)
        if small or iteration >= max_iter or _largest(gradient) <= tol:
            return loss, iteration
        memory.keep(start, found, direction, before, gradient)


def _search(
    weights: FloatArray,
    loss_of: _Loss,
    gradient: FloatArray,
    direction: FloatArray,
    start: Point,
    first: float,
) -> Point | None:
    """Go along a direction to a good step and return it; return None if there is no such step."""
    origin, step = weights.copy(), first
    search = LineSearch(start.value, start.slope, first)
    for _ in range(_TRIALS if start.slope < 0.0 else 0):
        np.multiply(direction, step, out=weights)
        weights += origin
        loss = loss_of(weights, gradient)
        tried = Point(step, loss, float(gradient @ direction))
        if not (isfinite(tried.value) and isfinite(tried.slope)):
            break
        following = search.following(tried)
        if following is None:
            return tried
        step = following
    weights[:] = origin
    return None


def _largest(vector: FloatArray) -> float:
    return max(float(vector.max()), -float(vector.min()))


class _Loss:
    """The loss of a network, with room for the outputs of its layers."""

    def __init__(self, problem: Problem) -> None:
        room = len(problem.X) * problem.units[1:].sum()
        records = problem.X, problem.target, problem.count
        self._arguments = problem.units, *records, problem.alpha, np.empty(room), np.empty(room)
        self._kernel = kernels.load("network").loss_and_gradient

    def __call__(self, weights: FloatArray, gradient: FloatArray) -> float:
        """Return the loss, and write its gradient."""
        loss: float = self._kernel(weights, *self._arguments, gradient)
        return loss


class _Memory:
    """The last steps, from which L-BFGS estimates the curvature of the loss."""

    def __init__(self, size: int) -> None:
        self._steps, self._changes = np.empty((2, _MEMORY, size))
        self._products = np.empty(_MEMORY)
        self._newest = -1
        self.kept = 0

    def direction(self, gradient: FloatArray) -> FloatArray:
        """Return the direction of the next step."""
        direction = np.empty(len(gradient))
        known = self._steps, self._changes, self._products, self._newest, self.kept
        kernels.load("network").descend(gradient, *known, direction)
        return direction

    def keep(
        self,
        start: Point,
        end: Point,
        direction: FloatArray,
        before: FloatArray,
        gradient: FloatArray,
    ) -> None:
        """Remember a step and the change of the gradient, unless the loss is not convex there."""
        product = (end.slope - start.slope) * end.step
        if product > -np.finfo(np.float64).eps * start.slope * end.step:
            self._newest = (self._newest + 1) % _MEMORY
            np.multiply(direction, end.step, out=self._steps[self._newest])
            np.subtract(gradient, before, out=self._changes[self._newest])
            self._products[self._newest] = product
            self.kept = min(self.kept + 1, _MEMORY)

    def forget(self) -> None:
        """Forget all steps, so that the next one follows the gradient."""
        self.kept = 0
