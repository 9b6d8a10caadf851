"""The compiled kernels of logistic regression give the values of the plain ones."""

import numpy as np
import pytest

from shapband.kernels.careful import class_scores as plain_scores
from shapband.kernels.careful import logistic as plain
from shapband.kernels.compiled import class_scores as compiled_scores
from shapband.kernels.compiled import logistic as compiled
from shapband.kernels.walks import first_occurrences

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
    game = games(classes, classes, others=others)
    expected = plain.logistic_table(*game, score)
    assert np.isnan(expected[:, 0]).all()
    assert np.isfinite(expected[:, 1:]).all()
    assert len(np.unique(expected[0, 1:])) > 3
    table = compiled.logistic_table(*game, score)
    np.testing.assert_allclose(table, expected, rtol=0, atol=1e-10)
    rng = np.random.default_rng(0)
    orders = np.argsort(rng.random((2, 5, 4)), axis=2)
    masks = np.cumsum(1 << orders, axis=2)
    walked = np.take_along_axis(expected[:, None], masks, axis=2)
    inside = rng.integers(0, 2, size=(9, 4)).astype(np.uint8)
    of_game = np.sort(rng.integers(0, 2, size=9))
    chosen = expected[of_game, inside @ (1 << np.arange(4))]
    for kernels in (plain, compiled):
        found = kernels.logistic_prefixes(*game, score, orders, first_occurrences(orders))
        np.testing.assert_allclose(found, walked, rtol=0, atol=1e-10)
        found = kernels.logistic_rows(*game, score, inside, of_game)
        np.testing.assert_allclose(found, chosen, rtol=0, atol=1e-10)


def test_a_game_has_the_same_bits_alone():
    game = games(5, 3, n_games=3, n=5)
    table = compiled.logistic_table(*game, 1)
    for g in range(3):
        alone = compiled.logistic_table(game[0][g : g + 1], *game[1:], 1)
        np.testing.assert_array_equal(alone[0], table[g])
    inside = np.array([[1, 0, 1, 0, 1], [0, 1, 1, 0, 0]], dtype=np.uint8)
    both = compiled.logistic_rows(*game, 1, inside, np.array([1, 1]))
    for r in range(2):
        alone = compiled.logistic_rows(*game, 1, inside[r : r + 1], np.array([1]))
        np.testing.assert_array_equal(alone[0], both[r])


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
