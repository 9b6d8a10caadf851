"""Values of the clients of an app equal those of a plain loop, and follow the library's rules."""

import random
import socket
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg

import shapband as sb
import shapband.flower as sf
from shapband.flower.randomness import seeded
from shapband.seeds import Seeds
from tests.flower import plain

SEED = 7


def valued(names=plain.NAMES, **options):
    given = {"num_rounds": plain.ROUNDS, "seed": SEED, "progress": False, **options}
    clients = {name: {"partition-id": plain.NAMES.index(name)} for name in names}
    return sf.value(plain.app, clients, plain.strategy, plain.initial(), plain.score, **given)


def test_values_without_draws_are_those_of_a_plain_loop():
    valuation = valued(deterministic=True, n_games=1)
    np.testing.assert_allclose(valuation.expectation, plain.plain_values(), rtol=0, atol=1e-10)
    assert valuation.names[int(np.argmin(valuation.expectation))] == "west"  # shuffled labels
    assert "trainings on the clients' own records" in str(valuation)
    assert valuation.access.records == 0


def test_values_of_draws_are_those_of_a_plain_loop_on_the_same_rows():
    utility = sf.FlowerUtility(
        plain.app, plain.NAMES, plain.strategy, plain.initial(), plain.score,
        num_rounds=plain.ROUNDS, records=plain.SIZES,
    )  # fmt: skip
    drawn = {}

    class Watched(sb.Fresh):
        def prepare(self, access):
            found = super().prepare(access)
            for game in range(3):
                drawn[game] = [
                    draws.batch.X[draws.rows[0], 0].astype(int)
                    for draws in found.draws(range(game, game + 1))
                ]
            return found

    valuation = sb.value(
        utility.providers, utility, sampling=Watched(12), n_games=3, seed=SEED, progress=False
    )
    for game, rows in drawn.items():
        expected = plain.plain_values(rows)
        np.testing.assert_allclose(valuation.games[game], expected, rtol=0, atol=1e-10)
    assert abs(valuation.games[0] - valuation.games[1]).max() > 1e-3
    direct = valued(records=plain.SIZES, sampling=sb.Fresh(12), n_games=3)
    np.testing.assert_array_equal(direct.games, valuation.games)


@pytest.mark.parametrize(
    "sampling", [None, sb.Pooled(20, 5), sb.Pooled(20, 5, replace=False), sb.Stratified(20, 8, 0.5)]
)
def test_every_sampling_works_and_row_numbers_are_not_taken_for_copies(sampling):
    valuation = valued(records=plain.SIZES, sampling=sampling, n_games=2)
    assert np.isfinite(valuation.expectation).all()
    assert valuation.design.shared_records == ()
    assert "copies" not in str(valuation)


def test_the_result_does_not_depend_on_workers_or_the_order_of_clients():
    names = plain.NAMES[:3]
    records = {name: plain.SIZES[name] for name in names}
    options = {"records": records, "sampling": sb.Fresh(8), "n_games": 3}
    one = valued(names, **options)
    np.testing.assert_array_equal(one.games, valued(names, n_jobs=2, **options).games)
    backwards = valued(names[::-1], **options)
    np.testing.assert_allclose(one.games, backwards.games[:, ::-1], rtol=0, atol=1e-14)


def test_a_run_is_resumed_and_another_app_is_noticed(tmp_path):
    names = plain.NAMES[:2]
    records = {name: plain.SIZES[name] for name in names}
    drawn = {"names": names, "records": records, "sampling": sb.Fresh(8)}
    options = {**drawn, "run": tmp_path / "run"}
    valued(n_games=2, **options)
    more = valued(n_games=4, **options)
    np.testing.assert_array_equal(more.games, valued(n_games=4, **drawn).games)
    np.testing.assert_array_equal(sb.load(tmp_path / "run").valuation.games, more.games)
    with pytest.raises(sb.errors.ShapbandError, match="utility"):
        valued(n_games=4, num_rounds=2, **options)


