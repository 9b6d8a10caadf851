"""The command line. Commands import what they need when they run, so that help is instant."""

from __future__ import annotations

import sys
from collections import Counter
from enum import StrEnum
from pathlib import Path
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


class Profile(StrEnum):
    """How large the experiments are."""

    quick = "quick"
    paper = "paper"


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


@app.command()
def reproduce(
    name: Annotated[
        str | None, typer.Argument(help="The experiment; all of them by default.")
    ] = None,
    profile: Annotated[
        Profile, typer.Option(help="Minutes in all, or the paper's own sizes.")
    ] = Profile.quick,
    out: Annotated[
        Path, typer.Option(help="Folder for results; a run begun there goes on.")
    ] = Path("reproduction"),
    seed: Annotated[int, typer.Option(min=0, help="Every random stream follows from it.")] = 0,
    docs: Annotated[
        Path | None, typer.Option(help="Also write the page and its figures into this folder.")
    ] = None,
) -> None:
    """Run the experiments of the paper and compare with its numbers."""
    from shapband.experiments.page import write_page
    from shapband.experiments.run import reproduce as run

    names = [] if name is None else [name]
    for found in run(names, profile=profile.value, out=out, seed=seed):
        verdicts = Counter(row.verdict for row in found.claims)
        told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        typer.echo(f"{found.name}: {len(found.claims)} claims ({told})")
    typer.echo(f"see {out / 'reproduction.md'}")
    if docs is not None:
        write_page(out, docs / "reproduction.md", docs / "images" / "reproduction")


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
