"""Clients of a Flower app that come and go.

The breast cancer data of scikit-learn is dealt to four clients. The labels of one of them are
shuffled. The phone is connected in half of the rounds only. Every coalition is trained anew by
Flower's FedAvg, and the strategy sees the clients that are connected in each round.

    pip install 'shapband[flower]'
    python examples/flower_clients.py [report.html]
"""

import sys

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg
from sklearn.datasets import load_breast_cancer

import shapband as sb
import shapband.flower

RECORDS = {"clinic A": 90, "clinic B": 90, "shuffled": 90, "phone": 30}
CONNECTED = {"clinic A": 1.0, "clinic B": 1.0, "shuffled": 1.0, "phone": 0.5}  # part of the rounds


def load() -> list[tuple[np.ndarray, np.ndarray]]:
    """Deal standardised records to the clients; the last part is for validation."""
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(3)
    order = rng.permutation(len(y))
    X, y = ((X - X.mean(axis=0)) / X.std(axis=0))[order], y[order].astype(float)
    edges = np.cumsum(list(RECORDS.values()))
    parts = list(zip(np.split(X, edges), np.split(y, edges), strict=True))
    at = list(RECORDS).index("shuffled")
    parts[at] = parts[at][0], rng.permutation(parts[at][1])
    return parts


*PARTS, (X_VAL, Y_VAL) = load()
app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    """Three steps of gradient descent on the client's draw of the game."""
    X, y = PARTS[context.node_config["partition-id"]]
    rows = shapband.flower.draw(message, len(y))
    X, y = X[rows], y[rows]
    (weights,) = message.content["arrays"].to_numpy_ndarrays()
    for _ in range(3):
        weights = weights - 0.1 * X.T @ (1 / (1 + np.exp(-X @ weights)) - y) / len(y)
    update, metrics = ArrayRecord([weights]), MetricRecord({"num-examples": len(y)})
    return Message(RecordDict({"arrays": update, "metrics": metrics}), reply_to=message)


def strategy() -> FedAvg:
    """Start with a single client, because single clients are trained, too."""
    return FedAvg(fraction_evaluate=0.0, min_train_nodes=1, min_available_nodes=1)


def negative_log_loss(arrays: ArrayRecord) -> float:
    """Score a model on the validation rows."""
    margins = (2 * Y_VAL - 1) * (X_VAL @ arrays.to_numpy_ndarrays()[0])
    return -float(np.logaddexp(0, -margins).mean())


def main(report: str = "flower_clients.html") -> None:
    valuation = shapband.flower.value(
        app,
        list(RECORDS),
        strategy,
        ArrayRecord([np.zeros(X_VAL.shape[1])]),
        negative_log_loss,
        num_rounds=3,
        records=RECORDS,
        sampling=sb.Fresh(20),
        participation=sb.Independent(CONNECTED, per="round"),
        by_round=True,
        deterministic=True,  # the app draws no random numbers
        n_games=30,
        seed=0,
    )
    print(valuation)
    print(valuation.by_round)
    valuation.report(report)


if __name__ == "__main__":
    main(*sys.argv[1:2])
