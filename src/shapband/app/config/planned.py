"""A configuration as the starting point of a plan, and with what the plan recommends."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from shapband.app.config.config import Config
from shapband.app.config.parts import SAMPLINGS, SOLVERS
from shapband.app.config.toml import to_toml
from shapband.engine.plan import Plan
from shapband.errors import InvalidInput
from shapband.indices import SHAPLEY
from shapband.market.planning.proposals import Proposal
from shapband.sampling.base import Sampling


def draw_size(sampling: Sampling) -> int:
    """Records that a provider gives to a game, by the sampling of the file."""
    for key in ("n_sample", "n_boot"):
        found = getattr(sampling, key, None)
        if isinstance(found, int):
            return found
    raise InvalidInput(
        "sampling: a plan needs the records that a provider gives to a game: use a sampling with "
        "n_sample or n_boot"
    )


def check_plannable(plan: Plan) -> None:
    """Refuse what the pilot's games would not have, so that its promises would be wrong."""
    if plan.participation is not None:
        raise InvalidInput(
            "participation: a plan is for games in which everybody takes part: plan without it, "
            "or see `run --dry-run` for the bill"
        )
    if plan.index != SHAPLEY:
        raise InvalidInput(f"index: a plan is for Shapley values; received {plan.index!r}")
    if plan.grouping is not None:
        raise InvalidInput(
            "group: groups cannot be planned for yet: plan for their providers alone"
        )


def local_workers(config: Config) -> int:
    """Workers of this machine, whose pace the pilot measures."""
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


def write_planned(text: str, path: Path, config: Path) -> None:
    """Write a new file beside the configuration, where its relative paths lead the same way."""
    check_place(path, config)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as cause:
        reason = (cause.strerror or str(cause)).lower()
        raise InvalidInput(f"--write {path} cannot be written: {reason}") from cause


def check_new_run(out: Path) -> None:
    """Check, before anything is bought, that a run can be begun in a directory."""
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InvalidInput(f"--out {out} exists: name a new or empty directory")


def check_place(path: Path, config: Path) -> None:
    """Check, before anything is bought, that the file can be written."""
    if path.resolve().parent != config.resolve().parent:
        raise InvalidInput(
            f"--write {path} must be in the folder of {config}, because relative paths in it "
            "start there"
        )
    if path.exists():
        raise InvalidInput(f"--write {path} exists and was not changed: name another file")


def _table_of(part: Any, kinds: dict[str, type]) -> dict[str, Any]:
    """The table of a sampling or a solver."""
    kind = next(name for name, made in kinds.items() if type(part) is made)
    return {"kind": kind, **{field.name: getattr(part, field.name) for field in fields(part)}}
