"""Whether all games of a valuation are equal by design, so that one game is enough."""

from __future__ import annotations

from collections.abc import Sequence

from shapband.providers import Provider
from shapband.sampling.base import Sampling
from shapband.sampling.participation import Participation
from shapband.solvers.base import Solver
from shapband.solvers.exact import Exact
from shapband.utilities.base import Utility


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
    # A whole stock comes in another order in every game.
    if utility.any_order and sampling.draws_whole_stocks(providers):
        return "every draw is the whole stock of its provider"
    return ""
