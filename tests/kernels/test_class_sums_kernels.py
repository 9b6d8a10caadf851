"""The compiled kernels of classifiers from sums give the scores of the plain ones."""

import numpy as np
import pytest
from tests.reference import arc_sums as plain_arcs
from tests.reference import bayes as plain_bayes
from tests.reference import discriminant as plain_discriminant

from shapband.kernels.compiled import arc_sums as compiled_arcs
from shapband.kernels.compiled import bayes as compiled_bayes
from shapband.kernels.compiled import discriminant as compiled_discriminant


def records(seed, features, classes):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, size=200)
    X = rng.normal(size=(200, features)) + codes[:, None]
    X[:, 0] = X[:, -1] + 1e-9 * rng.normal(size=200) if features > 3 else X[:, 0]
    rows = rng.integers(0, 200, size=(3, 4, 9))
    rows[1, 2] = np.flatnonzero(codes == 1)[0]  # the same record nine times
    columns = np.zeros((-(-features // 4) * 4, 60))
    columns[:features] = rng.normal(size=(features, 60)) + 0.5
    truth = rng.integers(0, classes, size=60)
    inside = np.concatenate([np.zeros((1, 4)), rng.integers(0, 2, size=(40, 4)), np.eye(4)])
    of_game = np.sort(rng.integers(0, 3, size=len(inside)))
    centre = X.mean(axis=0), 1 / X.std(axis=0)
    return (X, codes, rows, centre), (inside.astype(np.uint8), of_game, columns, truth)


def summarised(write, given, shape):
    X, codes, rows, centre = given
    summaries = np.full((3, 4, *shape), np.nan)
    for place in range(4):
        write(X, codes, rows[:, place], *centre, summaries, place)
    return summaries


def with_folds(kernel, summaries, inside, *rest):
    """Scores of coalitions on all rows, and without each of three folds."""
    fold_of, parts = np.arange(60) ** 2 % 7 // 2, np.zeros((len(inside), 3))
    return kernel(summaries, inside, *rest, (fold_of, parts)), parts


@pytest.mark.parametrize("score", range(4))
@pytest.mark.parametrize(("features", "classes"), [(1, 2), (3, 3), (6, 2)])
def test_naive_bayes(features, classes, score):
    if score == 2 and classes != 2:
        pytest.skip("AUC is for two labels")
    given, asked = records(features, features, classes)
    shape = (classes, 1 + 4 * features)
    one, other = (
        summarised(kernels.class_moments, given, shape) for kernels in (plain_bayes, compiled_bayes)
    )
    np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)
    rest = (score, np.linspace(0.5, 20.0, features), 1e-9)
    (found, parts), (expected, own) = (
        with_folds(kernels.bayes_rows, one, *asked, *rest)
        for kernels in (compiled_bayes, plain_bayes)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    np.testing.assert_allclose(parts, own, rtol=1e-7)
    assert found[0] == 0
    assert len(np.unique(found[1:])) > 5


@pytest.mark.parametrize("score", range(4))
@pytest.mark.parametrize(("features", "classes"), [(2, 2), (3, 3), (6, 2), (12, 3)])
def test_linear_discriminants(features, classes, score):
    """Six features and more are dependent; with 12 features most coalitions lack records."""
    if score == 2 and classes != 2:
        pytest.skip("AUC is for two labels")
    given, asked = records(features, features, classes)
    shape = (3 * classes + 2 * features, 1 + features)
    one, other = (
        summarised(kernels.class_scatter, given, shape)
        for kernels in (plain_discriminant, compiled_discriminant)
    )
    np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)
    (found, parts), (expected, own) = (
        with_folds(kernels.discriminant_rows, one, *asked, score)
        for kernels in (compiled_discriminant, plain_discriminant)
    )
    np.testing.assert_allclose(parts, own, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    assert found[0] == 0
    assert len(np.unique(found[1:])) > 5


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_sums_of_arcs(n):
    rng = np.random.default_rng(n)
    summaries = rng.uniform(0.5, 1.5, size=(2, n, 4, 6))
    circles = np.argsort(rng.random((2, 3, n)), axis=2)
    sizes = sorted({1, max(1, n // 2), max(1, n - 1), n})
    arcs = np.array([(g, r, size) for g in range(2) for r in range(3) for size in sizes])
    found = compiled_arcs.arc_sums(summaries, 3, 5, circles, arcs)
    np.testing.assert_allclose(
        found, plain_arcs.arc_sums(summaries, 3, 5, circles, arcs), rtol=1e-14
    )


def test_sums_that_have_lost_digits_are_left_open():
    """A class of one record has no variance, so its sums cancel; others are scored."""
    given, (_, _, columns, truth) = records(3, 3, 2)
    summaries = summarised(compiled_bayes.class_moments, given, (2, 13))
    alone = np.full(9, np.flatnonzero(given[1] == 1)[0])
    given[2][:, 0] = alone
    lone = summarised(compiled_bayes.class_moments, given, (2, 13))[0, 0]
    sums = np.stack([summaries[0].sum(axis=0), lone])[:, :, :7].copy()
    found = compiled_bayes.bayes_sums(sums, columns, truth, 1, np.ones(3), 1e-9)
    everybody, first = np.ones((1, 4), np.uint8), np.zeros(1, np.int64)
    expected = compiled_bayes.bayes_rows(
        summaries, everybody, first, columns, truth, 1, np.ones(3), 1e-9
    )
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    assert np.isnan(found[1])