def test_the_report_names_the_app(tmp_path):
    valuation = valued(records=plain.SIZES, sampling=sb.Fresh(8), n_games=2)
    assert "FedAvg over 4 rounds of a Flower app" in str(valuation)
    valuation.report(tmp_path / "report.html")
    assert "FedAvg over 4 rounds" in (tmp_path / "report.html").read_text("utf-8")


def random_app():
    """An app that adds noise from the global generators, and a draw of the whole."""
    app = ClientApp()

    @app.train()
    def train(message, context):
        start = message.content["arrays"].to_numpy_ndarrays()[0]
        noise = np.random.normal() + random.gauss(0, 1)  # noqa: NPY002
        update = ArrayRecord([start + noise + context.node_config["partition-id"]])
        content = RecordDict({"arrays": update, "metrics": MetricRecord({"num-examples": 1})})
        return Message(content, reply_to=message)

    return app


def mean_of(record):
    return float(record.to_numpy_ndarrays()[0][0])


def random_strategy():
    return FedAvg(
        fraction_train=0.5, fraction_evaluate=0.0, min_train_nodes=1, min_available_nodes=1
    )


def random_value(strategy=random_strategy, **options):
    zero = ArrayRecord([np.zeros(1)])
    given = {"num_rounds": 2, "n_games": 4, "seed": 3, "progress": False, **options}
    return sf.value(random_app(), ["a", "b", "c"], strategy, zero, mean_of, **given)


def test_random_training_is_repeated_by_the_seed_and_leaves_the_generators_alone():
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    one = random_value()
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002
    random.random()  # noqa: S311
    np.testing.assert_array_equal(random_value().games, one.games)
    np.testing.assert_array_equal(random_value(n_jobs=2).games, one.games)
    assert abs(random_value(seed=4).games - one.games).max() > 0.1
    assert abs(one.games[0] - one.games[1]).max() > 0.1  # games differ by training
    assert "are set from the seed" in one.design.setup["training"]


def test_a_client_gets_the_same_random_numbers_in_every_coalition():
    def everybody():
        return FedAvg(fraction_evaluate=0.0, min_train_nodes=1, min_available_nodes=1)

    zero = ArrayRecord([np.zeros(1)])
    utility = sf.FlowerUtility(
        random_app(), ["a", "b", "c"], everybody, zero, mean_of, num_rounds=1
    )
    (game,) = utility.in_games([[None] * 3], ["a", "b", "c"], range(5, 6), Seeds(0))
    alone = utility.evaluate(game, [1, 2, 4])
    assert len(set(alone - [0, 1, 2])) == 3  # each client has a stream of its own
    np.testing.assert_allclose(
        utility.evaluate(game, [3, 7]), [alone[:2].mean(), alone.mean()], rtol=0, atol=1e-12
    )


def test_a_promise_of_determinism_is_checked():
    with pytest.raises(sb.errors.InvalidInput, match="deterministic must be False"):
        random_value(deterministic=True, n_games=1)
    with pytest.raises(sb.errors.InvalidInput, match="n_games"):
        random_value(n_games=1)


def test_clients_that_come_and_go_by_game():
    presence = sb.Trace(np.array([[1, 1, 0, 1], [0, 1, 1, 0]], dtype=bool))
    valuation = valued(participation=presence, n_games=2)
    for game, there in enumerate([(0, 1, 3), (1, 2)]):

        def v(places, there=there):
            inside = tuple(there[place] for place in places)
            model = plain.plain_training(inside)[-1] if inside else plain.INITIAL
            return plain.log_loss(model)

        expected = np.zeros(4)
        expected[list(there)] = plain.shapley(v, len(there))
        np.testing.assert_allclose(valuation.games[game], expected, rtol=0, atol=1e-10)


def test_clients_that_come_and_go_by_round_and_values_of_rounds():
    presence = sb.Independent(0.6, per="round")
    valuation = valued(participation=presence, by_round=True, n_games=2)
    masks = presence.simulate(plain.NAMES, plain.ROUNDS, SEED, n_games=2).to_numpy()
    totals = np.zeros((plain.ROUNDS, 4))
    for game, mask in enumerate(masks.reshape(2, plain.ROUNDS, 4)):
        expected = plain.plain_values(present=mask)
        np.testing.assert_allclose(valuation.games[game], expected, rtol=0, atol=1e-10)
        for number in range(plain.ROUNDS):

            def v(places, mask=mask, number=number):
                models = [plain.INITIAL, *plain.plain_training(places, present=mask)]
                return plain.log_loss(models[number + 1]) - plain.log_loss(models[number])

            totals[number] += plain.shapley(v, 4) / 2
    np.testing.assert_allclose(valuation.by_round.expectation, totals, rtol=0, atol=1e-10)


