"""Checks of valuations with interactions, and the solver that is used if none is named."""

from __future__ import annotations

from collections.abc import Sequence

from shapband.checks import check_kind
from shapband.errors import InvalidInput
from shapband.indices import SHAPLEY, Index
from shapband.sampling.participation import Participation
from shapband.solvers.base import Solver
from shapband.solvers.exact import Exact
from shapband.solvers.pairs import MOST_PROVIDERS
from shapband.solvers.strata import Strata
from shapband.utilities.base import Utility

# Up to this many providers all coalitions are evaluated, if the utility is compiled. An interaction
# is a second difference, so that sampling costs more digits than it does for a value.
_EXACT_UP_TO = 12
_EVALUATIONS = 40  # evaluations of `Strata` per provider


def check_interactions(
    wanted: object,
    names: Sequence[str],
    players: Sequence[int],
    index: Index,
    participation: Participation | None,
) -> bool:
    """Check the argument `interactions`, and whether the other arguments allow it.

    Parameters
    ----------
    players : number of providers of every player: of each group, and 1 for each single provider
    """
    check_kind("interactions", wanted, bool, "True or False")
    if not wanted:
        return False
    n = len(names)
    if n < 2:
        raise InvalidInput("interactions: a single provider has none: leave interactions out")
    if n > MOST_PROVIDERS:
        raise InvalidInput(
            f"interactions: at most {MOST_PROVIDERS} providers are allowed, because {n:,} have "
            f"{n * (n - 1) // 2:,} pairs: leave interactions out, or value some of the providers"
        )
    if max(players) > 1:
        raise InvalidInput(
            "interactions: they are defined for providers without groups: leave interactions out, "
            "or value the providers without groups"
        )
    if index != SHAPLEY:
        raise InvalidInput(
            f"interactions: they belong to Shapley values; received the index {index!r}: leave "
            "index or interactions out"
        )
    if participation is not None:
        _check_participation(participation, names)
    return True


def _check_participation(participation: Participation, names: Sequence[str]) -> None:
    """Refuse games that depend on each other, for which errors of pairs are not implemented."""
    persists = participation.per == "game" and participation.persistence(names).any()
    if participation.recorded or persists:
        raise InvalidInput(
            f"interactions: games with {type(participation).__name__} depend on each other, and "
            "the errors of interactions assume that they do not: use Independent or Cohort, or "
            "leave interactions out"
        )


def interaction_solver(n_providers: int, utility: Utility) -> tuple[Solver, str]:
    """Choose `Exact` or `Strata`, the solvers that give interactions, and say why.

    Examples
    --------
    >>> import shapband as sb
    >>> utility = sb.AdditiveUtility()
    >>> interaction_solver(10, utility)[0], interaction_solver(30, utility)[0]
    (Exact(), Strata(n_evaluations=1200))
    """
    most = max(utility.exact_up_to, _EXACT_UP_TO if utility.mergeable else 0)
    if n_providers <= most or 2**n_providers <= _EVALUATIONS * n_providers:
        return Exact(), "all coalitions give exact interactions"
    return Strata(_EVALUATIONS * n_providers), "it gives interactions of many providers"


def check_gives_interactions(solver: Solver) -> None:
    """Refuse a solver that gives no interactions."""
    if not solver.gives_interactions:
        owner = type(solver).__name__
        raise InvalidInput(
            f"interactions: {owner} does not give them: use Exact for up to 20 providers, Strata "
            "for more, or None to let the library choose"
        )
