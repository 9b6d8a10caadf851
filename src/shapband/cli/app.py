"""The commands. They import what they need when they run, so that help is instant."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import Callable

    from shapband.config.config import Config
    from shapband.engine.play import Watch
    from shapband.paying.payouts import Payouts
    from shapband.planning.proposals import Proposals
    from shapband.valuation import Valuation


class Commands(TyperGroup):
    """Runs a command; whatever goes wrong in it is told in one line."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except (KeyboardInterrupt, SystemExit, Exception) as error:
            code = _tell(error, debug=bool(ctx.obj))
            if code is None:
                raise
            raise typer.Exit(code) from None


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning in one line without secrets, and without the place it was raised at."""
    from shapband.checks import one_line
    from shapband.secrets import hide

    typer.echo(f"warning: {category.__name__}: {hide(one_line(message))}", err=True)


def _tell(error: BaseException, *, debug: bool) -> int | None:
    """Print an error and give the exit code, or None for what the command line handles itself."""
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
    elif isinstance(error, SystemExit):  # typer raises its own kind
        line = f"code that the run calls ended the program: {error_line(error)}"
    elif isinstance(error, MemoryError):
        line = "the memory of this machine does not suffice"
    else:
        remedy = "" if debug else "; --debug shows the trace"
        line = f"this is a bug in shapband: {error_line(error)}{remedy}"
    typer.echo(f"error: {hide(line)}", err=True)
    return 1


def _is_ours(error: BaseException) -> bool:
    """Whether an error comes from a command, and not from the way it was called."""
    if isinstance(error, BrokenPipeError):
        return False
    return not type(error).__module__.startswith(("typer", "click"))


app = typer.Typer(
    name="shapband",
    cls=Commands,
    help="What each data provider is worth, and how sure we can be.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class Format(StrEnum):
    """Formats of other tools."""

    csv = "csv"
    json = "json"
    parquet = "parquet"
    valuation = "valuation"


def _show_version(wanted: bool) -> None:
    if wanted:
        from shapband import __version__

        typer.echo(f"shapband {__version__}")
        raise typer.Exit


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
Run = Annotated[Path, typer.Argument(metavar="RUN", help="The directory of the run.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress and no result.")]
Out = Annotated[
    Path | None, typer.Option(metavar="RUN", help="The directory to keep the run in: a new one.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Currency = Annotated[str | None, typer.Option(metavar="CODE", help="The currency; EUR by default.")]
Policy = Annotated[
    str | None,
    typer.Option(
        metavar="proportional|risk|floor|lower_bound",
        help="How the amount is divided; proportional by default.",
    ),
]
RiskAversion = Annotated[
    float | None, typer.Option(metavar="NUMBER", help="For risk: how much risk costs.")
]
Floor = Annotated[
    str | None, typer.Option(metavar="AMOUNT", help="For floor: what everybody gets.")
]
Level = Annotated[
    float | None,
    typer.Option(metavar="LEVEL", help="For lower_bound: of the intervals; 0.95 by default."),
]


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


@app.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = Path(
        "shapband.toml"
    ),
    debug: Debug = False,
) -> None:
    """Write a starter configuration.

    It runs as it is, and its comments say what else can stand in it. A file that exists is left
    alone.
    """
    from shapband.config.starter import write_starter

    write_starter(file)
    typer.echo(f"wrote {file}; next: shapband run {file} --out my-run")


@app.command()
def run(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="The configuration file.")],
    out: Out = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be asked of the sources, and ask nothing."),
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Value the providers of a configuration.

    Everything that is bought and found out is kept in the directory of the run, so that nothing
    is lost if it is interrupted. Progress goes to standard error, the result to standard output.
    With `--dry-run` the requests, records and coalitions of the run are counted instead.
    """
    from shapband.config.config import Config
    from shapband.runs.run import StoredConfig, begin

    if not dry_run and out is None:
        raise typer.BadParameter("is needed, unless --dry-run is given", param_hint="--out")
    described = Config.read(config)
    if dry_run or out is None:
        _print_bill(described, config.parent, json=json)
        return

    def play(watch: Watch) -> None:
        built = described.build(config.parent)
        stored = StoredConfig(described.text, config.parent)
        begin(out, built.plan, built.workers, watch, stored)

    _play(out, play, quiet=quiet, json=json)


