"""How much work a valuation does, in counts that no machine changes.

The numbers are exact: whoever makes the library evaluate, fit, fetch or summarise more than it
must finds out here, without a stopwatch.
"""

import cloudpickle
import numpy as np
import pytest
from sklearn.base import BaseEstimator

import shapband as sb
from shapband.access.access import Access
from shapband.coalitions import prefix_masks
from shapband.engine.arguments import check_arguments
from shapband.engine.chunks import _NEAR_FLOATS, Job
from shapband.engine.copies import known_stocks
from shapband.engine.tasks import Chunk
from shapband.records.batch import Batch, Schema
from shapband.sources.base import FiniteSource, GenerativeSource
from tests.conftest import linear_providers

N, FEATURES, RECORDS, DRAW, POOL, GAMES = 4, 3, 40, 12, 30, 6
BYTES = 8 * (FEATURES + 1)  # of one record


class CountingRows(FiniteSource):
    """Records that are not in memory: every game's rows must be asked for."""

    def __init__(self, X, y):
        self.X, self.y = X, y
        self.calls, self.records_given, self.bytes_given = 0, 0, 0

    @property
    def schema(self):
        return Schema(self.X.shape[1])

    @property
    def size(self):
        return len(self.y)

    def take(self, rows):
        batch = Batch(self.X[rows], self.y[rows])
        self.calls += 1
        self.records_given += len(batch)
        self.bytes_given += batch.X.nbytes + batch.y.nbytes
        return batch


class CountingDraws(GenerativeSource):
    """A function that is called for every draw."""

    def __init__(self):
        self.calls, self.records_given, self.bytes_given = 0, 0, 0

    @property
    def schema(self):
        return None

    def draw(self, size, rng):
        batch = Batch(rng.normal(size=(size, FEATURES)), rng.normal(size=size))
        self.calls += 1
        self.records_given += size
        self.bytes_given += batch.X.nbytes + batch.y.nbytes
        return batch


class CountingEstimator(BaseEstimator):
    """Notes what it is fitted to; clones share the notes."""

    fits: list = []  # noqa: RUF012  shared on purpose
    scores: list = []  # noqa: RUF012

    def fit(self, X, y):
        self.fits.append(X.tobytes())
        return self

    def score(self, X, y):
        self.scores.append(len(y))
        return float(len(self.fits))


@pytest.fixture
def counter():
    CountingEstimator.fits.clear()
    CountingEstimator.scores.clear()
    return CountingEstimator


class CountingUtility(sb.LinearUtility):
    """Notes the sizes of the chunks that are summarised and solved."""

    def __init__(self, *validation):
        super().__init__(*validation)
        self.summarised, self.tables, self.walks = [], [], []

    def summarise_games(self, draws):
        if hasattr(self, "summarised"):
            self.summarised.append(len(draws[0].rows))
        return super().summarise_games(draws)

    def evaluate_all(self, games):
        self.tables.append(len(games))
        return super().evaluate_all(games)

    def evaluate_prefixes(self, games, orders, first):
        self.walks.append(len(games))
        return super().evaluate_prefixes(games, orders, first)


def play(utility, providers=None, **arguments):
    providers = linear_providers(N, RECORDS, FEATURES)[0] if providers is None else providers
    arguments = {"sampling": sb.Fresh(DRAW), "n_games": GAMES, "seed": 0} | arguments
    return sb.value(providers, utility, **arguments)


def validation():
    return linear_providers(N, RECORDS, FEATURES)[1]


# Coalitions evaluated


@pytest.mark.parametrize(
    ("solver", "evaluations"),
    [
        (sb.Exact(), 6 * 15),
        # Distinct prefixes of this seed's orders, counted as sets: 7, 5, 7, 7, 7 and 5.
        (sb.Permutation(2), 38),
        # The whole table costs no more than 4 × 4 prefixes.
        (sb.Permutation(4), 6 * 15),
        (sb.Permutation(100), 6 * 15),
        (sb.BalancedPermutation(8), 6 * 15),
    ],
    ids=repr,
)
def test_coalitions_evaluated_by_each_solver(solver, evaluations):
    assert play(sb.LinearUtility(*validation()), solver=solver).evaluations == evaluations


