"""A valuation's arguments, checked and completed before any source is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from shapband.access.access import CONCURRENCY, TIMEOUT
from shapband.access.budget import Budget
from shapband.checks import check_number, check_whole, error_line, written
from shapband.errors import InvalidInput, ShapbandError
from shapband.grouping import Grouping
from shapband.indices import SHAPLEY, Index, check_index
from shapband.moments.stopping import StoppingRule
from shapband.providers import Group, Provider, check_providers
from shapband.records import Schema
from shapband.sampling.base import Sampling
from shapband.seeds import Seeds
from shapband.solvers.base import Solver
from shapband.solvers.default import default_group_solver, default_solver
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
    index: Index = SHAPLEY
    reason: str = ""  # for the solver, if the user named none
    grouping: Grouping | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The providers' names, in the order of all arrays."""
        return tuple(provider.name for provider in self.providers)

    @property
    def setup(self) -> dict[str, str]:
        """Utility, value of the empty coalition, index, sampling and solver as text.

        "chosen" is the reason for the solver, if the user named none.
        """
        source = " (a dummy model)" if self.utility.baseline else ""
        setup = {
            "utility": type(self.utility).__name__,
            "empty": f"v(∅) = {float(self.utility.empty):.6g}{source}",
            "index": repr(self.index),
            "sampling": repr(self.sampling),
            "solver": repr(self.solver),
        }
        return {**setup, "chosen": self.reason} if self.reason else setup


def make_plan(
    providers: Sequence[Provider | Group],
    utility: Utility,
    *,
    sampling: Sampling,
    n_games: int,
    seed: int | None,
    solver: Solver | None = None,
    index: Index | None = None,
    budget: Budget | None = None,
    stop: StoppingRule | None = None,
    chunk_size: int | None = None,
    keep_games: int | None = None,
    concurrency: int = CONCURRENCY,
    timeout: float = TIMEOUT,
    locate: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> Plan:
    """Check all arguments of a valuation before any source is asked, and fill in the defaults.

    The arguments are those of `value`; `locate` returns a context that adds the position of
    an argument, such as the key in a configuration file, to its errors.
    """
    with locate("providers"):
        checked, grouping = check_providers(providers)
    sizes = _player_sizes(checked, grouping)
    chosen, reason = solver, ""
    if chosen is None:
        chosen, reason = _default_solver(sizes, utility, sampling)
    _check_kinds(utility, sampling, chosen, stop)
    check_whole("n_games", n_games, 2, " (a variance needs two games)")
    if chunk_size is not None:
        check_whole("chunk_size", chunk_size, 1, ", or None to let the library choose")
    if keep_games is not None:
        check_whole("keep_games", keep_games, 0, ", or None for as many as fit in 40 MB")
    check_whole("concurrency", concurrency, 1)
    weighing = check_index(SHAPLEY if index is None else index, len(checked))
    with locate("solver"):
        _check_any_index(chosen, weighing)
        if max(sizes) > 1:
            _check_owen(weighing)
            chosen.check_groups(sizes)
        else:
            chosen.check(len(checked))
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
        index=weighing,
        reason=reason,
        grouping=grouping,
    )


def _player_sizes(providers: Sequence[Provider], grouping: Grouping | None) -> list[int]:
    """Number of providers of every player of the game between groups."""
    if grouping is None:
        return [1] * len(providers)
    players = grouping.players([provider.name for provider in providers])
    return [len(members) for members in players.values()]


def _default_solver(
    sizes: Sequence[int], utility: Utility, sampling: Sampling
) -> tuple[Solver, str]:
    if max(sizes) > 1:
        return default_group_solver(sizes)
    return default_solver(len(sizes), utility, sampling)


def _check_owen(index: Index) -> None:
    """Refuse other indices: members share the value of a group by Owen values."""
    if index != SHAPLEY:
        raise InvalidInput(
            f"index: groups share their Shapley value among their members; received {index!r}: "
            "leave index out, or value the providers without groups"
        )


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


def _check_any_index(solver: Solver, index: Index) -> None:
    if index != SHAPLEY and not solver.any_index:
        owner = type(solver).__name__
        raise InvalidInput(
            f"{owner} computes Shapley values only; received the index {index!r}: use Exact, "
            f"Permutation or BalancedPermutation, or set {owner}.any_index = True if its solve "
            "follows games.index"
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
