"""The file that describes a run: it is read, checked, and turned into a valuation's arguments."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Field, PrivateAttr, ValidationError, model_validator

import shapband
from shapband.access.access import CONCURRENCY, TIMEOUT
from shapband.app.config import limits, tables
from shapband.app.config.imports import make_object
from shapband.app.config.messages import format_error, format_value
from shapband.app.config.parts import (
    IndexTable,
    ParticipationTable,
    SamplingTable,
    SolverTable,
    UtilityTable,
    make_part,
    make_utility,
)
from shapband.app.config.sources import join_groups, make_providers, make_trace, with_retry
from shapband.checks import MOST, concerning, file_error, one_line
from shapband.engine.arguments import Arguments, check_arguments
from shapband.engine.leaving import LeftOut
from shapband.engine.workers.base import Workers
from shapband.engine.workers.local import LocalWorkers
from shapband.errors import InvalidInput
from shapband.indices import Index
from shapband.inputs.overlap import warn_of_near_copies
from shapband.inputs.validation import hold_out
from shapband.providers import Group, Provider
from shapband.records.batch import Batch
from shapband.sampling.base import Sampling
from shapband.sampling.participation import Participation
from shapband.solvers.base import Solver
from shapband.utilities.base import Utility

if TYPE_CHECKING:
    from shapband.datasets.task import Task

VERSION = 1
_PARTS = {"sampling": Sampling, "solver": Solver, "index": Index, "participation": Participation}
_CLUSTERS = {"dask": ("distributed", "DaskWorkers"), "ray": ("ray", "RayWorkers")}


@dataclass(frozen=True, eq=False)
class Built:
    """The arguments that a configuration describes, and the workers to play it with.

    Attributes
    ----------
    without : makes the arguments without providers that fail; None if a run stops then
    """

    arguments: Arguments
    workers: Workers
    without: Callable[[Sequence[LeftOut]], Arguments] | None = None


@dataclass(frozen=True, eq=False)
class Loaded:
    """The providers of a configuration with their data, and the utility with its rows."""

    providers: list[Provider | Group]
    utility: Utility


class Config(tables.Table):
    """A run of shapband: providers, utility, sampling, solver, games, budget and workers.

    Examples
    --------
    >>> config = Config.parse('''
    ... n_games = 50
    ... sampling = { kind = "fresh", n_sample = 20 }
    ... providers = [{ source = { kind = "task", task = "wine" } }]
    ... ''')
    >>> len(config.build(Path()).arguments.providers)
    10
    """

    model_config = ConfigDict(
        json_schema_extra={"description": "The configuration of a run of shapband."}
    )

    version: Annotated[int, Field(ge=1, le=VERSION)] = Field(
        VERSION, description="The version of this format."
    )
    n_games: Annotated[int, Field(ge=1, le=MOST)] = Field(
        100, description="Games to play; the budget or a stopping rule may end the run sooner."
    )
    seed: Annotated[int, Field(ge=0)] | None = Field(
        None, description="The same seed repeats the run bit for bit; random by default."
    )
    workers: Annotated[int, Field(ge=-1)] | Literal["dask", "ray"] = Field(
        1,
        description='Workers of this machine (-1: one for each core), or a cluster: "dask" or '
        '"ray". The result does not depend on them.',
    )
    scheduler: tables.Text | None = Field(
        None,
        description="The address of the cluster: needed with Dask, such as tcp://host:8786.",
    )
    concurrency: tables.Count = Field(
        CONCURRENCY, description="Requests to distant sources at the same time."
    )
    timeout: tables.Above = Field(
        TIMEOUT, description="Seconds that a request to a source may take."
    )
    providers: Annotated[list[tables.ProviderTable], Field(min_length=1)]
    utility: UtilityTable | None = Field(None, description="By default the utility of the task.")
    sampling: SamplingTable
    solver: SolverTable | None = Field(
        None, description="By default the solver with the least work for the same error."
    )
    index: IndexTable | None = Field(
        None, description="The weights of coalition sizes; by default Shapley values."
    )
    participation: ParticipationTable | None = Field(
        None, description="Who takes part in a game; by default everybody in every game."
    )
    fixed_validation: bool = Field(
        False,
        description="Whether the errors are about these very validation rows; by default they "
        "cover their choice.",
    )
    by_round: bool = Field(
        False,
        description="Whether to estimate the value of every round of training as well, for "
        "utilities with rounds.",
    )
    variance_parts: bool = Field(
        False,
        description="Whether to play games again with the same draws, to split the variance into "
        "the parts of data, participation in rounds and training.",
    )
    interactions: bool = Field(
        False,
        description="Whether to estimate the interaction of every pair of providers as well: who "
        "replaces whom.",
    )
    leave_out_failing: bool = Field(
        False,
        description="Whether a run goes on without a provider whose requests fail for good; by "
        "default it stops.",
    )
    stop: limits.StopTable | None = None
    budget: limits.BudgetTable | None = None
    prices: limits.PricesTable | None = None
    _text: str = PrivateAttr("")
    _parts: dict[str, Any] = PrivateAttr(default_factory=dict)

    @staticmethod
    def read(path: Path) -> Config:
        """Read a file; errors name the key and the rule."""
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as cause:
            raise InvalidInput(f"{path}: this is not a text file in UTF-8") from cause
        except OSError as cause:
            raise InvalidInput(
                f"CONFIG: {path} cannot be read: {file_error(cause)}: check the path, or write a "
                "file with `shapband init`"
            ) from cause
        return Config.parse(text, str(path))

    @staticmethod
    def parse(text: str, name: str = "the file") -> Config:
        """Read a TOML document; errors name the key and the rule."""
        try:
            document = tomllib.loads(text)
        except (ValueError, RecursionError) as cause:
            raise InvalidInput(
                f"{name} is not valid TOML: {one_line(cause)}{_line_of(cause, text)}: write "
                "key = value with strings in quotes; `shapband init` writes a file that runs"
            ) from cause
        _check_version(document)
        try:
            config = Config.model_validate(document)
        except ValidationError as error:
            raise InvalidInput(format_error(error)) from None
        config._text = text
        # The library's own parts need no data, so they are made here to check their settings.
        config._parts = {key: make_part(getattr(config, key), key) for key in _PARTS}
        return config

    @property
    def text(self) -> str:
        """The file as it was written; secrets are only named in it."""
        return self._text

    @property
    def objects(self) -> list[str]:
        """The objects that building imports, as `module:name`, and the cluster that it connects to.

        The cluster is listed because its answers are unpickled, so it can execute any code.
        """
        sources = [table.source for table in self.providers]
        rows = getattr(self.utility, "validation", None)
        named = [*sources, self.utility, rows, self.sampling, self.solver, self.index]
        found = [
            getattr(table, key)
            for table in named
            if isinstance(table, tables.Table)
            for key in table.object_keys
        ]
        if self.scheduler is not None:
            found.append(f"the cluster {self.scheduler}")
        return found

    def build(
        self, base: Path, loaded: Loaded | None = None, left_out: Sequence[LeftOut] = ()
    ) -> Built:
        """Make all objects; relative paths and modules start from `base`.

        The providers and the utility are loaded, unless they were `loaded` before. Providers that
        the run has `left_out` are not.
        """
        base = base.resolve()
        self._check_cluster()
        loaded = loaded or self.load(base, left_out)
        check = partial(
            check_arguments,
            loaded.providers,
            loaded.utility,
            n_games=self.n_games,
            seed=self.seed,
            budget=None if self.budget is None else self.budget.make(),
            stop=None if self.stop is None else self.stop.rule,
            concurrency=self.concurrency,
            timeout=self.timeout,
            fixed_validation=self.fixed_validation,
            interactions=self.interactions,
            held_out=self._fraction,
            by_round=self.by_round,
            variance_parts=self.variance_parts,
            locate=concerning,
            **self._all_parts(base),
        )
        leaving = (lambda others: check(left_out=others)) if self.leave_out_failing else None
        return Built(check(left_out=left_out), self._workers(loaded.utility), leaving)

    def _all_parts(self, base: Path) -> dict[str, Any]:
        """The library's own parts, and the parts that are imported or read from a file."""
        parts = dict(self._parts)
        for key, wanted in _PARTS.items():
            table = getattr(self, key)
            if isinstance(table, tables.ObjectTable):
                parts[key] = make_object(table, wanted, key, base)
            elif isinstance(table, tables.TraceTable):
                parts[key] = make_trace(table, base, key)
        return parts

    def load(self, base: Path, left_out: Sequence[LeftOut] = ()) -> Loaded:
        """Load the data of providers and utility; relative paths and modules start from `base`.

        The sources of providers that were `left_out` may not answer, so they are not made.
        """
        base = base.resolve()
        failed = {one.name for one in left_out}
        made: list[tuple[str | None, list[Provider | Group]]] = []
        tasks: dict[str, Task] = {}
        for position, table in enumerate(self.providers):
            if table.name in failed:
                continue
            if isinstance(table.source, tables.TaskSource):
                task = tasks[table.source.task] = getattr(shapband.datasets, table.source.task)()
                players: list[Provider | Group] = [*task.providers]
            else:
                players = make_providers(table, base, f"providers[{position}]")
            made.append((table.group, with_retry(table, players)))
        providers, held = self._held_out(join_groups(made))
        return Loaded(providers, make_utility(self.utility, tasks, base, held))

    @property
    def _fraction(self) -> float | None:
        """The fraction of all records that the utility holds out, or None."""
        fraction = getattr(self.utility, "validation", None)
        return fraction if isinstance(fraction, float) else None

    def _held_out(
        self, providers: list[Provider | Group]
    ) -> tuple[list[Provider | Group], Batch | None]:
        """Hold validation rows out of the providers' records, if the utility has a fraction."""
        fraction = self._fraction
        if fraction is None:
            return providers, None
        if self.seed is None:
            raise InvalidInput(
                f"seed: must be given with utility.validation = {fraction}, because it chooses the "
                "rows; use 0"
            )
        with concerning("utility"):
            warn_of_near_copies(providers, fraction)
            return hold_out(providers, fraction, self.seed)

    def _check_cluster(self) -> None:
        if isinstance(self.workers, int):
            return
        package, _ = _CLUSTERS[self.workers]
        if find_spec(package) is None:
            raise InvalidInput(
                f'workers: "{self.workers}" needs the package {package}: '
                f"pip install 'shapband[{self.workers}]'"
            )

    def _workers(self, utility: Utility) -> Workers:
        if isinstance(self.workers, int):
            return LocalWorkers(self.workers, threads=utility.threaded)
        _, name = _CLUSTERS[self.workers]
        kind = getattr(shapband, name)
        made: Workers = kind() if self.scheduler is None else kind(self.scheduler)
        return made

    @model_validator(mode="before")
    @classmethod
    def _check_workers(cls, given: Any) -> Any:
        workers = given.get("workers", 1) if isinstance(given, dict) else 1
        count = type(workers) is int and (workers >= 1 or workers == -1)
        if not count and workers not in list(_CLUSTERS):
            rule = 'must be a whole number of at least 1, -1 for one per core, "dask" or "ray"'
            raise tables.broken(f"{rule}; received {format_value(workers)}", "workers")
        return given

    @model_validator(mode="after")
    def _check_scheduler(self) -> Config:
        if self.workers == "dask" and self.scheduler is None:
            raise tables.broken(
                'must be given with workers = "dask", such as tcp://host:8786', "scheduler"
            )
        if isinstance(self.workers, int) and self.scheduler is not None:
            raise tables.broken('is for workers = "dask" or "ray" only: leave it out', "scheduler")
        return self


def _check_version(document: Mapping[str, Any]) -> None:
    version = document.get("version", VERSION)
    if isinstance(version, int) and version > VERSION:
        raise InvalidInput(
            f"version: this shapband reads version {VERSION}; received {version}: the file was "
            "written for a newer one, install that"
        )


def _line_of(cause: Exception, text: str) -> str:
    """The key in the line that an error of the TOML reader names; a value may hold a secret."""
    place = re.search(r"at line (\d+)", str(cause))
    if place is None:
        return ""
    number = int(place.group(1)) - 1
    key, equals, _ = "".join(text.splitlines()[number : number + 1]).partition("=")
    return f"; received {format_value(key.strip())} = …" if equals else ""
