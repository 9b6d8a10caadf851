"""The commented file that `shapband init` writes."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from shapband.errors import InvalidInput

_SCHEMA = "shapband.schema.json"


def write_starter(path: Path) -> None:
    """Write the starter configuration to a new file."""
    schema = Path(str(files("shapband.app.config").joinpath(_SCHEMA)))
    text = files("shapband.app.config").joinpath("starter.toml").read_text(encoding="utf-8")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text.format(schema=schema.as_uri(), file=path.name))
    except FileExistsError as cause:
        raise InvalidInput(
            f"{path} exists and was not changed: name another file, or move it away"
        ) from cause
    except OSError as cause:
        reason = (cause.strerror or str(cause)).lower()
        raise InvalidInput(f"{path} cannot be written: {reason}") from cause
