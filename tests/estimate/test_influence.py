"""The influence of pools, against the definition with all games in memory."""

from dataclasses import replace

import numpy as np
import pytest
from tests.conftest import linear_providers
from tests.reference import influence as plain

import shapband as sb
from shapband.access.access import Access
from shapband.estimate.estimator import Estimator
from shapband.estimate.influence import InfluenceFold
from shapband.kernels.compiled import influence as compiled
from shapband.seeds import Seeds
from shapband.solvers.base import Solution

BOOTSTRAP = sb.Design(
    names=("a", "b", "c"),
    seed=3,
    pool_sizes=np.array([40, 50, 45]),
    draw_sizes=np.array([12, 20, 9]),
    unseen=np.array([1.0, 0.5, 0.9]),
    estimand="any draws",
)
DESIGNS = {
    "bootstrap": BOOTSTRAP,
    "subsets": replace(BOOTSTRAP, replace=False),
    "shuffles": replace(BOOTSTRAP, draw_sizes=np.array([10, 10, 10]), per_shuffle=4),
    "dealt": replace(BOOTSTRAP, draw_sizes=np.full(3, 10), per_shuffle=4, replace=False),
    "unequal shuffles": replace(BOOTSTRAP, draw_sizes=np.array([10, 4, 8]), per_shuffle=4),
}


def played(design, n_games=40):
    """Values that depend on the records used, on their squares and on a neighbour's records."""
    rng = np.random.default_rng(0)
    means = []
    for size, choice in zip(design.pool_sizes, design.choices(range(n_games)), strict=True):
        means.append(rng.lognormal(size=size)[choice.rows()].mean(axis=1))
    x = np.array(means).T
    return x + 0.3 * np.roll(x, 1, axis=1) * x


def used(design, i, n_games):
    """D of the definition: one line per game."""
    m, size = design.pool_sizes[i], design.draw_sizes[i]
    bootstrap = design.replace and design.per_shuffle is None
    p = 1 - (1 - 1 / m) ** size if bootstrap else size / m
    line = np.zeros((n_games, m))
    np.put_along_axis(line, design.choices(range(n_games))[i].rows(), 1.0, axis=1)
    return line - p, (m - 1) / m / (1 - p) ** 2 / (size / m) / scale(design, i)


def scale(design, i):
    """The largest share of the pool of i, relative to the mean, where draws differ in size."""
    h = design.draw_sizes / design.pool_sizes
    bootstrap = design.replace and design.per_shuffle is None
    if bootstrap or len(set(design.draw_sizes)) == 1:
        return 1.0
    return (1 / (1 - h))[i] / np.mean(1 / (1 - h))


