"""The command line. Commands import what they need when they run, so that help is instant."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

app = typer.Typer(
    name="shapband",
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
    debug: Annotated[bool, typer.Option(help="Show the full trace of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Take the options of all commands; the help is that of the application."""


@app.command()
def demo(
    games: Annotated[int, typer.Option(min=2, help="Games to play with each method.")] = 200,
) -> None:
    """Value the ten wine providers with pooled draws, and print the valuation."""
    import shapband as sb

    task = sb.datasets.wine()
    valuation = sb.value(
        task.providers, task.utility, sampling=sb.Pooled(n_pool=250, n_boot=60), n_games=games
    )
    typer.echo(str(valuation))


def main() -> None:
    """Run a command; an expected error is one line, with the trace only under --debug."""
    try:
        app()
    except Exception as error:
        from shapband.errors import ShapbandError

        if "--debug" in sys.argv or not isinstance(error, ShapbandError):
            raise
        typer.echo(f"error: {error}", err=True)
        raise SystemExit(1) from None
