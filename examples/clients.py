"""Clients that train a model in rounds, and come and go between them.

The breast cancer data of scikit-learn is dealt to ten clients. Clinics are connected in nearly all
rounds of training; phones appear for some rounds and leave again. Three clients bring nothing of
their own: one has shuffled labels, a free rider has mean values in place of measurements, and one
has the records of clinic B.

    python examples/clients.py [report.html]
"""

import sys

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import shapband as sb

PHONES = {f"phone {number}": 25 for number in range(1, 5)}
CLINICS = {"clinic A": 50, "clinic B": 50, "clinic C": 50, "shuffled": 50, "free rider": 50}


def deal() -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], np.ndarray, np.ndarray]:
    """Return the records of every client, and the validation rows."""
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(3)
    order = rng.permutation(len(y))
    sizes = CLINICS | PHONES
    *parts_X, X_val = np.split(X[order], np.cumsum(list(sizes.values())))
    *parts_y, y_val = np.split(y[order], np.cumsum(list(sizes.values())))
    clients = dict(zip(sizes, zip(parts_X, parts_y, strict=True), strict=True))
    features, labels = clients["shuffled"]
    clients["shuffled"] = features, rng.permutation(labels)
    features, labels = clients["free rider"]
    invented = rng.normal(X_val.mean(axis=0), 0.01 * X_val.std(axis=0), features.shape)
    clients["free rider"] = invented, labels
    clients["copy of B"] = clients["clinic B"]
    return clients, X_val, y_val


def main(report: str = "clients.html") -> None:
    clients, X_val, y_val = deal()
    valuation = sb.value(
        clients,
        sb.FederatedUtility(
            "logistic",
            X_val,
            y_val,
            rounds=5,
            score="neg_log_loss",
            embed=StandardScaler().fit(X_val),
        ),
        sampling=sb.Fresh(15),
        participation=sb.MarkovChain(
            join={name: 0.15 if name in PHONES else 0.8 for name in clients},
            stay={name: 0.7 if name in PHONES else 0.95 for name in clients},
            per="round",
        ),
        by_round=True,
        n_games=100,
        seed=0,
    )
    print(valuation)
    print(valuation.by_round)
    valuation.report(report)


if __name__ == "__main__":
    main(*sys.argv[1:2])
