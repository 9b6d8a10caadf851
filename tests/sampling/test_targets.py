"""Providers whose records all have one target are told."""

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

import shapband as sb
from shapband.records.batch import Batch
from shapband.report.page import page_of
from shapband.sampling.targets import odd_labels, one_label

X = np.random.default_rng(0).normal(size=(60, 2))
LABELS = np.repeat(["red", "green", "blue"], 20)


def of(*targets):
    return [None if y is None else Batch(np.zeros((len(y), 1)), np.asarray(y)) for y in targets]


@pytest.mark.parametrize(
    ("targets", "told"),
    [
        (([1, 1, 1], [0, 1, 0]), ("a",)),
        (([1, 1], [2, 2]), ("a", "b")),
        (([1, 1], [1, 1]), ()),  # all records have it: targets are not used
        (([1], [0, 1]), ()),  # one record says nothing
        ((None, [0.5, 0.5], [0.5, 0.7]), ("b",)),
        (([float("nan")] * 2, [0.0, 1.0]), ()),
        ((["x", "x"], ["x", "y"]), ("a",)),
        ((None, None), ()),
    ],
)
def test_those_with_one_label_are_named(targets, told):
    assert one_label("abc"[: len(targets)], of(*targets)) == told


def rows_of(frames, rows):
    return pd.DataFrame(X[rows], columns=["u", "v"]) if frames else X[rows]


def providers(frames):
    stocks = {"only red": slice(0, 20), "two": slice(10, 30), "all": slice(0, 60)}
    return [
        sb.Provider(name, sb.ArraySource(rows_of(frames, rows), LABELS[rows]))
        for name, rows in stocks.items()
    ]


@pytest.mark.filterwarnings("ignore::shapband.errors.HeldRows")
@pytest.mark.parametrize("frames", [False, True])
@pytest.mark.parametrize("sampling", [sb.Fresh(6), sb.Pooled(20, 6)])
def test_the_report_tells_of_one_class(frames, sampling):
    utility = sb.LogisticUtility(rows_of(frames, slice(None)), LABELS)
    valuation = sb.value(providers(frames), utility, sampling=sampling, n_games=10, seed=0)
    assert valuation.one_label == ("only red",)
    assert sb.Valuation.from_json(valuation.to_json()).one_label == ("only red",)
    told = "All records have the same target, such as one class: only red."
    assert told in page_of(valuation)
    others = sb.value(providers(frames)[1:], utility, sampling=sampling, n_games=10, seed=0)
    assert "All records have the same target" not in page_of(others)


def test_an_unfinished_run_tells_of_one_class(tmp_path):
    calls = 0

    def failing(X, y):
        nonlocal calls
        calls += 1
        if calls > 60:
            raise RuntimeError("no more")
        return float(len(y))

    options = {"sampling": sb.Fresh(6), "n_games": 50, "seed": 0, "chunk_size": 1}
    with pytest.raises(sb.errors.EvaluationError):
        sb.value(
            providers(frames=False), sb.FunctionUtility(failing), run=tmp_path / "run", **options
        )
    assert sb.load(tmp_path / "run").valuation.one_label == ("only red",)


@pytest.mark.parametrize(
    ("targets", "validated", "told"),
    [
        (([-1, 1], [0, 1], [0, 1]), [0, 1], [("a", "-1", "0")]),
        (([-1.0, 1.0], [0, 1]), [0.0, 1.0], [("a", "-1", "0")]),
        ((["n", "yes"], ["no", "yes"]), ["no", "yes"], [("a", "'n'", "'no'")]),
        (([0, 1], [-1, 1], [-1, 1]), [0, 1], [("b", "-1", "0"), ("c", "-1", "0")]),
        (([-1, 1], [0, 1], [0, 1]), [-1, 0, 1], []),  # a validation row has it
        (([-1, 1], [0, 1], [-1, 0, 1]), [0, 1], []),  # another provider has it
        (([-1, 0, 1], [0, 1]), [0, 1], []),  # a third class
        (([1, 1], [0, 1]), [0, 1], []),  # one class alone
        (([-1, 1], [0, 1], [1, 1]), [0, 1], []),  # not all others have what it lacks
        (([-1, 1], None), [0, 1], []),  # nobody to compare with
        (([-1, 1], [0, 1]), None, []),  # quantities
    ],
)
def test_those_with_other_names_of_labels_are_told(targets, validated, told):
    assert list(odd_labels("abc"[: len(targets)], of(*targets), validated)) == told


def clinics():
    rng = np.random.default_rng(1)
    rows = {name: rng.normal(size=(40, 2)) for name in ("east", "west", "north")}
    zero = {"east": -1, "west": 0, "north": 0}
    return [
        sb.Provider(name, sb.ArraySource(X, np.where(X[:, 0] > 0, 1, zero[name])))
        for name, X in rows.items()
    ]


@pytest.mark.parametrize(
    "utility",
    [
        sb.LogisticUtility(X, (X[:, 0] > 0).astype(int)),
        sb.NeighborUtility(X, (X[:, 0] > 0).astype(int), task="classification"),
        sb.NetworkUtility(X, (X[:, 0] > 0).astype(int), hidden=(2,), max_iter=2),
        sb.EstimatorUtility(GaussianNB(), X, (X[:, 0] > 0).astype(int), score="accuracy", failed=0),
    ],
)
def test_the_result_tells_of_other_names_of_labels(utility, tmp_path):
    options = {"sampling": sb.Fresh(6), "n_games": 4, "seed": 0}
    valuation = sb.value(clinics(), utility, run=tmp_path / "run", **options)
    told = "labels: 'east' has -1 where the others have 0"
    assert told in str(valuation)
    assert "&#x27;east&#x27; has -1 where" in page_of(valuation).replace("&#39;", "&#x27;")
    assert sb.Valuation.from_json(valuation.to_json()).odd_labels == valuation.odd_labels
    assert sb.load(tmp_path / "run").valuation.odd_labels == (("east", "-1", "0"),)
    others = sb.value(clinics()[1:], utility, **options)
    assert "where the others have" not in str(others)
