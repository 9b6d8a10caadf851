"""The same training through Flower and through FederatedUtility has the same values."""

import numpy as np
import pytest
from flwr.app import ArrayRecord

import shapband as sb
import shapband.flower as sf
from tests.flower import plain

SEED, GAMES, DRAW = 11, 2, 10


@pytest.fixture(scope="module")
def through_flower():
    zeros = ArrayRecord([np.zeros(3), np.zeros(1)])
    return sf.value(
        plain.app, plain.NAMES, plain.strategy, zeros, plain.score, num_rounds=plain.ROUNDS,
        records=plain.SIZES, sampling=sb.Fresh(DRAW), n_games=GAMES, seed=SEED, progress=False,
    )  # fmt: skip


def through_federated(**changed):
    given = {"rounds": plain.ROUNDS, "local_steps": plain.STEPS, "learning_rate": plain.RATE}
    utility = sb.FederatedUtility(
        "logistic",
        plain.X_VAL,
        plain.Y_VAL.astype(int),
        score="neg_log_loss",
        **{**given, **changed},
    )
    data = {name: (X, y.astype(int)) for name, (X, y) in zip(plain.NAMES, plain.DATA, strict=True)}
    return sb.value(
        data, utility, sampling=sb.Fresh(DRAW), n_games=GAMES, seed=SEED, progress=False,
        solver=sb.Exact(),
    )  # fmt: skip


def test_values_agree_with_federated_utility(through_flower):
    expected = through_federated()
    np.testing.assert_allclose(through_flower.games, expected.games, rtol=0, atol=1e-8)


def test_another_training_would_be_noticed(through_flower):
    other = through_federated(local_steps=plain.STEPS + 1)
    assert abs(through_flower.games - other.games).max() > 1e-3


def test_a_recorded_run_is_valued_from_its_updates():
    recorder = sf.Recorder(plain.strategy())
    grid = sf.InProcessGrid(plain.app, plain.NAMES)
    recorder.start(grid, plain.initial(), num_rounds=1)
    valuation = sb.value_recorded(recorder.rounds, plain.log_loss, method="OR")

    def v(places):
        if not places:
            return plain.log_loss(plain.INITIAL)
        updates = [plain.local_steps(plain.INITIAL, *plain.DATA[i]) for i in places]
        sizes = np.array([plain.SIZES[plain.NAMES[i]] for i in places], dtype=float)
        return plain.log_loss(
            [
                sum(w * u[k] for w, u in zip(sizes / sizes.sum(), updates, strict=True))
                for k in (0, 1)
            ]
        )

    expected = dict(zip(plain.NAMES, plain.shapley(v, 4), strict=True))
    found = dict(zip(valuation.names, valuation.values, strict=True))
    assert found.keys() == expected.keys()
    for name, right in expected.items():
        assert abs(found[name] - right) < 1e-10
