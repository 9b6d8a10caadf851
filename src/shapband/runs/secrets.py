"""Secrets: named in the file, read from the environment, and never shown or stored.

Whatever is printed or written to disk about an error goes through `hide`, because the libraries
that secrets are handed to like to repeat them.
"""

from __future__ import annotations

import os
from typing import Any

from shapband.errors import InvalidInput

_SHORTEST = 4  # characters; anything shorter is no secret, and hiding it would garble the text
_revealed: set[str] = set()


def reveal(options: Any, key: str) -> Any:
    """Put the values of environment variables where the options name them.

    Parameters
    ----------
    options : a value of the file; ``{"env": "NAME"}`` stands for a variable, at any depth
    key : where it stands in the file, for errors
    """
    if isinstance(options, list):
        return [reveal(part, f"{key}[{at}]") for at, part in enumerate(options)]
    if not isinstance(options, dict):
        return options
    if set(options) == {"env"}:
        return _variable(options["env"], key)
    return {name: reveal(part, f"{key}.{name}") for name, part in options.items()}


def hide(text: str) -> str:
    """Replace every revealed value in a text by asterisks.

    Examples
    --------
    >>> hide("nothing to hide")
    'nothing to hide'
    """
    for secret in sorted(_revealed, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _variable(name: object, key: str) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"{key}.env: must be the name of an environment variable")
    value = os.environ.get(name)
    if value is None:
        raise InvalidInput(f"{key}: the environment variable {name} is not set: set it")
    if len(value) >= _SHORTEST:
        _revealed.add(value)
    return value
