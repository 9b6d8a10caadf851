"""The clients of an app: their names, node configurations and node IDs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from shapband.checks import check_kind, described, written
from shapband.errors import InvalidInput

# Names, or names with what a node knows about itself: `context.node_config` in the app.
Clients: TypeAlias = Iterable[str] | Mapping[str, Mapping[str, Any]]

_WANTED = "names of clients, or a dictionary of node configurations by name"


def node_configs(owner: str, clients: Clients) -> dict[str, dict[str, Any]]:
    """Return the node configuration of each client.

    Names alone get the configuration of Flower's simulation: a partition in the order of the names.

    Examples
    --------
    >>> node_configs("value", ["north", "south"])["south"]
    {'partition-id': 1, 'num-partitions': 2}
    >>> node_configs("value", {"north": {"folder": "data/north"}})
    {'north': {'folder': 'data/north'}}
    """
    where = f"{owner}: clients"
    if isinstance(clients, str | bytes) or not isinstance(clients, Iterable):
        raise InvalidInput(f"{where} must be {_WANTED}; received {described(clients)}")
    names = list(clients)
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidInput(
                f"{where}: a name must be a string that is not empty; received {written(name)}"
            )
    if not names or len(set(names)) < len(names):
        raise InvalidInput(f"{where} must have at least one name, each once; received {names!r}")
    if not isinstance(clients, Mapping):
        return {
            name: {"partition-id": at, "num-partitions": len(names)}
            for at, name in enumerate(names)
        }
    for name, config in clients.items():
        check_kind(f"{where}[{name!r}]", config, Mapping, "a dictionary, the node configuration")
    return {name: dict(config) for name, config in clients.items()}


def node_id(name: str) -> int:
    """Return the node ID of a client in this process, which depends on its name alone.

    Strategies sample from the list of node IDs, which is sorted. So the sample does not depend on
    the order in which clients are given.
    """
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1  # at most 63 bits, as in Flower
