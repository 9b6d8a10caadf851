"""A stand-in for `shapband.runs.run`, used only while that module does not exist.

It plays a run in one go and keeps the configuration and the valuation as two files. It neither
resumes from the middle nor keeps a ledger.
"""

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from shapband.engine import Watch, play
from shapband.errors import ShapbandError
from shapband.runs.config import Config
from shapband.valuation import Valuation

IS_NEEDED = find_spec("shapband.runs.run") is None


def install() -> None:
    """Put the stand-in where the module would be."""
    if IS_NEEDED and "shapband.runs.run" not in sys.modules:
        module = ModuleType("shapband.runs.run")
        module.__dict__.update(start=start, resume=resume, look=look)
        sys.modules["shapband.runs.run"] = module


@dataclass(frozen=True)
class Status:
    state: str
    valuation: Valuation | None


def start(config: Config, base: Path, out: Path, watch: Watch) -> Valuation:
    config.build(base)
    if out.exists():
        raise ShapbandError(f"{out} exists: name a new directory")
    out.mkdir(parents=True)
    (out / "config.toml").write_text(config.text)
    (out / "base").write_text(str(base.resolve()))
    return resume(out, watch)


def resume(run: Path, watch: Watch) -> Valuation:
    found = look(run).valuation
    if found is not None:
        return found
    built = Config.read(run / "config.toml").build(Path((run / "base").read_text()))
    with built.workers() as workers:
        valuation = play(built.plan, workers, watch)
    (run / "valuation.json").write_text(valuation.to_json())
    return valuation


def look(run: Path) -> Status:
    if not (run / "config.toml").exists():
        raise ShapbandError(f"{run} is not the directory of a run")
    file = run / "valuation.json"
    if not file.exists():
        return Status("interrupted", None)
    return Status("finished", Valuation.from_json(file.read_text()))