def test_shared_prefixes_count_once_with_many_providers():
    """The counts are those of the sets of prefixes of this seed's orders, game by game."""
    providers, rows = linear_providers(10, RECORDS, FEATURES)
    arguments = {"providers": providers, "n_games": 3}
    few = play(sb.LinearUtility(*rows), solver=sb.Permutation(8), **arguments)
    assert few.evaluations == 66 + 68 + 68
    blocks = play(sb.LinearUtility(*rows), solver=sb.BalancedPermutation(20), **arguments)
    assert blocks.evaluations == 149 + 151 + 147


# Fits of a black box


def test_exact_fits_every_coalition_once_a_game(counter):
    utility = sb.EstimatorUtility(counter(), *validation())
    valuation = play(utility, solver=sb.Exact(), fixed_validation=True)
    assert len(counter.fits) == len(counter.scores) == valuation.evaluations == GAMES * (2**N - 1)
    assert len(set(counter.fits)) == len(counter.fits)
    play(utility, solver=sb.Exact())
    assert len(counter.fits) == 2 * valuation.evaluations  # the folds need no further fits


@pytest.mark.parametrize("solver", [sb.Permutation(3), sb.Permutation(30)], ids=repr)
def test_permutations_fit_every_distinct_prefix_once_a_game(counter, solver, monkeypatch):
    seen = []
    solve_with = sb.EstimatorUtility.evaluate_prefixes

    def note(self, games, orders, first):
        seen.extend(len({m for order in game for m in prefix_masks(order)}) for game in orders)
        return solve_with(self, games, orders, first)

    monkeypatch.setattr(sb.EstimatorUtility, "evaluate_prefixes", note)
    utility = sb.EstimatorUtility(counter(), *validation())
    valuation = play(utility, solver=solver, fixed_validation=True)
    assert len(seen) == GAMES
    assert len(counter.fits) == valuation.evaluations == sum(seen)
    assert len(set(counter.fits)) == len(counter.fits)


def test_the_empty_coalition_is_never_fitted(counter):
    play(sb.EstimatorUtility(counter(), *validation()), solver=sb.Exact(), n_games=2)
    assert all(counter.fits)


# Calls of the sources


def counted(samplings, source):
    """Value N providers with counting sources; calls, records and bytes of each."""
    sources = [source() for _ in range(N)]
    providers = [sb.Provider(f"p{i}", counting) for i, counting in enumerate(sources)]
    valuation = play(sb.LinearUtility(*validation()), providers, sampling=samplings)
    counts = [(found.calls, found.records_given, found.bytes_given) for found in sources]
    assert valuation.access.requests == sum(calls for calls, _, _ in counts)
    assert valuation.access.records == sum(records for _, records, _ in counts)
    return counts


def remote_rows():
    rng = np.random.default_rng(0)
    return CountingRows(rng.normal(size=(RECORDS, FEATURES)), rng.normal(size=RECORDS))


@pytest.mark.parametrize("source", [remote_rows, CountingDraws])
def test_fresh_draws_ask_once_a_game(source):
    each = (GAMES, GAMES * DRAW, GAMES * DRAW * BYTES)
    assert counted(sb.Fresh(DRAW), source) == [each] * N


@pytest.mark.parametrize("source", [remote_rows, CountingDraws])
@pytest.mark.parametrize(
    "sampling",
    [sb.Pooled(POOL, DRAW), sb.Stratified(POOL, DRAW, 0.8), sb.Pooled(POOL, DRAW, replace=False)],
    ids=repr,
)
def test_pools_ask_once_in_all(sampling, source):
    assert counted(sampling, source) == [(1, POOL, POOL * BYTES)] * N


def test_records_in_memory_are_never_copied_before_the_kernels_see_them():
    X, y = np.random.default_rng(0).normal(size=(RECORDS, FEATURES)), np.arange(float(RECORDS))
    source = sb.ArraySource(X, y)
    seen = []

    class Peek(sb.LinearUtility):
        def summarise_games(self, draws):
            seen.extend(drawn.batch for drawn in draws)
            return super().summarise_games(draws)

    play(Peek(*validation()), [sb.Provider("a", source), sb.Provider("b", source)])
    assert len(seen) == 2
    assert all(batch is source.records for batch in seen)


