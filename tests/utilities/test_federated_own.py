"""A model of the user is retrained exactly for every coalition, with seeds by address."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from tests.federated_loop import Loop, loop_table
from tests.utilities.test_federated import games_of, task
from tests.utilities.test_federated_rules import providers_of

import shapband as sb
from shapband.errors import EvaluationError, InvalidInput

RATE, STEPS = 0.3, 4


def local_update(parameters, X, y, rng):
    """Gradient descent for logistic regression, in place."""
    weights, bias = parameters
    for _ in range(STEPS):
        error = 1.0 / (1.0 + np.exp(-(X @ weights + bias))) - y
        weights -= RATE * X.T @ error / len(y)
        bias -= RATE * error.mean()
    X[:] = np.nan  # the records are a copy
    return weights, bias


def noisy_update(parameters, X, y, rng):
    weights, bias = local_update(parameters, X, y, rng)
    return [weights + 0.1 * rng.normal(size=weights.shape), bias]


class LogLoss:
    """The score of logistic regression on validation rows."""

    def __init__(self, X: Any, y: Any) -> None:
        self.X, self.y = X, y

    def __call__(self, parameters: Any) -> float:
        odds = self.X @ parameters[0] + parameters[1]
        parameters[0][:] = np.nan  # the parameters are a copy
        return float(-np.mean(np.log1p(np.exp(np.where(self.y == 1, -odds, odds)))))


def own(X: Any, y: Any, update: Any = local_update, **settings: Any) -> sb.Utility:
    start = [np.zeros(X.shape[1]), np.zeros(())]
    return sb.FederatedUtility.of(start, update, LogLoss(X, y), **settings)


@pytest.mark.parametrize("rounds", [1, 5])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"aggregation": "evenly"},
        {"momentum": 0.5},
        {"records_per": "round"},
        {"aggregation": "evenly", "momentum": 0.9, "records_per": "round"},
    ],
    ids=str,
)
def test_values_equal_those_of_the_compiled_model_and_of_the_loop(rounds, settings):
    clients, X, y = task("logistic", 3, sizes=[5, 10, 15])
    utility = own(X, y, rounds=rounds, **settings)
    given = {"rounds": rounds, "local_steps": STEPS, "learning_rate": RATE} | settings
    compiled = sb.FederatedUtility("logistic", X, y, score="neg_log_loss", **given)
    here = np.random.default_rng(3).random((1, rounds, 3)) < 0.7
    for present in (np.ones_like(here), here):
        found, fast = (
            one.evaluate_all(one.with_presence(games_of(one, clients), present))[0]
            for one in (utility, compiled)
        )
        loop = Loop("logistic", 2, **given)
        expected = loop_table(loop, clients, X, y, "neg_log_loss", present[0])
        np.testing.assert_allclose(found, expected[-1], rtol=0, atol=1e-10)
        np.testing.assert_allclose(fast, expected[-1], rtol=0, atol=1e-10)
        games = utility.with_presence(games_of(utility, clients), present)
        after = [part.evaluate_all(games)[0] for part in utility.after_rounds().parts]
        np.testing.assert_allclose(after, expected[1:], rtol=0, atol=1e-10)
    assert utility.empty == pytest.approx(-np.log(2))


def test_it_keeps_the_rules_of_utilities():
    clients, X, y = task("logistic", 3, sizes=9)
    for update in (local_update, noisy_update):
        sb.testing.check_utility(own(X, y, update, rounds=2), clients)


def test_processes_and_chunks_have_the_same_bits():
    clients, X, y = task("logistic", 3, sizes=20)
    utility = own(X, y, noisy_update, rounds=2)
    given = {"sampling": sb.Fresh(6), "n_games": 5, "seed": 1}
    whole = sb.value(providers_of(clients), utility, **given)
    for other in ({"n_jobs": 2}, {"chunk_size": 3}):
        part = sb.value(providers_of(clients), utility, **given, **other)
        np.testing.assert_array_equal(part.games, whole.games)
    assert "random generator" in str(whole)
    assert "federated training by the function noisy_update, 2 rounds" in str(whole)


def test_random_numbers_are_addressed_by_game_round_and_client():
    """Two clients with the same records, of which one is valued among others in another order."""
    streams: dict[tuple[str, int], set[float]] = {}

    def update(parameters, X, y, rng):
        drawn = rng.random()
        key = str(X[0, 0]), int(parameters[0][1])
        streams.setdefault(key, set()).add(drawn)
        return [np.array([drawn, parameters[0][1] + 1.0])]

    def score(parameters):
        return float(parameters[0][0])

    utility = sb.FederatedUtility.of([np.zeros(2)], update, score, rounds=2)
    sources = {name: sb.ArraySource([[at]], [0.0]) for at, name in enumerate("abc")}
    given = {"sampling": sb.Fresh(1), "n_games": 2, "seed": 4, "solver": sb.Exact()}
    first = sb.value([sb.Provider(*one) for one in sources.items()], utility, **given)
    # One number per game for each client and round, in all seven coalitions.
    assert {len(drawn) for drawn in streams.values()} == {2}
    assert len(streams) == 6
    assert len(set.union(*streams.values())) == 12
    back = sb.value([sb.Provider(n, sources[n]) for n in "cab"], utility, **given)
    np.testing.assert_allclose(back.games[:, [1, 2, 0]], first.games, rtol=0, atol=1e-14)


def test_float32_parameters_keep_their_type():
    seen = []

    def update(parameters, X, y, rng):
        seen.append([one.dtype for one in parameters])
        return [one + 1 for one in parameters]

    start = [np.zeros(2, np.float32), np.zeros(1), np.zeros(1, np.int64)]
    utility = sb.FederatedUtility.of(start, update, lambda p: float(p[0][0]), rounds=2)
    draws = [sb.Batch(np.zeros((2, 1)), np.zeros(2))]
    assert utility.evaluate(draws, [1]).tolist() == [2.0]
    assert seen == [[np.float32, np.float64, np.float64]] * 2


def test_partial_fit_of_scikit_learn():
    clients, X, y = task("logistic", 3, sizes=12)

    def model(parameters: Any) -> Any:
        made = SGDClassifier("log_loss", learning_rate="constant", eta0=0.05, shuffle=False)
        made.partial_fit(X[:2], y[:2], classes=[0, 1])
        made.coef_, made.intercept_ = (one.copy() for one in parameters)
        return made

    def update(parameters, X, y, rng):
        fitted = model(parameters).partial_fit(X, y)
        return [fitted.coef_, fitted.intercept_]

    def score(parameters):
        return model(parameters).score(X, y)

    start = [np.zeros((1, 3)), np.zeros(1)]
    utility = sb.FederatedUtility.of(start, update, score, rounds=3)
    found = utility.evaluate_all(games_of(utility, clients))[0]

    current = [one.copy() for one in start]
    for _ in range(3):
        updates = [update(current, *client, None) for client in clients]
        current = [np.mean([one[p] for one in updates], axis=0) for p in range(2)]
    assert found[-1] == score(current)
    assert found[-1] > utility.empty


def test_a_model_of_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: its example is not run")
    clients, X, y = task("logistic", 2, sizes=8)

    def update(parameters, X, y, rng):
        weights = torch.tensor(parameters[0], requires_grad=True)
        bias = torch.tensor(parameters[1], requires_grad=True)
        optimiser = torch.optim.SGD([weights, bias], lr=RATE)
        for _ in range(STEPS):
            optimiser.zero_grad()
            odds = torch.tensor(X) @ weights + bias
            loss = torch.nn.functional.binary_cross_entropy_with_logits(odds, torch.tensor(y))
            loss.backward()
            optimiser.step()
        return [weights.detach().numpy(), bias.detach().numpy()]

    found, expected = (
        one.evaluate_all(games_of(one, clients))[0] for one in (own(X, y, update), own(X, y))
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def returning(found: Any) -> Any:
    return lambda parameters, X, y, rng: found


WRONG: list[tuple[Any, str]] = [
    (returning(np.zeros(2)), "must return a list of arrays; received an array"),
    (returning(None), "must return a list of arrays; received a NoneType"),
    (returning([np.zeros(2)] * 2), "must return 1 arrays.*received 2"),
    (
        returning([np.zeros(3)]),
        r"must return arrays of the shapes \(2,\); received one of shape \(3,\)",
    ),
    (returning([["a", "b"]]), "must return arrays of numbers"),
    (returning([np.array([1.0, np.nan])]), "returned NaN or infinity.*smaller steps"),
    (lambda parameters, X, y, rng: 1 / 0, "failed: ZeroDivisionError"),
]


@pytest.mark.parametrize(("update", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_wrong_update_is_named_with_its_client_and_round(update, message):
    utility = sb.FederatedUtility.of([np.zeros(2)], update, lambda parameters: 0.0)
    providers = [sb.Provider(name, sb.ArraySource([[1.0]], [0.0])) for name in ("x", "y")]
    pattern = f"coalition .*could not be evaluated: local_update for 'x' in round 1 {message}"
    with pytest.raises(EvaluationError, match=pattern):
        sb.value(providers, utility, sampling=sb.Fresh(1), n_games=2, seed=0)


def test_a_wrong_score_is_named():
    for score, message in (
        (lambda parameters: float(parameters[0][0]) / 0, "score failed: ZeroDivisionError"),
        (lambda parameters: np.inf, "score must return a finite number; received inf"),
        (lambda parameters: "high", "score must return a finite number; received 'high'"),
    ):
        with pytest.raises(InvalidInput, match=f"initial parameters cannot be scored: {message}"):
            sb.FederatedUtility.of([np.zeros(2)], local_update, score)
        utility = sb.FederatedUtility.of([np.zeros(2)], returning([np.ones(2)]), score, empty=0.0)
        draws = [sb.ArraySource([[1.0]], [0.0])] * 2
        with pytest.raises(EvaluationError, match=message):
            sb.value([sb.Provider(n, d) for n, d in zip("ab", draws, strict=True)], utility,
                     sampling=sb.Fresh(1), n_games=2, seed=0)  # fmt: skip


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"initial": np.zeros(2)}, "initial must be a list of arrays.*received an array"),
    ({"initial": []}, "initial must be a list.*received an empty list"),
    ({"initial": [[1.0, np.nan]]}, ".*array 0 holds NaN"),
    ({"initial": [["a"]]}, ".*array 0 is not one"),
    ({"local_update": 3}, r"local_update must be a function local_update\(parameters, X, y, rng\)"),
    ({"score": 3}, "score must be a function"),
    ({"rounds": 0}, "rounds must be a whole number of at least 1"),
    ({"empty": "baseline"}, "empty must be a finite number"),
]


@pytest.mark.parametrize(("changed", "message"), MISTAKES, ids=[str(m[1]) for m in MISTAKES])
def test_a_mistake_names_the_argument(changed, message):
    given = {"initial": [np.zeros(2)], "local_update": local_update, "score": lambda p: 0.0}
    with pytest.raises(InvalidInput, match=rf"FederatedUtility\.of: {message}"):
        sb.FederatedUtility.of(**(given | changed))
