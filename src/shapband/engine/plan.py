"""A valuation's arguments, checked and completed before any source is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from shapband.access.access import CONCURRENCY, TIMEOUT
from shapband.access.budget import Budget
from shapband.checks import check_number, check_whole, error_line, written
from shapband.errors import InvalidInput, ShapbandError
from shapband.moments.stopping import StoppingRule
from shapband.providers import Provider, check_providers
from shapband.records import Schema
from shapband.sampling.base import Sampling
from shapband.sampling.blocks import Blocks
from shapband.sampling.participation import Participation, Presence
from shapband.seeds import Seeds
from shapband.solvers.base import Solver
from shapband.solvers.default import default_solver
from shapband.utilities.base import Utility


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that determines a valuation; made by `make_plan`."""

    providers: tuple[Provider, ...]
    utility: Utility
    sampling: Sampling
    solver: Solver
    n_games: int
    seeds: Seeds
    budget: Budget
    stop: StoppingRule | None = None
    chunk_size: int | None = None
    keep_games: int | None = None
    concurrency: int = CONCURRENCY
    timeout: float = TIMEOUT
    participation: Participation | None = None

    @property
    def presence(self) -> Presence | None:
        """Who takes part in which games, or None if everybody does in all."""
        if self.participation is None:
            return None
        return Presence(self.participation, self.seeds, self.names)

    @property
    def most_present(self) -> int:
        """Largest number of providers in a game."""
        if self.participation is None:
            return len(self.providers)
        return max(self.participation.counts(self.names))

    @property
    def names(self) -> tuple[str, ...]:
        """The providers' names, in the order of all arrays."""
        return tuple(provider.name for provider in self.providers)

    @property
    def setup(self) -> dict[str, str]:
        """Utility, value of the empty coalition, sampling and solver as text."""
        source = " (a dummy model)" if self.utility.baseline else ""
        return {
            "utility": type(self.utility).__name__,
            "empty": f"v(∅) = {float(self.utility.empty):.6g}{source}",
            "sampling": repr(self.sampling),
            "solver": repr(self.solver),
            **_told(self.participation),
        }


def make_plan(
    providers: Sequence[Provider],
    utility: Utility,
    *,
    sampling: Sampling,
    n_games: int,
    seed: int | None,
    solver: Solver | None = None,
    budget: Budget | None = None,
    stop: StoppingRule | None = None,
    chunk_size: int | None = None,
    keep_games: int | None = None,
    concurrency: int = CONCURRENCY,
    timeout: float = TIMEOUT,
    participation: Participation | None = None,
    locate: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> Plan:
    """Check all arguments of a valuation before any source is asked, and fill in the defaults.

    The arguments are those of `value`; `locate` returns a context that adds the position of
    an argument, such as the key in a configuration file, to its errors.
    """
    with locate("providers"):
        checked = check_providers(providers)
    names = [provider.name for provider in checked]
    with locate("participation"):
        sizes = _present_counts(participation, sampling, names)
    chosen = default_solver(max(sizes)) if solver is None else solver
    _check_kinds(utility, sampling, chosen, stop)
    check_whole("n_games", n_games, 2, " (a variance needs two games)")
    if chunk_size is not None:
        check_whole("chunk_size", chunk_size, 1, ", or None to let the library choose")
    if keep_games is not None:
        check_whole("keep_games", keep_games, 0, ", or None for as many as fit in 40 MB")
    check_whole("concurrency", concurrency, 1)
    with locate("solver"):
        for size in sizes:
            (chosen if size == len(checked) else chosen.for_size(size)).check(size)
    with locate("sampling"):
        sampling.check(checked)
    with locate("utility"):
        _check_utility(utility, checked)
    return Plan(
        providers=checked,
        utility=utility,
        sampling=sampling,
        solver=chosen,
        n_games=int(n_games),
        seeds=_seeds(seed),
        budget=_check_budget(budget),
        stop=stop,
        chunk_size=chunk_size,
        keep_games=keep_games,
        concurrency=concurrency,
        timeout=_check_timeout(timeout),
        participation=participation,
    )


def _told(participation: Participation | None) -> dict[str, str]:
    return {} if participation is None else {"participation": repr(participation)}


def _present_counts(
    participation: Participation | None, sampling: Sampling, names: Sequence[str]
) -> Sequence[int]:
    """Check the participation, and return how many providers may be in one game."""
    if participation is None:
        return [len(names)]
    if not isinstance(participation, Participation):
        raise InvalidInput(
            "participation must be Independent(...), Cohort(...), MarkovChain(...), Trace(...) or "
            f"None; received {type(participation).__name__}"
        )
    if isinstance(sampling, Blocks):
        raise InvalidInput(
            "participation: Blocks compares whole shuffles of the pools, in which everybody must "
            "take part: use Pooled(..., replace=False), which also estimates the variance of the "
            "sources"
        )
    participation.check(names)
    return participation.counts(names)


def _check_kinds(
    utility: Utility, sampling: Sampling, solver: Solver, stop: StoppingRule | None
) -> None:
    for name, thing, kind in (
        ("utility", utility, Utility),
        ("sampling", sampling, Sampling),
        ("solver", solver, Solver),
    ):
        if not isinstance(thing, kind):
            raise InvalidInput(f"{name} must be a shapband {name}; received {type(thing).__name__}")
    if stop is not None and not isinstance(stop, StoppingRule):
        raise InvalidInput(
            "stop must be a stopping rule, such as Precision(absolute=0.01), or None; "
            f"received {type(stop).__name__}"
        )


def _check_utility(utility: Utility, providers: Sequence[Provider]) -> None:
    """Check what a utility tells of itself, and let it check the providers."""
    owner = type(utility).__name__
    check_number(f"{owner}.empty", utility.empty)
    check_whole(f"{owner}.failures", utility.failures, 0)
    if not (utility.schema is None or isinstance(utility.schema, Schema)):
        raise InvalidInput(
            f"{owner}.schema must be a Schema(n_features) or None; received "
            f"{written(utility.schema)}"
        )
    try:
        utility.check(providers)
    except ShapbandError:
        raise
    except Exception as cause:
        raise InvalidInput(
            f"{owner} must accept or refuse the providers, but its check failed "
            f"({error_line(cause)})"
        ) from cause


def _check_timeout(timeout: float) -> float:
    if check_number("timeout", timeout) <= 0:
        raise InvalidInput(f"timeout must be above 0 seconds; received {timeout!r}")
    return float(timeout)


def _seeds(seed: int | None) -> Seeds:
    if seed is None:
        return Seeds.fresh()
    return Seeds(
        check_whole("seed", seed, 0, ", or None for a seed from the operating system", most=None)
    )


def _check_budget(budget: Budget | None) -> Budget:
    if budget is None:
        return Budget()
    if not isinstance(budget, Budget):
        raise InvalidInput(
            f"budget must be a Budget(records=..., requests=...); received {type(budget).__name__}"
        )
    return budget
