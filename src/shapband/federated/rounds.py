"""What is recorded of one round of federated training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from shapband._typing import AnyArray
from shapband.checks import check_kind, check_number, one_line, written
from shapband.errors import InvalidInput

Parameters: TypeAlias = tuple[AnyArray, ...]


@dataclass(frozen=True, eq=False, repr=False)
class RecordedRound:
    """One round of a federated training run, as the server saw it.

    The arrays are copied, so a framework may go on using its own. NaN and infinite numbers are
    kept here, so that recording never ends a training run; `value_recorded` refuses them and names
    the client and the round.

    Parameters
    ----------
    parameters : the arrays of the global model at the start of the round
    updates : name → (arrays of the client's model after its local training, number of records it
        trained on), for each client that was present in the round; empty if nobody was. The arrays
        are whole models, not differences to the global model

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> start = [np.zeros(2), np.zeros(1)]
    >>> north = [np.array([0.5, 0.0]), np.array([0.1])]
    >>> sb.RecordedRound(start, {"north": (north, 60)})
    <RecordedRound: 1 client, 3 parameters in 2 arrays>
    """

    parameters: Sequence[AnyArray]
    updates: Mapping[str, tuple[Sequence[AnyArray], float]]

    def __post_init__(self) -> None:
        parameters = copy_arrays("RecordedRound: parameters", self.parameters)
        check_kind("RecordedRound: updates", self.updates, Mapping, _WANTED)
        updates = {}
        for name, update in self.updates.items():
            if not isinstance(name, str) or not name:
                raise InvalidInput(
                    "RecordedRound: updates: the name of a client must be a non-empty string; "
                    f"received {written(name)}"
                )
            where = f"RecordedRound: updates[{written(name)}]"
            if not isinstance(update, tuple | list) or len(update) != 2:
                raise InvalidInput(
                    f"{where} must be a pair (parameters, n_records); received "
                    f"{type(update).__name__}"
                )
            arrays = copy_arrays(f"{where}: parameters", update[0])
            n_records = check_number(f"{where}: n_records", update[1], above=0)
            updates[name] = (arrays, n_records)
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "updates", MappingProxyType(updates))

    def __repr__(self) -> str:
        clients, arrays = len(self.updates), len(self.parameters)
        size = sum(array.size for array in self.parameters)
        return (
            f"<RecordedRound: {clients} client{'s' * (clients != 1)}, {size:,} "
            f"parameter{'s' * (size != 1)} in {arrays} array{'s' * (arrays != 1)}>"
        )


_WANTED = "a dictionary of (parameters, n_records) by the client's name"


def copy_arrays(name: str, arrays: object) -> Parameters:
    """Copy a list of arrays of numbers, and make the copies read-only."""
    if isinstance(arrays, np.ndarray | str | Mapping) or not isinstance(arrays, Iterable):
        raise InvalidInput(
            f"{name} must be a list of arrays; received {type(arrays).__name__}: pass a list, also "
            "for a single array"
        )
    return tuple(_copy(f"{name}[{at}]", array) for at, array in enumerate(arrays))


def _copy(name: str, array: Any) -> AnyArray:
    try:
        copied = np.array(array)
    except (TypeError, ValueError) as cause:
        raise InvalidInput(f"{name} must be an array of numbers ({one_line(cause)})") from cause
    if copied.dtype.kind not in "fiub":
        raise InvalidInput(
            f"{name} must be an array of real numbers; received the dtype {copied.dtype}"
        )
    copied.flags.writeable = False
    return copied
