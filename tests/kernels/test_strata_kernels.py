"""The compiled loops of `Strata` against the readable ones."""

import numpy as np
import pytest
from tests.reference import curves as curves_plain
from tests.reference import strata as plain

from shapband.coalitions import set_marks
from shapband.indices import Banzhaf, Shapley
from shapband.kernels.compiled import curves
from shapband.kernels.compiled import strata as compiled
from shapband.solvers.listed import LANES, Blocks, Listed
from shapband.solvers.sizes import Sizes

SEED = np.uint64(123456789012345678)


@pytest.mark.parametrize("n", [4, 7, 64, 130])
@pytest.mark.parametrize("paired", [True, False])
def test_both_draw_the_same_rows(n, paired):
    for size in {2, n // 2}:
        both = []
        for kernel in (compiled, plain):
            rows = np.zeros((6, n), dtype=np.uint8)
            kernel.draw_rows(rows[:2], 0, size, paired, SEED, set_marks(n))
            kernel.draw_rows(rows, 2, size, paired, SEED, set_marks(n))
            both.append(rows)
        assert np.array_equal(*both)


def sampled(n=9, rows=120, index=None):
    sizes = Sizes(n, 2 * n + 1 + rows, index or Shapley())
    pilot = sizes.pilot(SEED)
    rng = np.random.default_rng(0)
    residuals = rng.normal(size=len(pilot.rows))
    sample = sizes.sample(pilot, sizes.spreads(np.ones(2 * n), residuals), residuals[: 2 * n], SEED)
    values = np.sqrt(sample.rows @ rng.gamma(2, 1, n)) + 0.1 * rng.normal(size=len(sample.rows))
    return sizes, sample, values


@pytest.mark.parametrize("n", [5, 8, 9, 130])
def test_both_list_the_same_members(n):
    inside = (np.random.default_rng(n).random((50, n)) < 0.5).astype(np.uint8)
    counts = inside.sum(axis=1).astype(int)
    places = np.random.default_rng(0).permutation(50)
    lengths = np.empty(50, dtype=int)
    lengths[places] = np.minimum(counts, n - counts)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    both = []
    for kernel in (compiled, plain):
        members = np.full(starts[-1], -1, dtype=np.int32)
        kernel.list_members(inside, places, starts, members)
        both.append(members)
    assert np.array_equal(*both)
    for row, place in zip(inside, places, strict=True):
        listed = both[0][starts[place] : starts[place + 1]]
        assert len(set(row[listed].tolist())) <= 1


@pytest.mark.parametrize("n", [9, 10])
def test_both_fit_the_same_curves(n):
    _, sample, values = sampled(n)
    listed, blocks = Listed.of([sample.rows], sample.sizes), Blocks.of(n, 4, 2)
    trained = (sample.units[listed.order, None] % 9 != np.arange(LANES)).astype(float)
    given = (
        listed.starts,
        listed.members,
        listed.sizes,
        values[listed.order],
        np.linspace(1.0, 3.0, n + 1),
        trained,
        listed.edges(blocks),
        2.0 / np.maximum(blocks.middles, 1),
        1e-6,
    )
    exact = curves_plain.fit(*given, np.zeros(LANES))
    for ours, reference in zip(curves.fit(*given, np.full(LANES, 1e-20)), exact, strict=True):
        np.testing.assert_allclose(ours, reference, atol=1e-6)
    # The control, and lanes that end sooner than others: every second fit is rough.
    mixed = curves.fit(*given, np.tile([1e-20, 1e3], LANES // 2))[2].reshape(-1, LANES)
    right = exact[2].reshape(-1, LANES)
    np.testing.assert_allclose(mixed[:, 0::2], right[:, 0::2], atol=1e-6)
    assert (np.abs(mixed - right)[:, 1::2].max(axis=0) > 1e-3).all()


@pytest.mark.parametrize("n", [9, 10])
@pytest.mark.parametrize("index", [Shapley(), Banzhaf()], ids=repr)
def test_both_estimate_the_same_values_and_noise(index, n):
    sizes, sample, values = sampled(n, index=index)
    rng, blocks = np.random.default_rng(1), Blocks.of(n, 4, 2)
    arguments = (
        sample.rows,
        sample.sizes,
        values,
        values + 0.1 * rng.normal(size=len(values)),
        sample.units % 4,
        sample.mates,
        rng.normal(size=(4, 2, n)),
        2.0 / np.arange(1, n + 2),
        rng.normal(size=(4, len(blocks.middles), n)),
        np.linspace(1.0, 2.0, n + 1),
        blocks.of_size,
        rng.normal(size=(4, n + 1)),
        sizes.joins,
        sizes.leaves,
        sizes.capacities,
    )
    for ours, reference in zip(
        compiled.estimate(*arguments), plain.estimate(*arguments), strict=True
    ):
        np.testing.assert_allclose(ours, reference, rtol=1e-9, atol=1e-12)
