"""The compiled kernels of logistic regression give the values of the plain ones."""

import numpy as np
import pytest

from shapband.kernels.careful import class_scores as plain_scores
from shapband.kernels.careful import logistic as plain
from shapband.kernels.compiled import class_scores as compiled_scores
from shapband.kernels.compiled import logistic as compiled
from shapband.kernels.compiled import logistic_wide
from shapband.kernels.walks import first_occurrences
from shapband.utilities.starts import starts_along_orders, starts_in_table, starts_of_rows

SCORES = ["accuracy", "log loss", "AUC", "Brier"]


def games(seed, classes, n_games=2, n=4, features=3, size=10, others=0):
    """Summaries, penalties, validation columns, codes and number of labels."""
    rng = np.random.default_rng(seed)
    room = -(-size // 8) * 8
    summaries = np.zeros((n_games, n, features + 1, room))
    summaries[:, :, 0] = np.nan
    summaries[:, :, 1:, :size] = rng.normal(size=(n_games, n, features, size))
    noisy = summaries[:, :, 1, :size] + 0.5 * rng.normal(size=(n_games, n, size))
    edges = np.linspace(-1, 1, classes + others - 1) if classes + others > 2 else [0.0]
    labels = np.searchsorted(edges, noisy)
    summaries[:, :, 0, :size] = np.where(labels < classes, labels, -5.0 - labels)
    rows = 37
    validation = np.zeros((features + 1, 40))
    validation[0, :rows] = 1.0
    validation[1:, :rows] = rng.normal(size=(features, rows))
    codes = rng.integers(0, classes, size=rows)
    codes[:classes] = range(classes)
    return summaries, rng.uniform(0.1, 2.0, size=features), validation, codes, classes


@pytest.mark.parametrize(("classes", "others"), [(2, 0), (3, 0), (2, 1), (4, 2), (1, 1)])
@pytest.mark.parametrize("score", range(4), ids=SCORES)
def test_all_ways_to_ask_agree(classes, others, score):
    if score == plain_scores.AUC and classes != 2:
        pytest.skip("the AUC is defined for two labels")
    summaries, *fixed = games(classes, classes, others=others)
    fixed.append(score)
    expected = np.full((2, 16), np.nan)
    inside, starts = starts_in_table(4)
    for g, summary in enumerate(summaries):
        expected[g, :0:-1] = plain.logistic_scores(summary, *fixed, inside)
        found = compiled.logistic_scores(summary, *fixed, inside, starts)
        np.testing.assert_allclose(found, expected[g, :0:-1], rtol=0, atol=1e-10)
    assert np.isfinite(expected[:, 1:]).all()
    assert len(np.unique(expected[0, 1:])) > 3
    rng = np.random.default_rng(0)
    orders = np.argsort(rng.random((2, 5, 4)), axis=2)
    first = first_occurrences(orders)
    for g, summary in enumerate(summaries):
        inside, starts, (t, k) = starts_along_orders(orders[g], first[g])
        found = compiled.logistic_scores(summary, *fixed, inside, starts)
        walked = expected[g, np.cumsum(1 << orders[g], axis=1)[t, k]]
        np.testing.assert_allclose(found, walked, rtol=0, atol=1e-10)
        chosen = rng.integers(0, 2, size=(9, 4)).astype(np.uint8)
        chosen[0] = 0
        found = compiled.logistic_scores(summary, *fixed, *starts_of_rows(chosen))[1:]
        np.testing.assert_allclose(
            found, expected[g, chosen @ (1 << np.arange(4))], rtol=0, atol=1e-10
        )
        assert np.isnan(found[0])
        assert np.isnan(plain.logistic_scores(summary, *fixed, chosen)[0])


@pytest.mark.parametrize(
    ("features", "size"), [(1, 10), (7, 10), (8, 3), (20, 9), (45, 13), (30, 31), (9, 60)]
)
@pytest.mark.parametrize("products", [0, 10_000])
@pytest.mark.parametrize("score", range(4), ids=SCORES)
def test_many_features_agree(features, size, products, score, monkeypatch):
    """With and without the products of records, which serve fits of fewer records than features."""
    monkeypatch.setattr(logistic_wide, "MOST_PRODUCTS", products)
    summaries, *fixed = games(features, 2, features=features, size=size)
    fixed.append(score)
    inside, starts = starts_in_table(4)
    for summary in summaries:
        expected = plain.logistic_scores(summary, *fixed, inside)
        found = logistic_wide.logistic_scores(summary, *fixed, inside, starts, True)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    chosen = np.array([[0, 0, 0, 0], [1, 0, 1, 1]], dtype=np.uint8)
    found = logistic_wide.logistic_scores(summaries[0], *fixed, *starts_of_rows(chosen), False)[1:]
    assert np.isnan(found[0])
    alone = logistic_wide.logistic_scores(summaries[0], *fixed, *starts_of_rows(chosen[1:]), False)
    assert alone[1] == found[1]


@pytest.mark.parametrize("weak", [1e-9, 1e-3])
def test_many_features_with_a_weak_penalty_are_left_open_or_right(weak):
    """Rounding decides fits of separable classes with hardly any penalty."""
    summaries, _, *fixed = games(0, 2, features=30, size=9)
    ridge = np.full(30, weak)
    inside, starts = starts_in_table(4)
    found = logistic_wide.logistic_scores(summaries[0], ridge, *fixed, 1, inside, starts, True)
    assert np.isnan(found).any() == (weak == 1e-9)
    sure = ~np.isnan(found)
    expected = plain.logistic_scores(summaries[0], ridge, *fixed, 1, inside[sure])
    np.testing.assert_allclose(found[sure], expected, rtol=1e-9, atol=1e-9)


def test_a_coalition_has_the_same_bits_alone():
    summaries, *fixed = games(5, 3, n=5)
    inside = np.array([[1, 0, 1, 0, 1], [0, 1, 1, 0, 0]], dtype=np.uint8)
    both = compiled.logistic_scores(summaries[1], *fixed, 1, *starts_of_rows(inside))
    for r in range(2):
        rows = starts_of_rows(inside[r : r + 1])
        alone = compiled.logistic_scores(summaries[1], *fixed, 1, *rows)
        np.testing.assert_array_equal(alone[1], both[r + 1])


@pytest.mark.parametrize("classes", [1, 2, 3, 5])
@pytest.mark.parametrize("scale", [0.1, 3.0, 100.0])
def test_class_scores_agree(classes, scale):
    rng = np.random.default_rng(classes)
    codes = rng.integers(0, classes, size=203)
    codes[:classes] = range(classes)
    for others in (0, 2):
        logits = rng.normal(size=(4, classes + others, 203)) * scale
        logits[1] = np.round(logits[1])  # ties
        if classes + others > 1:
            logits[2, classes + others - 1] = -np.inf
            logits[3, 0] = -np.inf
        for score in range(4):
            if score != plain_scores.AUC or classes == 2:
                arguments = (logits, codes, classes, score)
                expected = plain_scores.class_scores(*arguments)
                found = compiled_scores.class_scores(*arguments)
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("odds", ["spread", "outlier", "infinite", "equal", "huge"])
def test_auc_of_odd_scores(odds):
    rng = np.random.default_rng(0)
    scores = {
        "spread": rng.normal(size=300),
        "outlier": np.append(rng.normal(size=299), 1e12),
        "infinite": np.where(rng.random(300) < 0.1, -np.inf, rng.normal(size=300)),
        "equal": np.zeros(300),
        "huge": rng.uniform(-1.0, 1.0, size=300) * 1.7e308,
    }[odds]
    codes = rng.integers(0, 2, size=300)
    logits = np.stack([np.zeros(300), scores])[None]
    expected = plain_scores.class_scores(logits, codes, 2, plain_scores.AUC)
    found = compiled_scores.class_scores(logits, codes, 2, plain_scores.AUC)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
