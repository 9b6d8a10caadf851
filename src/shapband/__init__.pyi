"""The public names. `__init__.py` imports each of them when it is first used."""

from . import datasets, errors, theory
from ._compare import Comparison, compare
from ._value import value
from .access.budget import Budget
from .access.meter import AccessReport, Usage
from .execution.dask import DaskWorkers
from .execution.ray import RayWorkers
from .moments.accumulate import Moments
from .moments.stopping import Precision, Seconds, StableRanking, StoppingRule
from .providers import Provider, providers_from_frame
from .records import Batch
from .runs.read import Run, RunStatus, load
from .sampling.blocks import Blocks
from .sampling.fresh import Fresh
from .sampling.pooled import Pooled
from .sampling.stratified import Stratified
from .solvers.balanced import BalancedPermutation
from .solvers.exact import Exact
from .solvers.permutation import Permutation, marginal_contributions
from .sources.arrays import ArraySource
from .sources.delayed import with_delay
from .sources.frames import FrameSource
from .sources.functions import DistributionSource, FunctionSource
from .utilities.additive import AdditiveUtility
from .utilities.estimator import EstimatorUtility
from .utilities.function import FunctionUtility
from .utilities.linear import LinearUtility
from .utilities.neighbors import NeighborUtility
from .utilities.table import TableUtility
from .valuation import Valuation

__version__: str

__all__ = [
    "AccessReport",
    "AdditiveUtility",
    "ArraySource",
    "BalancedPermutation",
    "Batch",
    "Blocks",
    "Budget",
    "Comparison",
    "DaskWorkers",
    "DistributionSource",
    "EstimatorUtility",
    "Exact",
    "FrameSource",
    "Fresh",
    "FunctionSource",
    "FunctionUtility",
    "LinearUtility",
    "Moments",
    "NeighborUtility",
    "Permutation",
    "Pooled",
    "Precision",
    "Provider",
    "RayWorkers",
    "Run",
    "RunStatus",
    "Seconds",
    "StableRanking",
    "StoppingRule",
    "Stratified",
    "TableUtility",
    "Usage",
    "Valuation",
    "compare",
    "datasets",
    "errors",
    "load",
    "marginal_contributions",
    "providers_from_frame",
    "theory",
    "value",
    "with_delay",
]
