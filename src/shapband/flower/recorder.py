"""A strategy that keeps the updates of the clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from shapband.checks import check_kind
from shapband.errors import InvalidInput
from shapband.federated.rounds import RecordedRound


class Recorder(Strategy):
    """A strategy that does what another one does, and keeps the updates of every round.

    Start it in place of the strategy. `rounds` then has what `value_recorded` needs: the model at
    the start of each round, and the model and the number of records of each client that replied.
    A client that weighs nothing is left out, as it is by the average.

    Parameters
    ----------
    strategy : the strategy to record. The number of records is the entry of a reply's metrics by
        which the strategy weighs clients: its `weighted_by_key`, or "num-examples"
    names : names by node ID; by default the names of an `InProcessGrid` or a `CoalitionGrid`, or
        else "node 123"

    Attributes
    ----------
    rounds : a `RecordedRound` for each round so far

    Examples
    --------
    >>> import numpy as np
    >>> from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    >>> from flwr.clientapp import ClientApp
    >>> from flwr.serverapp.strategy import FedAvg
    >>> import shapband.flower as sf
    >>> app = ClientApp()
    >>> @app.train()
    ... def train(message, context):
    ...     start = message.content["arrays"].to_numpy_ndarrays()[0]
    ...     update = ArrayRecord([start + context.node_config["partition-id"]])
    ...     content = RecordDict({"arrays": update, "metrics": MetricRecord({"num-examples": 60})})
    ...     return Message(content, reply_to=message)
    >>> recorder = sf.Recorder(FedAvg(fraction_evaluate=0.0))
    >>> grid = sf.InProcessGrid(app, ["north", "south"])
    >>> result = recorder.start(grid, ArrayRecord([np.zeros(1)]), num_rounds=2)
    >>> recorder.rounds[1].parameters[0].tolist(), recorder.rounds[1].updates["south"]
    ([0.5], ((array([1.5]),), 60.0))
    """

    def __init__(self, strategy: Strategy, names: Mapping[int, str] | None = None) -> None:
        check_kind("Recorder: strategy", strategy, Strategy, "a Strategy of Flower")
        if type(strategy).start is not Strategy.start:
            raise InvalidInput(
                f"Recorder: strategy must begin with Strategy.start; {type(strategy).__name__} has "
                "a start of its own, which the recorder would not call"
            )
        self.rounds: list[RecordedRound] = []
        self._strategy = strategy
        self._names = dict(names or {})
        self._start: ArrayRecord | None = None

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Keep the model, and let the strategy choose the clients."""
        for name, node in getattr(grid, "nodes", {}).items():
            self._names.setdefault(node, name)
        self._start = ArrayRecord(dict(arrays))  # a strategy may take its own record apart
        return self._strategy.configure_train(server_round, arrays, config, grid)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Keep the updates, and let the strategy aggregate them."""
        received = list(replies)  # an iterator would be empty for the strategy
        start = self._start
        if start is None:
            raise InvalidInput("Recorder: configure_train must come before aggregate_train")
        updates: dict[str, tuple[list[Any], float]] = {}
        for reply in received:
            if reply.has_content():
                name = self._name(reply.metadata.src_node_id)
                weight = self._weight(name, reply)
                if weight > 0:
                    updates[name] = _arrays(name, reply, start), weight
        self.rounds.append(RecordedRound(start.to_numpy_ndarrays(), updates))
        return self._strategy.aggregate_train(server_round, received)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Let the strategy choose the clients."""
        return self._strategy.configure_evaluate(server_round, arrays, config, grid)

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Let the strategy aggregate the metrics."""
        return self._strategy.aggregate_evaluate(server_round, replies)

    def summary(self) -> None:
        """Let the strategy log its settings."""
        self._strategy.summary()

    def _name(self, node: int) -> str:
        return self._names.get(node, f"node {node}")

    def _weight(self, name: str, reply: Message) -> float:
        """The number of records of a client."""
        key = getattr(self._strategy, "weighted_by_key", "num-examples")
        for metrics in reply.content.metric_records.values():
            weight = metrics.get(key)
            if isinstance(weight, int | float):
                return float(weight)
        raise InvalidInput(
            f"Recorder: the reply of {name!r} must have its number of records as {key!r} in a "
            "MetricRecord"
        )


def _arrays(name: str, reply: Message, start: ArrayRecord) -> list[Any]:
    """The arrays of a client's model, in the order of the global model."""
    records = list(reply.content.array_records.values())
    if len(records) != 1 or set(records[0]) != set(start):
        raise InvalidInput(
            f"Recorder: the reply of {name!r} must have one ArrayRecord with the arrays of the "
            f"global model, {', '.join(map(repr, start))}"
        )
    return [records[0][key].numpy() for key in start]
