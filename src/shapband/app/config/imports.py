"""Import of objects of the user, which the file names as `module:name`."""

from __future__ import annotations

import importlib
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from shapband.app.config.tables import ObjectTable
from shapband.checks import check_kind, error_line
from shapband.errors import InvalidInput
from shapband.secrets import hide, reveal


def load_object(
    name: str,
    options: Mapping[str, Any] | None,
    base: Path,
    key: str,
    wanted: Callable[[type], bool],
) -> Any:
    """Import an object. A class is called; anything else is called only if there are options.

    Nothing is called before its type is known to be right: a class must be `wanted`, and a
    function must be the user's own, so that a file cannot have, say, `subprocess:run` called.

    Parameters
    ----------
    name : module:name; modules next to the file, in `base`, are found as next to a script
    options : keyword arguments; secrets in them are read from the environment
    key : the key of the name in the file, for errors
    wanted : whether a class is of the right kind
    """
    parent = key.rpartition(".")[0]
    # Read the secrets before the import, so that they can be hidden in an error of the import.
    arguments = reveal(dict(options or {}), f"{parent}.options")
    found = _find(name, base, key)
    if options is None and not isinstance(found, type):
        return found
    if isinstance(found, type) and not wanted(found):
        raise InvalidInput(f"{key}: {name} is a class of another kind, and is not called")
    if not callable(found):
        raise InvalidInput(
            f"{key}: {name} is a {type(found).__name__}, which takes no options: leave them out"
        )
    if not isinstance(found, type) and not _is_beside(found, base):
        raise InvalidInput(
            f"{key}: {name} is not a class of the right kind, and only functions in modules beside "
            f"the file, in {base}, are called"
        )
    try:
        return found(**arguments)
    except (Exception, SystemExit) as cause:
        raise InvalidInput(
            f"{key}: {name} could not be called ({hide(error_line(cause))})"
        ) from cause


def make_object(table: ObjectTable, wanted: type[Any], key: str, base: Path) -> Any:
    """Import an object of the user, and check that it is of the wanted class."""
    made = load_object(
        table.object, table.options, base, f"{key}.object", lambda kind: issubclass(kind, wanted)
    )
    name = wanted.__name__
    rule = f"a {name}, so a class of your own must inherit from shapband.{name}"
    return check_kind(f"{key}.object: {table.object}", made, wanted, rule)


def _is_beside(function: Any, base: Path) -> bool:
    """Whether a function is defined in the folder of the file or below.

    Python itself and installed packages may be below it too, say in the home directory.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    place = Path(code.co_filename).resolve()
    installed = [Path(folder).resolve() for folder in sysconfig.get_paths().values()]
    inside = any(place.is_relative_to(folder) for folder in installed)
    return place.is_relative_to(base) and place.is_file() and not inside


def _find(name: str, base: Path, key: str) -> Any:
    module_name, _, path = name.partition(":")
    if str(base) not in sys.path:
        sys.path.insert(0, str(base))
    try:
        found: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as cause:
        raise InvalidInput(
            f"{key}: the module {module_name} cannot be imported ({hide(error_line(cause))})"
        ) from cause
    for part in path.split("."):
        if not hasattr(found, part):
            raise InvalidInput(f"{key}: the module {module_name} has no {path}")
        found = getattr(found, part)
    return found
