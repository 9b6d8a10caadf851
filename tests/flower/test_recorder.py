"""A recorder keeps the updates of a run and does not change it."""

import numpy as np
import pytest
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg, FedMedian

import shapband as sb
import shapband.flower as sf
from tests.flower import plain


def test_the_rounds_are_those_of_a_plain_loop_and_the_run_is_unchanged():
    recorder = sf.Recorder(plain.strategy())
    grid = sf.InProcessGrid(plain.app, plain.NAMES)
    result = recorder.start(grid, plain.initial(), num_rounds=plain.ROUNDS)
    models = [plain.INITIAL, *plain.plain_training(range(4))]
    assert len(recorder.rounds) == plain.ROUNDS
    for number, recorded in enumerate(recorder.rounds):
        assert isinstance(recorded, sb.RecordedRound)
        for found, right in zip(recorded.parameters, models[number], strict=True):
            np.testing.assert_allclose(found, right, rtol=0, atol=1e-12)
        assert sorted(recorded.updates) == sorted(plain.NAMES)
        for name, (arrays, n_records) in recorded.updates.items():
            assert n_records == plain.SIZES[name]
            expected = plain.local_steps(models[number], *plain.DATA[plain.NAMES.index(name)])
            for found, right in zip(arrays, expected, strict=True):
                np.testing.assert_allclose(found, right, rtol=0, atol=1e-12)
    for found, right in zip(result.arrays.to_numpy_ndarrays(), models[-1], strict=True):
        np.testing.assert_allclose(found, right, rtol=0, atol=1e-12)


def test_a_strategy_that_takes_the_replies_apart_is_recorded_all_the_same():
    given = {"fraction_evaluate": 0.0}
    recorder = sf.Recorder(FedMedian(**given))
    grid = sf.InProcessGrid(plain.app, plain.NAMES)
    result = recorder.start(grid, plain.initial(), num_rounds=2)
    alone = FedMedian(**given).start(grid.fresh(), plain.initial(), num_rounds=2)
    for one, other in zip(
        result.arrays.to_numpy_ndarrays(), alone.arrays.to_numpy_ndarrays(), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    middle = np.median([update[0] for update, _ in recorder.rounds[0].updates.values()], axis=0)
    np.testing.assert_allclose(recorder.rounds[1].parameters[0], middle, rtol=0, atol=1e-12)


def app_of(reply):
    app = ClientApp()

    @app.train()
    def train(message, context):
        content = reply(context.node_config["partition-id"])
        return Message(content, reply_to=message)

    return app


def content(weight, **arrays):
    record = ArrayRecord({name: sf_array(array) for name, array in arrays.items()})
    return RecordDict({"arrays": record, "metrics": MetricRecord({"num-examples": weight})})


def sf_array(array):
    return ArrayRecord([np.asarray(array)])["0"]


START = {"a": [0.0], "b": [0.0, 0.0]}


def start():
    return ArrayRecord({name: sf_array(array) for name, array in START.items()})


def recorded(reply, names=None, **given):
    recorder = sf.Recorder(FedAvg(fraction_evaluate=0.0, **given), names)
    recorder.start(sf.InProcessGrid(app_of(reply), ["north", "south"]), start(), num_rounds=1)
    return recorder.rounds[0]


def test_arrays_are_in_the_order_of_the_global_model():
    found = recorded(lambda place: content(5, b=[1.0, 2.0], a=[3.0]))
    assert [array.tolist() for array in found.updates["south"][0]] == [[3.0], [1.0, 2.0]]


def test_clients_that_fail_or_weigh_nothing_are_left_out():
    def weightless(place):
        return content(5 * place, a=[1.0], b=[1.0, 1.0])

    assert list(recorded(weightless).updates) == ["south"]

    def failing(place):
        if place == 1:
            raise OSError("gone")
        return content(5, a=[1.0], b=[1.0, 1.0])

    assert list(recorded(failing).updates) == ["north"]


def test_names_can_be_given_and_other_arrays_are_refused():
    numbers = sf.InProcessGrid(plain.app, ["north", "south"]).nodes
    whole = recorded(lambda place: content(1, a=[1.0], b=[1.0, 1.0]), {numbers["south"]: "S"})
    assert sorted(whole.updates) == ["S", "north"]
    with pytest.raises(sb.errors.InvalidInput, match=r"must have one ArrayRecord .* 'a', 'b'"):
        recorded(lambda place: content(1, a=[1.0]))
    with pytest.raises(sb.errors.InvalidInput, match="number of records as 'weight'"):
        recorded(lambda place: content(1, a=[1.0], b=[1.0, 1.0]), weighted_by_key="weight")


def test_wrong_strategies_are_refused():
    with pytest.raises(sb.errors.InvalidInput, match="strategy must be a Strategy"):
        sf.Recorder(FedAvg)

    class Own(FedAvg):
        def start(self, *given, **named):
            return None

    with pytest.raises(sb.errors.InvalidInput, match="Own has a start of its own"):
        sf.Recorder(Own())
