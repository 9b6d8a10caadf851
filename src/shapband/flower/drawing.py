"""The draw of a game on its way to a client: row numbers in the messages of the strategy.

A message carries row numbers and no records, so that the app takes the rows of its own data,
wherever they are. Strategies and apps that do not know about it are not disturbed.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from flwr.app import ConfigRecord, Message, RecordDict

from shapband._typing import IntArray
from shapband.checks import check_whole
from shapband.errors import InvalidInput

_KEY, _ROWS = "shapband.draw", "rows"  # the record in a message, and its only entry
_KIND = "<i8"


def draw(message: Message, n_records: int) -> IntArray:
    """Return the rows of its data that a client trains on: the draw of the game.

    Outside of a valuation, and in one without draws, these are all rows.

    Parameters
    ----------
    message : the message that the app received
    n_records : number of records of the client

    Examples
    --------
    In a ClientApp, where `load` is a function of yours::

        @app.train()
        def train(message, context):
            X, y = load(context.node_config["partition-id"])
            rows = shapband.flower.draw(message, len(X))
            X, y = X[rows], y[rows]
            ...

    >>> from flwr.app import RecordDict
    >>> from shapband.flower.drawing import with_draw
    >>> message = type("Message", (), {"content": RecordDict()})()
    >>> draw(message, 3).tolist()
    [0, 1, 2]
    >>> message.content = with_draw(message.content, np.array([4, 2]))
    >>> draw(message, 5).tolist()
    [4, 2]
    """
    check_whole("draw: n_records", n_records, 1)
    sent = message.content.config_records.get(_KEY)
    if sent is None:
        return np.arange(n_records)
    packed = cast(bytes, sent[_ROWS])
    rows = np.frombuffer(packed, dtype=_KIND).astype(np.int64)
    if rows.max() >= n_records:
        raise InvalidInput(
            f"draw: the game drew row {rows.max()}, but the client has n_records={n_records}: "
            "`records` of the valuation must be the numbers of records that clients have"
        )
    return rows


def with_draw(content: RecordDict, rows: IntArray) -> RecordDict:
    """Return the content of a message together with a draw."""
    packed = rows.astype(_KIND).tobytes()
    return RecordDict({**content, _KEY: ConfigRecord({_ROWS: packed})})
