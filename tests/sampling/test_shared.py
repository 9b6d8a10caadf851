"""Providers with the same records are told, before money is divided."""

import numpy as np
import pandas as pd
import pytest
from tests.conftest import redesigned

import shapband as sb
from shapband.records.batch import Batch
from shapband.runs.plausible import check_valuation
from shapband.sampling.coincidences import Kinds, copied_pairs
from shapband.sampling.shared import Shared, format_shared, shared_records

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
Y = X.sum(axis=1)


def batch(rows):
    return Batch(X[rows], Y[rows])


def by_hand(stocks):
    """Pairs and their common records, by sets."""
    sets = [{(*x, y) for x, y in zip(s.X.tolist(), s.y.tolist(), strict=True)} for s in stocks]
    return {
        (i, j): len(sets[i] & sets[j])
        for i in range(len(sets))
        for j in range(i)
        if 3 * len(sets[i] & sets[j]) > min(len(sets[i]), len(sets[j]))
    }


def test_copies_are_found_and_others_are_not():
    stocks = [batch(slice(0, 100)), batch(slice(100, 200)), batch(slice(60, 160))]
    stocks.append(batch(RNG.permutation(np.arange(200, 300)).repeat(2)))
    stocks.append(batch(np.arange(250, 300)))
    repeats, *found = shared_records(list("abcde"), stocks)
    assert repeats == Shared("d", "d", 100, 200)
    assert found == [
        Shared("b", "c", 60, 100, chance=2.0),
        Shared("d", "e", 50, 50, chance=2.0),
        Shared("a", "c", 40, 100, chance=2.0),
    ]
    places = {("abcde".index(s.other), "abcde".index(s.one)): s.records for s in found}
    assert places == by_hand(stocks)


def test_of_many_copies_each_is_told_beside_the_first():
    names = [f"p{at}" for at in range(50)]
    found = shared_records(names, [batch(slice(0, 30))] * 50)
    assert {one.one for one in found} == {"p0"}
    assert {one.other for one in found} == set(names[1:])


def test_texts_and_missing_values_are_compared_across_frames():
    cities = [f"city {at}" for at in range(30)]
    frame = pd.DataFrame({"city": [None, *cities[1:]], "n": [*range(29), np.nan]})
    rows = np.array([29, 0, *range(5, 25)])
    other = frame.iloc[rows].reset_index(drop=True)
    y = np.array(["a", "b", "c"] * 10)
    (found,) = shared_records(["a", "b"], [Batch(frame, y), Batch(other, y[rows])])
    assert found == Shared("a", "b", 22, 22, chance=2.0)


def test_a_few_equal_records_are_no_copy():
    assert shared_records(["a", "b"], [batch(slice(0, 100)), batch(slice(90, 190))]) == ()
    assert format_shared(()) == ""


@pytest.mark.parametrize("sampling", [sb.Fresh(20), sb.Pooled(60, 20)])
def test_a_copy_is_told_by_the_result_and_before_money_is_divided(sampling):
    providers = [
        sb.Provider(name, sb.ArraySource(X[rows], Y[rows]))
        for name, rows in {
            "seller": slice(0, 100),
            "copy": slice(0, 100),
            "own": slice(100, 200),
        }.items()
    ]
    utility = sb.LinearUtility(X[300:], Y[300:])
    valuation = sb.value(providers, utility, sampling=sampling, n_games=10, seed=0)
    assert valuation.shared_records == (Shared("seller", "copy", 100, 100, chance=2.0),)
    line = "copied: 100 of 100 records of 'copy' equal records of 'seller'"
    assert line in str(valuation)
    assert "is paid for what it was copied from" in str(sb.payouts(valuation, 100))
    again = sb.Valuation.from_json(valuation.to_json())
    assert again.shared_records == valuation.shared_records


@pytest.mark.parametrize("sampling", [sb.Fresh(20), sb.Pooled(60, 20)])
def test_a_copy_is_told_while_the_run_is_not_finished(sampling, tmp_path):
    calls = 0

    def failing(X, y):
        nonlocal calls
        calls += 1
        if calls > 40:
            raise RuntimeError("no more")
        return float(len(y) + y.mean())

    providers = [
        sb.Provider(name, sb.ArraySource(X[rows], Y[rows]))
        for name, rows in {"seller": slice(0, 100), "copy": slice(0, 100)}.items()
    ]
    options = {"sampling": sampling, "n_games": 50, "seed": 0, "chunk_size": 1}
    with pytest.raises(sb.errors.EvaluationError):
        sb.value(providers, sb.FunctionUtility(failing), run=tmp_path / "run", **options)
    so_far = sb.load(tmp_path / "run").valuation
    assert so_far.stopped_code == "unfinished"
    assert so_far.shared_records == (Shared("seller", "copy", 100, 100, chance=2.0),)
    assert "is paid for what it was copied from" in str(sb.payouts(so_far, 100))


