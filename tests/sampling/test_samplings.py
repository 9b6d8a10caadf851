import numpy as np
import pytest

import shapband as sb
from shapband.access.access import Access
from shapband.access.budget import Budget
from shapband.seeds import Seeds


def open_(sampling, sizes=(50, 80), seed=0):
    providers = [
        sb.Provider(f"p{i}", sb.ArraySource(np.arange(float(size)), np.arange(float(size))))
        for i, size in enumerate(sizes)
    ]
    sampling.check(providers)
    access = Access(providers, Seeds(seed), Budget())
    return sampling.prepare(access), access


def test_fresh_draws_hold_no_record_twice():
    realisation, _ = open_(sb.Fresh(30))
    for drawn in realisation.draws(range(20)):
        assert all(len(set(rows)) == 30 for rows in drawn.rows.tolist())


def test_bootstrap_draws_keep_duplicates_and_stay_in_the_pool():
    realisation, _ = open_(sb.Pooled(n_pool=40, n_boot=60))
    for drawn in realisation.draws(range(5)):
        assert len(drawn.batch) == 40
        assert drawn.rows.shape == (5, 60)
        assert all(len(set(rows)) < 60 for rows in drawn.rows.tolist())


def test_a_provider_smaller_than_the_pool_gives_all_it_has():
    realisation, access = open_(sb.Pooled(n_pool=60, n_boot=10))
    assert realisation.pool_sizes.tolist() == [50, 60]
    assert access.report.records == 110
    assert access.report.requests == 2


def test_blocks_share_no_record_within_a_shuffle():
    realisation, _ = open_(sb.Blocks(n_pool=50, n_sample=12))
    assert realisation.group == 4
    for drawn in realisation.draws(range(12)):
        for shuffle in drawn.rows.reshape(3, 48):
            assert len(set(shuffle.tolist())) == 48
        assert set(drawn.rows[:4].ravel()) != set(drawn.rows[4:8].ravel())


@pytest.mark.parametrize(
    "sampling",
    [sb.Fresh(10), sb.Pooled(40, 10), sb.Stratified(40, 10, 0.5), sb.Blocks(40, 10)],
    ids=repr,
)
def test_draws_are_the_same_in_any_cutting(sampling):
    realisation, _ = open_(sampling)
    whole = realisation.draws(range(11))
    for start, stop in ((0, 3), (3, 4), (4, 11)):
        for part, all_ in zip(realisation.draws(range(start, stop)), whole, strict=True):
            np.testing.assert_array_equal(part.rows, all_.rows[start:stop])


@pytest.mark.parametrize("sampling", [sb.Fresh(10), sb.Pooled(40, 10), sb.Blocks(40, 10)], ids=repr)
def test_another_seed_gives_other_draws(sampling):
    (one, _), (other, _) = open_(sampling, seed=0), open_(sampling, seed=1)
    assert (one.draws(range(3))[0].rows != other.draws(range(3))[0].rows).any()


def test_wine_allocations_are_those_of_the_paper(wine):
    """The paper's largest of ten is 94; over many seeds 83 to 99, the smallest n_min = 30."""
    largest = []
    for seed in range(12):
        access = Access(wine.providers, Seeds(seed), Budget())
        sizes = sb.Stratified(250, 60, 0.5).prepare(access).draw_sizes
        assert sizes.sum() == 600
        assert sizes.min() == 30
        largest.append(sizes.max())
    assert min(largest) >= 80
    assert max(largest) <= 102