@app.command()
def plan(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="The configuration file.")],
    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="MINUTES",
            help="Time limit; by default stop.seconds of the file, or 10 without --error.",
        ),
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(
            metavar="ERROR", help="Half width that the 95 % interval of every value must reach."
        ),
    ] = None,
    money: Annotated[
        str | None,
        typer.Option(metavar="AMOUNT", help="What may be paid, with the [prices] of the file."),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the configuration of the recommended row."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="Play the recommended row in this new directory, with the pilot's records.",
        ),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Say what each method would reach and cost.

    A pilot buys a few records and plays some games. The table shows the errors, the bill and the
    time of each method within the budget of the configuration and the limits given here, and
    recommends one. Draws have the size of the sampling in the configuration.
    """
    from shapband._plan import plan as make_proposals
    from shapband.cli.views import proposals_json
    from shapband.config.config import Config
    from shapband.config.planned import (
        check_new_run,
        check_place,
        check_plannable,
        draw_size,
        local_workers,
        planned_text,
        write_planned,
    )

    described = Config.read(config)
    n_jobs = local_workers(described)
    if write is not None:
        check_place(write, config)
    if out is not None:
        check_new_run(out)
    given = described.build(config.parent).plan
    check_plannable(given)
    limit = None if given.stop is None else given.stop.time_limit / 60
    found = make_proposals(
        given.providers,
        given.utility,
        n_sample=draw_size(given.sampling),
        budget=given.budget,
        minutes=limit if minutes is None and limit != float("inf") else minutes,
        prices=None if described.prices is None else described.prices.make(),
        money=money,
        error=error,
        seed=described.seed,
        n_jobs=n_jobs,
        concurrency=given.concurrency,
        timeout=given.timeout,
        progress=False if quiet else None,
    )
    if json or not quiet:
        typer.echo(proposals_json(found) if json else found)
    text = planned_text(described, found.recommended)
    if write is not None:
        write_planned(text, write, config)
    if out is not None:
        _play_planned(found, text, config.parent, out, quiet=quiet)


@app.command()
def resume(
    run: Run,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Import the objects that the run names, though it is not your own."
        ),
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Resume an interrupted run.

    The result is that of a run without interruption, and nothing is bought twice.
    """
    from shapband.config.config import Config
    from shapband.runs.run import finished_valuation, stored_config
    from shapband.runs.run import resume as resume_run
    from shapband.runs.trust import check_trusted

    def warn(line: str) -> None:
        typer.echo(f"warning: {line}", err=True)

    def play(watch: Watch) -> None:
        if finished_valuation(run) is not None:
            return
        config = stored_config(run)
        described = Config.parse(config.text)
        if not trust:
            check_trusted(config.digest, described.objects, run)
        built = described.build(config.base)
        resume_run(run, built.plan, built.workers, watch, warn)

    _play(run, play, quiet=quiet, json=json)


@app.command()
def show(run: Run, json: Json = False, debug: Debug = False) -> None:
    """Show a run and its valuation so far."""
    _print_status(run, json=json)


@app.command()
def verify(run: Run, debug: Debug = False) -> None:
    """Check that everything stored in a run is as it was written.

    The ledger, the records that were bought, the solved games and the result are chained by
    hashes; the first broken link is named.
    """
    from shapband.cli.views import format_verified
    from shapband.runs.read import load

    found = load(run)
    found.verify()
    typer.echo(format_verified(found))


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="The directory of a run.")],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="The directory of another.")],
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare the expectations of two runs.

    For every provider: both expectations, their difference, its standard error, the p-value of
    a two-sided test, the same adjusted for the number of providers by Holm's method, and whether
    the difference is beyond chance: the adjusted p-value is below 0.05. Runs with the same seed
    and sampling are compared game by game.
    """
    from shapband._compare import compare as compare_valuations
    from shapband.cli.views import comparison_json, format_comparison

    comparison = compare_valuations(_valuation(first), _valuation(second))
    view = comparison_json if json else format_comparison
    typer.echo(view(first, second, comparison))


@app.command()
def export(
    run: Run,
    format: Annotated[  # noqa: A002  the name of the option
        Format, typer.Option(metavar="csv|json|parquet|valuation", help="The format to write.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file; standard output by default.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Write a valuation for other tools.

    One row per provider, with the expectation, the variance and their errors; or with
    `--format valuation` everything, for Valuation.from_json.
    """
    from shapband.cli.views import exported, write_export

    write_export(exported(_valuation(run), format.value), format.value, out)


@app.command()
def plot(
    run: Run,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The file to write: .png, .svg or .pdf.")
    ],
    picture: Annotated[
        str,
        typer.Option(
            metavar="forest|ranks|convergence|distribution|variance_sources",
            help="What to draw.",
        ),
    ] = "forest",
    debug: Debug = False,
) -> None:
    """Draw a valuation.

    The forest plot shows for each provider the expectation with its error, and beside it the
    spread of the value from one draw to the next.
    """
    _valuation(run).plot.save(out, picture)


@app.command()
def report(
    run: Run,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The HTML file to write.")],
    amount: Annotated[
        str | None, typer.Option(metavar="AMOUNT", help="Show payouts: what is divided.")
    ] = None,
    currency: Currency = None,
    policy: Policy = None,
    risk_aversion: RiskAversion = None,
    floor: Floor = None,
    level: Level = None,
    debug: Debug = False,
) -> None:
    """Write a report of a run to one HTML file.

    The answer in one sentence, charts with their numbers in tables, points to check, cost, method
    and digests. The file needs no connection and holds no script. Of a run that is not finished
    it shows the games so far. With `--amount` it also shows the payouts that `payouts` with the
    same options prints.
    """
    from shapband.report.page import write_page
    from shapband.runs.read import load

    status = load(run).status
    valuation = _known(run, status.valuation)
    options = _given(currency, policy, risk_aversion, floor, level)
    paid = None if amount is None else _payouts(valuation, amount, options)
    if paid is None and options:
        from shapband.errors import InvalidInput

        name = next(iter(options)).replace("_", "-")
        raise InvalidInput(f"report: --{name} is for payouts: give their --amount too")
    write_page(out, valuation, payouts=paid, status=status)


