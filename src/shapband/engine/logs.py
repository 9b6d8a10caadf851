"""What a valuation logs: its beginning, every chunk of games, and its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shapband.log import info

if TYPE_CHECKING:
    from shapband.access.meter import AccessReport
    from shapband.engine.arguments import Arguments
    from shapband.engine.play import Progress, Watch
    from shapband.valuation.valuation import Valuation


def logged(watch: Watch, given: Arguments, stored: int) -> Watch:
    """Log the beginning of a valuation; return a watch that also logs every chunk."""
    setup = given.setup
    after = f"; {stored:,} games are stored" if stored else ""
    info(
        f"begin: {len(given.names):,} providers, {given.n_games:,} games, {setup['utility']}, "
        f"{setup['sampling']}, {setup['solver']}, seed {given.seeds.seed}{after}"
    )

    def both(progress: Progress) -> None:
        info(f"{progress.done:,} of {progress.n_games:,} games, {_used(progress.report)}")
        watch(progress)

    return both


def log_end(valuation: Valuation) -> Valuation:
    """Log the end of a valuation, and return it."""
    info(
        f"end: {valuation.n_games:,} games ({valuation.stopped}), {_used(valuation.access)}, "
        f"{valuation.evaluations:,} coalitions evaluated in {valuation.seconds:.2f} s"
    )
    return valuation


def _used(access: AccessReport) -> str:
    return f"{access.records:,} records in {access.requests:,} requests"
