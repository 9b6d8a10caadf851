"""The commands that ask sources and play games: init, run, plan, next-batch and resume."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shapband.app.cli.options import ConfigFile, Debug, Json, Out, Quiet, Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from shapband.engine.play import Watch
    from shapband.valuation.valuation import Valuation


def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = Path(
        "shapband.toml"
    ),
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="PATH_OR_URL",
            help="Write a configuration for the tables there: a file, a directory, a pattern such "
            "as 'hospitals/*.parquet', an address such as s3://bucket/lake, or a database such as "
            "sqlite:///clinic.db.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column with the targets of these tables."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Write a starter configuration.

    It can be run without changes, and its comments show the other keys. With `--from` it has the
    providers and columns of your own tables, and can be run without changes if the target is known,
    and either the files are small enough to hold out validation rows or one of the files or tables
    is called validation. An existing file is not changed.
    """
    if from_ is None and target is not None:
        raise typer.BadParameter("is for --from only", param_hint="--target")
    if from_ is None:
        from shapband.app.config.written import write_starter

        write_starter(file)
    else:
        from shapband.app.config.found import write_found

        typer.echo(f"found {write_found(file, from_, target).about}")
    typer.echo(f"wrote {file}; next: shapband run {file} --out my-run")


def run(
    config: ConfigFile,
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

    All purchases and results are kept in the directory of the run, so that nothing is lost if it
    is interrupted. Progress goes to standard error, the result to standard output.
    With `--dry-run` the requests, records and coalitions of the run are counted instead.
    """
    from shapband.app.config.config import Config
    from shapband.runs.run import begin
    from shapband.runs.stored import StoredConfig

    if not dry_run and out is None:
        raise typer.BadParameter("is needed, unless --dry-run is given", param_hint="--out")
    described = Config.read(config)
    if dry_run or out is None:
        from shapband.app.cli.views import bill_json
        from shapband.market.bill import foresee

        prices = None if described.prices is None else described.prices.prices
        bill = foresee(described.build(config.parent).arguments, prices)
        typer.echo(bill_json(bill) if json else bill)
        return

    def play(watch: Watch) -> Valuation:
        built = described.build(config.parent)
        stored = StoredConfig(described.text, config.parent)
        played = built.arguments, built.workers
        return begin(out, *played, watch, stored, without=built.without)

    _play(out, play, quiet=quiet, json=json)


def plan(
    config: ConfigFile,
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
        typer.Option(metavar="AMOUNT", help="Largest amount to pay, at the [prices] of the file."),
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
    """Predict the error and the cost of each method.

    A pilot buys a few records and plays some games. The table shows the errors, the bill and the
    time of each method within the budget of the configuration and the limits given here, and
    recommends one. Draws have the size of the sampling in the configuration; its groups, index and
    participation are kept.
    """
    from shapband.app.cli.views import proposals_json
    from shapband.app.config.config import Config
    from shapband.app.config.written import (
        check_outputs,
        draw_size,
        local_workers,
        planned_text,
        write_new,
    )
    from shapband.market.plan import plan as make_proposals
    from shapband.runs.run import begin
    from shapband.runs.stored import StoredConfig

    described = Config.read(config)
    n_jobs = local_workers(described)
    check_outputs(config, write, out)
    loaded = described.load(config.parent)
    given = described.build(config.parent, loaded).arguments
    limit = None if given.stop is None else given.stop.time_limit / 60
    found = make_proposals(
        loaded.providers,
        given.utility,
        n_sample=draw_size(given.sampling),
        index=given.index,
        participation=given.participation,
        budget=given.budget,
        minutes=limit if minutes is None and limit != float("inf") else minutes,
        prices=None if described.prices is None else described.prices.prices,
        money=money,
        error=error,
        fixed_validation=described.fixed_validation,
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
        write_new(write, text, f"--write {write}")
    if out is not None:

        def play(watch: Watch) -> Valuation:
            built = Config.parse(text).build(config.parent, loaded)
            stored = StoredConfig(text, config.parent)
            played, held = (built.arguments, built.workers), found.pilot.purchases
            return begin(out, *played, watch, stored, held, built.without)

        _play(out, play, quiet=quiet, json=False)


def next_batch(
    config: ConfigFile, quiet: Quiet = False, json: Json = False, debug: Debug = False
) -> None:
    """Estimate what one more draw of each provider adds.

    The games are the games of `run` with this configuration. For every provider, the table has what
    the value of all providers together gains from one more draw of it, and with the [prices] of the
    file also the gain per price. Fresh draws, and pools, are bought from the sources within the
    budget of the file. Nothing is kept.
    """
    from shapband.app.cli.views import next_batch_json
    from shapband.app.config.config import Config
    from shapband.app.config.written import check_everybody
    from shapband.market.next_batch import next_batch as find_gains

    described = Config.read(config)
    built = described.build(config.parent)
    given = built.arguments
    check_everybody(given)
    found = find_gains(
        given.providers,
        given.utility,
        sampling=given.sampling,
        n_games=given.n_games,
        seed=described.seed,
        prices=None if described.prices is None else described.prices.prices,
        budget=given.budget,
        workers=built.workers,
        fixed_validation=described.fixed_validation,
        concurrency=given.concurrency,
        timeout=given.timeout,
        progress=False if quiet else None,
    )
    typer.echo(next_batch_json(found) if json else found)


def resume(
    run: Run,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Import the objects that the run names, although you did not begin it."
        ),
    ] = False,
    ask_again: Annotated[
        bool,
        typer.Option(
            "--ask-again",
            help="Repeat requests whose answers could not be used, and allow corrected sources.",
        ),
    ] = False,
    games: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Extend the run to this many games.")
    ] = None,
    n_pool: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Extend the pools to this many records each."),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="WIDTH", help="Stop when the half widths of all 95 % intervals are below this."
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop after this many seconds in all.")
    ] = None,
    max_records: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Records that the run may buy in all.")
    ] = None,
    max_requests: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Requests that the run may make in all.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Resume an interrupted run, or extend a run.

    The result is the same as without interruption, and nothing is bought twice. An answer that
    could not be used is paid for too, so its request is made again only with `--ask-again`. This
    option also allows that the code of a source was corrected.

    `--games`, `--n-pool`, `--precision`, `--seconds`, `--max-records` and `--max-requests` extend
    the run: they take the place of n_games, sampling.n_pool, stop.absolute, stop.seconds,
    budget.records and budget.requests in its configuration. Games that were played are kept, but
    larger pools have all games played again.
    """
    from shapband.app.config.written import extended_config, settings_of
    from shapband.runs.run import finished_valuation
    from shapband.runs.run import resume as resume_run
    from shapband.runs.stored import stored_config
    from shapband.runs.trust import check_trusted

    settings = settings_of(
        games=games,
        n_pool=n_pool,
        precision=precision,
        seconds=seconds,
        max_records=max_records,
        max_requests=max_requests,
    )

    def warn(line: str) -> None:
        typer.echo(f"warning: {line}", err=True)

    def play(watch: Watch) -> Valuation:
        finished = None if settings else finished_valuation(run)
        if finished is not None:
            return finished
        config = stored_config(run)
        described = extended_config(config.text, {**config.settings, **settings})
        if not trust:
            check_trusted(config.digest, described.objects, run)
        built = described.build(config.base, left_out=config.left_out)
        return resume_run(
            run,
            built.arguments,
            built.workers,
            watch,
            warn,
            ask_again=ask_again,
            settings=settings,
            without=built.without,
        )

    _play(run, play, quiet=quiet, json=json)


def _play(run: Path, play: Callable[[Watch], Valuation], *, quiet: bool, json: bool) -> None:
    """Play with a progress display, and print the result unless `quiet`."""
    from shapband.app.cli.interrupt import INTERRUPTED, interruptible
    from shapband.app.cli.views import how_to_resume, shown
    from shapband.errors import RunExists
    from shapband.progress import progress_display

    def farewell() -> str:
        return f"interrupted: {how_to_resume(run) if run.exists() else 'nothing was begun'}"

    try:
        with interruptible(farewell), progress_display(not quiet) as watch:
            valuation = play(watch)
    except KeyboardInterrupt:
        typer.echo(farewell(), err=True)
        raise typer.Exit(INTERRUPTED) from None
    except RunExists as cause:  # only commands with --out begin a run
        raise RunExists(f"--out: {cause}") from cause
    if json or not quiet:
        typer.echo(shown(run, as_json=json, valuation=valuation))
