"""Providers with the same records are told, before money is divided."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import shapband as sb
from shapband.records import Batch
from shapband.runs.plausible import check_valuation
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
    found = shared_records(list("abcde"), stocks)
    assert found == (
        Shared("b", "c", 60, 100),
        Shared("d", "e", 50, 50),
        Shared("a", "c", 40, 100),
    )
    places = {("abcde".index(s.other), "abcde".index(s.one)): s.records for s in found}
    assert places == by_hand(stocks)


def test_of_many_copies_each_is_told_beside_the_first():
    names = [f"p{at}" for at in range(50)]
    found = shared_records(names, [batch(slice(0, 30))] * 50)
    assert {one.one for one in found} == {"p0"}
    assert {one.other for one in found} == set(names[1:])


def test_texts_and_missing_values_are_compared_across_frames():
    frame = pd.DataFrame({"city": ["x", None, "z"], "n": [1.0, np.nan, 3.0]})
    other = pd.DataFrame({"city": ["q", "z", None], "n": [7.0, 3.0, np.nan]})
    y = np.array(["a", "b", "c"])
    (found,) = shared_records(["a", "b"], [Batch(frame, y), Batch(other, y[[0, 2, 1]])])
    assert found.records == 2


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
    assert valuation.shared_records == (Shared("seller", "copy", 100, 100),)
    assert "seller and copy share 100 of 100" in str(valuation)
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
    assert so_far.shared_records == (Shared("seller", "copy", 100, 100),)
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
    check_valuation(replace(valuation, shared_records=(Shared("a", "a", 3, 3),)), manifest)
    for pair in (Shared("a", "b", 3, 3), Shared("a", "a", "3", 3)):
        with pytest.raises((ValueError, TypeError)):
            check_valuation(replace(valuation, shared_records=(pair,)), manifest)


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


def by_sets(names, stocks):
    """Each record beside the first provider that has it, with Python's sets."""
    sets = [
        {(*x, y) for x, y in zip(one.X.tolist(), one.y.tolist(), strict=True)} for one in stocks
    ]
    counts = Counter()
    for record in set().union(*sets):
        first, *others = [i for i, one in enumerate(sets) if record in one]
        counts.update((first, other) for other in others)
    found = set()
    for (one, other), count in counts.items():
        smaller = min(len(sets[one]), len(sets[other]))
        if 3 * count > smaller:
            found.add((names[one], names[other], count, smaller))
    return found


def test_many_random_stocks_agree_with_sets():
    rng = np.random.default_rng(0)
    told = 0
    for _ in range(100):
        stocks = []
        for size in rng.integers(1, 30, size=rng.integers(1, 6)):
            X = rng.integers(0, rng.integers(2, 12), size=(size, 2))
            stocks.append(Batch(X.astype(float), rng.integers(0, 3, size).astype(float)))
        names = [str(i) for i in range(len(stocks))]
        found = set(shared_records(names, stocks))
        assert found == by_sets(names, stocks)
        told += len(found)
    assert told > 10  # else little was compared