def utility_of_task(**options):
    return sf.FlowerUtility(
        plain.app, plain.NAMES, plain.strategy, plain.initial(), plain.score,
        num_rounds=plain.ROUNDS, **options,
    )  # fmt: skip


def test_presence_in_rounds_is_that_of_a_plain_loop_also_if_nobody_is_there():
    utility = utility_of_task()
    rng = np.random.default_rng(2)
    present = rng.random((3, plain.ROUNDS, 4)) < 0.4
    present[0, 1] = False  # a round without anybody
    present[1] = False  # a game without anybody
    games = utility.with_presence([[None] * 4] * 3, present)
    for game, mask in zip(games, present, strict=True):
        found = utility.evaluate(game, range(1, 16))
        for coalition in range(1, 16):
            inside = [i for i in range(4) if coalition >> i & 1]
            right = plain.log_loss(plain.plain_training(inside, present=mask)[-1])
            assert abs(found[coalition - 1] - right) < 1e-10


def test_scores_after_each_round_come_from_one_training():
    calls = []

    def counted():
        calls.append(1)
        return plain.strategy()

    utility = sf.FlowerUtility(
        plain.app, plain.NAMES, counted, plain.initial(), plain.score, num_rounds=plain.ROUNDS
    )
    calls.clear()
    folded = utility.after_rounds()
    game = [None] * 4
    whole = folded.whole.evaluate(game, [5, 15])
    parts = np.array([part.evaluate(game, [5, 15]) for part in folded.parts])
    assert len(calls) == 2
    for column, places in enumerate([(0, 2), (0, 1, 2, 3)]):
        expected = [plain.log_loss(model) for model in plain.plain_training(places)]
        np.testing.assert_allclose(parts[:, column], expected, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(parts[-1], whole)
    np.testing.assert_array_equal(whole, utility.evaluate(game, [5, 15]))
    folded.forget()
    folded.parts[0].evaluate(game, [5])
    assert len(calls) == 2 + 2 + 1


def broken_app(fails):
    app = ClientApp()

    @app.train()
    def train(message, context):
        if fails(context.node_config["partition-id"], message.content["config"]["server-round"]):
            raise ConnectionError("gone")
        return plain.train(message, context)

    return app


def test_an_app_that_fails_ends_the_valuation_unless_failing_is_absence():
    app = broken_app(lambda place, number: place == 1 and number == 2)
    given = (app, plain.NAMES, plain.strategy, plain.initial(), plain.score)
    options = {"num_rounds": plain.ROUNDS, "progress": False, "deterministic": True, "n_games": 1}
    with pytest.raises(
        sb.errors.ShapbandError,
        match=r"south.* could not be evaluated: the app of client 'south' failed in a train .*gone",
    ):
        sf.value(*given, **{**options, "deterministic": False, "n_games": 2})
    valuation = sf.value(*given, absent_on_error=True, **options)
    present = np.ones((plain.ROUNDS, 4), dtype=bool)
    present[1, 1] = False
    expected = plain.plain_values(present=present)
    np.testing.assert_allclose(valuation.expectation, expected, rtol=0, atol=1e-10)


def lone_strategy():
    return FedAvg()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"app": "app"}, "app must be a ClientApp or a Grid"),
        ({"strategy": plain.strategy()}, "strategy must be a function"),
        ({"strategy": dict}, "strategy must be a function that returns a new Strategy"),
        ({"strategy": lone_strategy}, r"min_train_nodes=2.*use FedAvg\(min_train_nodes=1"),
        ({"initial_arrays": [np.zeros(1)]}, "initial_arrays must be an ArrayRecord"),
        ({"score": 3}, "score must be a function"),
        ({"num_rounds": 0}, "num_rounds must be a whole number of at least 1"),
        ({"records": {"north": 3}}, "records must have the number of records of client 'south'"),
        ({"records": {**plain.SIZES, "est": 3}}, "records has 'est', which is no client"),
        ({"records": {**plain.SIZES, "west": 0}}, r"records\['west'\] must be a whole number"),
        ({"sampling": sb.Fresh(3)}, "sampling must be left out without records"),
        ({"empty": np.nan}, "empty must be a finite number"),
        ({"absent_on_error": 1}, "absent_on_error must be True or False"),
        ({"deterministic": None}, "deterministic must be True or False"),
        ({"target": "y"}, "target"),
    ],
)
def test_wrong_arguments_are_named(changed, message):
    given = {
        "app": plain.app, "clients": plain.NAMES, "strategy": plain.strategy,
        "initial_arrays": plain.initial(), "score": plain.score, "n_games": 2,
    }  # fmt: skip
    with pytest.raises(sb.errors.InvalidInput, match=message):
        sf.value(**{**given, **changed})


