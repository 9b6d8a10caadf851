"""A grid that runs a ClientApp in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from typing import Any, TypeAlias
from uuid import uuid4

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid

from shapband.checks import check_kind, error_line
from shapband.errors import InvalidInput
from shapband.flower.nodes import Clients, node_configs, node_id

_RUN = 1  # the ID of the only run in this process
_SERVER = 1  # node ID of a ServerApp in Flower

# Called with the name of a client and the number of its message; surrounds the app's work on it.
Around: TypeAlias = Callable[[str, int], AbstractContextManager[object]]


class InProcessGrid(Grid):
    """A grid of clients in this process, without Ray and without a network.

    Every message is given to the ClientApp at once. As in Flower, every node has a `Context` with a
    configuration and a state of its own, the app receives copies, and an exception of the app
    becomes a reply with an error, after which the state is as before. Nothing is sent anywhere, and
    no telemetry either.

    Parameters
    ----------
    client_app : the ClientApp of all clients
    clients : their names, or node configurations by name. Names alone get the configuration of
        Flower's simulation, ``{"partition-id": 0, "num-partitions": 3}`` and so on
    run_config : `context.run_config` in the app
    around : called with the name of a client and the number of its message, 0 for the first;
        returns a context manager in which the app works on the message

    Attributes
    ----------
    nodes : the node ID of each client, by name

    Examples
    --------
    >>> from flwr.app import Message
    >>> from flwr.clientapp import ClientApp
    >>> import shapband.flower as sf
    >>> app = ClientApp()
    >>> @app.query()
    ... def echo(message, context):
    ...     return Message(message.content, reply_to=message)
    >>> grid = sf.InProcessGrid(app, ["north", "south"])
    >>> sorted(grid.nodes)
    ['north', 'south']
    """

    def __init__(
        self,
        client_app: ClientApp,
        clients: Clients,
        *,
        run_config: Mapping[str, Any] | None = None,
        around: Around | None = None,
    ) -> None:
        wanted = "a ClientApp of Flower"
        self._app = check_kind("InProcessGrid: client_app", client_app, ClientApp, wanted)
        self._configs = node_configs("InProcessGrid", clients)
        self._run_config = dict(run_config or {})
        self._around = around or _alone
        self.nodes = {name: node_id(name) for name in self._configs}
        self._names = {number: name for name, number in self.nodes.items()}
        self._contexts = {number: self._context(number) for number in self._names}
        self._received = dict.fromkeys(self._names, 0)
        self._replies: dict[str, Message] = {}
        self._raised: dict[str, Exception] = {}
        self._run: Any = None
        _take_identity()

    def fresh(self, around: Around | None = None) -> InProcessGrid:
        """Return a grid of the same clients with empty states."""
        return InProcessGrid(
            self._app, self._configs, run_config=self._run_config, around=around or self._around
        )

    def set_run(self, run: Any) -> None:
        """Keep the run, for a ServerApp that asks for it."""
        self._run = run

    @property
    def run(self) -> Any:
        """The run that was set."""
        if self._run is None:
            raise RuntimeError("InProcessGrid: no run was set")
        return self._run

    def get_node_ids(self) -> Iterable[int]:
        """Return the node IDs of all clients, sorted."""
        return sorted(self._names)

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """Make a message, as ``Message(...)`` does."""
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Let the app work on each message, and return the IDs by which replies are pulled."""
        numbers = []
        for message in messages:
            if message.metadata.dst_node_id not in self._names:
                raise InvalidInput(
                    f"InProcessGrid: there is no node {message.metadata.dst_node_id}; nodes are "
                    f"{self.nodes}"
                )
            number = _number(message)
            self._replies[number] = self._reply(message)
            numbers.append(number)
        return numbers

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Return the replies to messages, each once."""
        return [self._replies.pop(number) for number in message_ids if number in self._replies]

    def send_and_receive(
        self,
        messages: Iterable[Message],
        *,
        timeout: float | None = None,  # noqa: ARG002  replies are there at once
    ) -> Iterable[Message]:
        """Let the app work on each message, and return the replies in the same order."""
        return self.pull_messages(self.push_messages(messages))

    def raised(self, reply: Message) -> Exception | None:
        """Return the exception of the app behind a reply with an error."""
        return self._raised.get(reply.metadata.reply_to_message_id)

    def _context(self, number: int) -> Context:
        return Context(
            run_id=_RUN,
            node_id=number,
            node_config=dict(self._configs[self._names[number]]),
            state=RecordDict(),
            run_config=dict(self._run_config),
        )

    def _reply(self, message: Message) -> Message:
        """Let the app work on copies, so that neither server nor app changes the other's data."""
        node = message.metadata.dst_node_id
        context = deepcopy(self._contexts[node])
        at, self._received[node] = self._received[node], self._received[node] + 1
        try:
            with self._around(self._names[node], at):
                answer = self._app(deepcopy(message), context)
            if not isinstance(answer, Message):
                raise TypeError(f"the app must reply with a Message, not {type(answer).__name__}")
            reply = deepcopy(answer)
        except Exception as cause:  # noqa: BLE001  an app may raise anything, as in Flower
            error = Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, error_line(cause))
            reply = Message(error, reply_to=message)
            self._raised[message.metadata.message_id] = cause
        else:
            self._contexts[node] = context
        _number(reply)
        return reply


def _alone(name: str, at: int) -> AbstractContextManager[object]:  # noqa: ARG001
    return nullcontext()


def _number(message: Message) -> str:
    """Give a message an ID, as Flower's own grids do: there is no public way."""
    number = message.metadata.__dict__["_message_id"] = str(uuid4())
    return number


def _take_identity() -> None:
    """Give this process the identity of a ServerApp, unless Flower's runtime gave it one.

    Recent versions of flwr refuse to make messages in a process without an identity.
    """
    try:
        from flwr.supercore.task_identity import TaskIdentity
    except ImportError:  # older versions
        return
    for name, number in {"task_id": 1, "run_id": _RUN, "node_id": _SERVER}.items():
        if getattr(TaskIdentity, f"_{name}") is None:
            setattr(TaskIdentity, name, number)
