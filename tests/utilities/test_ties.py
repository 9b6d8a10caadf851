"""Scores that differ by rounding are ties, so no score depends on the order of the providers."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from tests.reference import neighbor_sets as plain_sets

import shapband as sb
from shapband.kernels.careful import class_scores as plain
from shapband.kernels.compiled import class_scores as compiled
from shapband.kernels.compiled import neighbor_sets as compiled_sets
from shapband.kernels.walks import walk_of_rows
from shapband.records.batch import Batch
from shapband.utilities.classification import CLASS_SCORES
from shapband.utilities.networks.training import predicted

MODELS = {
    "logistic": sb.LogisticUtility,
    "bayes": sb.GaussianNBUtility,
    "discriminant": sb.LDAUtility,
}
ORDERS = ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2])


def spread_over_orders(make, seed, score, levels=2):
    """Largest difference of a coalition's score between orders of four providers."""
    rng = np.random.default_rng(seed)
    X_val = rng.integers(0, levels, (40, 4)).astype(float)
    y_val = np.arange(40) % 2
    utility = make(X_val, y_val, score=score)
    summaries = [
        utility.summarise(
            Batch(rng.integers(0, levels, (8, 4)).astype(float), rng.integers(0, 2, 8))
        )
        for _ in range(4)
    ]
    found = np.empty((len(ORDERS), 16))
    for at, order in enumerate(ORDERS):
        table = utility.evaluate_all(np.stack([summaries[i] for i in order])[None])[0]
        for mask in range(16):
            found[at, sum(1 << order[i] for i in range(4) if mask >> i & 1)] = table[mask]
    return np.ptp(found, axis=0).max()


@pytest.mark.parametrize("score", ["accuracy", "roc_auc"])
@pytest.mark.parametrize("model", MODELS)
def test_no_count_of_rows_depends_on_the_order_of_the_providers(model, score):
    """Features of two and three levels make many ties."""
    for seed in range(12):
        assert spread_over_orders(MODELS[model], seed, score, 2 + seed % 2) == 0.0


AUC = CLASS_SCORES.index("roc_auc")


def auc_by_definition(odds, codes):
    """All pairs, in exact arithmetic."""
    total, pairs = Fraction(0), 0
    for a in odds[codes == 1].tolist():
        for b in odds[codes == 0].tolist():
            size = Fraction(max(1.0, abs(a))) + Fraction(max(1.0, abs(b)))
            tied = abs(Fraction(a) - Fraction(b)) <= Fraction(plain.TIE) * size / 2
            total += Fraction(1, 2) if tied else int(a > b)
            pairs += 1
    return float(total / pairs)


@pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])
@pytest.mark.parametrize("kind", ["distinct", "rounding", "large", "one outlier", "equal"])
def test_the_auc_counts_ties_within_the_margin_half(kernels, kind):
    rng = np.random.default_rng(len(kind))
    odds = rng.normal(size=60)
    if kind != "distinct":
        odds = rng.integers(-3, 4, size=60) * 0.25
    if kind == "large":
        odds *= 1e9
    if kind == "equal":
        odds[:] = 0.125
    if kind != "distinct":
        odds *= 1.0 + 4e-16 * rng.integers(-50, 50, size=60)
    if kind == "one outlier":
        odds[7] = 1e13  # does not make the margins of others wider
    codes = np.arange(60) % 2
    logits = np.stack([np.zeros(60), odds])
    found = kernels.class_scores(logits[None], codes, 2, AUC)[0]
    assert found == pytest.approx(auc_by_definition(odds, codes), abs=1e-15)
    rounded = np.round(odds, 3) if kind != "distinct" else odds
    assert found == pytest.approx(roc_auc_score(codes, rounded), abs=1e-12)


@pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])
def test_many_rows_in_one_bucket_and_unknown_classes_have_an_auc(kernels):
    codes = np.arange(3000) % 2
    odds = np.where(np.arange(3000) % 3 == 0, 1.0, 0.0) + 1e-13 * np.arange(3000)
    odds[0] = -1e6
    logits = np.stack([np.zeros(3000), odds])
    found = kernels.class_scores(logits[None], codes, 2, AUC)[0]
    assert found == pytest.approx(roc_auc_score(codes, np.round(odds, 3)), abs=1e-12)
    certain = np.stack([np.full(3000, -np.inf), np.zeros(3000)])
    assert kernels.class_scores(certain[None], codes, 2, AUC)[0] == 0.5


@pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])
@pytest.mark.parametrize("classes", [2, 3])
def test_accuracy_takes_the_smallest_of_large_logits_that_differ_by_rounding(kernels, classes):
    logits = np.full((1, classes, 4), 1e8)
    logits[0, 1] += 1e-7
    codes = np.zeros(4, dtype=np.int64)
    assert kernels.class_scores(logits, codes, classes, 0)[0] == 1.0


def test_networks_predict_the_smallest_of_classes_that_differ_by_rounding():
    assert predicted(np.array([[0.0, 0.0], [1e-12, 1e-3]])).tolist() == [0, 1]


@pytest.mark.parametrize("kernels", [plain_sets, compiled_sets], ids=["plain", "compiled"])
def test_weighted_votes_that_differ_by_rounding_go_to_the_smallest_label(kernels):
    """1/0.3 + 1/0.6 of label 0 against 1/0.2 of label 1 is 5 against 5."""
    distances = np.array([0.2, 0.3, 0.6]) * np.array([1.0 - 1e-15, 1.0, 1.0])
    lists = np.stack([distances**2, [1.0, 0.0, 0.0]])[None, :, :, None]
    walk = walk_of_rows(np.ones((1, 1), np.uint8))
    loss, found = kernels.neighbor_losses(lists, walk, 1, np.zeros(1), True, 3, True)
    assert (loss[0], found[0]) == (0.0, 3)
