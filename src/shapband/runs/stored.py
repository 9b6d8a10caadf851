"""What a run was begun with, as far as it must be known before the run is resumed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shapband.engine.leaving import LeftOut
from shapband.errors import RunDamaged, RunError
from shapband.runs import database
from shapband.runs.extensions import left_out_by
from shapband.runs.store import RunStore


@dataclass(frozen=True)
class StoredConfig:
    """The configuration that a run was begun from.

    Attributes
    ----------
    text : the file as it was written; secrets are only named in it
    base : the folder that its relative paths start from
    digest : the digest of the manifest of the run; empty before the run is begun
    settings : keys that the command line has extended the run by, with their values as JSON
    left_out : providers that the run goes on without
    """

    text: str
    base: Path
    digest: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    left_out: Sequence[LeftOut] = ()


@dataclass(frozen=True)
class Begun:
    """What must be known of a run before its data are read.

    Attributes
    ----------
    seed : the seed of the run
    held_out : the fraction of every provider's records that is held out, in words, or None
    left_out : providers that the run goes on without
    """

    seed: int
    held_out: str | None
    left_out: tuple[LeftOut, ...]


def begun_with(run: Path) -> Begun | None:
    """What a run was begun with, or None if the directory holds no run yet."""
    if not (run / database.NAME).exists():
        return None
    with RunStore.open(run) as store:
        manifest = store.manifest
        return Begun(
            int(manifest["seed"]),
            manifest["arguments"].get("validation"),
            left_out_by(store.extensions),
        )


def stored_config(run: Path) -> StoredConfig:
    """The configuration of a run, checked against its hash."""
    with RunStore.open(run) as store:
        text, mark = store.manifest["config"], store.manifest["config_sha256"]
        base, digest = store.manifest["base"], store.start
        extensions = store.extensions
    by_python = any(one.settings is None for one in extensions)
    if text is None or by_python:
        raise RunError(
            f"the run {run} was {'begun' if text is None else 'extended'} from Python: call "
            f"value(..., run={str(run)!r}) with the same arguments to resume it"
        )
    if sha256(text) != mark:
        raise RunDamaged(f"the configuration in the run {run} was altered")
    settings = {key: value for one in extensions for key, value in (one.settings or {}).items()}
    return StoredConfig(text, Path(base), digest, settings, left_out_by(extensions))


def sha256(text: str) -> str:
    """The SHA-256 of a configuration."""
    return hashlib.sha256(text.encode()).hexdigest()