# Chunks


def test_all_games_that_fit_are_one_chunk():
    utility = CountingUtility(*validation())
    play(utility, solver=sb.Exact(), n_games=100)
    assert (utility.summarised, utility.tables, utility.walks) == ([100], [100], [])


def test_permutations_walk_once_a_chunk():
    utility = CountingUtility(*validation())
    play(utility, solver=sb.Permutation(2), n_games=100)
    assert (utility.summarised, utility.tables, utility.walks) == ([100], [], [100])


def test_cheap_tables_replace_walks():
    utility = CountingUtility(*validation())
    play(utility, solver=sb.Permutation(50), n_games=100)
    assert (utility.tables, utility.walks) == ([100], [])


def test_larger_work_is_cut_into_chunks_of_the_memory_target():
    """A game holds the 2**n numbers of its table and the summaries; draws come and go."""
    utility = CountingUtility(*validation())
    per_game = 2**N + N * (15 + 3 + 36)  # sums in 16 digits, a record, and sums in 32 digits
    assert per_game == 232
    fits = _NEAR_FLOATS // per_game
    play(utility, solver=sb.Exact(), n_games=fits + 1)
    assert utility.summarised == utility.tables == [fits, 1]


def test_black_boxes_are_summarised_game_by_game(counter, monkeypatch):
    chunks = []
    summarise = sb.EstimatorUtility.summarise_games

    def note(self, draws):
        chunks.append(len(draws[0].rows))
        return summarise(self, draws)

    monkeypatch.setattr(sb.EstimatorUtility, "summarise_games", note)
    play(sb.EstimatorUtility(counter(), *validation()), solver=sb.Exact())
    assert chunks == [1] * GAMES


# Checks of records


class CheckingUtility(sb.LinearUtility):
    """Notes the batches that are checked."""

    def __init__(self, *validation):
        super().__init__(*validation)
        self.checked = []

    def check_batch(self, batch):
        self.checked.append(batch)
        super().check_batch(batch)


@pytest.mark.parametrize("participation", [None, sb.Independent(0.5)], ids=repr)
def test_records_in_memory_are_checked_before_the_games_and_once_for_all_chunks(participation):
    utility = CheckingUtility(*validation())
    play(utility, chunk_size=1, participation=participation)
    assert len(utility.checked) == 2 * N
    assert len(set(utility.checked)) == N


def test_a_pool_is_checked_once_for_all_chunks():
    utility = CheckingUtility(*validation())
    providers = [sb.Provider(f"p{i}", remote_rows()) for i in range(N)]
    play(utility, providers, sampling=sb.Pooled(POOL, DRAW), chunk_size=1)
    assert len(utility.checked) == 2 * N  # when they arrive, and as the records of the games


def test_new_records_of_every_chunk_are_checked():
    utility = CheckingUtility(*validation())
    providers = [sb.Provider(f"p{i}", remote_rows()) for i in range(N)]
    play(utility, providers, chunk_size=1)
    assert len(utility.checked) == 2 * N * GAMES  # when they arrive, and as records of a game


def test_a_job_is_sent_to_other_processes_without_the_batches_that_it_checked():
    providers, rows = linear_providers(N, RECORDS, FEATURES)
    plan = check_arguments(
        providers, sb.LinearUtility(*rows), sampling=sb.Fresh(DRAW), n_games=GAMES, seed=0
    )
    realisation = plan.sampling.prepare(Access(providers, plan.seeds, plan.budget))
    games = Chunk(range(GAMES), realisation.draws(range(GAMES)))
    Job.of(plan, plan.completed(realisation.design))(games)  # the utility keeps what it computes
    job = Job.of(plan, plan.completed(realisation.design))
    before = cloudpickle.dumps(job)
    job(games)
    assert len(job.checked) == N
    assert cloudpickle.dumps(job) == before


def test_the_stocks_of_a_valuation_are_looked_up_once(monkeypatch):
    looked_up = []

    def note(plan, realisation):
        looked_up.append(realisation)
        return known_stocks(plan, realisation)

    for module in ("copies", "play"):
        monkeypatch.setattr(f"shapband.engine.{module}.known_stocks", note)
    play(sb.LinearUtility(*validation()))
    assert len(looked_up) == 1
