"""Sources in memory, of functions and of distributions, and how they are asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import dirichlet, multivariate_normal, norm, poisson

import shapband as sb
from shapband.errors import SourceError
from shapband.records.batch import Batch
from shapband.sources.base import FiniteSource

RECORDS = np.arange(30.0)


class Recording(FiniteSource):
    """Thirty numbers, and the list of rows that were asked for."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    @property
    def size(self) -> int:
        return len(RECORDS)

    @property
    def schema(self) -> None:
        return None

    def take(self, rows: Any) -> Batch:
        self.asked.append(rows.tolist())
        return Batch(RECORDS[rows].reshape(-1, 1), RECORDS[rows])


def draws_of(source: Any, sampling: Any, n_games: int = 12, seed: int = 0) -> np.ndarray:
    """Give the targets that reach the utility: (n_games, draw_size)."""
    seen: list[Any] = []

    def look(X: Any, y: Any) -> float:
        np.testing.assert_array_equal(X[:, 0], y)
        seen.append(y.copy())
        return 0.0

    sb.value(
        [sb.Provider("p", source)],
        sb.FunctionUtility(look),
        sampling=sampling,
        n_games=n_games,
        seed=seed,
    )
    return np.array(seen)


def asked_of(names: list[str], seed: int, sampling: Any, **options: Any) -> dict[str, Any]:
    """Give the rows that each provider was asked for."""
    sources = {name: Recording() for name in names}
    providers = [sb.Provider(name, source) for name, source in sources.items()]
    sb.value(providers, sb.AdditiveUtility(), sampling=sampling, n_games=5, seed=seed, **options)
    return {name: source.asked for name, source in sources.items()}


@pytest.mark.parametrize("size", [1, 13, 30])
def test_a_draw_holds_no_record_twice(size):
    drawn = draws_of(sb.ArraySource(RECORDS, RECORDS), sb.Fresh(size))
    assert drawn.shape == (12, size)
    assert all(len(set(game)) == size for game in drawn.tolist())
    assert set(drawn.ravel()) <= set(RECORDS)


def test_different_games_draw_different_records():
    drawn = draws_of(sb.ArraySource(RECORDS, RECORDS), sb.Fresh(13))
    assert len({frozenset(game) for game in drawn.tolist()}) == 12


def test_every_record_is_drawn_about_equally_often():
    drawn = draws_of(sb.ArraySource(RECORDS, RECORDS), sb.Fresh(10), n_games=300)
    counts = np.bincount(drawn.ravel().astype(int), minlength=30)
    # Binomial(300, 1/3) each; 4.5 standard errors, a false alarm in 5,000 seeds.
    assert abs(counts - 100).max() < 4.5 * np.sqrt(300 * 2 / 9)


def test_with_replacement_a_draw_may_outgrow_the_records():
    source = sb.ArraySource(RECORDS, RECORDS, replace=True)
    with pytest.warns(sb.errors.RepeatedRecords, match="p has about 24 different"):
        drawn = draws_of(source, sb.Fresh(50), n_games=3)
    assert drawn.shape == (3, 50)
    assert all(len(set(game)) < 50 for game in drawn.tolist())
    # One record is missed by all 150 draws with chance 0.0062; more than two are not expected.
    assert len(set(drawn.ravel())) >= 28


def test_with_replacement_a_pool_is_as_large_as_was_asked():
    providers = [sb.Provider("p", sb.ArraySource(RECORDS, RECORDS, replace=True))]
    with pytest.warns(sb.errors.RepeatedRecords, match="p has 28 different ones in a pool of 80"):
        valuation = sb.value(
            providers, sb.AdditiveUtility(), sampling=sb.Pooled(80, 10), n_games=2, seed=0
        )
    assert valuation.pool_sizes.tolist() == [80]
    assert valuation.access.records == 80


def test_without_replacement_a_pool_is_at_most_all_records():
    providers = [sb.Provider("p", sb.ArraySource(RECORDS, RECORDS))]
    valuation = sb.value(
        providers, sb.AdditiveUtility(), sampling=sb.Pooled(80, 10), n_games=2, seed=0
    )
    assert valuation.pool_sizes.tolist() == [30]
    assert valuation.access.records == 30


@pytest.mark.parametrize(
    "sampling", [sb.Fresh(8), sb.Pooled(20, 8), sb.Pooled(20, 8, replace=False)], ids=repr
)
def test_a_source_behind_a_door_gives_the_rows_that_memory_gives(sampling):
    in_memory = draws_of(sb.ArraySource(RECORDS, RECORDS), sampling)
    np.testing.assert_array_equal(draws_of(Recording(), sampling), in_memory)


def test_one_dimension_is_one_feature():
    source = sb.ArraySource([1.0, 2.0], [0, 1])
    assert source.records.X.tolist() == [[1.0], [2.0]]
    assert source.schema.n_features == 1


def test_a_function_is_told_size_and_generator_and_repeats_with_the_seed():
    sizes = []

    def draw(size, rng):
        sizes.append(size)
        X = rng.normal(size=(size, 1))
        return X, X[:, 0]

    once = draws_of(sb.FunctionSource(draw), sb.Fresh(6))
    again = draws_of(sb.FunctionSource(draw), sb.Fresh(6))
    other = draws_of(sb.FunctionSource(draw), sb.Fresh(6), seed=1)
    assert sizes == [6] * 36
    np.testing.assert_array_equal(once, again)
    assert len(np.unique(np.append(once, other))) == 2 * 12 * 6


def test_a_function_is_asked_once_for_a_pool():
    sizes = []

    def draw(size, rng):
        sizes.append(size)
        X = rng.normal(size=size)
        return X, X

    drawn = draws_of(sb.FunctionSource(draw), sb.Pooled(15, 6))
    assert sizes == [15]
    assert len(np.unique(drawn)) <= 15


