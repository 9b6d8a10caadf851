"""Play a proposal with the records that the pilot bought."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shapband.engine.play import play
from shapband.engine.workers.local import LocalWorkers
from shapband.progress import progress_display
from shapband.runs.run import value_in_run

if TYPE_CHECKING:
    from shapband.market.planning.proposals import Proposal, Proposals
    from shapband.valuation.valuation import Valuation


def execute(
    found: Proposals, row: Proposal, run: str | Path | None, progress: bool | None
) -> Valuation:
    """Play a row, in a run directory if one is given."""
    given, held = found.engine_arguments(row), found.pilot.purchases
    workers = LocalWorkers(found.n_jobs, threads=given.utility.threaded)
    with progress_display(progress) as watch:
        if run is not None:
            return value_in_run(Path(run), given, workers, watch, seed_given=True, held=held)
        with workers:
            return play(given, workers, watch, held)
