"""The public names. `__init__.py` imports each of them when it is first used."""

from . import datasets, errors, testing, theory
from ._bill import bill
from ._compare import Comparison, compare
from ._payouts import payouts
from ._plan import plan
from ._value import value
from .access.access import Access
from .access.budget import Budget, Cost
from .access.meter import AccessReport, Usage
from .coalitions import members
from .draws import Draws
from .execution.dask import DaskWorkers
from .execution.ray import RayWorkers
from .games import Games
from .groups import Groups
from .indices import Banzhaf, Beta, Index, Shapley
from .moments.accumulate import Moments
from .moments.stopping import Precision, Seconds, StableRanking, StoppingRule
from .paying.payouts import Payouts
from .planning.bill import Bill
from .planning.prices import Prices
from .planning.proposals import Proposal, Proposals
from .providers import Group, Provider, providers_from_frame
from .records import Batch, Schema
from .runs.read import Run, RunStatus, load
from .runs.refused import RefusedAnswer
from .sampling.base import Purchases, Realisation, Sampling
from .sampling.blocks import Blocks
from .sampling.cohort import Cohort
from .sampling.fresh import Fresh
from .sampling.independent import Independent
from .sampling.markov import MarkovChain
from .sampling.participation import Participation
from .sampling.pooled import Pooled
from .sampling.stratified import Stratified
from .sampling.trace import Trace
from .several import Difference, Ranks
from .solvers.balanced import BalancedPermutation
from .solvers.base import Solution, Solver
from .solvers.exact import Exact
from .solvers.permutation import (
    Permutation,
    marginal_contributions,
    random_orders,
    variance_of_mean,
)
from .solvers.strata import Strata
from .sources.arrays import ArraySource
from .sources.base import FiniteSource, GenerativeSource, Source
from .sources.delayed import with_delay
from .sources.frames import FrameSource
from .sources.functions import DistributionSource, FunctionSource
from .spread import Correlation, Distribution
from .utilities.additive import AdditiveUtility
from .utilities.base import Utility
from .utilities.bayes import GaussianNBUtility
from .utilities.discriminant import LDAUtility
from .utilities.estimator import EstimatorUtility
from .utilities.function import FunctionUtility
from .utilities.linear import LinearUtility
from .utilities.logistic import LogisticUtility
from .utilities.neighbors import NeighborUtility
from .utilities.networks.network import NetworkUtility
from .utilities.recognise import utility_for
from .utilities.table import TableUtility
from .valuation import Valuation

__version__: str

__all__ = [
    "Access",
    "AccessReport",
    "AdditiveUtility",
    "ArraySource",
    "BalancedPermutation",
    "Banzhaf",
    "Batch",
    "Beta",
    "Bill",
    "Blocks",
    "Budget",
    "Cohort",
    "Comparison",
    "Correlation",
    "Cost",
    "DaskWorkers",
    "Difference",
    "Distribution",
    "DistributionSource",
    "Draws",
    "EstimatorUtility",
    "Exact",
    "FiniteSource",
    "FrameSource",
    "Fresh",
    "FunctionSource",
    "FunctionUtility",
    "Games",
    "GaussianNBUtility",
    "GenerativeSource",
    "Group",
    "Groups",
    "Independent",
    "Index",
    "LDAUtility",
    "LinearUtility",
    "LogisticUtility",
    "MarkovChain",
    "Moments",
    "NeighborUtility",
    "NetworkUtility",
    "Participation",
    "Payouts",
    "Permutation",
    "Pooled",
    "Precision",
    "Prices",
    "Proposal",
    "Proposals",
    "Provider",
    "Purchases",
    "Ranks",
    "RayWorkers",
    "Realisation",
    "RefusedAnswer",
    "Run",
    "RunStatus",
    "Sampling",
    "Schema",
    "Seconds",
    "Shapley",
    "Solution",
    "Solver",
    "Source",
    "StableRanking",
    "StoppingRule",
    "Strata",
    "Stratified",
    "TableUtility",
    "Trace",
    "Usage",
    "Utility",
    "Valuation",
    "bill",
    "compare",
    "datasets",
    "errors",
    "load",
    "marginal_contributions",
    "members",
    "payouts",
    "plan",
    "providers_from_frame",
    "random_orders",
    "testing",
    "theory",
    "utility_for",
    "value",
    "variance_of_mean",
    "with_delay",
]