def test_more_records_than_the_client_has_are_noticed():
    with pytest.raises(sb.errors.ShapbandError, match=r"drew row .* n_records=20"):
        valued(records={**plain.SIZES, "south": 500}, sampling=sb.Fresh(20), n_games=2)


def test_a_provider_that_is_no_client_is_refused():
    others = [sb.Provider("norht", sb.ArraySource([[0.0]], [0.0]))]
    with pytest.raises(sb.errors.InvalidInput, match="did you mean north"):
        sb.value(others, utility_of_task(), sampling=sb.Fresh(1), n_games=2)


def test_a_single_client_has_the_whole_value():
    valuation = valued(["south"], deterministic=True, n_games=1)
    gain = plain.log_loss(plain.plain_training((1,))[-1]) - plain.log_loss(plain.INITIAL)
    assert abs(valuation.expectation[0] - gain) < 1e-12


def test_nothing_is_sent_anywhere(monkeypatch):
    place = "flwr.supercore" if find_spec("flwr.supercore.telemetry") else "flwr.common"
    telemetry = import_module(f"{place}.telemetry")

    def refuse(*given, **named):
        raise AssertionError("something was sent")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(telemetry, "create_event", refuse)
    monkeypatch.setattr(telemetry, "FLWR_TELEMETRY_ENABLED", "1")
    random_value(n_games=2)


def run_python(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)  # noqa: S603
    return done.stdout, done.stderr


def test_flwr_is_imported_only_by_this_package():
    script = (
        "import sys, shapband as sb; sb.value; sb.FederatedUtility; print('flwr' in sys.modules)"
    )
    assert run_python(script) == ("False\n", "")


def test_a_missing_flwr_is_named_with_the_command_that_installs_it():
    _, error = run_python("import sys; sys.modules['flwr'] = None; import shapband.flower")
    last = "ImportError: shapband.flower needs another package: pip install 'shapband[flower]'\n"
    assert error.endswith(last)


@pytest.mark.parametrize("records", [None, 20])
def test_the_utility_keeps_the_rules_of_utilities(records):
    names = ["batch 0", "batch 1", "batch 2"]
    utility = sf.FlowerUtility(
        plain.app, names, plain.strategy, plain.initial(), plain.score, num_rounds=1,
        records=records and dict.fromkeys(names, records),
    )  # fmt: skip
    rows = [sb.Batch(np.array([[3.0], [7.0 + at]]), np.zeros(2)) for at in range(3)]
    sb.testing.check_utility(utility, rows)


def test_pytorch_is_seeded_and_restored_if_it_was_imported(monkeypatch):
    class Torch:
        state = "before"

        def get_rng_state(self):
            return self.state

        def set_rng_state(self, state):
            self.state = state

        def manual_seed(self, seed):
            self.state = seed

    torch = Torch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    seen = []
    for address in [(1, 2), (1, 2), (1, 3)]:
        with seeded(*address):
            seen.append(torch.state)
        assert torch.state == "before"
    assert seen[0] == seen[1] != seen[2]
    assert 0 <= seen[0] < 2**64
