"""The public names. `__init__.py` imports each of them when it is first used."""

from . import datasets, errors, extend, testing, theory
from ._value import value
from .access.access import Access
from .access.budget import Budget
from .access.meter import AccessReport
from .cluster.dask import DaskWorkers
from .cluster.ray import RayWorkers
from .engine.workers.base import Workers
from .estimate.estimate import Estimate
from .estimate.stopping import Precision, Seconds, StableRanking, StoppingRule
from .federated.files import load_rounds, save_rounds
from .federated.result import RecordedValuation
from .federated.rounds import RecordedRound
from .federated.value import value_recorded
from .games import Games
from .indices import Banzhaf, Beta, Index, Shapley
from .inputs.databases import providers_from_sql
from .inputs.file_providers import providers_from_files
from .market.bill import Bill, bill
from .market.next_batch import NextBatch, next_batch
from .market.payouts import Payouts, payouts
from .market.plan import plan
from .market.planning.proposals import Proposal, Proposals
from .market.prices import Prices
from .progress import GamesSoFar
from .providers import Group, Provider, providers_from_frame
from .records.batch import Batch, Schema
from .runs.extensions import Extension
from .runs.read import Run, RunStatus, load
from .runs.refused import RefusedAnswer
from .sampling.base import Purchases, Realisation, Sampling
from .sampling.blocks import Blocks
from .sampling.cohort import Cohort
from .sampling.design import Design
from .sampling.fresh import Fresh
from .sampling.independent import Independent
from .sampling.markov import MarkovChain
from .sampling.participation import Participation
from .sampling.pooled import Pooled
from .sampling.stratified import Stratified
from .sampling.trace import Trace
from .solvers.arcs import Arcs
from .solvers.balanced import BalancedPermutation
from .solvers.base import Solution, Solver
from .solvers.exact import Exact
from .solvers.known import Known
from .solvers.pairs import PairSolution
from .solvers.permutation import Permutation
from .solvers.strata import Strata
from .sources.arrays import ArraySource
from .sources.base import FiniteSource, GenerativeSource, Source
from .sources.delayed import with_delay
from .sources.file_source import FileSource
from .sources.frames import FrameSource
from .sources.functions import DistributionSource, FunctionSource
from .sources.http.source import HTTPSource
from .sources.retry import Retry
from .sources.sql.source import SQLSource
from .utilities.additive import AdditiveUtility
from .utilities.base import Utility
from .utilities.bayes import GaussianNBUtility
from .utilities.discriminant import LDAUtility
from .utilities.estimator import EstimatorUtility
from .utilities.federated.federated import FederatedUtility
from .utilities.function import FunctionUtility
from .utilities.linear import LinearUtility
from .utilities.logistic import LogisticUtility
from .utilities.neighbors import NeighborUtility
from .utilities.networks.network import NetworkUtility
from .utilities.recognise import utility_for
from .utilities.table import TableUtility
from .valuation.by_round import ByRound, RoundValues
from .valuation.compare import Comparison, compare
from .valuation.groups import Groups
from .valuation.interactions import Interactions
from .valuation.provider import ProviderValue
from .valuation.series import SeriesComparison, compare_series
from .valuation.several import Difference, Ranks
from .valuation.spread import Correlation, Distribution
from .valuation.valuation import Valuation

__version__: str

__all__ = [
    "Access",
    "AccessReport",
    "AdditiveUtility",
    "Arcs",
    "ArraySource",
    "BalancedPermutation",
    "Banzhaf",
    "Batch",
    "Beta",
    "Bill",
    "Blocks",
    "Budget",
    "ByRound",
    "Cohort",
    "Comparison",
    "Correlation",
    "DaskWorkers",
    "Design",
    "Difference",
    "Distribution",
    "DistributionSource",
    "Estimate",
    "EstimatorUtility",
    "Exact",
    "Extension",
    "FederatedUtility",
    "FileSource",
    "FiniteSource",
    "FrameSource",
    "Fresh",
    "FunctionSource",
    "FunctionUtility",
    "Games",
    "GamesSoFar",
    "GaussianNBUtility",
    "GenerativeSource",
    "Group",
    "Groups",
    "HTTPSource",
    "Independent",
    "Index",
    "Interactions",
    "Known",
    "LDAUtility",
    "LinearUtility",
    "LogisticUtility",
    "MarkovChain",
    "NeighborUtility",
    "NetworkUtility",
    "NextBatch",
    "PairSolution",
    "Participation",
    "Payouts",
    "Permutation",
    "Pooled",
    "Precision",
    "Prices",
    "Proposal",
    "Proposals",
    "Provider",
    "ProviderValue",
    "Purchases",
    "Ranks",
    "RayWorkers",
    "Realisation",
    "RecordedRound",
    "RecordedValuation",
    "RefusedAnswer",
    "Retry",
    "RoundValues",
    "Run",
    "RunStatus",
    "SQLSource",
    "Sampling",
    "Schema",
    "Seconds",
    "SeriesComparison",
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
    "Utility",
    "Valuation",
    "Workers",
    "bill",
    "compare",
    "compare_series",
    "datasets",
    "errors",
    "extend",
    "load",
    "load_rounds",
    "next_batch",
    "payouts",
    "plan",
    "providers_from_files",
    "providers_from_frame",
    "providers_from_sql",
    "save_rounds",
    "testing",
    "theory",
    "utility_for",
    "value",
    "value_recorded",
    "with_delay",
]
