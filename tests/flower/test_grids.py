"""A grid of a coalition trains exactly the coalition, as Flower would."""

import time

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAdam, FedAvg, FedAvgM, FedMedian, FedTrimmedAvg

import shapband as sb
import shapband.flower as sf
from tests.flower import plain


@pytest.mark.parametrize("places", [(0,), (1, 3), (0, 1, 2), (0, 1, 2, 3)])
def test_a_coalition_is_trained_as_a_plain_loop_trains_it(places):
    grid = sf.InProcessGrid(plain.app, plain.NAMES)
    coalition = sf.CoalitionGrid(grid, [plain.NAMES[i] for i in places])
    result = plain.strategy().start(coalition, plain.initial(), num_rounds=plain.ROUNDS)
    expected = plain.plain_training(places)[-1]
    for found, right in zip(result.arrays.to_numpy_ndarrays(), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=0, atol=1e-12)
    others = plain.plain_training((2, 3))[-1]
    assert abs(result.arrays.to_numpy_ndarrays()[0] - others[0]).max() > 1e-3


@pytest.mark.parametrize("kind", [FedAdam, FedAvgM, FedMedian, FedTrimmedAvg])
def test_other_strategies_train_a_coalition_as_if_nobody_else_existed(kind):
    given = {"fraction_evaluate": 0.0, "min_train_nodes": 1, "min_available_nodes": 1}
    of_all = sf.InProcessGrid(plain.app, plain.NAMES)
    first = kind(**given).start(sf.CoalitionGrid(of_all, plain.NAMES[:2]), plain.initial())
    alone = sf.InProcessGrid(
        plain.app, {name: {"partition-id": at} for at, name in enumerate(plain.NAMES[:2])}
    )
    second = kind(**given).start(alone, plain.initial())
    for one, other in zip(
        first.arrays.to_numpy_ndarrays(), second.arrays.to_numpy_ndarrays(), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def counting_app():
    """An app that counts its messages in the state of its node, and tampers with what it gets."""
    app = ClientApp()

    @app.train()
    def train(message, context):
        seen = context.state.get("seen", MetricRecord({"count": 0}))
        context.state["seen"] = MetricRecord({"count": seen["count"] + 1})
        message.content["config"]["tampered"] = True
        message.content["arrays"].clear()
        if context.node_config["partition-id"] == 1 and seen["count"] == 1:
            raise ValueError("out of memory")
        update = ArrayRecord([np.array([float(seen["count"])])])
        metrics = MetricRecord({"num-examples": 1})
        return Message(RecordDict({"arrays": update, "metrics": metrics}), reply_to=message)

    return app


def messages(grid):
    content = RecordDict({"arrays": ArrayRecord([np.zeros(1)]), "config": ConfigRecord()})
    return [Message(content, node, "train") for node in grid.get_node_ids()]


def counts(replies):
    return [reply.content["arrays"].to_numpy_ndarrays()[0][0] for reply in replies]


def test_nodes_keep_their_state_and_share_no_data():
    grid = sf.InProcessGrid(counting_app(), {"a": {"partition-id": 0}, "b": {"partition-id": 0}})
    for number in range(3):
        sent = messages(grid)
        assert counts(grid.send_and_receive(sent)) == [number, number]
        assert "tampered" not in sent[0].content["config"]
        assert len(sent[0].content["arrays"]) == 1


def test_every_coalition_begins_with_empty_states():
    grid = sf.InProcessGrid(counting_app(), ["a"])
    for _ in range(2):
        coalition = sf.CoalitionGrid(grid, ["a"])
        assert counts(coalition.send_and_receive(messages(coalition))) == [0]
        assert counts(coalition.send_and_receive(messages(coalition))) == [1]


def test_an_exception_is_a_reply_with_an_error_and_the_state_is_as_before():
    grid = sf.InProcessGrid(counting_app(), ["a", "b"])
    coalition = sf.CoalitionGrid(grid, ["b"], absent_on_error=True)
    assert counts(coalition.send_and_receive(messages(coalition))) == [0]
    for _ in range(2):  # the count of messages stays 1, so the app fails again
        (reply,) = coalition.send_and_receive(messages(coalition))
        assert reply.has_error()
        assert reply.error.reason == "ValueError: out of memory"


def test_an_exception_ends_the_training_with_an_error_that_names_the_client():
    grid = sf.CoalitionGrid(sf.InProcessGrid(counting_app(), ["a", "b"]), ["a", "b"])
    grid.send_and_receive(messages(grid))
    with pytest.raises(
        sb.errors.EvaluationError,
        match=r"client 'b' failed in a train message: ValueError: out of memory",
    ) as raised:
        grid.send_and_receive(messages(grid))
    assert isinstance(raised.value.__cause__, ValueError)


def test_a_reply_that_is_no_message_is_an_error():
    app = ClientApp()
    app.train()(lambda message, context: None)
    grid = sf.CoalitionGrid(sf.InProcessGrid(app, ["a"]), ["a"])
    with pytest.raises(sb.errors.EvaluationError, match="reply with a Message, not NoneType"):
        grid.send_and_receive(messages(grid))


def test_messages_can_be_pushed_and_pulled_once():
    grid = sf.CoalitionGrid(sf.InProcessGrid(counting_app(), ["a", "b"]), ["a"])
    numbers = list(grid.push_messages(messages(grid)))
    assert counts(grid.pull_messages(numbers)) == [0]
    assert list(grid.pull_messages(numbers)) == []


def test_the_app_sees_its_configurations():
    seen = []
    app = ClientApp()

    @app.query()
    def query(message, context):
        seen.append((dict(context.node_config), dict(context.run_config), context.node_id))
        return Message(RecordDict(), reply_to=message)

    grid = sf.InProcessGrid(app, ["a", "b"], run_config={"rate": 0.1})
    grid.send_and_receive([Message(RecordDict(), grid.nodes["b"], "query")])
    assert seen == [({"partition-id": 1, "num-partitions": 2}, {"rate": 0.1}, grid.nodes["b"])]


def test_a_strategy_that_waits_for_more_nodes_ends_with_a_remedy(monkeypatch):
    pauses = []

    def sleep(seconds):  # a fifth of the time, and so are the pauses that count as waiting
        pauses.append(seconds)
        time.sleep(seconds / 5)

    monkeypatch.setattr("flwr.serverapp.strategy.strategy_utils.sleep", sleep)
    monkeypatch.setattr("shapband.flower.coalition._PAUSE", 0.1)
    grid = sf.CoalitionGrid(sf.InProcessGrid(plain.app, plain.NAMES), plain.NAMES[:1])
    with pytest.raises(sb.errors.EvaluationError, match=r"the 1 of the .* min_available_nodes=1"):
        FedAvg(fraction_evaluate=0.0).start(grid, plain.initial(), num_rounds=1)
    assert pauses == [1, 1, 1]


def test_a_strategy_may_ask_for_nodes_as_often_as_it_likes():
    grid = sf.CoalitionGrid(sf.InProcessGrid(plain.app, plain.NAMES), plain.NAMES)
    for _ in range(1000):
        assert len(list(grid.get_node_ids())) == len(plain.NAMES)


def test_messages_to_other_nodes_are_refused():
    all_nodes = sf.InProcessGrid(counting_app(), ["a", "b"])
    grid = sf.CoalitionGrid(all_nodes, ["a"])
    with pytest.raises(sb.errors.EvaluationError, match=r"which the grid did not show"):
        grid.send_and_receive(messages(all_nodes))
    with pytest.raises(sb.errors.InvalidInput, match="there is no node 17"):
        all_nodes.send_and_receive([Message(RecordDict(), 17, "train")])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda grid: sf.CoalitionGrid(plain.app, ["a"]), "grid must be an InProcessGrid"),
        (lambda grid: sf.CoalitionGrid(grid, "north"), "nodes must be a list of names"),
        (lambda grid: sf.CoalitionGrid(grid, ["nroth"]), "no client: did you mean north"),
        (lambda grid: sf.CoalitionGrid(grid, [17]), "has 17, which is no node"),
        (lambda grid: sf.InProcessGrid("app", ["a"]), "client_app must be a ClientApp"),
        (lambda grid: sf.InProcessGrid(plain.app, "north"), "clients must be names of clients"),
        (lambda grid: sf.InProcessGrid(plain.app, []), "at least one name"),
        (lambda grid: sf.InProcessGrid(plain.app, ["a", "a"]), "each once"),
        (lambda grid: sf.InProcessGrid(plain.app, ["a", ""]), "not empty"),
        (lambda grid: sf.InProcessGrid(plain.app, {"a": 3}), "must be a dictionary"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(sb.errors.InvalidInput, match=message):
        make(sf.InProcessGrid(plain.app, plain.NAMES))


def test_the_strategy_sees_the_same_list_whatever_the_order_of_the_clients():
    one = sf.InProcessGrid(plain.app, plain.NAMES)
    other = sf.InProcessGrid(plain.app, plain.NAMES[::-1])
    assert list(one.get_node_ids()) == list(other.get_node_ids())
