"""Federated averaging: the local training of the members of many coalitions.

Every coalition has parameters of its own. The coalitions that have a client as a member are
trained on this client's records LANES at a time (see `federated_layers`).
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.federated_layers import (
    filled,
    forward,
    gradients_behind,
    output_gradients,
    step_first_layer,
    step_next_layer,
)
from shapband.kernels.compiled.lanes import LANES, OPTIONS
from shapband.kernels.compiled.parts import PART


@njit(**OPTIONS)
def add_updates(current, inside, shares, X, targets, begin, counts, units, rules, sums):
    """Add the parameters of all members after their local steps, times their shares, to `sums`.

    Parameters
    ----------
    current : (m, n_parameters) parameters of the coalitions, from which members start
    inside : (m, n) 1 for the members that take part in this round
    shares : (n,) weight of each client
    X, targets : (n, most, d) and (n, most) records of the clients; at least three rows of zeros
        follow the last record
    begin, counts : (n,) first record of each client in this round, and number of its records
    units : numbers of features, of the units of hidden layers, and of outputs
    rules : number of the loss, number of local steps, learning rate, proximal strength
    sums : (m, n_parameters)
    """
    size = current.shape[1]
    room = _room(size, units, counts)
    rows = np.empty(LANES, np.int64)
    for i in range(inside.shape[1]):
        found = 0
        for s in range(inside.shape[0]):
            if inside[s, i]:
                rows[found] = s
                found += 1
            if found == LANES or (found > 0 and s == inside.shape[0] - 1):
                rows[found:] = rows[0]  # models that fill the lanes, whose results are not used
                _gather(current, rows, room[0])
                _train(room, X, targets, i, begin[i], counts[i], units, rules)
                _add(room[0], rows, found, shares[i], sums)
                found = 0


@njit(**OPTIONS)
def add_known(inside, shares, updates, sums):
    """Add the known updates (n, n_parameters) of all members, times their shares, to `sums`."""
    for s in range(inside.shape[0]):
        for i in range(inside.shape[1]):
            if inside[s, i]:
                for p in range(sums.shape[1]):
                    sums[s, p] += shares[i] * updates[i, p]


@njit(**PART)
def _room(size, units, counts):
    """Weights, their start, outputs of all layers, and gradients by them, of LANES models."""
    outputs = units[1:].sum() * filled(counts.max()) * LANES
    weights, start = np.empty(size * LANES), np.empty(size * LANES)
    return weights, start, np.empty(outputs), np.empty(outputs if units.shape[0] > 2 else 0)


@njit(**PART)
def _gather(parameters, rows, weights):
    """Put the parameters of the models in these rows side by side."""
    for p in range(parameters.shape[1]):
        for lane in range(LANES):
            weights[p * LANES + lane] = parameters[rows[lane], p]


@njit(**PART)
def _add(weights, rows, found, share, sums):
    for lane in range(found):
        for p in range(sums.shape[1]):
            sums[rows[lane], p] += share * weights[p * LANES + lane]


@njit(**PART)
def _train(room, X, targets, client, begin, count, units, rules):
    """Make the local steps of one client, with all its records in every step."""
    weights, start, outputs, gradients = room
    loss, steps, learning_rate, strength = rules
    start[:] = weights
    most, d, layers = X.shape[1], X.shape[2], units.shape[0] - 1
    at, rows, own = (client * most + begin) * d, filled(count), targets[client, begin:]
    rate, pull = learning_rate / count, learning_rate * strength
    for _ in range(steps):
        to = forward(weights, units, X, at, rows, outputs)
        output_gradients(outputs, to, rows, own, count, units[-1], loss)
        if layers == 1:
            step_first_layer(weights, start, X, at, rows, d, units[1], outputs, rate, pull)
            continue
        gradients[to:] = outputs[to:]
        first = weights.shape[0]
        for layer in range(layers - 1, 0, -1):
            wide, high = units[layer], units[layer + 1]
            first -= (wide + 1) * high * LANES
            before = to - wide * rows * LANES
            gradients_behind(weights, first, rows, wide, high, gradients, to, outputs, before)
            step_next_layer(
                weights, start, first, outputs, before, rows, wide, high, gradients, to, rate, pull
            )
            to = before
        step_first_layer(weights, start, X, at, rows, d, units[1], gradients, rate, pull)