def test_a_run_whose_copies_are_of_others_is_damaged():
    valuation = sb.value(
        [sb.Provider("a", sb.ArraySource(X[:50], Y[:50]))],
        sb.AdditiveUtility(),
        sampling=sb.Fresh(5),
        n_games=5,
        seed=0,
    )
    manifest = {"providers": ["a"]}
    check_valuation(redesigned(valuation, shared_records=(Shared("a", "a", 3, 3),)), manifest)
    for pair in (
        Shared("a", "b", 3, 3),
        Shared("a", "a", "3", 3),
        Shared("a", "a", 3, 3, (), -1.0),
        Shared("a", "a", 3, 3, (), 0.0, "2"),
    ):
        with pytest.raises((ValueError, TypeError)):
            check_valuation(redesigned(valuation, shared_records=(pair,)), manifest)
    odd = redesigned(valuation, shared_records=(Shared("a", "a", 3, 3, (1,)),)).to_json()
    with pytest.raises(sb.errors.InvalidInput, match="left_out is missing, unknown or of another"):
        sb.Valuation.from_json(odd)


def test_pools_are_compared_where_stocks_are_not_in_memory():
    def same(size, rng):
        return X[:size], Y[:size]

    def other(size, rng):
        rows = rng.integers(0, 2**30, size)
        return rows[:, None].repeat(3, axis=1).astype(float), rows.astype(float)

    providers = [
        sb.Provider(name, sb.FunctionSource(draw))
        for name, draw in {"a": same, "b": same, "c": other}.items()
    ]
    utility = sb.LinearUtility(X[300:], Y[300:])
    valuation = sb.value(providers, utility, sampling=sb.Pooled(50, 20), n_games=5, seed=0)
    assert [(s.one, s.other) for s in valuation.shared_records] == [("a", "b")]


def test_shared_records_of_many_random_stocks_are_counted_as_by_sets():
    """Copies of random parts; those found have the counts of Python's sets."""
    rng = np.random.default_rng(0)
    told = 0
    for _ in range(25):
        table = rng.normal(size=(300, 3))
        stocks = [
            Batch(table[rows, :2], table[rows, 2])
            for rows in (rng.choice(300, size, replace=False) for size in rng.integers(30, 200, 4))
        ]
        found = shared_records("abcd", stocks)
        counted = by_hand(stocks)
        sizes = [len(one) for one in stocks]
        for one in found:
            places = sorted(("abcd".index(one.one), "abcd".index(one.other)), reverse=True)
            assert one.records == counted[tuple(places)]
            assert one.smaller == sizes["abcd".index(one.other)] == min(sizes[i] for i in places)
        # Some are near the limit, where what chance explains decides.
        clear = {
            pair for pair, n in counted.items() if n > 0.4 * min(sizes[pair[0]], sizes[pair[1]])
        }
        names = {("abcd".index(one.one), "abcd".index(one.other)) for one in found}
        assert clear <= {(max(pair), min(pair)) for pair in names}
        told += len(found)
    assert told > 40


@pytest.mark.parametrize("n_kinds", [3, 60, 10**9])
def test_kinds_are_counted_for_every_owner(n_kinds):
    rng = np.random.default_rng(n_kinds)
    owners = np.sort(rng.integers(0, 7, size=300))
    numbers = rng.integers(0, n_kinds, size=300)
    # Some hashes have equal first bits, by which records without an equal one are recognised.
    hashes = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    hashes[:20] = hashes[0] + np.arange(20, dtype=np.uint64)
    found = Kinds.of(hashes, owners, 7)
    kinds = [one for one in np.unique(hashes) if (hashes == one).sum() > 1]
    expected = [
        (group, owner, int(((hashes == one) & (owners == owner)).sum()))
        for group, one in enumerate(kinds)
        for owner in range(7)
        if ((hashes == one) & (owners == owner)).any()
    ]
    assert list(zip(*(part.tolist() for part in found[:3]), strict=True)) == expected
    assert found.sizes.tolist() == np.bincount(owners, minlength=7).tolist()


def test_a_pair_needs_a_third_more_equal_records_than_chance_explains():
    """Chance explains two; of three equal records one is left, which is just a third."""
    hashes = np.array([5, 6, 7, 5, 6, 7, 8, 9], dtype=np.uint64)
    kinds = Kinds.of(hashes, np.array([0, 0, 0, 1, 1, 1, 2, 2]), 3)
    found = copied_pairs(kinds, 1.0)
    assert (found.one.tolist(), found.other.tolist(), found.records.tolist()) == ([], [], [])
    hashes = np.array([5, 6, 7, 4, 5, 6, 7, 4, 8, 9], dtype=np.uint64)
    kinds = Kinds.of(hashes, np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2]), 3)
    found = copied_pairs(kinds, 1.0)
    assert (found.one.tolist(), found.other.tolist(), found.records.tolist()) == ([0], [1], [4])
    assert found.chance.tolist() == [2.0]
