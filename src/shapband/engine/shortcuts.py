"""Cases that need fewer games: equal games, and games that are averaged over who is present."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shapband.indices import SHAPLEY, Index
from shapband.providers import Provider
from shapband.sampling.base import Sampling
from shapband.sampling.independent import Independent
from shapband.sampling.participation import Participation
from shapband.sampling.pooled import Pooled
from shapband.sampling.stratified import Stratified
from shapband.solvers.base import Solver
from shapband.solvers.exact import Exact
from shapband.utilities.base import Utility

# Averaging evaluates all coalitions; drawing presence evaluates only the coalitions of the
# providers present. Averaging is chosen if it takes at most this many times the work. One average
# over who is present replaces about 5 games if providers are present with probability 0.8, and
# about 20 games with probability 0.5, when the values vary by a quarter from draw to draw.
_MOST = 32


class Averaging(NamedTuple):
    """Whether to average over who is present, and why.

    There is no reason if everybody is always present in games.
    """

    averages: bool
    reason: str


EVERYBODY = Averaging(averages=False, reason="")


def choose_averaging(
    participation: Participation | None,
    sampling: Sampling,
    solver: Solver,
    index: Index,
    names: Sequence[str],
) -> Averaging:
    """Average if every game has the records of all providers and the values of all coalitions.

    Examples
    --------
    >>> import shapband as sb
    >>> given = sb.Exact(), sb.Shapley(), ["north", "south"]
    >>> choose_averaging(sb.Independent(0.8), sb.Pooled(250, 60), *given).averages
    True
    >>> choose_averaging(sb.Independent(0.8), sb.Fresh(60), *given).reason
    'Fresh asks only those who take part'
    """
    if participation is None or participation.per == "round":
        return EVERYBODY
    if (participation.rates(names) == 1).all():
        return EVERYBODY
    against = _against(participation, sampling, solver, index, names)
    if against:
        return Averaging(averages=False, reason=against)
    return Averaging(
        averages=True, reason="pools have records of everybody, and all coalitions are evaluated"
    )


def _against(
    participation: Participation,
    sampling: Sampling,
    solver: Solver,
    index: Index,
    names: Sequence[str],
) -> str:
    """Say why presence must be drawn; empty if games can be averaged over it.

    Types are compared exactly, because subclasses may behave differently.
    """
    if type(participation) is not Independent:
        return f"{type(participation).__name__} is not Independent"
    if type(sampling) not in (Pooled, Stratified):
        return f"{type(sampling).__name__} asks only those who take part"
    if index != SHAPLEY:
        return f"only Shapley values can be averaged over presence, not values of {index!r}"
    if type(solver) is not Exact:
        return f"{type(solver).__name__} does not evaluate all coalitions"
    times = float(np.prod(2 / (1 + participation.rates(names))))
    if times > _MOST:
        return (
            f"all coalitions are {times:,.0f} times as many as the coalitions of the providers "
            f"present, more than {_MOST} times"
        )
    return ""


def why_certain(
    providers: Sequence[Provider],
    utility: Utility,
    sampling: Sampling,
    solver: Solver,
    participation: Participation | None,
) -> str:
    """Return why all games are equal, or an empty string if anything in them is random.

    Examples
    --------
    >>> import shapband as sb
    >>> providers = [sb.Provider("north", sb.ArraySource([[1.0], [2.0]], [0.0, 1.0]))]
    >>> given = sb.Exact(), None
    >>> why_certain(providers, sb.AdditiveUtility(), sb.Fresh(2), *given)
    'every draw is the whole stock of its provider'
    >>> why_certain(providers, sb.AdditiveUtility(), sb.Fresh(1), *given)
    ''
    """
    if participation is not None or not isinstance(solver, Exact):
        return ""
    if not utility.uses_records:
        return "the utility does not depend on the records"
    # A draw of a whole stock has the same records in every game, but in another order.
    if utility.any_order and sampling.draws_whole_stocks(providers):
        return "every draw is the whole stock of its provider"
    return ""