@app.command()
def payouts(
    run: Run,
    amount: Annotated[str, typer.Option(metavar="AMOUNT", help="What is divided, as 10000.00.")],
    currency: Currency = None,
    policy: Policy = None,
    risk_aversion: RiskAversion = None,
    floor: Floor = None,
    level: Level = None,
    statement: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER", help="Print the statement for one provider alone."),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Divide an amount of money by the values of a run.

    The amounts sum to what is divided, to the last cent, and do not depend on the order of the
    providers. Values below zero are paid nothing.
    """
    from shapband.cli.views import payouts_json

    if json and statement is not None:
        raise typer.BadParameter("a statement is a text: leave out --json")
    options = _given(currency, policy, risk_aversion, floor, level)
    paid = _payouts(_valuation(run), amount, options)
    if statement is not None:
        typer.echo(paid.statement(statement))
    else:
        typer.echo(payouts_json(paid) if json else paid)


@app.command()
def watch(
    run: Run,
    port: Annotated[int, typer.Option(metavar="PORT", help="The port; 0 takes a free one.")] = 0,
    debug: Debug = False,
) -> None:
    """Serve a page that follows a run, until Ctrl-C.

    The page is that of `report`, made again as games are added. It is read only, and only this
    machine can open it.
    """
    from shapband.cli.interrupt import interruptible
    from shapband.cli.watch import WatchServer
    from shapband.runs.read import load

    farewell = "no longer watching; the run goes on"
    load(run)  # a directory that is no run is told before a page is served
    with WatchServer(run, port) as server, interruptible(lambda: farewell):
        typer.echo(f"watching {run} at {server.address} (Ctrl-C ends it)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo(farewell, err=True)


def _given(
    currency: str | None,
    policy: str | None,
    risk_aversion: float | None,
    floor: str | None,
    level: float | None,
) -> dict[str, Any]:
    """Collect the options of payouts that were given."""
    options = {
        "currency": currency,
        "policy": policy,
        "risk_aversion": risk_aversion,
        "floor": floor,
        "level": level,
    }
    return {name: option for name, option in options.items() if option is not None}


def _payouts(valuation: Valuation, amount: str, options: dict[str, Any]) -> Payouts:
    from shapband._payouts import payouts as divide

    return divide(valuation, amount, **options)


def _play_planned(found: Proposals, text: str, base: Path, out: Path, *, quiet: bool) -> None:
    """Begin the run of the recommended row with what the pilot bought."""
    from shapband.config.config import Config
    from shapband.runs.run import StoredConfig, begin

    def play(watch: Watch) -> None:
        built = Config.parse(text).build(base)
        stored = StoredConfig(text, base)
        begin(out, built.plan, built.workers, watch, stored, found.pilot.purchases)

    _play(out, play, quiet=quiet, json=False)


def _print_bill(described: Config, base: Path, *, json: bool) -> None:
    from shapband.cli.views import bill_json
    from shapband.planning.bill import foresee

    prices = None if described.prices is None else described.prices.make()
    bill = foresee(described.build(base).plan, prices)
    typer.echo(bill_json(bill) if json else bill)


def _play(run: Path, play: Callable[[Watch], None], *, quiet: bool, json: bool) -> None:
    """Play with a progress display, and print the result unless told not to."""
    from shapband.cli.interrupt import INTERRUPTED, interruptible
    from shapband.cli.views import how_to_resume
    from shapband.progress import progress_display

    def farewell() -> str:
        return f"interrupted: {how_to_resume(run) if run.exists() else 'nothing was begun'}"

    try:
        with interruptible(farewell), progress_display(not quiet) as watch:
            play(watch)
    except KeyboardInterrupt:
        typer.echo(farewell(), err=True)
        raise typer.Exit(INTERRUPTED) from None
    if json or not quiet:
        _print_status(run, json=json)


def _print_status(run: Path, *, json: bool) -> None:
    from shapband.cli.views import format_status, status_json
    from shapband.runs.read import load

    typer.echo((status_json if json else format_status)(run, load(run).status))


def _valuation(run: Path) -> Valuation:
    from shapband.runs.read import load

    return _known(run, load(run).valuation)


def _known(run: Path, valuation: Valuation | None) -> Valuation:
    from shapband.errors import InvalidInput

    if valuation is None:
        raise InvalidInput(f"{run}: fewer than two games are done, so there is no result yet")
    return valuation


def main() -> None:
    """Run the command line."""
    app(prog_name="shapband")


if __name__ == "__main__":
    main()
