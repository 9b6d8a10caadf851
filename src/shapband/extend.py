"""Names that only your own samplings, solvers and utilities need.

`docs/extending.md` shows them in use.
"""

from shapband.access.budget import Cost
from shapband.access.meter import Usage
from shapband.coalitions import members
from shapband.records.draws import Draws
from shapband.solvers.permutation import marginal_contributions, random_orders, variance_of_mean

__all__ = [
    "Cost",
    "Draws",
    "Usage",
    "marginal_contributions",
    "members",
    "random_orders",
    "variance_of_mean",
]
