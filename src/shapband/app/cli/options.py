"""Options and arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _remember_debug(ctx: typer.Context, wanted: bool) -> bool:
    root = ctx.find_root()
    root.obj = wanted or bool(root.obj)
    return wanted


def _check_run(run: Path) -> Path:
    """Refuse a directory in which no run was ever begun, before its files are read."""
    if run.is_file() or (run.exists() and any(run.glob("run.db*"))):
        return run  # the run itself reports what is wrong with it
    from shapband.errors import RunError

    found = "which holds no run.db" if run.exists() else "which does not exist"
    raise RunError(
        f"RUN must be the directory of a run; received {run}, {found}: name one that `shapband run "
        "CONFIG --out RUN` or sb.value(..., run=RUN) made"
    )


Debug = Annotated[
    bool,
    typer.Option(
        "--debug", callback=_remember_debug, is_eager=True, help="Show the full trace of an error."
    ),
]
ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="The configuration file.")]
Run = Annotated[
    Path, typer.Argument(metavar="RUN", callback=_check_run, help="The directory of the run.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress and no result.")]
Out = Annotated[
    Path | None, typer.Option(metavar="RUN", help="A new directory to keep the run in.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
