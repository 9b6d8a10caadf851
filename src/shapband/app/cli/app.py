"""The program `shapband`: its commands, its own options, and errors in one line.

Commands import what they need when they run, so that help is instant.
"""

from __future__ import annotations

import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shapband.app.cli import playing, results
from shapband.app.cli.options import Debug
from shapband.app.cli.streams import print_any_character


def main() -> None:
    """Run the command line."""
    print_any_character()
    app(prog_name="shapband")


class Commands(TyperGroup):
    """Runs a command, and prints its errors and warnings in one line each."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except (KeyboardInterrupt, SystemExit, Exception) as error:
            code = _report(error, debug=bool(ctx.obj))
            if code is None:
                raise
            raise typer.Exit(code) from None


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning in one line, without secrets and without its place in the code."""
    from shapband.checks import one_line
    from shapband.secrets import hide

    typer.echo(f"warning: {category.__name__}: {hide(one_line(message))}", err=True)


def _report(error: BaseException, *, debug: bool) -> int | None:
    """Print an error and return the exit code, or None for errors that typer handles itself."""
    if isinstance(error, KeyboardInterrupt):
        typer.echo("interrupted", err=True)
        return 130
    if not _is_ours(error):
        return None
    import traceback

    from shapband.checks import error_line, one_line, printable
    from shapband.errors import ShapbandError
    from shapband.secrets import hide

    if debug:
        lines = hide("".join(traceback.format_exception(error))).splitlines()
        typer.echo("\n".join(map(printable, lines)), err=True)
    if isinstance(error, ShapbandError | OSError):
        line = one_line(error)
    elif isinstance(error, SystemExit):  # typer raises a subclass of its own
        line = f"code that the run calls ended the program: {error_line(error)}"
    elif isinstance(error, MemoryError):
        line = "the memory of this machine does not suffice"
    else:
        remedy = "" if debug else "; --debug shows the trace"
        line = f"this is a bug in shapband: {error_line(error)}{remedy}"
    typer.echo(f"error: {hide(line)}", err=True)
    return 1


def _is_ours(error: BaseException) -> bool:
    """Whether an error comes from running a command, and not from parsing its arguments."""
    if isinstance(error, BrokenPipeError):
        return False
    return not type(error).__module__.startswith(("typer", "click"))


app = typer.Typer(
    name="shapband",
    cls=Commands,
    help="What each data provider is worth, and how sure we can be.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


for command in (
    *(playing.init, playing.run, playing.plan, playing.next_batch, playing.resume),
    *(results.show, results.verify, results.compare, results.export, results.plot),
    *(results.report, results.payouts, results.watch),
):
    app.command()(command)


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
    """Take the options of all commands; the help text is given to the application above."""


if __name__ == "__main__":
    main()
