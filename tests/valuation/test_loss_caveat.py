"""A result says if the model of all providers is worse than v(∅)."""

import numpy as np
import pytest

import shapband as sb
from shapband.valuation.valued import loss_caveat


@pytest.mark.parametrize(
    ("learning_rate", "said"), [(0.3, False), (2.0, True), (4.0, True)], ids=str
)
def test_training_that_diverges_is_told(learning_rate, said):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, -1.0, 0.5]
    clients = {f"c{at}": (X[60 * at : 60 * at + 60], y[60 * at : 60 * at + 60]) for at in range(4)}
    utility = sb.FederatedUtility("linear", X[300:], y[300:], learning_rate=learning_rate)
    found = sb.value(clients, utility, sampling=sb.Fresh(20), n_games=4, seed=0)
    assert ("below v(∅), so that values are shares of a loss" in str(found)) is said
    assert ("pass a smaller learning_rate" in str(found)) is said


def test_a_loss_within_the_error_is_not_told():
    assert loss_caveat({"model": "ridge regression"}, -0.3, 0.4) == []


def test_games_without_a_model_may_have_losses():
    assert loss_caveat({}, -0.3, 0.1) == []
