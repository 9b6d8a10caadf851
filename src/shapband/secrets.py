"""Secrets: named in the file, read from the environment, and never shown or stored.

Everything that is printed or written to disk about an error goes through `hide`, because libraries
repeat the secrets they are given in their errors: plain, quoted, or line by line.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

from shapband.checks import censors, printable
from shapband.errors import InvalidInput

_SHORTEST = 4  # characters; hiding shorter values would make the text unreadable
_SHORTEST_LINE = 8  # the same for one line of several
_QUOTED: tuple[Callable[[str], str], ...] = (
    lambda text: repr(text)[1:-1],
    lambda text: repr('"' + text)[2:-1],  # inside a text with the other quotes
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: quote(text, errors="surrogateescape"),
    lambda text: quote(text, safe="", errors="surrogateescape"),
    lambda text: quote_plus(text, errors="surrogateescape"),
)
_revealed: set[str] = set()


def reveal(options: Any, key: str) -> Any:
    """Put the values of environment variables where ``{"env": "NAME"}`` stands, at any depth."""
    if isinstance(options, list):
        return [reveal(part, f"{key}[{at}]") for at, part in enumerate(options)]
    if not isinstance(options, dict):
        return options
    if set(options) == {"env"}:
        return _variable(options["env"], key)
    return {name: reveal(part, f"{key}.{name}") for name, part in options.items()}


def hide(text: str) -> str:
    """Replace every revealed value in a text by asterisks, in all its forms.

    Examples
    --------
    >>> hide("nothing to hide")
    'nothing to hide'
    """
    for secret in sorted(_revealed, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


censors.append(hide)


def _variable(name: object, key: str) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"{key}.env: must be the name of an environment variable")
    value = os.environ.get(name)
    if value is None:
        raise InvalidInput(f"{key}: the environment variable {name} is not set: set it")
    if len(value) >= _SHORTEST:
        _revealed.update(_forms(value))
    return value


def _forms(secret: str) -> set[str]:
    """The forms in which a secret may appear in a text."""
    lines = (line.strip() for line in secret.splitlines())
    forms = {secret, *(line for line in lines if len(line) >= _SHORTEST_LINE)}
    for _ in range(2):  # an error may quote another one that quotes the secret
        forms |= {quoted(form) for form in forms for quoted in _QUOTED}
    forms |= {printable(" ".join(form.split())) for form in forms} | _base64_forms(secret)
    return {form for form in forms if len(form) >= _SHORTEST}


def _base64_forms(secret: str) -> set[str]:
    """What base64 makes of a secret, alone or inside a longer text such as ``user:secret``.

    Base64 writes three bytes as four characters, so there are three ways that a text inside
    another may fall; the characters at its ends mix with its neighbours and are left out.
    """
    forms = set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for skipped in range(3):
            data = bytes(skipped) + secret.encode(errors="surrogateescape")
            first = -(-skipped * 8 // 6)  # characters that hold bits of the bytes before
            whole = len(data) * 8 // 6  # characters without bits of the bytes after
            forms.add(encode(data).decode()[first:whole])
        forms.add(encode(secret.encode(errors="surrogateescape")).decode().rstrip("="))
    return forms
