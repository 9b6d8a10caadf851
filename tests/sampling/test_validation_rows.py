"""Validation rows that stay together: copies of each other, and rows with the same label."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from shapband.records.batch import Batch
from shapband.sampling.validation import Validation, rows_together
from shapband.utilities.rows import rows_kept

RNG = np.random.default_rng(5)
X = RNG.normal(size=(120, 3))


def _batch(rows: Any, *, frame: bool = False) -> Batch:
    features: Any = X[rows]
    if frame:
        features = pd.DataFrame(features, columns=["a", "b", "c"])
        features["word"] = [f"row {row}" for row in rows]
        features.loc[np.asarray(rows) == 3, "a"] = np.nan  # missing values are equal
    return Batch(features, X[rows, 0])


@pytest.mark.parametrize("frame", [False, True])
def test_copies_stay_in_one_fold(frame: bool) -> None:
    rows = RNG.permutation(np.tile(np.arange(120), 3))
    found = rows_together(360, None, _batch(rows, frame=frame))
    assert found.labels is not None
    assert (found.different, found.effective) == (120, 120.0)
    for kept in rows_kept(360, found.labels):
        left_out = np.setdiff1d(np.arange(360), kept)
        assert not set(rows[kept]) & set(rows[left_out])
    assert rows_together(120, None, _batch(np.arange(120), frame=frame)).labels is None


def test_rows_that_differ_in_the_target_are_no_copies() -> None:
    found = rows_together(240, None, Batch(np.tile(X, (2, 1)), np.arange(240.0)))
    assert (found.labels, found.different, found.effective) == (None, 0, 240.0)


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_are_equal_by_chance_stay_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, rows = seed % 4 + 1, (60, 300, 1500)[seed % 3]
    few_values = Batch(rng.integers(0, 3, (rows, columns)).astype(float), rng.integers(0, 2, rows))
    drawn = Batch(X[rng.integers(0, 120, rows)], np.zeros(rows))  # with replacement
    for batch in (few_values, drawn):
        assert rows_together(rows, None, batch) == (None, 0, rows, rows)


def test_groups_are_linked_by_copies() -> None:
    # 30 patients with two rows each; the first 20 were recorded again under another number.
    rows = np.concatenate([np.arange(60), np.arange(40)])
    patients = np.concatenate([np.arange(60) // 2, 30 + np.arange(40) // 2])
    found = rows_together(100, patients, _batch(rows))
    assert found.labels is not None
    assert (found.different, found.parts) == (60, 30)
    np.testing.assert_array_equal(found.labels[:40], found.labels[60:])
    assert found.effective == pytest.approx(100**2 / (20 * 4**2 + 10 * 2**2))


def test_equal_rows_of_one_group_do_not_show_copies() -> None:
    # Every patient has the same row twice, and few values are possible: patients differ.
    rng = np.random.default_rng(1)
    values = rng.integers(0, 12, (150, 3)).astype(float).repeat(2, axis=0)
    batch, patients = Batch(values, np.zeros(300)), np.arange(300) // 2
    found = rows_together(300, patients, batch)
    assert (found.different, found.effective) == (0, 150.0)
    np.testing.assert_array_equal(found.labels, patients)
    assert rows_together(300, None, batch).different > 0  # without patients they count as copies


def test_groups_of_unequal_sizes_count_as_fewer() -> None:
    groups = np.repeat(np.arange(13), [100] + [2] * 12)
    found = rows_together(124, groups, None)
    assert found.effective == pytest.approx(124**2 / (100**2 + 12 * 2**2))
    assert Validation(124, 10, 12, effective=found.effective).few
    assert not Validation(124, 10, 12, effective=124.0).few
    assert not Validation(20, 10, 12, effective=20.0).few
    assert Validation(19, 10, 12, effective=19.0).few
    assert not Validation(19, effective=19.0).few  # the errors do not cover the rows
    assert not Validation(19, 10, 12).few  # a result of an older version


def test_rows_of_another_utility_are_not_compared() -> None:
    copied = _batch(np.tile(np.arange(30), 2))
    assert rows_together(59, None, copied).labels is None
    assert rows_together(60, None, copied).different == 30
