"""Copied and repeated records are held out with their copies; equal records by chance are not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsRegressor

import shapband as sb
from shapband.errors import HeldRows, InvalidInput
from shapband.inputs.overlap import first_equals
from shapband.inputs.validation import hold_out

RNG = np.random.default_rng(5)


def table(n: int, decimals: int = 12) -> pd.DataFrame:
    made = pd.DataFrame(RNG.normal(size=(n, 3)), columns=list("abc"))
    return made.assign(y=made["a"] + RNG.normal(size=n)).round(decimals)


def providers(**frames: pd.DataFrame) -> list[sb.Provider]:
    return [sb.Provider(name, sb.FrameSource(one, "y")) for name, one in frames.items()]


def rows_of(batch: sb.Batch) -> set[tuple[float, ...]]:
    return set(map(tuple, np.column_stack([batch.numeric(), batch.y]).tolist()))


NORTH = table(200)
COPIES: dict[str, dict[str, pd.DataFrame]] = {
    "a tenth": {"north": NORTH, "south": pd.concat([NORTH[:20], table(180)])},
    "a half": {"south": NORTH, "north": pd.concat([table(100), NORTH[::2]])},
    "all": {"north": NORTH, "south": NORTH.copy(), "west": table(50)},
    "repeated": {"north": pd.concat([NORTH, NORTH[:60]]), "south": table(100)},
    "repeated and copied": {"north": pd.concat([NORTH] * 3), "south": pd.concat([NORTH] * 2)},
    "six alike": {name: NORTH.sample(frac=0.8, random_state=1) for name in "abcdef"},
}


@pytest.mark.parametrize("case", COPIES)
def test_no_row_that_is_held_out_is_left_to_a_provider(case: str) -> None:
    for seed in range(2):
        left, rows = hold_out(providers(**COPIES[case]), 0.3, seed)
        for one in left:
            assert not rows_of(rows) & rows_of(one.source.records)


def alone(frames: dict[str, pd.DataFrame], fraction: float, seed: int) -> Any:
    """Hold rows out of each provider by itself, as if nobody had copied."""
    parts = [hold_out(providers(**{name: one}), fraction, seed) for name, one in frames.items()]
    return {name: rows_of(part[1]) for name, part in zip(frames, parts, strict=True)}


def test_the_same_rows_are_held_out_if_nobody_copied() -> None:
    frames = {"north": NORTH, "south": table(80)}
    _, rows = hold_out(providers(**frames), 0.3, 0)
    assert rows_of(rows) == set.union(*alone(frames, 0.3, 0).values())


def test_without_ties_copies_would_leak() -> None:
    """The control of the test above it: rows of the copies alone overlap with other stocks."""
    frames = COPIES["a half"]
    held = alone(frames, 0.3, 0)
    stock = {tuple(row) for row in frames["south"].to_numpy().tolist()}
    assert len((stock - held["south"]) & held["north"]) > 10


def test_rows_do_not_depend_on_the_order_of_the_providers() -> None:
    frames = COPIES["a half"]
    _, rows = hold_out(providers(**frames), 0.3, 1)
    _, again = hold_out(providers(**dict(reversed(frames.items()))), 0.3, 1)
    assert again.y.tolist() == rows.y.tolist()


def test_copied_records_are_held_out_as_often_as_others() -> None:
    players, counts = providers(**COPIES["a half"]), np.zeros((2, 60))
    known = [*map(tuple, NORTH.to_numpy().tolist())]
    copied, others = set(known[::2]), set(known[1::2])
    for seed in range(60):
        rows = rows_of(hold_out(players, 0.3, seed)[1])
        counts[:, seed] = len(rows & copied) / 100, len(rows & others) / 100
    # The share of 100 records has a standard deviation of at most sqrt(0.3 × 0.7 / 100) = 0.046.
    assert np.abs(counts.mean(axis=1) - 0.3).max() < 4 * 0.046 / np.sqrt(60)


def test_equal_records_of_few_possible_values_are_not_tied() -> None:
    def few(size: int) -> sb.Batch:
        return sb.Batch(RNG.integers(0, 2, (size, 3)).astype(float), RNG.integers(0, 2, size) * 1.0)

    stocks = [few(200), few(150)]
    assert first_equals(stocks).tolist() == list(range(350))
    wide = [sb.Batch(RNG.integers(0, 4, (n, 5)) * 1.0, np.zeros(n)) for n in (400, 300, 200)]
    assert first_equals(wide).tolist() == list(range(900))


def refusals(fraction: float, **frames: pd.DataFrame) -> list[str]:
    """The errors of holding rows out by 20 seeds."""
    refused = []
    for seed in range(20):
        try:
            hold_out(providers(**frames), fraction, seed)
        except InvalidInput as error:
            refused.append(str(error))
    return refused


def test_a_small_provider_that_copied_may_lose_all_its_records() -> None:
    refused = refusals(0.95, north=NORTH, zone=NORTH[:15])
    assert 2 < len(refused) < 18  # 0.95 to the power of 15 is 0.46, so 9 are expected
    assert "all 15 records of provider 'zone' equal records that are held out" in refused[0]


def test_the_fraction_may_be_too_small_for_repeated_records() -> None:
    refused = refusals(0.01, zone=pd.concat([NORTH[:50]] * 2))
    assert 2 < len(refused) < 18  # the row to hold out is a first one or its copy
    assert "validation=0.01 holds out no record, because records are repeated" in refused[0]


@pytest.mark.parametrize("changed", ["an identifier", "rounded"])
def test_copies_that_were_changed_are_named_with_their_number(changed: str) -> None:
    copy = NORTH.round(3) if changed == "rounded" else NORTH.assign(c=np.arange(200.0))
    frames = {"north": NORTH, "south": copy}
    with pytest.warns(HeldRows, match=r"=0.3: (19\d|200) of 200 records .*: leave out") as told:
        sb.value(frames, KNeighborsRegressor(1), target="y", validation=0.3, seed=0, n_games=4)
    assert {one.filename for one in told if one.category is HeldRows} == {__file__}


def test_a_copied_provider_does_not_raise_the_values_by_rows_that_it_was_trained_on() -> None:
    """One neighbour remembers its records, so a leak would show as R² near 1."""
    frames = {"north": NORTH[:150], "south": pd.concat([NORTH[:60], table(60)])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KNeighborsRegressor(1)
        found = sb.value(frames, model, target="y", validation=0.3, n_games=20, seed=0,
                         sampling=sb.Fresh(84))  # fmt: skip
    assert found.expectation.sum() < 0.3
