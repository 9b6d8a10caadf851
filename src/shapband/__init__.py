"""What each data provider is worth, and how sure we can be."""

from shapband import datasets, errors
from shapband.access.budget import Budget
from shapband.access.meter import AccessReport, Usage
from shapband.moments.accumulate import Moments
from shapband.moments.closed_form import ClosedForm, additive_gaussian, closed_form, shapley_matrix
from shapband.moments.pools import finite_pool_correction, normalise_draw_size
from shapband.providers import Provider, providers_from_frame
from shapband.records import Batch
from shapband.sampling.allocation import allocate
from shapband.sampling.blocks import Blocks
from shapband.sampling.fresh import Fresh
from shapband.sampling.pooled import Pooled
from shapband.sampling.stratified import Stratified
from shapband.solvers.balanced import BalancedPermutation
from shapband.solvers.exact import Exact
from shapband.solvers.permutation import Permutation, marginal_contributions
from shapband.sources.arrays import ArraySource
from shapband.sources.delayed import with_delay
from shapband.sources.frames import FrameSource
from shapband.sources.functions import DistributionSource, FunctionSource
from shapband.utilities.additive import AdditiveUtility
from shapband.utilities.estimator import EstimatorUtility
from shapband.utilities.function import FunctionUtility
from shapband.utilities.linear import LinearUtility
from shapband.utilities.neighbors import NeighborUtility
from shapband.utilities.table import TableUtility
from shapband.valuation import Valuation
from shapband.value import value

__version__ = "0.1.0"

__all__ = [
    "AccessReport",
    "AdditiveUtility",
    "ArraySource",
    "BalancedPermutation",
    "Batch",
    "Blocks",
    "Budget",
    "ClosedForm",
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
    "Provider",
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
