"""The public names. `__init__.py` imports each of them when it is first used."""

from . import datasets, errors
from ._value import value
from .access.budget import Budget
from .access.meter import AccessReport, Usage
from .execution.dask import DaskWorkers
from .execution.ray import RayWorkers
from .moments.accumulate import Moments
from .moments.closed_form import ClosedForm, additive_gaussian, closed_form, shapley_matrix
from .moments.pools import finite_pool_correction, normalise_draw_size
from .moments.stopping import Precision, Seconds, StableRanking, StoppingRule
from .providers import Provider, providers_from_frame
from .records import Batch
from .sampling.allocation import allocate
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
    "ClosedForm",
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
    "Seconds",
    "StableRanking",
    "StoppingRule",
    "Stratified",
    "TableUtility",
    "Usage",
    "Valuation",
    "additive_gaussian",
    "allocate",
    "closed_form",
    "datasets",
    "errors",
    "finite_pool_correction",
    "marginal_contributions",
    "normalise_draw_size",
    "providers_from_frame",
    "shapley_matrix",
    "value",
    "with_delay",
]
