"""Scores of many models with few layers on the same validation rows.

Models are scored LANES at a time (see `federated_layers`).
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.class_scores import score_of, score_rooms
from shapband.kernels.compiled.federated_layers import filled, forward
from shapband.kernels.compiled.lanes import (
    LANES,
    OPTIONS,
    broadcast,
    load,
    multiply_add,
    pointer,
    splat,
    store,
    subtract,
)
from shapband.kernels.compiled.parts import PART

BLOCK = 64  # validation rows whose outputs are computed together
LARGEST = 1e300  # logits beyond it, and NaN, make a score NaN


def class_scores(parameters, units, X, codes, n_labels, score, folds=None):
    """Scores (m,) of classifiers; NaN if their logits are not finite.

    Parameters
    ----------
    parameters : (m, n_parameters)
    units : numbers of features, of the units of hidden layers, and of outputs; one output is the
        log odds of the second of two classes
    X : (most, d) validation rows, filled with rows of zeros to a multiple of 4
    codes : (n_rows,) classes of the validation rows
    score : number of the score, see `class_scores`
    folds : the fold of each validation row, and an array (m, n_folds) to which the scores without
        each fold are written; None if they are not wanted
    """
    room, parts = score_rooms(codes, folds, len(parameters))
    return _class_scores(parameters, units, X, codes.shape[0], n_labels, score, room, parts)


@njit(**OPTIONS)
def _class_scores(parameters, units, X, n_rows, n_labels, score, room, parts):
    high = units[-1]
    known = 1 if high == 1 else 0  # log odds are logits beside the logit 0 of the first class
    logits, scores = np.zeros((LANES, known + high, n_rows)), np.empty(parameters.shape[0])
    weights, outputs = np.empty(parameters.shape[1] * LANES), _outputs(units)
    finite = np.empty(LANES, np.bool_)
    for first in range(0, parameters.shape[0], LANES):
        count = min(LANES, parameters.shape[0] - first)
        _gather(parameters, first, count, weights)
        finite[:] = True
        for begin in range(0, n_rows, BLOCK):
            rows = filled(min(BLOCK, n_rows - begin))
            to = forward(weights, units, X, begin * X.shape[1], rows, outputs)
            for j in range(high):
                for r in range(min(BLOCK, n_rows - begin)):
                    for lane in range(LANES):
                        z = outputs[to + (j * rows + r) * LANES + lane]
                        logits[lane, known + j, begin + r] = z
                        finite[lane] &= abs(z) < LARGEST
        for lane in range(count):
            if not finite[lane]:
                scores[first + lane] = np.nan
            else:
                own = parts[first + lane]
                scores[first + lane] = score_of(logits[lane], n_labels, score, room, own)
    return scores


@njit(**OPTIONS)
def squared_errors(parameters, units, X, y, fold_of, n_folds):
    """Sums (m, 1 + n_folds) of squared errors on all rows and on each fold.

    Parameters
    ----------
    y : (n_rows,) validation targets
    fold_of : (n_rows,) the fold of each row; not used if there are no folds
    """
    found = np.empty((parameters.shape[0], 1 + n_folds))
    weights, outputs = np.empty(parameters.shape[1] * LANES), _outputs(units)
    errors, sums = np.empty((y.shape[0], LANES)), np.empty((1 + n_folds, LANES))
    for first in range(0, parameters.shape[0], LANES):
        count = min(LANES, parameters.shape[0] - first)
        _gather(parameters, first, count, weights)
        _errors(weights, units, X, y, outputs, errors, 0)
        sums[:] = 0.0
        _add_squares(errors, fold_of, n_folds, sums)
        for lane in range(count):
            for part in range(1 + n_folds):
                found[first + lane, part] = sums[part, lane]
    return found


@njit(**PART)
def _errors(weights, units, X, y, outputs, errors, to):
    """Write the errors of LANES models to the columns of `errors` that begin at `to`."""
    n_rows, wide = errors.shape
    out, true, written = pointer(outputs, 0), pointer(y, 0), pointer(errors, to)
    for begin in range(0, n_rows, BLOCK):
        rows = filled(min(BLOCK, n_rows - begin))
        forward(weights, units, X, begin * X.shape[1], rows, outputs)
        for r in range(min(BLOCK, n_rows - begin)):
            error = subtract(load(out, r * LANES), broadcast(true, begin + r))
            store(written, (begin + r) * wide, error)


@njit(**PART)
def _add_squares(errors, fold_of, n_folds, sums):
    # All rows and folds have loops of their own: the compiler computes a product that two sums
    # share once and fuses it with neither, so the bits of the first would depend on the second.
    every, total = pointer(errors, 0), pointer(sums, 0)
    whole = splat(0.0)
    for r in range(errors.shape[0]):
        error = load(every, r * LANES)
        whole = multiply_add(whole, error, error)
    store(total, 0, whole)
    if n_folds > 0:
        for r in range(errors.shape[0]):
            error, place = load(every, r * LANES), (1 + fold_of[r]) * LANES
            store(total, place, multiply_add(load(total, place), error, error))


@njit(**OPTIONS)
def error_products(parameters, units, X, y, fold_of, n_folds):
    """Products of the errors of all pairs of models, on all rows and on each fold.

    Returns (1 + n_folds, n, at least n).

    See `squared_errors` for the parameters.
    """
    n = parameters.shape[0]
    wide = -(-n // LANES) * LANES
    weights, outputs = np.empty(parameters.shape[1] * LANES), _outputs(units)
    errors, products = np.empty((y.shape[0], wide)), np.zeros((1 + n_folds, n, wide))
    for first in range(0, n, LANES):
        _gather(parameters, first, min(LANES, n - first), weights)
        _errors(weights, units, X, y, outputs, errors, first)
    for i in range(n):
        for first in range(0, wide, LANES):
            _multiply_errors(errors, i, first, fold_of, n_folds, products)
    return products


@njit(**PART)
def _multiply_errors(errors, one, first, fold_of, n_folds, products):
    """Write the products of the errors of one model and those of LANES others."""
    every, total = pointer(errors, 0), pointer(products, 0)
    n, wide, whole = products.shape[1], products.shape[2], splat(0.0)
    for r in range(errors.shape[0]):
        own, others = broadcast(every, r * wide + one), load(every, r * wide + first)
        whole = multiply_add(whole, own, others)
    store(total, one * wide + first, whole)
    if n_folds > 0:  # in a loop of its own, see `_add_squares`
        for r in range(errors.shape[0]):
            own, others = broadcast(every, r * wide + one), load(every, r * wide + first)
            place = ((1 + fold_of[r]) * n + one) * wide + first
            store(total, place, multiply_add(load(total, place), own, others))


@njit(**OPTIONS)
def mean_errors(inside, shares, products):
    """Sums of squared errors (m, parts) of models that are the mean of their members' models.

    Parameters
    ----------
    inside : (m, n) 1 for members; every coalition has one
    shares : (n,) weights of the members in the mean
    products : (parts, n, at least n) products of the errors of all pairs
    """
    found, n = np.empty((inside.shape[0], products.shape[0])), inside.shape[1]
    for s in range(inside.shape[0]):
        total = 0.0
        for i in range(n):
            total += shares[i] if inside[s, i] else 0.0
        for part in range(products.shape[0]):
            square = 0.0
            for i in range(n):
                if inside[s, i]:
                    row = 0.0
                    for j in range(n):
                        if inside[s, j]:
                            row += shares[j] * products[part, i, j]
                    square += shares[i] * row
            found[s, part] = square / (total * total)
    return found


@njit(**PART)
def _outputs(units):
    """Room for the outputs of all layers for a block of rows."""
    return np.empty(units[1:].sum() * BLOCK * LANES)


@njit(**PART)
def _gather(parameters, first, count, weights):
    """Put the parameters of `count` models side by side; the last one fills the other lanes."""
    for p in range(parameters.shape[1]):
        for lane in range(LANES):
            weights[p * LANES + lane] = parameters[first + min(lane, count - 1), p]
