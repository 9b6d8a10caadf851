"""Options and arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _remember_debug(ctx: typer.Context, wanted: bool) -> bool:
    root = ctx.find_root()
    root.obj = wanted or bool(root.obj)
    return wanted


Debug = Annotated[
    bool,
    typer.Option(
        "--debug", callback=_remember_debug, is_eager=True, help="Show the full trace of an error."
    ),
]
ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="The configuration file.")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="The directory of the run.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress and no result.")]
Out = Annotated[
    Path | None, typer.Option(metavar="RUN", help="A new directory to keep the run in.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
