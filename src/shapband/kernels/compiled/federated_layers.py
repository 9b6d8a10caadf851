"""Layers of small networks, for LANES sets of weights at once and the same records.

A model is a list of layers, and `units` are the numbers of features, of the units of every hidden
layer, and of outputs; linear models have one layer. The weights of a layer are (outputs,
inputs + 1) with the intercept last, the layers follow one another, and every weight is a vector of
LANES numbers, one for each model. Outputs of a layer are (outputs, rows), likewise with LANES
numbers each. Hidden layers are rectified.

Rows are a multiple of `ROWS`, so that the sums of ROWS rows stay in registers. All sums go over
inputs or rows in ascending order, so a model's bits do not depend on its lane or its neighbours.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    add,
    broadcast,
    divide,
    exponential,
    larger,
    load,
    multiply,
    multiply_add,
    multiply_subtract,
    pointer,
    splat,
    store,
    subtract,
    where_less,
)
from shapband.kernels.compiled.parts import PART

ROWS = 4  # rows that are multiplied together
SQUARED, LOGISTIC, SOFTMAX = range(3)  # losses


@njit(inline="always")
def filled(rows):
    """The number of rows, rounded up to a multiple of ROWS."""
    return -(-rows // ROWS) * ROWS


@njit(**PART)
def forward(weights, units, X, at, rows, outputs):
    """Write the outputs of all layers; return where those of the last layer begin.

    Parameters
    ----------
    X, at : flat records, and where the first of them begins
    rows : number of records, a multiple of ROWS
    outputs : room for the outputs of all layers, one after the other
    """
    first, to, last = 0, 0, units.shape[0] - 2
    for layer in range(last + 1):
        wide, high = units[layer], units[layer + 1]
        if layer == 0:
            _first_outputs(weights, X, at, rows, wide, high, layer < last, outputs)
        else:
            before = to
            to += units[layer] * rows * LANES
            _next_outputs(weights, first, before, to, rows, wide, high, layer < last, outputs)
        first += (wide + 1) * high * LANES
    return to


@njit(**PART)
def _first_outputs(weights, X, at, rows, wide, high, rectified, outputs):
    """Outputs of the first layer, whose inputs are the same for all models."""
    x, w, out = pointer(X, at), pointer(weights, 0), pointer(outputs, 0)
    floor = splat(0.0) if rectified else splat(-np.inf)
    for j in range(high):
        own = j * (wide + 1) * LANES
        for r in range(0, rows, ROWS):
            z0 = load(w, own + wide * LANES)
            z1, z2, z3 = z0, z0, z0
            for k in range(wide):
                weight, place = load(w, own + k * LANES), r * wide + k
                z0 = multiply_add(z0, broadcast(x, place), weight)
                z1 = multiply_add(z1, broadcast(x, place + wide), weight)
                z2 = multiply_add(z2, broadcast(x, place + 2 * wide), weight)
                z3 = multiply_add(z3, broadcast(x, place + 3 * wide), weight)
            _store_rows(out, (j * rows + r) * LANES, floor, z0, z1, z2, z3)


@njit(**PART)
def _next_outputs(weights, first, before, to, rows, wide, high, rectified, outputs):
    """Outputs of a later layer, whose inputs are the outputs that begin at `before`."""
    w, x, out = pointer(weights, first), pointer(outputs, before), pointer(outputs, to)
    floor = splat(0.0) if rectified else splat(-np.inf)
    for j in range(high):
        own = j * (wide + 1) * LANES
        for r in range(0, rows, ROWS):
            z0 = load(w, own + wide * LANES)
            z1, z2, z3 = z0, z0, z0
            for k in range(wide):
                weight, place = load(w, own + k * LANES), (k * rows + r) * LANES
                z0 = multiply_add(z0, load(x, place), weight)
                z1 = multiply_add(z1, load(x, place + LANES), weight)
                z2 = multiply_add(z2, load(x, place + 2 * LANES), weight)
                z3 = multiply_add(z3, load(x, place + 3 * LANES), weight)
            _store_rows(out, (j * rows + r) * LANES, floor, z0, z1, z2, z3)


@njit(**PART)
def _store_rows(out, place, floor, z0, z1, z2, z3):
    # With the arguments in this order, NaN stays NaN.
    store(out, place, larger(floor, z0))
    store(out, place + LANES, larger(floor, z1))
    store(out, place + 2 * LANES, larger(floor, z2))
    store(out, place + 3 * LANES, larger(floor, z3))


@njit(**PART)
def output_gradients(outputs, to, rows, targets, count, high, loss):
    """Replace the outputs of the last layer by the gradients of the loss of each record.

    Parameters
    ----------
    to : where the outputs of the last layer begin
    targets : targets or classes of the records, at least `count`
    count : number of records; rows after these only fill a block and get 0
    high : number of outputs
    """
    out, zero, one = pointer(outputs, to), splat(0.0), splat(1.0)
    for r in range(rows):
        if r >= count:
            for j in range(high):
                store(out, (j * rows + r) * LANES, zero)
        elif loss == SOFTMAX:
            _softmax_gradient(outputs, to, rows, r, int(targets[r]), high)
        else:
            found, true = load(out, r * LANES), splat(targets[r])
            if loss == LOGISTIC:
                found = divide(one, add(one, exponential(subtract(zero, found))))
            store(out, r * LANES, subtract(found, true))


@njit(**PART)
def _softmax_gradient(outputs, to, rows, row, true, high):
    """Replace the outputs of a row by their probabilities, minus 1 for the true class."""
    out = pointer(outputs, to + row * LANES)
    top = load(out, 0)
    for j in range(1, high):
        top = larger(top, load(out, j * rows * LANES))
    total = splat(0.0)
    for j in range(high):
        place = j * rows * LANES
        part = exponential(subtract(load(out, place), top))
        total = add(total, part)
        store(out, place, part)
    for j in range(high):
        place = j * rows * LANES
        own = splat(1.0 if j == true else 0.0)
        store(out, place, subtract(divide(load(out, place), total), own))


@njit(**PART)
def gradients_behind(weights, first, rows, wide, high, gradients, to, outputs, before):
    """Write the gradients by the outputs of the layer before, which are 0 where ReLU is off.

    Parameters
    ----------
    first : where the weights of the layer begin
    gradients, to : gradients by the outputs of all layers, and where those of this layer begin
    outputs, before : outputs of all layers, and where those of the layer before begin, in both
    """
    w, delta = pointer(weights, first), pointer(gradients, to)
    on, behind, zero = pointer(outputs, before), pointer(gradients, before), splat(0.0)
    for k in range(wide):
        for r in range(0, rows, ROWS):
            z0, z1, z2, z3 = zero, zero, zero, zero
            for j in range(high):
                weight, place = load(w, (j * (wide + 1) + k) * LANES), (j * rows + r) * LANES
                z0 = multiply_add(z0, load(delta, place), weight)
                z1 = multiply_add(z1, load(delta, place + LANES), weight)
                z2 = multiply_add(z2, load(delta, place + 2 * LANES), weight)
                z3 = multiply_add(z3, load(delta, place + 3 * LANES), weight)
            place = (k * rows + r) * LANES
            store(behind, place, where_less(zero, load(on, place), z0, zero))
            place += LANES
            store(behind, place, where_less(zero, load(on, place), z1, zero))
            place += LANES
            store(behind, place, where_less(zero, load(on, place), z2, zero))
            place += LANES
            store(behind, place, where_less(zero, load(on, place), z3, zero))


@njit(**PART)
def step_first_layer(weights, start, X, at, rows, wide, high, gradients, rate, pull):
    """Move the weights of the first layer against their gradient, and towards their start.

    Parameters
    ----------
    rate : learning rate, divided by the number of records
    pull : learning rate times the strength with which weights are drawn to the start
    """
    x, delta = pointer(X, at), pointer(gradients, 0)
    w, origin = pointer(weights, 0), pointer(start, 0)
    faster, drawn, zero = splat(rate), splat(pull), splat(0.0)
    for j in range(high):
        own, rows_of = j * (wide + 1) * LANES, j * rows * LANES
        for k in range(0, wide - wide % ROWS, ROWS):
            g0, g1, g2, g3 = zero, zero, zero, zero
            for r in range(rows):
                error, place = load(delta, rows_of + r * LANES), r * wide + k
                g0 = multiply_add(g0, broadcast(x, place), error)
                g1 = multiply_add(g1, broadcast(x, place + 1), error)
                g2 = multiply_add(g2, broadcast(x, place + 2), error)
                g3 = multiply_add(g3, broadcast(x, place + 3), error)
            place = own + k * LANES
            _move(w, origin, place, g0, faster, drawn)
            _move(w, origin, place + LANES, g1, faster, drawn)
            _move(w, origin, place + 2 * LANES, g2, faster, drawn)
            _move(w, origin, place + 3 * LANES, g3, faster, drawn)
        for k in range(wide - wide % ROWS, wide):
            g0 = zero
            for r in range(rows):
                g0 = multiply_add(g0, broadcast(x, r * wide + k), load(delta, rows_of + r * LANES))
            _move(w, origin, own + k * LANES, g0, faster, drawn)
        g0 = zero
        for r in range(rows):
            g0 = add(g0, load(delta, rows_of + r * LANES))
        _move(w, origin, own + wide * LANES, g0, faster, drawn)


@njit(**PART)
def step_next_layer(
    weights, start, first, outputs, before, rows, wide, high, gradients, to, rate, pull
):
    """Move the weights of a later layer, whose inputs are the outputs that begin at `before`."""
    x, delta = pointer(outputs, before), pointer(gradients, to)
    w, origin = pointer(weights, first), pointer(start, first)
    faster, drawn, zero = splat(rate), splat(pull), splat(0.0)
    for j in range(high):
        own, rows_of = j * (wide + 1) * LANES, j * rows * LANES
        for k in range(wide + 1):
            g = zero
            for r in range(rows):
                error = load(delta, rows_of + r * LANES)
                if k < wide:
                    g = multiply_add(g, load(x, (k * rows + r) * LANES), error)
                else:
                    g = add(g, error)
            _move(w, origin, own + k * LANES, g, faster, drawn)


@njit(**PART)
def _move(w, origin, place, gradient, rate, pull):
    now = load(w, place)
    moved = multiply_subtract(now, rate, gradient)
    drawn = multiply(pull, subtract(now, load(origin, place)))
    store(w, place, subtract(moved, drawn))
