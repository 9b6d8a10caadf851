"""Configurations that shapband writes: the starter file, and the recommended row of a plan.

The checks of whether a configuration can be planned, or has further draws, are here too.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapband.app.config.parts import SAMPLINGS, SOLVERS
from shapband.checks import file_error
from shapband.errors import InvalidInput

if TYPE_CHECKING:
    from shapband.app.config.config import Config
    from shapband.engine.arguments import Arguments
    from shapband.market.planning.proposals import Proposal
    from shapband.sampling.base import Sampling
    from shapband.sampling.sizes import DrawSize


def write_starter(path: Path) -> None:
    """Write the commented file of `shapband init`."""
    folder = files("shapband.app.config")
    schema = Path(str(folder.joinpath("shapband.schema.json"))).as_uri()
    text = folder.joinpath("starter.toml").read_text(encoding="utf-8")
    write_new(path, text.format(schema=schema, file=path.name), str(path), ", or move it away")


def write_new(path: Path, text: str, name: str, remedy: str = "") -> None:
    """Write a file that does not exist yet; `name` is its name in errors."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as cause:
        raise InvalidInput(
            f"{name} exists and was not changed: name another file{remedy}"
        ) from cause
    except OSError as cause:
        raise InvalidInput(f"{name} cannot be written: {file_error(cause)}") from cause


def draw_size(sampling: Sampling) -> DrawSize:
    """Records that a provider gives to a game, by the sampling of the file."""
    for key in ("n_sample", "n_boot"):
        found = getattr(sampling, key, None)
        if isinstance(found, int | float | Mapping):
            return found
    raise InvalidInput(
        "sampling: a plan needs the records that a provider gives to a game: use a sampling with "
        "n_sample or n_boot"
    )


def check_everybody(given: Arguments) -> None:
    """Refuse settings in which a further draw of a single provider is not defined."""
    for key, part in (("participation", given.participation), ("group", given.grouping)):
        if part is not None:
            raise InvalidInput(
                f"{key}: next-batch is for single providers that take part in every game: use a "
                "file without it"
            )


def local_workers(config: Config) -> int:
    """Number of workers of this machine, whose speed the pilot measures."""
    if not isinstance(config.workers, int):
        raise InvalidInput(
            f'workers: a plan measures this machine, not a cluster; received "{config.workers}": '
            "use a number"
        )
    return config.workers


def planned_text(config: Config, row: Proposal) -> str:
    """Write the configuration with the sampling, solver, games and seed of a row."""
    document = tomllib.loads(config.text)
    document |= {
        "n_games": row.n_games,
        "seed": row.seed,
        "sampling": _table_of(row.sampling, SAMPLINGS),
        "solver": _table_of(row.solver, SOLVERS),
    }
    return "# written by `shapband plan`\n" + to_toml(document)


# The options of `shapband resume` that extend a run, and the keys whose place they take.
_EXTENDED = {
    "games": "n_games",
    "n_pool": "sampling.n_pool",
    "precision": "stop.absolute",
    "seconds": "stop.seconds",
    "max_records": "budget.records",
    "max_requests": "budget.requests",
}
_POOLED = ("pooled", "stratified", "blocks")  # kinds of samplings with n_pool


def settings_of(**options: float | None) -> dict[str, str]:
    """The keys of the configuration that options change, with their values as JSON.

    Examples
    --------
    >>> settings_of(games=60, precision=0.01, seconds=None)
    {'n_games': '60', 'stop.absolute': '0.01'}
    """
    return {
        _EXTENDED[option]: json.dumps(value)
        for option, value in options.items()
        if value is not None
    }


def extended_config(text: str, settings: Mapping[str, str]) -> Config:
    """The configuration of a run that was extended by settings, whose values are JSON."""
    from shapband.app.config.config import Config

    if not settings:
        return Config.parse(text)
    document = tomllib.loads(text)
    for key, value in settings.items():
        number = json.loads(value)
        if key not in _EXTENDED.values() or type(number) not in (int, float):
            raise InvalidInput(f"a run cannot be extended by {key} = {value}")
        *tables, last = key.split(".")
        place = document
        for table in tables:
            place = place.setdefault(table, {})
        place[last] = number
    if "sampling.n_pool" in settings and document["sampling"].get("kind") not in _POOLED:
        raise InvalidInput(
            "--n-pool: the sampling of the run must have pools; it is "
            f"{document['sampling']['kind']!r}: leave --n-pool out, or begin a new run"
        )
    return Config.parse(to_toml(document))


def check_outputs(config: Path, write: Path | None, out: Path | None) -> None:
    """Check, before anything is bought, that a file and a run can be written."""
    if write is not None and write.resolve().parent != config.resolve().parent:
        raise InvalidInput(
            f"--write {write} must be in the folder of {config}, because relative paths in it "
            "start there"
        )
    if write is not None and write.exists():
        raise InvalidInput(f"--write {write} exists and was not changed: name another file")
    if out is not None and out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InvalidInput(f"--out {out} exists: name a new or empty directory")


def to_toml(document: Mapping[str, Any]) -> str:
    """Write a document as TOML; `tomllib` reads the same document back.

    Examples
    --------
    >>> print(to_toml({"n_games": 50, "sampling": {"kind": "fresh", "n_sample": 20}}), end="")
    n_games = 50
    sampling = { kind = "fresh", n_sample = 20 }
    """
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in document.items())


def _table_of(part: Any, kinds: Mapping[str, str]) -> dict[str, Any]:
    """The table of a sampling or a solver."""
    kind = next(kind for kind, name in kinds.items() if type(part).__name__ == name)
    return {"kind": kind, **{field.name: getattr(part, field.name) for field in fields(part)}}


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
        return repr(value)  # TOML writes `inf` and `nan` as Python does
    return str(value.isoformat())  # a date or a time


def _text(text: str) -> str:
    """Quote a string. TOML escapes as JSON does, and the character 127 as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
