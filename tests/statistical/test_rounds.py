"""Do 95 % intervals hold if clients come and go in the rounds of training?

Two tasks: a number that is trained in rounds, whose moments over all masks and draws are known, and
federated logistic regression, whose expectation comes from 10,000 games. With 800 valuations of
three clients, whose errors are correlated, the share of intervals that hold has a standard error of
at most 0.8 %, so intervals at 95 % are within 93 to 97 % in 99 of 100 seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.rounds import Drift, small_providers
from tests.test_participation_in_rounds import moments_of_masks

import shapband as sb

HALF = sb.Independent(0.5, per="round")
SEEDS = range(1, 801)


def federated() -> tuple[list[sb.Provider], sb.Utility]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.normal(size=700) > 0
    y[200:300] = rng.permutation(y[200:300])
    stocks = [(f"client {at}", X[100 * at : 100 * at + 100], y[100 * at : 100 * at + 100])
              for at in range(3)]  # fmt: skip
    providers = [sb.Provider(n, sb.ArraySource(x, t, replace=True)) for n, x, t in stocks]
    utility = sb.FederatedUtility(
        "logistic", X[300:], y[300:], rounds=3, local_steps=2, score="neg_log_loss"
    )
    return providers, utility


def held(task: tuple[Any, Any], size: int, truth: Any, participation: Any = HALF) -> float:
    """Share of the 95 % intervals, over many seeds and all clients, that hold."""
    inside = []
    for seed in SEEDS:
        found = sb.value(
            *task, sampling=sb.Fresh(size), participation=participation, n_games=40, seed=seed,
            fixed_validation=True,
        )  # fmt: skip
        low, high = found.interval(0.95).T
        inside.append((low <= truth) & (truth <= high))
    return float(np.mean(inside))


@pytest.mark.long
def test_intervals_hold_for_a_number_trained_in_rounds() -> None:
    truth = moments_of_masks(0.5)[0]
    task = small_providers(), Drift(2)
    assert 0.93 <= held(task, 1, truth) <= 0.97
    assert held(task, 1, truth, sb.Independent(0.5)) < 0.9  # the control: presence per game


@pytest.mark.long
def test_intervals_hold_for_federated_logistic_regression() -> None:
    task = federated()
    known = sb.value(
        *task, sampling=sb.Fresh(15), participation=HALF, n_games=10_000, seed=0,
        fixed_validation=True,
    )  # fmt: skip
    assert 0.93 <= held(task, 15, known.expectation) <= 0.97
    shifted = known.expectation + np.sqrt(known.variance / 40)
    assert held(task, 15, shifted) < 0.9  # the control: a standard error away
