"""Federated values equal those of a plain loop that retrains every coalition."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.federated_loop import Loop, loop_histories, loop_table

import shapband as sb
from shapband.records.draws import Draws
from shapband.utilities.rows import rows_kept

LABELS = {"linear": 0, "logistic": 2, "softmax": 3, "network": 3}
SCORES = {
    "linear": ("inverse_mse", "r2", "neg_mse"),
    "logistic": ("neg_log_loss", "accuracy", "neg_brier_score", "roc_auc"),
    "softmax": ("neg_log_loss", "accuracy", "neg_brier_score"),
    "network": ("neg_log_loss", "accuracy", "neg_brier_score"),
}
HIDDEN = (5, 3)


def task(model: str, n: int, sizes: Any = 7, features: int = 3, rows: int = 23, seed: int = 0):
    """Clients with different relations between features and targets, and validation rows."""
    rng = np.random.default_rng(seed)
    sizes = np.broadcast_to(sizes, n)

    def drawn(size: int, turn: float) -> tuple[Any, Any]:
        X = rng.normal(size=(size, features))
        z = X[:, 0] + turn * X[:, 1] + 0.5 * rng.normal(size=size)
        if LABELS[model] == 0:
            return X, z
        return X, np.digitize(z, np.linspace(-1, 1, LABELS[model] - 1)).astype(np.int64)

    clients = [
        drawn(int(size), turn) for size, turn in zip(sizes, np.linspace(-1, 1, n), strict=True)
    ]
    X, y = drawn(rows, 0.3)
    if LABELS[model]:
        y[: LABELS[model]] = np.arange(LABELS[model])
    return clients, X, y


def layers_of(utility: sb.FederatedUtility) -> list[Any]:
    """The first weights of a network, as matrices and intercepts."""
    layers, at, flat = [], 0, utility._trainer.initial
    for wide, high in pairwise(utility._trainer.units.tolist()):
        layer = flat[at : at + high * (wide + 1)].reshape(high, wide + 1)
        layers.append((layer[:, :-1], layer[:, -1]))
        at += high * (wide + 1)
    return layers


def both(model: str, X: Any, y: Any, **settings: Any) -> tuple[sb.FederatedUtility, Loop]:
    """The utility, and the loop with the same settings."""
    score = settings.pop("score", SCORES[model][0])
    own = {"hidden": HIDDEN, "seed": 3} if model == "network" else {}
    utility = sb.FederatedUtility(model, X, y, score=score, **own, **settings)
    layers = layers_of(utility) if model == "network" else []
    return utility, Loop(model, LABELS[model], layers=layers, **settings)


def games_of(utility: sb.Utility, clients: Any) -> Any:
    return utility.summarise_games([Draws.whole(sb.ArraySource(*one).records) for one in clients])


@pytest.mark.parametrize("rounds", [1, 5, 20])
@pytest.mark.parametrize("model", LABELS)
def test_values_equal_those_of_a_loop_that_retrains_every_coalition(model, rounds):
    clients, X, y = task(model, 3 if rounds == 20 else 4)
    trained = None
    for score in SCORES[model]:
        utility, loop = both(model, X, y, score=score, rounds=rounds, learning_rate=0.3)
        trained = trained or [last for *_, last in loop_histories(loop, clients, X.shape[1])]
        expected = np.array([loop.score(last, X, y, score) for last in trained])
        found = utility.evaluate_all(games_of(utility, clients))[0]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10, err_msg=score)
        assert utility.empty == pytest.approx(expected[0], abs=1e-12)


VARIANTS: dict[str, dict[str, Any]] = {
    "evenly": {"aggregation": "evenly"},
    "FedProx": {"proximal": 0.7},
    "momentum": {"momentum": 0.6},
    "all": {"aggregation": "evenly", "proximal": 0.3, "momentum": 0.4, "local_steps": 3},
}


@pytest.mark.parametrize("present", [False, True], ids=["everybody", "some"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("model", LABELS)
def test_every_variant_equals_the_loop_for_unequal_draws(model, variant, present):
    clients, X, y = task(model, 4, sizes=[1, 4, 9, 6])
    for rounds in (1, 3):
        utility, loop = both(model, X, y, rounds=rounds, **VARIANTS[variant])
        here = np.random.default_rng(rounds).random((rounds, 4)) < 0.5
        games, mask = games_of(utility, clients), here if present else None
        if present:
            games = utility.with_presence(games, here[None])
        last = [done[-1] for done in loop_histories(loop, clients, X.shape[1], mask)]
        expected = [loop.score(parameters, X, y, SCORES[model][0]) for parameters in last]
        found = utility.evaluate_all(games)[0]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("model", LABELS)
def test_records_per_round_trains_each_round_on_its_part_of_the_draw(model):
    clients, X, y = task(model, 3, sizes=[5, 10, 15])
    utility, loop = both(model, X, y, rounds=5, records_per="round")
    whole, _ = both(model, X, y, rounds=5)
    expected = loop_table(loop, clients, X, y, SCORES[model][0])[-1]
    found = utility.evaluate_all(games_of(utility, clients))[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    assert np.abs(whole.evaluate_all(games_of(whole, clients))[0] - expected).max() > 1e-3
    assert whole.any_order
    assert not utility.any_order


def test_absent_members_change_values():
    """A control: the masks of the tests above matter."""
    clients, X, y = task("logistic", 3)
    utility, _ = both("logistic", X, y, rounds=3)
    games = games_of(utility, clients)
    here = np.ones((1, 3, 3), bool)
    everybody = utility.evaluate_all(utility.with_presence(games, here))
    np.testing.assert_array_equal(everybody, utility.evaluate_all(games))
    here[0, 1, 2] = False
    changed = utility.evaluate_all(utility.with_presence(games, here))[0] != everybody[0]
    assert changed.tolist() == [False] * 4 + [True] * 4  # coalitions with the third client


def test_nobody_present_leaves_the_initial_model():
    clients, X, y = task("softmax", 3)
    for rounds in (1, 4):
        own = {"rounds": rounds, "score": "neg_log_loss", "empty": 7.0, "momentum": 0.5}
        utility = sb.FederatedUtility("softmax", X, y, **own)
        nobody = np.zeros((1, rounds, 3), bool)
        games = utility.with_presence(games_of(utility, clients), nobody)
        initial = both("softmax", X, y, rounds=rounds)[0].empty
        assert utility.evaluate_all(games)[0].tolist() == [7.0] + [initial] * 7


@pytest.mark.parametrize("model", LABELS)
def test_scores_after_each_round_come_from_one_training(model):
    clients, X, y = task(model, 3)
    utility, loop = both(model, X, y, rounds=4)
    games = games_of(utility, clients)
    here = np.random.default_rng(1).random((1, 4, 3)) < 0.6
    expected = loop_table(loop, clients, X, y, SCORES[model][0], here[0])
    placed = utility.with_presence(games, here)
    folded = utility.after_rounds()
    found = [part.evaluate_all(placed)[0] for part in folded.parts]
    np.testing.assert_allclose(found, expected[1:], rtol=0, atol=1e-10)
    np.testing.assert_array_equal(folded.whole.evaluate_all(placed)[0], found[-1])
    np.testing.assert_array_equal(utility.evaluate_all(placed)[0], found[-1])
    assert len(folded.whole._memory.known) == 1
    folded.forget()
    assert not folded.whole._memory.known


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("model", LABELS)
def test_folds_are_scored_as_a_utility_on_these_rows_is(model, rounds):
    clients, X, y = task(model, 3, rows=40)
    kept = rows_kept(len(y))
    for score in SCORES[model]:
        utility, _ = both(model, X, y, rounds=rounds, score=score)
        games = games_of(utility, clients)
        folded = utility.without_folds(kept)
        np.testing.assert_array_equal(folded.whole.evaluate_all(games), utility.evaluate_all(games))
        for part, rows in zip(folded.parts, kept, strict=True):
            expected = utility.on_rows(rows).evaluate_all(games)
            np.testing.assert_allclose(part.evaluate_all(games), expected, rtol=0, atol=1e-12)


def test_rounds_and_folds_come_from_one_training():
    clients, X, y = task("logistic", 3, rows=40)
    utility, _ = both("logistic", X, y, rounds=3)
    games, kept = games_of(utility, clients), rows_kept(len(y))
    folded = utility.after_rounds().whole.without_folds(kept)
    for place, member in enumerate([folded.whole, *folded.parts]):
        on = utility if place == 0 else utility.on_rows(kept[place - 1])
        for part, alone in zip(member.after_rounds().parts, on.after_rounds().parts, strict=True):
            np.testing.assert_allclose(
                part.evaluate_all(games), alone.evaluate_all(games), rtol=0, atol=1e-12
            )
    assert len(folded.whole._memory.known) == 1
