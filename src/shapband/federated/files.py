"""Recorded rounds in a file: NumPy's npz format, without pickled objects."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shapband._typing import AnyArray
from shapband.checks import check_kind, file_error, one_line
from shapband.errors import InvalidInput
from shapband.federated.rounds import RecordedRound

_FORMAT = 1
_LIST = "rounds.json"  # names, numbers of records and numbers of arrays, in the order of rounds


def save_rounds(path: str | os.PathLike[str], rounds: Sequence[RecordedRound]) -> None:
    """Write recorded rounds to a file, whole or not at all.

    Parameters
    ----------
    path : of the file, usually with the ending ``.npz``; an existing file is replaced
    rounds : in the order of training

    Examples
    --------
    >>> import numpy as np, tempfile, shapband as sb
    >>> rounds = [sb.RecordedRound([np.zeros(2)], {"north": ([np.ones(2)], 60)})]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sb.save_rounds(f"{folder}/run.npz", rounds)
    ...     sb.load_rounds(f"{folder}/run.npz")
    [<RecordedRound: 1 client, 2 parameters in 1 array>]
    """
    listed: list[Any] = []
    arrays: dict[str, Any] = {}
    for at, one in enumerate(rounds):
        check_kind(f"rounds[{at}]", one, RecordedRound, "a RecordedRound")
        _add(arrays, f"{at}/global", one.parameters)
        clients = []
        for place, (name, (parameters, n_records)) in enumerate(one.updates.items()):
            _add(arrays, f"{at}/{place}", parameters)
            clients.append([name, n_records, len(parameters)])
        listed.append({"arrays": len(one.parameters), "clients": clients})
    text = json.dumps({"format": _FORMAT, "rounds": listed})
    arrays[_LIST] = np.frombuffer(text.encode(), dtype=np.uint8)
    target = Path(path)
    unfinished = target.with_name(target.name + ".part")
    try:
        with unfinished.open("wb") as file:
            np.savez(file, **arrays)
        unfinished.replace(target)
    except OSError as cause:
        raise InvalidInput(f"save_rounds: {target}: {file_error(cause)}") from cause


def load_rounds(path: str | os.PathLike[str]) -> list[RecordedRound]:
    """Read recorded rounds from a file that `save_rounds` wrote.

    The file is checked: it cannot run code, and a damaged file is refused.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.load_rounds("nothing.npz")
    Traceback (most recent call last):
    ...
    shapband.errors.InvalidInput: load_rounds: nothing.npz: no such file or directory
    """
    try:
        # NumPy would leave a damaged file open.
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            document = json.loads(bytes(stored[_LIST]))
            if document["format"] != _FORMAT:
                raise ValueError(f"its format is {document['format']}, not {_FORMAT}")
            return [
                _round(stored, at, one["arrays"], one["clients"])
                for at, one in enumerate(document["rounds"])
            ]
    except OSError as cause:
        raise InvalidInput(f"load_rounds: {path}: {file_error(cause)}") from cause
    except (ValueError, KeyError, TypeError, IndexError, EOFError, zipfile.BadZipFile) as cause:
        raise InvalidInput(
            f"load_rounds: {path} is not a file that save_rounds wrote ({one_line(cause)})"
        ) from cause


def _add(arrays: dict[str, Any], prefix: str, parameters: Sequence[AnyArray]) -> None:
    arrays.update({f"{prefix}/{k}": array for k, array in enumerate(parameters)})


def _round(stored: Any, at: int, count: int, clients: Sequence[Any]) -> RecordedRound:
    updates = {
        name: ([stored[f"{at}/{place}/{k}"] for k in range(own)], n_records)
        for place, (name, n_records, own) in enumerate(clients)
    }
    return RecordedRound([stored[f"{at}/global/{k}"] for k in range(count)], updates)
