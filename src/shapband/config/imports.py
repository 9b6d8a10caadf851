"""Objects of the user's own, named in the file as `module:name`, are imported here."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shapband.checks import one_line
from shapband.errors import InvalidInput
from shapband.secrets import hide, reveal


def load_object(name: str, options: Mapping[str, Any] | None, base: Path, key: str) -> Any:
    """Import an object. A class is called; anything else is called only if there are options.

    Parameters
    ----------
    name : module:name; modules next to the file are found, as next to a script
    options : keyword arguments; secrets in them are read from the environment
    base : the folder of the file
    key : the key of the name in the file, for errors
    """
    parent = key.rpartition(".")[0]
    # Before the import, whose error may repeat a secret.
    arguments = reveal(dict(options or {}), f"{parent}.options")
    found = _find(name, base, key)
    if options is None and not isinstance(found, type):
        return found
    if not callable(found):
        raise InvalidInput(
            f"{key}: {name} is a {type(found).__name__}, which takes no options: leave them out"
        )
    try:
        return found(**arguments)
    except Exception as cause:
        raise InvalidInput(f"{key}: {name} could not be called ({_reason(cause)})") from cause


def _find(name: str, base: Path, key: str) -> Any:
    module_name, _, path = name.partition(":")
    if str(base) not in sys.path:
        sys.path.insert(0, str(base))
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as cause:
        raise InvalidInput(
            f"{key}: the module {module_name} cannot be imported ({_reason(cause)})"
        ) from cause
    for part in path.split("."):
        if not hasattr(found, part):
            raise InvalidInput(f"{key}: the module {module_name} has no {path}")
        found = getattr(found, part)
    return found


def _reason(cause: Exception) -> str:
    return hide(f"{type(cause).__name__}: {one_line(cause)}")
