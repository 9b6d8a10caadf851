"""Federated utilities keep the rules of utilities, have the same bits everywhere, and refuse."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler
from tests.federated_loop import loop_table
from tests.utilities.test_federated import LABELS, SCORES, both, games_of, task

import shapband as sb
from shapband.app.config.config import Config
from shapband.coalitions import mask_rows
from shapband.errors import EvaluationError, InvalidInput, RunError
from shapband.utilities.rows import rows_kept


def providers_of(clients: Any) -> list[sb.Provider]:
    return [sb.Provider(f"client {at}", sb.ArraySource(*one)) for at, one in enumerate(clients)]


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("model", LABELS)
def test_the_utility_keeps_the_rules_of_utilities(model, rounds):
    clients, X, y = task(model, 4, sizes=9)
    utility, _ = both(model, X, y, rounds=rounds, momentum=0.2)
    sb.testing.check_utility(utility, clients)


@pytest.mark.parametrize("model", LABELS)
def test_a_coalition_has_the_same_bits_alone_and_among_others(model):
    clients, X, y = task(model, 5, sizes=[3, 8, 1, 6, 4])
    for rounds in (1, 3):
        utility, _ = both(model, X, y, rounds=rounds)
        games = games_of(utility, clients)
        table = utility.evaluate_all(games)[0]
        for mask in (1, 6, 21, 31):
            assert utility.evaluate(games[0], [mask])[0] == table[mask]
        masks = np.random.default_rng(0).permutation(np.arange(1, 32))
        inside = mask_rows(masks.tolist(), 5)
        rows = utility.evaluate_rows(games, inside, np.zeros(31, dtype=np.int64))
        np.testing.assert_array_equal(rows, table[masks])


@pytest.mark.parametrize(("model", "rounds"), [("linear", 1), ("logistic", 3), ("network", 2)])
def test_chunks_threads_and_later_games_have_the_same_bits(model, rounds):
    clients, X, y = task(model, 4, sizes=30, rows=40)
    utility, _ = both(model, X, y, rounds=rounds)
    given = {"sampling": sb.Fresh(9), "n_games": 14, "seed": 2}
    for solver in (sb.Exact(), sb.Permutation(3)):
        whole = sb.value(providers_of(clients), utility, solver=solver, **given)
        for other in ({"chunk_size": 1}, {"chunk_size": 5}, {"n_jobs": 2}):
            part = sb.value(providers_of(clients), utility, solver=solver, **given, **other)
            np.testing.assert_array_equal(part.games, whole.games)
            np.testing.assert_array_equal(part.error, whole.error)


def test_errors_cover_the_validation_rows():
    clients, X, y = task("logistic", 3, sizes=30, rows=60)
    utility, _ = both("logistic", X, y, rounds=3)
    given = {"sampling": sb.Fresh(9), "n_games": 20, "seed": 2}
    free = sb.value(providers_of(clients), utility, **given)
    fixed = sb.value(providers_of(clients), utility, fixed_validation=True, **given)
    assert (free.error["standard_error"] > fixed.error["standard_error"]).all()
    assert "errors of expectations cover their choice, errors of variances do not" in str(free)


def test_the_result_names_the_model_the_score_and_the_empty_coalition():
    clients, X, y = task("logistic", 2, sizes=20)
    utility = sb.FederatedUtility("logistic", X, y, rounds=2)
    text = str(sb.value(providers_of(clients), utility, sampling=sb.Fresh(9), n_games=3, seed=0))
    assert "federated logistic regression, 2 rounds scored by accuracy" in text
    assert "(the initial model)" in text


def test_one_round_is_mergeable_and_several_are_not():
    _, X, y = task("linear", 2)
    one, two = (sb.FederatedUtility("linear", X, y, rounds=rounds) for rounds in (1, 2))
    assert (one.mergeable, two.mergeable) == (True, False)
    assert one.operations(10) < two.operations(10)
    assert (one.exact_up_to, two.exact_up_to) == (11, 10)
    long = sb.FederatedUtility("linear", X, y, rounds=20, local_steps=1000)
    assert long.exact_up_to == 8
    assert one.summary_floats(500) == 1 + 4
    assert two.summary_floats(500) == 500 * 4


def test_many_coalitions_are_trained_in_blocks(monkeypatch):
    clients, X, y = task("logistic", 8)
    utility, _ = both("logistic", X, y, rounds=2)
    games = games_of(utility, clients)
    whole = utility.evaluate_all(games)
    monkeypatch.setattr("shapband.utilities.federated.evaluation._AT_ONCE", 1)
    np.testing.assert_array_equal(utility.evaluate_all(games), whole)


def test_twelve_clients_and_one_client_equal_the_loop():
    for n in (1, 12):
        clients, X, y = task("logistic", n, sizes=4, rows=9)
        utility, loop = both("logistic", X, y, rounds=2, local_steps=1)
        found = utility.evaluate_all(games_of(utility, clients))[0]
        some = np.random.default_rng(0).integers(0, 2**n, 40) if n > 1 else np.arange(2)
        for mask in some.tolist():
            places = [i for i in range(n) if mask >> i & 1]
            here = np.ones((2, len(places)), bool)
            last = loop.train([clients[i] for i in places], here, 3)[-1]
            expected = loop.score(last, X, y, "neg_log_loss")
            assert found[mask] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("case", range(12))
def test_odd_data_equals_the_loop(case):
    """Single records, one label, copies, constant and huge features, and unequal draws."""
    rng = np.random.default_rng(case)
    model = list(LABELS)[case % 4]
    rounds, n = int(rng.choice([1, 2, 6])), int(rng.integers(1, 4))
    clients, X, y = task(model, n, rng.integers(1, 9, n), int(rng.integers(2, 10)), seed=case)
    scale = float(rng.choice([1.0, 1e-6, 1e3]))
    X = X * scale
    clients = [(own * scale, targets) for own, targets in clients]
    if case % 3 == 0:
        clients[0] = clients[0][0], np.full_like(clients[0][1], clients[0][1][0])
    if case % 3 == 1:
        clients.append(clients[0])
    if case % 3 == 2:
        clients[0][0][:, 0] = 7.0 * scale
    given = {
        "rounds": rounds,
        "local_steps": int(rng.integers(1, 4)),
        "learning_rate": 0.2 / max(scale, 1.0) ** 2,
        "momentum": float(rng.choice([0.0, 0.9])),
        "proximal": float(rng.choice([0.0, 2.0])),
        "aggregation": str(rng.choice(["records", "evenly"])),
    }
    utility, loop = both(model, X, y, **given)
    here = rng.random((rounds, len(clients))) < 0.7
    games = utility.with_presence(games_of(utility, clients), here[None])
    expected = loop_table(loop, clients, X, y, SCORES[model][0], here)[-1]
    np.testing.assert_allclose(utility.evaluate_all(games)[0], expected, rtol=1e-10, atol=1e-10)


def test_errors_that_cancel_keep_their_digits():
    """Two clients with opposite targets make a mean model that is nearly right."""
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(30, 2)), rng.normal(size=(12, 2))
    y, far = 1e-7 * X[:, 0], 1e6 * A[:, 1]
    clients = [(A, 1e-7 * A[:, 0] + far), (A, 1e-7 * A[:, 0] - far)]
    utility, loop = both("linear", X, y, score="neg_mse", rounds=1, local_steps=1)
    expected = loop_table(loop, clients, X, y, "neg_mse")[-1]
    found = utility.evaluate_all(games_of(utility, clients))[0]
    np.testing.assert_allclose(found[3], expected[3], rtol=1e-2)  # the loop has cancelled, too
    assert -1e-12 < found[3] < 0.0
    assert (found[1:3] < -1e6).all()


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("model", ["linear", "network"])
def test_training_that_diverges_names_the_coalition_and_the_remedy(model, rounds):
    clients, X, y = task(model, 3, sizes=20)
    clients[1] = clients[1][0] * 1e90, clients[1][1]
    rate = 1e10
    utility, _ = both(model, X, y, rounds=rounds, learning_rate=rate, local_steps=8, momentum=0.5)
    given = {"sampling": sb.Fresh(9), "n_games": 3, "seed": 0, "solver": sb.Exact()}
    with pytest.raises(EvaluationError, match=r"coalition.*client.*smaller learning_rate"):
        sb.value(providers_of(clients), utility, **given)


def test_a_logistic_model_with_huge_steps_has_a_finite_score():
    clients, X, y = task("logistic", 3, sizes=9)
    for score in SCORES["logistic"]:
        utility, _ = both("logistic", X, y, learning_rate=1e6, score=score)
        assert np.isfinite(utility.evaluate_all(games_of(utility, clients))).all()


def test_embed_is_applied_to_records_and_rows():
    clients, X, y = task("logistic", 3, sizes=9)
    X = X * 100.0 + 3.0
    clients = [(own * 100.0 + 3.0, labels) for own, labels in clients]
    scaler = StandardScaler().fit(X)
    utility, _ = both("logistic", scaler.transform(X), y)
    embedded = sb.FederatedUtility("logistic", X, y, score="neg_log_loss", embed=scaler)
    ready = [(scaler.transform(own), labels) for own, labels in clients]
    found = embedded.evaluate_all(games_of(embedded, clients))
    np.testing.assert_array_equal(found, utility.evaluate_all(games_of(utility, ready)))


def test_labels_may_be_strings():
    clients, X, y = task("softmax", 3)
    words = np.array(["low", "middle", "top"])
    utility, _ = both("softmax", X, y)
    named = sb.FederatedUtility("softmax", X, words[y], score="neg_log_loss")
    own = [(records, words[labels]) for records, labels in clients]
    np.testing.assert_array_equal(
        named.evaluate_all(games_of(named, own)), utility.evaluate_all(games_of(utility, clients))
    )
    assert named.labels == words.tolist()


def test_the_empty_coalition_is_worth_what_the_user_says():
    _, X, y = task("linear", 2)
    assert sb.FederatedUtility("linear", X, y, score="neg_mse", empty=2).empty == 2.0
    initial = sb.FederatedUtility("linear", X, y, score="neg_mse")
    assert initial.empty == pytest.approx(-np.mean(y**2))
    baseline = sb.FederatedUtility("linear", X, y, score="neg_mse", empty="baseline")
    assert baseline.empty == pytest.approx(-np.var(y))
    assert baseline.baseline
    rows = rows_kept(len(y))[0]
    assert initial.on_rows(rows).empty == pytest.approx(-np.mean(y[rows] ** 2))


def test_a_utility_with_a_memory_can_be_pickled():
    clients, X, y = task("logistic", 2)
    utility, _ = both("logistic", X, y)
    again = pickle.loads(pickle.dumps(utility.after_rounds().whole))  # noqa: S301  our own
    games = games_of(utility, clients)
    np.testing.assert_array_equal(again.evaluate_all(games), utility.evaluate_all(games))


ROWS = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"model": "tree"}, 'model must be one of "linear", "logistic".*received \'tree\''),
    ({"rounds": 0}, "rounds must be a whole number of at least 1; received 0"),
    ({"local_steps": 1.5}, "local_steps must be a whole number"),
    ({"learning_rate": 0}, "learning_rate must be above 0; received 0"),
    ({"learning_rate": float("nan")}, "learning_rate must be a finite number"),
    ({"aggregation": "mean"}, 'aggregation must be one of "records", "evenly"; received \'mean\''),
    ({"proximal": -1}, "proximal must be at least 0"),
    ({"momentum": 1.0}, "momentum must be below 1; received 1.0"),
    ({"records_per": "step"}, 'records_per must be one of "game", "round"'),
    ({"hidden": (4,)}, 'hidden is for model="network".*leave it out'),
    ({"model": "network", "hidden": 4}, "hidden must be a sequence"),
    ({"model": "network", "hidden": ()}, "hidden must be a sequence"),
    ({"model": "network", "seed": -1}, "seed must be a whole number of at least 0"),
    ({"score": "r2"}, "score must be one of accuracy"),
    ({"model": "linear", "score": "accuracy"}, "score must be one of inverse_mse"),
    ({"empty": "initial"}, 'empty must be a finite number, or "baseline"'),
    (
        {"y_val": [0, 0, 0, 0]},
        'model="logistic" needs two labels in y_val; received 1: validate on both',
    ),
    ({"y_val": [0, 1, 2, 0]}, '.*received 3: use model="softmax"'),
    ({"model": "softmax", "y_val": [3, 3, 3, 3]}, ".*needs two or more labels"),
    ({"embed": StandardScaler}, "embed must be a fitted transformer"),
]


@pytest.mark.parametrize(("changed", "message"), MISTAKES, ids=[str(m[0]) for m in MISTAKES])
def test_a_mistake_names_the_argument_and_the_remedy(changed, message):
    given: dict[str, Any] = {"model": "logistic", "X_val": ROWS[0], "y_val": ROWS[1]} | changed
    with pytest.raises(InvalidInput, match=f"FederatedUtility: {message}"):
        sb.FederatedUtility(**given)


def test_a_label_that_y_val_lacks_is_refused():
    clients, X, y = task("logistic", 2, sizes=9)
    clients[1][1][3] = 5
    utility, _ = both("logistic", X, y)
    with pytest.raises(InvalidInput, match=r"'client 1'.*label '5.*validate on all labels"):
        sb.value(providers_of(clients), utility, sampling=sb.Fresh(3), n_games=2, seed=0)


@pytest.mark.parametrize("sampling", [sb.Fresh(8), sb.Pooled(16, 8)], ids=repr)
def test_a_draw_that_cannot_be_cut_into_rounds_is_refused_before_a_source_is_asked(sampling):
    _, X, y = task("linear", 2)
    asked = []

    def source(size, rng):
        asked.append(size)
        return rng.normal(size=(size, 3)), rng.normal(size=size)

    utility = sb.FederatedUtility("linear", X, y, rounds=3, records_per="round")
    providers = [sb.Provider(name, sb.FunctionSource(source)) for name in "ab"]
    with pytest.raises(InvalidInput, match=r"multiple of the 3 rounds; received .* 8 .*use 6$"):
        sb.value(providers, utility, sampling=sampling, n_games=2, seed=0)
    assert not asked


@pytest.mark.parametrize(
    ("stock", "rounds", "remedy"),
    [(40, 3, "use 39"), (7, 4, "use 4"), (3, 4, "use at least 4, or fewer rounds")],
)
def test_the_size_that_an_error_suggests_can_be_drawn(stock, rounds, remedy):
    clients, X, y = task("linear", 2, sizes=stock)

    def valued(size: int, rounds: int) -> sb.Valuation:
        utility = sb.FederatedUtility("linear", X, y, rounds=rounds, records_per="round")
        sampling = sb.Fresh(size)
        return sb.value(providers_of(clients), utility, sampling=sampling, n_games=2, seed=0)

    with pytest.raises(InvalidInput, match=f"a draw of {stock} records: {remedy}$"):
        valued(stock, rounds)
    if "fewer" in remedy:
        assert valued(stock, stock).n_games == 2
    else:
        assert valued(int(remedy.removeprefix("use ")), rounds).n_games == 2


def test_a_run_is_extended_by_the_same_utility_and_refused_for_another(tmp_path):
    clients, X, y = task("logistic", 3, sizes=20)
    given: dict[str, Any] = {"sampling": sb.Fresh(6), "seed": 1, "run": tmp_path / "run"}

    def made(rate: float) -> sb.FederatedUtility:
        return sb.FederatedUtility("logistic", X, y, rounds=2, learning_rate=rate)

    first = sb.value(providers_of(clients), made(0.2), n_games=4, **given)
    longer = sb.value(providers_of(clients), made(0.2), n_games=6, **given)
    np.testing.assert_array_equal(longer.games[:4], first.games)
    with pytest.raises(RunError, match="settings or validation rows of the utility changed"):
        sb.value(providers_of(clients), made(0.3), n_games=8, **given)


def test_a_file_may_describe_the_training():
    text = """
providers = [{ source = { kind = "task", task = "wine" } }]
sampling = { kind = "fresh", n_sample = 6 }
n_games = 3
utility = { kind = "federated", model = "linear", rounds = 3, learning_rate = 0.01, \
            aggregation = "evenly", score = "neg_mse", momentum = 0.5 }
"""
    text = text.replace("\\\n", "")
    found = Config.parse(text).build(Path()).arguments.utility
    task = sb.datasets.wine()
    expected = sb.FederatedUtility(
        "linear", task.X_val, task.y_val, rounds=3, learning_rate=0.01, aggregation="evenly",
        score="neg_mse", momentum=0.5,
    )  # fmt: skip
    assert repr(found) == repr(expected)
    with pytest.raises(InvalidInput, match=r"utility\.aggregation"):
        Config.parse(text.replace("evenly", "mean"))
