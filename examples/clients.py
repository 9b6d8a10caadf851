"""Clients of a federated model that come and go.

The breast cancer data of scikit-learn is dealt to eight clients. Clinics are connected most of the
time; phones appear for a while and leave again. A client that is seldom there brings less, however
good its data, so the result also has the value of each client when it takes part.

    python examples/clients.py [report.html]
"""

import sys

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import shapband as sb

CLINICS = {"clinic A": 60, "clinic B": 60, "clinic C": 40}
PHONES = {f"phone {number}": 25 for number in range(1, 6)}


def main(report: str = "clients.html") -> None:
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(3).permutation(len(y))
    X, y = X[order], y[order]
    clients, first = [], 0
    for name, size in (CLINICS | PHONES).items():
        rows = slice(first, first + size)
        clients.append(sb.Provider(name, sb.ArraySource(X[rows], y[rows])))
        first += size
    X_val, y_val = X[first:], y[first:]
    utility = sb.LogisticUtility(
        X_val, y_val, C=0.1, score="neg_log_loss", embed=StandardScaler().fit(X_val)
    )
    valuation = sb.value(
        clients,
        utility,
        sampling=sb.Fresh(15),
        participation=sb.MarkovChain(
            join={name: 0.8 if name in CLINICS else 0.15 for name in CLINICS | PHONES},
            stay={name: 0.95 if name in CLINICS else 0.7 for name in CLINICS | PHONES},
        ),
        n_games=200,
        seed=0,
    )
    print(valuation)
    valuation.report(report)


if __name__ == "__main__":
    main(*sys.argv[1:2])
