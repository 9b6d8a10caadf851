"""Checks that a class of your own follows the library's rules: a source, a utility, and so on.

Each check computes small examples with known answers, and raises
`shapband.errors.ConformanceError` at the first rule that is broken. The checks are meant for
your own tests: ``sb.testing.check_solver(MySolver())``. `compare_solvers` measures the errors of
solvers that evaluate equally many coalitions. `serve` is a small HTTP server, to try `HTTPSource`
and clients of your own.
"""

from shapband.testing.compare_solvers import compare_solvers
from shapband.testing.known_games import KnownGame
from shapband.testing.participations import check_participation
from shapband.testing.samplings import check_sampling
from shapband.testing.server import Server, serve
from shapband.testing.solver_scores import SolverComparison, SolverScore
from shapband.testing.solvers import check_solver
from shapband.testing.sources import check_source
from shapband.testing.utilities import check_utility

__all__ = [
    "KnownGame",
    "Server",
    "SolverComparison",
    "SolverScore",
    "check_participation",
    "check_sampling",
    "check_solver",
    "check_source",
    "check_utility",
    "compare_solvers",
    "serve",
]
