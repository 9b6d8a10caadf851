"""The commands that read a run: they show, check, compare, export, draw and report it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shapband.app.cli.options import Debug, Json, Run
from shapband.errors import InvalidInput

if TYPE_CHECKING:
    from shapband.market.payouts import Payouts
    from shapband.runs.read import RunStatus
    from shapband.valuation.valuation import Valuation


class Format(StrEnum):
    """Formats that other tools read."""

    csv = "csv"
    json = "json"
    parquet = "parquet"
    valuation = "valuation"


Currency = Annotated[str | None, typer.Option(metavar="CODE", help="The currency; EUR by default.")]
Policy = Annotated[
    str | None,
    typer.Option(
        metavar="proportional|risk|floor|lower_bound",
        help="How the amount is divided; proportional by default.",
    ),
]
RiskAversion = Annotated[
    float | None, typer.Option(metavar="NUMBER", help="For risk: the weight of the risk.")
]
Floor = Annotated[
    str | None, typer.Option(metavar="AMOUNT", help="For floor: what everybody gets.")
]
Level = Annotated[
    float | None,
    typer.Option(metavar="LEVEL", help="For lower_bound: confidence level; 0.95 by default."),
]


def show(run: Run, json: Json = False, debug: Debug = False) -> None:
    """Show a run and its valuation so far."""
    from shapband.app.cli.views import shown

    typer.echo(shown(run, as_json=json))


def verify(run: Run, debug: Debug = False) -> None:
    """Check that everything stored in a run is as it was written.

    The ledger, the records that were bought, the solved games and the result are chained by
    hashes; the first broken link is named.
    """
    from shapband.app.cli.views import format_verified
    from shapband.runs.read import load

    found = load(run)
    found.verify()
    typer.echo(format_verified(found))


def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="The directory of a run.")],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="The directory of another.")],
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN", help="Further runs of a series.")
    ] = None,
    since: Annotated[
        str,
        typer.Option(
            metavar="first|previous", help="With three runs or more: what changes are counted from."
        ),
    ] = "first",
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a report, one HTML file.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare the expectations of two runs, or of a series of runs.

    For every provider: both expectations, their difference, its standard error, the p-value of
    a two-sided test, the same adjusted for the number of providers by Holm's method, and whether
    the difference is beyond chance: the adjusted p-value is below 0.05. Runs with the same seed
    and sampling are compared game by game.

    For three runs or more: the change of every provider from the first run, or from the run
    before, with intervals that hold for all providers and runs together at 95 %.
    """
    from shapband.app.cli.views import comparison_json, series_json
    from shapband.valuation.compare import compare as compare_valuations
    from shapband.valuation.series import check_since, compare_series

    direction = check_since(since)
    if more:
        runs = [first, second, *more]
        if len(set(runs)) < len(runs):
            raise InvalidInput("compare: a run is named twice: name every run of a series once")
        series = {str(run): _valuation(run) for run in runs}
        found = compare_series(series, since=direction)
        if report is not None:
            found.report(report)
        typer.echo(series_json(found) if json else str(found))
        return
    labels = (str(first), str(second))
    comparison = compare_valuations(_valuation(first), _valuation(second), labels=labels)
    if report is not None:
        comparison.report(report)
    typer.echo(comparison_json(comparison) if json else str(comparison))


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
    from shapband.app.cli.views import exported, write_export

    write_export(exported(_valuation(run), format.value), format.value, out)


def plot(
    run: Run,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The file to write: .png, .svg or .pdf.")
    ],
    picture: Annotated[
        str,
        typer.Option(
            metavar="forest|ranks|convergence|distribution|variance_sources|waterfall|beeswarm|"
            "interactions|by_round",
            help="What to draw.",
        ),
    ] = "forest",
    debug: Debug = False,
) -> None:
    """Draw a valuation.

    The forest plot shows for each provider the expectation with its error, and beside it the
    spread of the value from one game to the next.
    """
    _valuation(run).plot.save(out, picture)


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
    provider: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER", help="Write the report for one provider alone."),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TITLE", help="The title.")] = None,
    debug: Debug = False,
) -> None:
    """Write a report of a run to one HTML file.

    The answer in one sentence, charts with their numbers in tables, points to check, cost, method
    and digests. The file needs no connection and holds no script. Of a run that is not finished
    it shows the games so far. With `--amount` it also shows the payouts that `payouts` with the
    same options prints. With `--provider` it is for one provider, and shows nothing about others.
    """
    from shapband.report.page import write_page
    from shapband.runs.read import load

    status = load(run).status
    valuation = _known(run, status)
    options = _given(
        currency=currency, policy=policy, risk_aversion=risk_aversion, floor=floor, level=level
    )
    paid = None if amount is None else _payouts(valuation, amount, options)
    if paid is None and options:
        name = next(iter(options)).replace("_", "-")
        raise InvalidInput(f"report: --{name} is for payouts: give their --amount too")
    write_page(out, valuation, payouts=paid, status=status, provider=provider, title=title)


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
    from shapband.app.cli.views import payouts_json

    if json and statement is not None:
        raise typer.BadParameter("a statement is plain text: leave out --json")
    options = _given(
        currency=currency, policy=policy, risk_aversion=risk_aversion, floor=floor, level=level
    )
    paid = _payouts(_valuation(run), amount, options)
    if statement is not None:
        typer.echo(paid.statement(statement))
    else:
        typer.echo(payouts_json(paid) if json else paid)


def watch(
    path: Annotated[
        Path, typer.Argument(metavar="RUN", help="The directory of a run, or a folder of runs.")
    ],
    port: Annotated[int, typer.Option(metavar="PORT", help="The port; 0 takes a free one.")] = 0,
    debug: Debug = False,
) -> None:
    """Serve a page that follows a run or lists runs, until Ctrl-C.

    The page is the one that `report` writes, made again as games are added. For a folder that is
    not a run, the first page lists the runs in it and in its folders with their state, errors and
    cost; two of them can be chosen and compared. The pages are read only, and only this machine can
    open them. The address holds a random token, so that other users of the machine cannot open
    them.
    """
    import signal

    from shapband.app.cli.folder import is_folder_of_runs
    from shapband.app.cli.interrupt import INTERRUPTED, interruptible
    from shapband.app.cli.watch import WatchServer

    is_folder = is_folder_of_runs(path)
    farewell = f"no longer watching; the {'runs go' if is_folder else 'run goes'} on"
    received = None
    try:
        with (
            WatchServer(path, port, is_folder=is_folder) as server,
            interruptible(lambda: farewell) as received,
        ):
            typer.echo(f"watching {path} at {server.address} (Ctrl-C ends it)")
            server.serve_forever()
    except KeyboardInterrupt:
        typer.echo(farewell, err=True)
        if received is None or set(received.numbers) != {signal.SIGINT}:
            raise typer.Exit(INTERRUPTED) from None


def _given(**options: Any) -> dict[str, Any]:
    """Collect the options that were given."""
    return {name: option for name, option in options.items() if option is not None}


def _payouts(valuation: Valuation, amount: str, options: dict[str, Any]) -> Payouts:
    from shapband.market.payouts import payouts as divide

    return divide(valuation, amount, **options)


def _valuation(run: Path) -> Valuation:
    from shapband.runs.read import load

    return _known(run, load(run).status)


def _known(run: Path, status: RunStatus) -> Valuation:
    if status.valuation is None:
        raise InvalidInput(f"{run}: {status.no_result}")
    return status.valuation
