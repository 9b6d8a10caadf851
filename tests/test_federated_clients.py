"""Federated clients that harm, do nothing or copy: values, the copy check and the report."""

from __future__ import annotations

import re
from html import unescape
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shapband as sb

NAMES = ["north", "south", "shuffled", "rider", "copy of north"]
ROUNDS, STEPS, RATE = 3, 4, 0.5
# One game: the rider is there in two rounds, and nobody else is present in all of them.
PRESENT = np.array([[1, 1, 0, 1, 1], [0, 1, 1, 1, 0], [1, 0, 1, 0, 1]], dtype=bool)


def sigmoid(z: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-z))


def records(rng: Any, size: int) -> tuple[Any, Any]:
    X = rng.normal(size=(size, 3))
    return X, (rng.random(size) < sigmoid(X @ [2.0, -1.5, 1.0])).astype(int)


def task() -> tuple[dict[str, tuple[Any, Any]], Any, Any]:
    """Records of five clients, and validation rows. The rider's features are all close to zero."""
    rng = np.random.default_rng(0)
    clients = {name: records(rng, 60) for name in NAMES[:4]}
    X, y = clients["shuffled"]
    clients["shuffled"] = X, rng.permutation(y)
    X, y = clients["rider"]
    clients["rider"] = 1e-6 * X, y
    clients["copy of north"] = clients["north"]
    return clients, *records(rng, 300)


@pytest.fixture(scope="module")
def valued() -> sb.Valuation:
    clients, X_val, y_val = task()
    return sb.value(
        clients,
        sb.FederatedUtility("logistic", X_val, y_val, rounds=ROUNDS, score="neg_log_loss"),
        sampling=sb.Fresh(20),
        participation=sb.MarkovChain(join=0.5, stay=0.8, per="round"),
        by_round=True,
        n_games=60,
        seed=0,
    )


def test_the_client_with_shuffled_labels_ranks_last(valued: sb.Valuation) -> None:
    order = [NAMES[i] for i in np.argsort(valued.expectation)]
    assert order[:2] == ["shuffled", "rider"]
    assert valued.interval(0.95)[NAMES.index("shuffled"), 1] < 0


def test_with_its_own_labels_the_same_client_does_not_rank_last() -> None:
    clients, X_val, y_val = task()
    clients["shuffled"] = records(np.random.default_rng(1), 60)
    honest = sb.value(
        clients,
        sb.FederatedUtility("logistic", X_val, y_val, rounds=ROUNDS, score="neg_log_loss"),
        sampling=sb.Fresh(20),
        n_games=30,
        seed=0,
    )
    assert NAMES[int(np.argmin(honest.expectation))] == "rider"


def test_the_copy_check_names_both_clients(valued: sb.Valuation) -> None:
    words = "60 of 60 records of 'copy of north' equal records of 'north'"
    assert words in str(valued)
    assert str(valued).count("equal records of") == 1


def test_the_report_shows_all_three(valued: sb.Valuation, tmp_path: Path) -> None:
    valued.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    text = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page)))
    table = text[text.index("provider expectation") :]
    rows = re.findall(r"(copy of north|north|south|shuffled|rider) -?\d", table)[: len(NAMES)]
    assert rows[-2:] == ["rider", "shuffled"]
    assert sorted(rows) == sorted(NAMES)
    assert "60 of 60 records of 'copy of north' equal records of 'north'" in text


def trained(members: Any, clients: Any, present: Any, trains: Any) -> Any:
    """Weights of a coalition: federated averaging in a loop over rounds, members and steps."""
    weights = np.zeros(3)
    for here in present:
        sent = []
        for i in members:
            if here[i]:
                X, y = clients[NAMES[i]]
                own = weights.copy()
                for _ in range(STEPS if NAMES[i] in trains else 0):
                    own -= RATE * X.T @ (sigmoid(X @ own) - y) / len(y)
                sent.append(own)
        weights = np.mean(sent, axis=0) if sent else weights
    return weights


def brute_force(clients: Any, score: Any, trains: Any) -> Any:
    """Shapley values by all orders of joining; a coalition is retrained every time."""
    values, orders = np.zeros(len(NAMES)), list(permutations(range(len(NAMES))))
    scores: dict[frozenset[int], float] = {}
    for order in orders:
        before = score([np.zeros(3)])
        for k, i in enumerate(order):
            inside = frozenset(order[: k + 1])
            if inside not in scores:
                scores[inside] = score([trained(sorted(inside), clients, PRESENT, trains)])
            values[i] += (scores[inside] - before) / len(orders)
            before = scores[inside]
    return values


def test_the_value_of_a_free_rider_equals_brute_force() -> None:
    """The rider returns the parameters that it received. A fourth feature marks its records."""
    clients, X_val, y_val = task()
    clients["rider"] = records(np.random.default_rng(2), 60)

    def local_update(parameters: Any, X: Any, y: Any, rng: Any) -> Any:
        (weights,) = parameters
        if X[0, 3] == 1:
            return [weights]
        for _ in range(STEPS):
            weights = weights - RATE * X[:, :3].T @ (sigmoid(X[:, :3] @ weights) - y) / len(y)
        return [weights]

    def score(parameters: Any) -> float:
        margins = (2 * y_val - 1) * (X_val @ parameters[0])
        return -float(np.logaddexp(0, -margins).mean())

    marked = {
        name: (np.column_stack([X, np.full(len(y), name == "rider")]), y)
        for name, (X, y) in clients.items()
    }
    found = sb.value(
        marked,
        sb.FederatedUtility.of([np.zeros(3)], local_update, score, rounds=ROUNDS),
        sampling=sb.Fresh(60),  # all records of a client, so that draws are known
        participation=sb.Trace(pd.DataFrame(np.tile(PRESENT, (2, 1)), columns=NAMES), per="round"),
        n_games=2,
        seed=0,
    )
    rider = NAMES.index("rider")
    exact = brute_force(clients, score, set(NAMES) - {"rider"})
    np.testing.assert_allclose(found.games, [exact, exact], rtol=0, atol=1e-12)
    assert exact[rider] < -1e-3  # it slows the training of its coalitions down
    others = brute_force(clients, score, set(NAMES))  # the control: the rider trains
    assert abs(others[rider] - exact[rider]) > 0.05
