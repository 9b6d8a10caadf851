"""A grid that shows only the nodes of a coalition."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from shapband._typing import IntArray
from shapband.checks import check_kind, nearest, one_line
from shapband.errors import EvaluationError, InvalidInput
from shapband.flower.drawing import with_draw
from shapband.flower.in_process import InProcessGrid

# A strategy that waits for more nodes asks again after a pause, in flwr of one second. The nodes of
# a coalition do not change, so after this many pauses of at least this many seconds it has to end.
_PAUSES, _PAUSE = 2, 0.5


class CoalitionGrid(Grid):
    """A grid that shows a strategy only some of the nodes of another grid.

    ``strategy.start(CoalitionGrid(grid, nodes), initial_arrays)`` is the training of these nodes
    alone, exactly, with any Strategy and any ClientApp. Over an `InProcessGrid` every coalition
    begins with empty states of its nodes. Flower's own grids keep the states of nodes during a run,
    so there the app must not use `context.state`.

    Parameters
    ----------
    grid : an `InProcessGrid`, or the grid that a ServerApp receives
    nodes : the members of the coalition: names of clients of an `InProcessGrid`, or node IDs
    draws : row numbers by member, which `draw` returns in the app; None if the app uses all records
    absent_on_error : what happens if an app raises an exception. False ends the training with an
        error. True passes the reply on to the strategy; those of Flower go on without the client

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
    ...     partition = context.node_config["partition-id"]
    ...     update = ArrayRecord([np.array([10.0 * partition])])
    ...     content = RecordDict({"arrays": update, "metrics": MetricRecord({"num-examples": 1})})
    ...     return Message(content, reply_to=message)
    >>> grid = sf.InProcessGrid(app, ["north", "south", "west"])
    >>> least = {"min_train_nodes": 1, "min_available_nodes": 1}
    >>> strategy = FedAvg(fraction_evaluate=0.0, **least)
    >>> both = sf.CoalitionGrid(grid, ["south", "west"])
    >>> result = strategy.start(both, ArrayRecord([np.zeros(1)]), num_rounds=1)
    >>> result.arrays.to_numpy_ndarrays()[0].tolist()
    [15.0]
    """

    def __init__(
        self,
        grid: Grid,
        nodes: Iterable[str | int],
        *,
        draws: Mapping[str | int, IntArray] | None = None,
        absent_on_error: bool = False,
    ) -> None:
        check_kind("CoalitionGrid: grid", grid, Grid, "an InProcessGrid or another grid of flwr")
        known = grid.nodes if isinstance(grid, InProcessGrid) else {}
        self._grid = grid.fresh() if isinstance(grid, InProcessGrid) else grid
        self._members = {_node(grid, known, member): str(member) for member in _listed(nodes)}
        if known:
            names = {number: name for name, number in known.items()}
            self._members = {number: names[number] for number in self._members}
        self._draws = {_node(grid, known, member): rows for member, rows in (draws or {}).items()}
        self._absent_on_error = absent_on_error
        self._shown = dict(self._members)
        self._goes_on()

    def _goes_on(self) -> None:
        """Note that the strategy works, so that it does not wait for nodes."""
        self._pauses, self._asked = 0, float("inf")

    @property
    def nodes(self) -> dict[str, int]:
        """The node ID of each member, by name."""
        return {name: number for number, name in self._members.items()}

    def show(self, nodes: Iterable[str | int]) -> None:
        """Show only some of the members from now on, such as those present in a round."""
        known = self.nodes
        shown = {_node(self, known, member) for member in _listed(nodes)}
        self._shown = {number: name for number, name in self._members.items() if number in shown}

    def set_run(self, run: Any) -> None:
        """Set the run of the grid."""
        self._grid.set_run(run)

    @property
    def run(self) -> Any:
        """The run of the grid."""
        return self._grid.run

    def get_node_ids(self) -> Iterable[int]:
        """Return the node IDs of the members that are shown, sorted."""
        now = time.monotonic()
        self._pauses += now - self._asked >= _PAUSE
        self._asked = now
        if self._pauses > _PAUSES:
            raise EvaluationError(
                f"CoalitionGrid: the strategy waits for more nodes than the {len(self._shown)} of "
                "the coalition: let it start with one node, such as FedAvg(min_train_nodes=1, "
                "min_evaluate_nodes=1, min_available_nodes=1)"
            )
        return sorted(self._shown)

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """Make a message, as the grid does."""
        return self._grid.create_message(content, message_type, dst_node_id, group_id, ttl)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send messages to members that are shown, with their draws."""
        return self._grid.push_messages(self._sent(messages))

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Return the replies to messages."""
        return self._checked(self._grid.pull_messages(message_ids))

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Send messages to members that are shown, with their draws, and return the replies."""
        return self._checked(self._grid.send_and_receive(self._sent(messages), timeout=timeout))

    def _sent(self, messages: Iterable[Message]) -> list[Message]:
        """Check the recipients, and add the draws."""
        self._goes_on()
        sent = list(messages)
        for message in sent:
            node = message.metadata.dst_node_id
            if node not in self._shown:
                raise EvaluationError(
                    f"CoalitionGrid: the strategy sent a message to node {node}, which the grid did"
                    " not show: it must choose nodes from grid.get_node_ids() in every round"
                )
            if node in self._draws and message.has_content():
                message.content = with_draw(message.content, self._draws[node])
        return sent

    def _checked(self, replies: Iterable[Message]) -> list[Message]:
        """Return the replies as a list; raise the exception of an app unless it is absence."""
        self._goes_on()
        received = list(replies)
        for reply in received:
            if reply.has_error() and not self._absent_on_error:
                node, kind = reply.metadata.src_node_id, reply.metadata.message_type
                raise EvaluationError(
                    f"the app of client {self._members.get(node, str(node))!r} failed in a {kind} "
                    f"message: {one_line(reply.error.reason)} (absent_on_error=True would go on "
                    "without it, as Flower does)"
                ) from (self._grid.raised(reply) if isinstance(self._grid, InProcessGrid) else None)
        return received


def _listed(nodes: Iterable[str | int]) -> list[str | int]:
    if isinstance(nodes, str | bytes) or not isinstance(nodes, Iterable):
        raise InvalidInput(
            "CoalitionGrid: nodes must be a list of names or node IDs; received "
            f"{type(nodes).__name__}"
        )
    return list(nodes)


def _node(grid: Grid, known: Mapping[str, int], member: str | int) -> int:
    """Return the node ID of a member, which must be a node of the grid."""
    if isinstance(member, str):
        if member in known:
            return known[member]
        hint = nearest(member, list(known)) if known else "this grid knows node IDs only"
        raise InvalidInput(f"CoalitionGrid: nodes has {member!r}, which is no client: {hint}")
    numbers = set(known.values()) or set(grid.get_node_ids())
    if member not in numbers:
        raise InvalidInput(f"CoalitionGrid: nodes has {member!r}, which is no node of the grid")
    return member