def defined(design, i, y):
    """The share of the pool of i in the variance of y, from all pairs of independent games."""
    n_games = len(y)
    lines, factor = used(design, i, n_games)
    y = y - y.mean()
    k = design.per_shuffle or 1
    products = np.outer(y, y) * (lines @ lines.T)
    apart = np.arange(n_games)[:, None] // k != np.arange(n_games) // k
    pairs = apart.sum() if k > 1 else n_games * (n_games - 2)
    return products[apart].sum() * factor / pairs / y.var(ddof=1)


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
@pytest.mark.parametrize("n_games", [40, 43])  # with 43 the last shuffle is incomplete
def test_shares_are_those_of_the_definition(design, n_games):
    x = played(design, n_games)
    fold = InfluenceFold(design)
    fold.add((x - x[0]) / x.std(axis=0))
    found = fold.influence()
    shares = np.array([[defined(design, i, x[:, k]) for k in range(3)] for i in range(3)])
    np.testing.assert_allclose(found.own, np.diag(shares), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.rest, shares.sum(axis=0) - np.diag(shares), atol=1e-4)
    squares = [defined(design, i, (x[:, i] - x[:, i].mean()) ** 2) for i in range(3)]
    np.testing.assert_allclose(found.square, squares, atol=0.02 if design.replace else 1e-4)
    assert found.per_group == 1


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
@pytest.mark.parametrize("n_games", [9, 40])
def test_chunks_give_the_same_bits(design, n_games):
    x = played(design, n_games)
    whole = Estimator(design)
    whole.add(Solution(x, np.zeros_like(x), 0))
    parts = Estimator(design)
    for start in range(0, n_games, 7):
        part = x[start : start + 7]
        parts.add(Solution(part, np.zeros_like(part), 0))
        parts.estimate()  # looking changes nothing
    one, other = (estimator.estimate().moments.pools for estimator in (whole, parts))
    for name in ("games", "variance", "freedom", "hidden", "square", "skewness", "square_skewness"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_both_kernels_give_the_same_sums():
    rng = np.random.default_rng(1)
    rows, values = rng.integers(0, 15, size=(12, 6)), rng.normal(size=(12, 4))
    results = []
    for kernel in (compiled, plain):
        arrays = (
            np.zeros(15, dtype=np.int32),
            np.zeros(15, dtype=np.int32),
            np.zeros((15, 4), dtype=np.float32),
            np.zeros((13, 4)),
            np.zeros(2, dtype=np.int64),
        )
        shuffles = np.arange(12) // 3
        kernel.add_games(rows[:5], values[:5], 0, shuffles[:5], *arrays)
        kernel.add_games(rows[5:], values[5:], 5, shuffles[5:], *arrays)
        results.append(arrays)
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_the_order_of_the_providers_has_no_effect():
    providers, validation = linear_providers(n=4)
    utility = sb.LinearUtility(*validation)
    arguments = {"sampling": sb.Pooled(30, 12), "n_games": 50, "seed": 5}
    one = sb.value(providers, utility, **arguments)
    other = sb.value(providers[::-1], utility, **arguments)
    np.testing.assert_allclose(one.standard_error, other.standard_error[::-1], rtol=1e-6)


def test_memory_is_64_bytes_a_pooled_record_for_many_providers():
    n = 300
    design = sb.Design(
        names=tuple(f"p{i}" for i in range(n)),
        seed=0,
        pool_sizes=np.full(n, 50),
        draw_sizes=np.full(n, 10),
        unseen=np.ones(n),
        estimand="any draws",
    )
    fold = InfluenceFold(design)
    rng = np.random.default_rng(0)
    fold.add(rng.normal(size=(20, n)))
    pool = fold._pools[0]
    assert pool.seen.nbytes + pool.counts.nbytes + pool.sums.nbytes <= 64 * 50
    assert np.isfinite(fold.influence().rest).all()


@pytest.mark.parametrize(
    "sampling", [sb.Pooled(30, 30), sb.Pooled(2, 1), sb.Pooled(30, 12, replace=False)], ids=repr
)
def test_constant_values_have_no_error(sampling):
    source = sb.ArraySource(np.arange(60.0), np.ones(60))
    providers = [sb.Provider("a", source), sb.Provider("b", source)]
    valuation = sb.value(
        providers, sb.FunctionUtility(lambda X, y: 1.0), sampling=sampling, n_games=5, seed=0
    )
    np.testing.assert_array_equal(valuation.standard_error, 0.0)
    np.testing.assert_array_equal(valuation.error.to_numpy(), 0.0)


def test_a_pool_that_is_the_whole_stock_adds_nothing_by_itself():
    rng = np.random.default_rng(0)
    source = sb.ArraySource(rng.normal(size=(40, 1)), rng.normal(size=40))
    mean = sb.FunctionUtility(lambda X, y: float(np.mean(y)))
    whole, part = (
        sb.value([sb.Provider("a", source)], mean, sampling=sb.Pooled(size, 10), n_games=40, seed=0)
        for size in (40, 20)
    )
    assert whole.error["pools"].item() == 0
    assert part.error["pools"].item() > part.error["games"].item()


def test_designs_repeat_the_choices_of_the_realisation():
    providers, _ = linear_providers(n=3)
    for sampling in (sb.Pooled(30, 12), sb.Pooled(36, 12, replace=False)):
        realisation = sampling.prepare(Access(providers, Seeds(4), sb.Budget()))
        draws = realisation.draws(range(2, 6))
        choices = realisation.design.choices(range(2, 6))
        for drawn, choice in zip(draws, choices, strict=True):
            np.testing.assert_array_equal(drawn.rows, choice.rows())
