"""Valuations with other validation rows in every repetition, and what is counted of them."""

import numpy as np
import pytest

import shapband as sb
from coverage_study.page import page
from coverage_study.populations import POPULATIONS, population
from coverage_study.store import Store
from coverage_study.validation import (
    RowsSetting,
    levels,
    misses,
    play_rows,
    play_truth,
    without_validation,
)

SETTING = RowsSetting("bayes", "subsets", 60, 30, 4, 200)


def test_the_control_is_a_valuation_of_fixed_rows():
    known = population("bayes")
    given = {"sampling": sb.Fresh(known.n_draw), "n_games": 20, "seed": 3}
    rows = known.sampled(50, 1)
    control = without_validation(sb.value(known.providers, rows, **given))
    fixed = sb.value(known.providers, rows, fixed_validation=True, **given)
    np.testing.assert_array_equal(control.interval(0.95), fixed.interval(0.95))


def test_repetitions_have_other_rows_and_are_the_same_in_any_order():
    records = [play_rows(SETTING, at) for at in (0, 1)]
    assert records[0] != records[1]
    assert play_rows(SETTING, 0) == records[0]
    first, second = population("bayes").sampled(60, 1), population("bayes").sampled(60, 2)
    assert first.empty != second.empty  # the frequency of the more frequent class


@pytest.mark.parametrize("name", POPULATIONS)
def test_every_population_can_be_valued(name):
    known = population(name)
    sampling = sb.Pooled(known.n_pool, known.n_draw, replace=False)
    found = sb.value(known.providers, known.sampled(80, 0), sampling=sampling, n_games=2, seed=0)
    assert (found.estimate.errors.by_cause["validation"] > 0).all()


def record(low, high, p_value):
    return {
        "interval": [[low, high]] * 2,
        "difference": [[low, high]],
        "ranks": [[1, 1], [1, 2]],
        "fixed": [[5.0, 6.0]] * 2,
        "p_value": p_value,
    }


def test_levels_and_misses():
    records = [record(0.0, 2.0, [0.5, 0.04]), record(1.5, 2.5, [0.5, 0.01])]
    found = levels(records, np.array([2.0, 1.0]))
    assert (found.mean, found.worst, found.differences) == (0.75, 0.5, 0.5)
    assert (found.ranks, found.control) == (1.0, 0.0)
    assert (found.single, found.any_of_all) == (0.5, 0.5)
    assert misses(found) == [
        "mean 75.0",
        "provider 50.0",
        "differences 50.0",
        "one by one 50.0 flagged",
        "any 50.0 flagged",
    ]


def test_the_page_has_a_row_for_each_setting_and_names_the_missing(tmp_path):
    store, other = Store(tmp_path), RowsSetting("tree", "fresh", 60, 30, 4)
    store.measure(SETTING.truth.name, SETTING.truth, play_truth)
    store.measure(SETTING.name, SETTING, play_rows)
    text = page([], store, "make coverage", [SETTING, other])
    assert "**Not measured yet:** rows-tree-60-fresh-30." in text
    assert "| naive Bayes, accuracy | 60 | `Pooled(n_pool=150, n_boot=20, replace=False)` |" in text
