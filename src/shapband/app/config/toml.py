"""Writes a configuration as TOML; tables become inline ones, which any reader takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def to_toml(document: Mapping[str, Any]) -> str:
    """Write a document that `tomllib` reads back as it was.

    Examples
    --------
    >>> print(to_toml({"n_games": 50, "sampling": {"kind": "fresh", "n_sample": 20}}), end="")
    n_games = 50
    sampling = { kind = "fresh", n_sample = 20 }
    """
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in document.items())


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("-", "_").replace("_", "a").isalnum()
    return key if bare else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)  # `inf` and `nan` too
    return str(value.isoformat())  # dates and times


def _text(text: str) -> str:
    """Quote a text. TOML escapes as JSON does, and the character 127 as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
