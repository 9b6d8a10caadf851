"""The program `shapband`, to which the commands are added, and its own options."""

from __future__ import annotations

from typing import Annotated

import typer

from shapband.app.cli.errors import Commands
from shapband.app.cli.options import Debug

app = typer.Typer(
    name="shapband",
    cls=Commands,
    help="What each data provider is worth, and how sure we can be.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from shapband import __version__

        typer.echo(f"shapband {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Debug = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Take the options of all commands; the help is that of the application."""
