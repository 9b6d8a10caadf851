"""Validation rows that are held out: never in a stock, the same for any order, kept by runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

import shapband as sb
from shapband.errors import InvalidInput, RunError
from shapband.inputs.validation import hold_out
from tests.bad_input import few


def numbered(sizes: dict[str, int]) -> list[sb.Provider]:
    """Providers whose targets are different numbers, so that a record can be recognised."""
    starts = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    return [
        sb.Provider(name, sb.ArraySource(np.arange(size), starts[name] + np.arange(size)))
        for name, size in sizes.items()
    ]


def stays(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["age", "dose"])
    return frame.assign(stay=frame["age"] - frame["dose"] + rng.normal(size=n))


DATA = {"north": stays(60, 1), "south": stays(44, 2)}
MODEL = LinearRegression()


@few
@given(
    st.dictionaries(st.text(min_size=1, max_size=4), st.integers(2, 30), min_size=1, max_size=4),
    st.floats(0.01, 0.99),
    st.integers(0, 9),
)
def test_every_record_is_either_held_out_or_left(sizes, fraction, seed):
    players = numbered(sizes)
    left, rows = hold_out(players, fraction, seed)
    stocks = [one.source.records.y.tolist() for one in left]
    every = sorted([*rows.y.tolist(), *(y for stock in stocks for y in stock)])
    assert every == list(range(sum(sizes.values())))
    for size, stock in zip(sizes.values(), stocks, strict=True):
        assert size - len(stock) == max(1, int(fraction * size + 1e-6))
        assert stock == sorted(stock)


@few
@given(st.permutations(["north", "south", "east"]), st.integers(0, 9))
def test_rows_do_not_depend_on_the_order_of_the_providers(order, seed):
    sizes = {"north": 30, "south": 20, "east": 11}
    players = {one.name: one for one in numbered(sizes)}
    _, rows = hold_out(list(players.values()), 0.3, seed)
    _, again = hold_out([players[name] for name in order], 0.3, seed)
    assert again.y.tolist() == rows.y.tolist()


def test_rows_of_a_provider_do_not_depend_on_the_others():
    alone, both = numbered({"north": 30}), numbered({"north": 30, "south": 20})
    (left, *_), _ = hold_out(both, 0.3, 0)
    (same,), _ = hold_out(alone, 0.3, 0)
    assert left.source.records.y.tolist() == same.source.records.y.tolist()


def test_every_record_is_held_out_equally_often():
    counts = np.zeros(10)
    for seed in range(2000):
        _, rows = hold_out(numbered({"north": 10}), 0.3, seed)
        counts[rows.y.astype(int)] += 1
    # 600 expected; the standard deviation of a count is sqrt(2000 × 0.3 × 0.7) = 20.5.
    assert np.abs(counts - 600).max() < 4 * 20.5
    assert np.ptp(counts) > 0


def test_members_of_groups_are_held_out_too():
    north, south = numbered({"north": 10, "south": 20})
    (group, left), rows = hold_out([sb.Group("coast", [north]), south], 0.5, 0)
    assert isinstance(group, sb.Group)
    assert [group.providers[0].source.size, left.source.size, len(rows)] == [5, 10, 15]


def test_a_provider_of_one_record_is_refused():
    with pytest.raises(InvalidInput, match="provider 'south' has only 1: leave it out"):
        hold_out(numbered({"north": 5, "south": 1}), 0.3, 0)


def test_a_valuation_uses_the_rows_that_are_held_out():
    found = sb.value(DATA, MODEL, target="stay", validation=0.25, n_games=8, seed=3)
    named = [sb.Provider(name, sb.FrameSource(frame, "stay")) for name, frame in DATA.items()]
    left, rows = hold_out(named, 0.25, 3)
    by_hand = sb.value(
        left,
        sb.utility_for(MODEL, rows.X, rows.y),
        sampling=sb.Pooled(45, 10, replace=False),
        n_games=8,
        seed=3,
    )
    assert found.games.tolist() == by_hand.games.tolist()
    assert "validation: 26 rows" in str(found)


def test_a_run_without_a_seed_resumes_with_the_same_rows(tmp_path):
    run = tmp_path / "run"
    options = {"target": "stay", "validation": 0.25, "n_games": 8, "run": run}
    first = sb.value(DATA, MODEL, **options)
    again = sb.value(DATA, MODEL, **options)
    assert again.games.tolist() == first.games.tolist()
    assert sb.value(DATA, MODEL, **options, seed=first.seed).seed == first.seed
    with pytest.raises(RunError, match="seed of the run"):
        sb.value(DATA, MODEL, **options, seed=first.seed + 1)


def test_a_run_names_another_fraction_and_not_the_data(tmp_path):
    run = tmp_path / "run"
    sb.value(DATA, MODEL, target="stay", validation=0.25, n_games=4, run=run)
    said = r"validation of the run .* is 0.25 of every provider's records, held out by the seed; "
    with pytest.raises(RunError, match=said + r"received 0.3 of every .*: use 0.25, or begin"):
        sb.value(DATA, MODEL, target="stay", validation=0.3, n_games=4, run=run)
    with pytest.raises(RunError, match=said + r"received validation rows: use 0.25"):
        sb.value(DATA, MODEL, target="stay", validation=stays(30, 3), n_games=4, run=run)
    assert sb.load(run).valuation.setup["validation"] == "0.25 of every provider's records"


SCORED: list[int] = []  # global, because a run would compare what a function holds


def stops_once(fitted, X, y):
    SCORED.append(len(y))
    if len(SCORED) == 20:
        raise KeyboardInterrupt
    return -float(np.abs(fitted.predict(X) - y).mean())


def test_an_interrupted_run_without_a_seed_is_finished_with_the_same_rows(tmp_path):
    run = tmp_path / "run"
    options = {"target": "stay", "validation": 0.25, "score": stops_once, "n_games": 8}
    with pytest.raises(KeyboardInterrupt):
        sb.value(DATA, MODEL, **options, run=run, chunk_size=2)
    finished = sb.value(DATA, MODEL, **options, run=run, chunk_size=2)
    whole = sb.value(DATA, MODEL, **options, seed=finished.seed)
    assert finished.games.tolist() == whole.games.tolist()