def test_a_distribution_of_one_dimension_labels_by_its_only_feature():
    drawn = draws_of(sb.DistributionSource(norm(5.0, 2.0)), sb.Fresh(50), n_games=40)
    # 2,000 normal draws: four standard errors of mean and standard deviation.
    assert abs(drawn.mean() - 5.0) < 4 * 2.0 / np.sqrt(2000)
    assert abs(drawn.std() - 2.0) < 4 * 2.0 / np.sqrt(4000)


def test_a_discrete_distribution_gives_whole_numbers():
    drawn = draws_of(sb.DistributionSource(poisson(3.0)), sb.Fresh(10))
    np.testing.assert_array_equal(drawn, np.round(drawn))
    assert drawn.max() > 3


@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_distribution_of_several_dimensions_gives_its_features(size):
    source = sb.DistributionSource(
        multivariate_normal([10.0, -10.0, 0.0]), label=lambda X: X[:, 0] + X[:, 1]
    )
    batch = source.draw(size, np.random.default_rng(0))
    assert batch.X.shape == (size, 3)
    np.testing.assert_array_equal(batch.y, batch.X[:, 0] + batch.X[:, 1])
    np.testing.assert_allclose(batch.X.mean(axis=0), [10.0, -10.0, 0.0], atol=5)


def test_the_rows_of_a_distribution_stay_together():
    batch = sb.DistributionSource(dirichlet([1.0, 2.0, 3.0])).draw(9, np.random.default_rng(0))
    np.testing.assert_allclose(batch.X.sum(axis=1), np.ones(9))
    np.testing.assert_array_equal(batch.y, batch.X[:, 0])


def test_a_distribution_draws_what_scipy_draws_from_the_same_generator():
    batch = sb.DistributionSource(norm(1.0, 2.0)).draw(5, np.random.default_rng(3))
    expected = norm(1.0, 2.0).rvs(size=5, random_state=np.random.default_rng(3))
    np.testing.assert_array_equal(batch.y, expected)


def test_labels_of_the_wrong_length_name_the_provider():
    source = sb.DistributionSource(norm(), label=lambda X: X[1:, 0])
    with pytest.raises(SourceError, match=r"'p'.*y must be one target"):
        draws_of(source, sb.Fresh(5))


@pytest.mark.parametrize(
    "source",
    [sb.ArraySource(RECORDS, RECORDS), sb.DistributionSource(norm())],
    ids=["finite", "generative"],
)
@pytest.mark.parametrize(
    ("sampling", "requests"),
    [(sb.Fresh(5), 8), (sb.Pooled(10, 5), 1), (sb.Pooled(10, 5, replace=False), 1)],
)
def test_a_delay_costs_time_at_every_request_and_changes_nothing_else(source, sampling, requests):
    delay = 0.01

    def run(source: Any) -> sb.Valuation:
        providers = [sb.Provider("p", source)]
        return sb.value(providers, sb.AdditiveUtility(), sampling=sampling, n_games=8, seed=0)

    quick, slow = run(source), run(sb.with_delay(source, delay))
    assert slow.games.tobytes() == quick.games.tobytes()
    assert slow.access.requests == quick.access.requests == requests
    assert slow.access.records == quick.access.records
    assert slow.access.seconds >= delay * requests
    assert slow.seconds >= slow.access.seconds


def test_a_delayed_source_still_draws_with_replacement():
    source = sb.ArraySource([1.0, 2.0], [1.0, 2.0], replace=True)
    with pytest.warns(sb.errors.RepeatedRecords, match="p has about 2 different"):
        expected = draws_of(source, sb.Fresh(9))
    np.testing.assert_array_equal(draws_of(sb.with_delay(source, 0.0), sb.Fresh(9)), expected)


@pytest.mark.parametrize(
    "sampling", [sb.Fresh(7), sb.Pooled(20, 7), sb.Pooled(20, 7, replace=False)], ids=repr
)
def test_what_is_asked_of_a_provider_depends_on_name_and_seed_only(sampling):
    alone = asked_of(["north"], 0, sampling)
    assert alone["north"] == asked_of(["north"], 0, sampling)["north"]
    for names in (["north", "south"], ["west", "south", "north"]):
        assert asked_of(names, 0, sampling)["north"] == alone["north"]
    assert asked_of(["north", "south"], 0, sampling, chunk_size=2)["north"] == alone["north"]
    assert asked_of(["north", "south"], 0, sampling, n_jobs=2)["north"] == alone["north"]


def test_other_names_and_other_seeds_are_asked_for_other_records():
    first = asked_of(["north", "south"], 0, sb.Fresh(7))
    assert first["north"] != first["south"]
    assert first["north"] != asked_of(["north"], 1, sb.Fresh(7))["north"]


def test_what_a_generative_source_draws_depends_on_name_and_seed_only():
    def first_numbers(names: list[str], seed: int) -> dict[str, list[float]]:
        seen: dict[str, list[float]] = {name: [] for name in names}

        def source(name: str) -> sb.FunctionSource:
            def draw(size: int, rng: np.random.Generator) -> Any:
                X = rng.random(size)
                seen[name] += X.tolist()
                return X, X

            return sb.FunctionSource(draw)

        providers = [sb.Provider(name, source(name)) for name in names]
        sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=4, seed=seed)
        return seen

    alone = first_numbers(["north"], 0)["north"]
    assert first_numbers(["south", "north"], 0)["north"] == alone
    together = first_numbers(["south", "north"], 0)
    assert set(together["south"]).isdisjoint(alone)
    assert set(first_numbers(["north"], 1)["north"]).isdisjoint(alone)
    assert len(set(alone)) == 12
