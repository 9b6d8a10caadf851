"""Utilities and solvers agree with independent references, settled in 60 digits."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import shapband as sb
from shapband.errors import EvaluationError, InvalidInput
from shapband.seeds import Seeds
from tests.differential import classifiers, run, valuations
from tests.differential.cases import classes_case
from tests.differential.exact import exact_rows
from tests.differential.families import FAMILIES
from tests.differential.logistic import exact_logistic, logistic
from tests.differential.scores import class_score
from tests.differential.settle import Truth, verdict

FEW = {
    "naive Bayes": 70,
    "discriminant": 70,
    "least squares": 15,
    "ridge": 15,
    "neighbours, classification": 20,
    "networks": 5,
    "additive": 20,
    "solvers": 20,
    "valuations": 10,
}


def test_the_long_fuzz_has_twenty_thousand_cases():
    counts = {name: cases for name, (cases, _) in run.TRIED.items()}
    assert sum(counts.values()) >= 20_000
    assert min(counts[name] for name in ("naive Bayes", "discriminant", "logistic")) >= 2_000


@pytest.mark.parametrize("name", FEW)
def test_no_value_of_a_few_odd_cases_is_wrong(name):
    attempt = run.TRIED[name][1]
    found = {number: attempt(number) for number in range(FEW[name])}
    wrong = {n: one.details for n, one in found.items() if one.outcome == "ours wrong"}
    assert not wrong
    assert any(one.outcome == "equal" for one in found.values())


# Cases whose values were wrong, or an error without a reason, and why.
FOUND = {
    "least squares": {
        148: "records 10,000 deviations away from the validation rows",
        189: "contrasts of few records with a feature of little spread",
        253: "records far away, in sums relative to the validation rows",
        257: "a perfect fit of targets with a large variance",
        443: "few records that are dependent up to rounding",
        95: "features that depend on each other to five digits",
        487: "a constant feature beside scales far apart",
        650: "few records in scales far apart",
        1876: "a record drawn twice, with targets that differ in late digits",
        2177: "validation targets that differ in their last digits only",
        4686: "a feature of little spread",
        5739: "few records whose estimated error must be taken seriously",
    },
    "ridge": {
        20: "a provider far away",
        238: "one penalty on scales 1e190 apart",
        947: "a weak penalty on nearly dependent features",
        1625: "a weak penalty on scales far apart",
    },
    "logistic": {
        55: "records 1e9 deviations away",
        78: "a feature constant in a coalition",
        1123: "a duplicate feature with a weak penalty",
    },
    "discriminant": {
        278: "a small difference between two classes that are far from the first",
        1258: "nearly dependent features, whose products hold half of their digits",
        1525: "records that differ by far less than the validation rows",
        26191: "class means that are rounded, far from the validation rows",
    },
    "naive Bayes": {
        5490: "a tie that depended on the units of the features",
        4742: "a small difference between two classes, with a feature that a third one has",
    },
}


@pytest.mark.parametrize(("name", "number"), [(n, case) for n in FOUND for case in FOUND[n]])
def test_a_case_that_was_found_wrong_stays_right(name, number):
    finding = run.TRIED[name][1](number)
    assert finding.outcome not in ("ours wrong", "needless error", "unsettled"), finding.details


def test_equal_targets_have_no_r2_though_their_computed_variance_is_not_zero():
    X, y = np.arange(15.0)[:, None], np.full(15, 13.952172024583442)
    assert y.var() > 0
    with pytest.raises(InvalidInput, match="y_val is constant"):
        sb.NeighborUtility(X, y, task="regression", score="r2")


def test_no_logistic_regression_of_a_few_odd_cases_is_wrong():
    family = next(family for family in FAMILIES if family.name == "logistic")
    # With weaker penalties the exact optimum takes seconds.
    cases = [family.make(number) for number in range(40)]
    quick = [case for case in cases if max(abs(X).max() for X, _ in case.parts) < 1e4]
    found = {case.number: run.compare(family, case) for case in quick}
    assert not {n: one.details for n, one in found.items() if one.outcome == "ours wrong"}
    assert sum(one.outcome == "equal" for one in found.values()) > 10


def test_a_case_is_made_from_its_number_alone():
    one, same, other = (classes_case("naive Bayes", number) for number in (7, 7, 8))
    np.testing.assert_array_equal(one.X_val, same.X_val)
    assert not np.array_equal(one.X_val, other.X_val)


def test_a_wrong_value_is_found_out():
    exact = Truth(0.5, lambda: (0.5, 0.5))
    assert verdict(0.5, 0.5, exact) == "equal"
    assert verdict(0.5, 0.6, exact) == "reference wrong"
    assert verdict(0.6, 0.5, exact) == "ours wrong"
    assert verdict(math.nan, 0.5, exact) == "ours wrong"
    assert verdict(0.6, 0.5, Truth(0.5, lambda: (0.3, 0.7))) == "ill-posed"


def test_a_wrong_valuation_is_found_out(monkeypatch):
    right = valuations.GAMES[0]
    wrong = replace(right, score=lambda *records: right.score(*records) + 1e-6)
    monkeypatch.setattr(valuations, "GAMES", (wrong,))
    assert valuations.played(0)[0] == "ours wrong"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_references_of_ordinary_records_are_scikit_learns(n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(60) % n_classes
    X, rows = rng.normal(size=(60, 3)) + y[:, None], rng.normal(size=(20, 3))
    pairs = [
        (GaussianNB(), classifiers.naive_bayes(X, y, n_classes, rows, var_smoothing=1e-9)),
        (
            LinearDiscriminantAnalysis(solver="lsqr"),
            classifiers.discriminant(X, y, n_classes, rows),
        ),
        (LogisticRegression(tol=1e-10, max_iter=5000), logistic(X, y, n_classes, rows, C=1.0)),
    ]
    for model, logits in pairs:
        logs = model.fit(X, y).predict_log_proba(rows)
        np.testing.assert_allclose(logits - logits[:, :1], logs - logs[:, :1], atol=1e-4)


def valued(utility, *parts):
    summaries = [utility.summarise(sb.Batch(X, y)) for X, y in parts]
    names = tuple("abc"[: len(parts)])
    return sb.Games(utility, [summaries], names, range(1), Seeds(0)).table()[0, 1:]


def rows_of_two_classes(seed=0, count=40):
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    return rng.normal(size=(count, 2)) + y[:, None], y


@pytest.mark.parametrize("kind", [sb.GaussianNBUtility, sb.LDAUtility])
def test_records_far_from_the_validation_rows_keep_their_spread(kind):
    X, y = rows_of_two_classes()
    far = X + 1e8  # differences within the records keep eight digits
    utility = kind(X, y, "neg_log_loss")
    model = classifiers.naive_bayes if kind is sb.GaussianNBUtility else classifiers.discriminant
    settings = {"var_smoothing": 1e-9} if kind is sb.GaussianNBUtility else {}
    logits = model(far, y, 2, X, **settings)
    wanted = class_score(logits.tolist(), y.tolist(), 2, "neg_log_loss")
    np.testing.assert_allclose(valued(utility, (far, y)), wanted, rtol=1e-6)


def test_naive_bayes_of_scales_far_apart_is_that_of_the_largest():
    X, y = rows_of_two_classes()
    apart = X * [1e40, 1e-20]
    alone = valued(sb.GaussianNBUtility(X[:, :1], y, "neg_log_loss"), (X[:, :1], y))
    both = valued(sb.GaussianNBUtility(apart, y, "neg_log_loss"), (apart, y))
    np.testing.assert_allclose(both, alone, rtol=1e-9)


def test_naive_bayes_of_a_feature_that_is_constant_in_all_records_ignores_it():
    X, y = rows_of_two_classes()
    X = X * 1e-6
    rare = np.column_stack([X, np.zeros(40)])
    with_rare = np.column_stack([X, np.arange(40) % 3 == 0])
    found = valued(sb.GaussianNBUtility(with_rare, y, "neg_log_loss"), (rare, y))
    wanted = valued(sb.GaussianNBUtility(X, y, "neg_log_loss"), (X, y))
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("kind", [sb.GaussianNBUtility, sb.LDAUtility])
def test_sums_that_overflow_are_an_error(kind):
    X, y = rows_of_two_classes()
    utility = kind(X * 1e-5, y)
    with pytest.raises(EvaluationError, match="so far from the validation rows"):
        valued(utility, (X * 1e152, y))


@pytest.mark.parametrize("kind", [sb.GaussianNBUtility, sb.LDAUtility, sb.LogisticUtility])
@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_validation_rows_whose_squares_are_no_floats_are_refused(kind, scale):
    X, y = rows_of_two_classes()
    with pytest.raises(InvalidInput, match=r"X_val: feature 0 (holds|varies by less)"):
        kind(X * scale, y)


@pytest.mark.parametrize("scale", [1e6, 1e8])
def test_the_log_loss_of_separable_records_is_that_of_the_optimum(scale):
    X = np.linspace(-1.0, 1.0, 8)[:, None] * scale
    y = (X[:, 0] > 0).astype(int).tolist()
    rows = X * 0.37
    utility = sb.LogisticUtility(rows, y, score="neg_log_loss")
    logits = exact_logistic(exact_rows(X), y, 2, exact_rows(rows), C=1.0)
    wanted = float(class_score(logits, y, 2, "neg_log_loss", mp))
    np.testing.assert_allclose(valued(utility, (X, np.array(y))), wanted, atol=1e-12, rtol=1e-7)
