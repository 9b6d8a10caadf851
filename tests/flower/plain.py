"""A small federated task, as a Flower app and as a plain loop that shares no code with it."""

from itertools import combinations
from math import factorial

import numpy as np
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg

import shapband.flower as sf

NAMES = ["north", "south", "west", "a <b> & ü\n"]
SIZES = dict(zip(NAMES, [30, 20, 40, 25], strict=True))
STEPS, RATE, ROUNDS = 3, 0.4, 4


def task():
    """Return the records of each client, one of them with shuffled labels, and validation rows."""
    rng = np.random.default_rng(5)
    weights = rng.normal(size=3)
    data = []
    for name in NAMES:
        X = rng.normal(size=(SIZES[name], 3))
        y = (X @ weights + rng.normal(size=len(X)) > 0).astype(float)
        data.append((X, rng.permutation(y) if name == "west" else y))
    X = rng.normal(size=(80, 3))
    return data, (X, (X @ weights > 0).astype(float))


DATA, (X_VAL, Y_VAL) = task()
INITIAL = [np.array([0.1, -0.2, 0.05]), np.array([0.3])]


def local_steps(arrays, X, y):
    """Full-batch gradient steps of a logistic regression."""
    weights, bias = arrays[0].copy(), arrays[1].copy()
    for _ in range(STEPS):
        gap = 1 / (1 + np.exp(-(X @ weights + bias))) - y
        weights -= RATE * X.T @ gap / len(y)
        bias -= RATE * gap.mean()
    return [weights, bias]


def log_loss(arrays):
    margins = (2 * Y_VAL - 1) * (X_VAL @ arrays[0] + arrays[1])
    return -float(np.mean(np.logaddexp(0, -margins)))


def score(record):
    return log_loss(record.to_numpy_ndarrays())


def initial():
    return ArrayRecord(INITIAL)


def strategy():
    return FedAvg(fraction_evaluate=0.0, min_train_nodes=1, min_available_nodes=1)


app = ClientApp()


@app.train()
def train(message, context):
    X, y = DATA[context.node_config["partition-id"]]
    rows = sf.draw(message, len(X))
    start = message.content["arrays"].to_numpy_ndarrays()
    update = ArrayRecord(local_steps(start, X[rows], y[rows]))
    metrics = MetricRecord({"num-examples": len(rows)})
    return Message(RecordDict({"arrays": update, "metrics": metrics}), reply_to=message)


def plain_training(places, rows=None, present=None):
    """Return the models of some clients after each round of federated averaging."""
    model, models = INITIAL, []
    for number in range(ROUNDS):
        there = [i for i in places if present is None or present[number][i]]
        used = {i: slice(None) if rows is None else rows[i] for i in there}
        drawn = [(DATA[i][0][used[i]], DATA[i][1][used[i]]) for i in there]
        updates = [local_steps(model, X, y) for X, y in drawn]
        total = sum(len(y) for _, y in drawn)
        if there:
            model = [
                sum(
                    len(y) / total * update[k]
                    for update, (_, y) in zip(updates, drawn, strict=True)
                )
                for k in range(2)
            ]
        models.append(model)
    return models


def shapley(v, n):
    """Shapley values of a game, by their definition."""
    values = np.zeros(n)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            weight = factorial(size) * factorial(n - size - 1) / factorial(n)
            for inside in combinations(others, size):
                values[i] += weight * (v(tuple(sorted((*inside, i)))) - v(inside))
    return values


def plain_values(rows=None, present=None):
    """Shapley values of the clients in one game."""

    def v(places):
        return log_loss(plain_training(places, rows, present)[-1]) if places else log_loss(INITIAL)

    return shapley(v, len(NAMES))
