"""A utility on a part of its validation rows equals the utility that is made for these rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shapband as sb
from shapband import kernels
from shapband.errors import InvalidInput
from shapband.games import Games
from shapband.records.draws import Draws
from shapband.seeds import Seeds
from shapband.utilities.rows import rows_kept

RNG = np.random.default_rng(3)
X = RNG.normal(size=(160, 4)) * [1.0, 5.0, 0.1, 30.0] + [0.0, 100.0, 0.0, 0.0]
QUANTITY = X @ [1.0, 0.2, 3.0, -0.05] + RNG.normal(size=160)
LABEL = np.where(X @ [1.0, 0.2, 3.0, -0.05] > 20.0, "high", "low")
ROWS = np.array([0, 3, 4, 7, 11, 20, 21, 33, 47, 50, 52, 59])

MAKERS: dict[str, Callable[[Any, Any], sb.Utility]] = {
    "least squares": lambda X, y: sb.LinearUtility(X, y),
    "R²": lambda X, y: sb.LinearUtility(X, y, score="r2"),
    "ridge, negative error": lambda X, y: sb.LinearUtility(X, y, score="neg_mse", alpha=2.0),
    "1 neighbour": lambda X, y: sb.NeighborUtility(X, y, k=1),
    "3 neighbours, R²": lambda X, y: sb.NeighborUtility(X, y, k=3, score="r2"),
    "weighted neighbours": lambda X, y: sb.NeighborUtility(X, y, k=5, weights="distance"),
    "ridge pipeline": lambda X, y: sb.EstimatorUtility(
        make_pipeline(StandardScaler(), Ridge()), X, y
    ),
    "absolute error": lambda X, y: sb.EstimatorUtility(
        Ridge(), X, y, score="neg_mean_absolute_error"
    ),
    "root mean squared error": lambda X, y: sb.EstimatorUtility(
        Ridge(), X, y, score="neg_root_mean_squared_error"
    ),
}
CLASSIFIERS: dict[str, Callable[[Any, Any], sb.Utility]] = {
    "naive Bayes": lambda X, y: sb.GaussianNBUtility(X, y),
    "naive Bayes, AUC": lambda X, y: sb.GaussianNBUtility(X, y, score="roc_auc"),
    "LDA, log loss": lambda X, y: sb.LDAUtility(X, y, score="neg_log_loss"),
    "logistic, Brier": lambda X, y: sb.LogisticUtility(X, y, score="neg_brier_score"),
    "5 neighbours": lambda X, y: sb.NeighborUtility(X, y, k=5),
    "network": lambda X, y: sb.NetworkUtility(X, y, hidden=(4,), max_iter=20),
    "own accuracy": lambda X, y: sb.EstimatorUtility(LogisticRegression(max_iter=2000), X, y),
    "AUC of a model": lambda X, y: sb.EstimatorUtility(
        LogisticRegression(max_iter=2000), X, y, score="roc_auc"
    ),
    "log loss of a model": lambda X, y: sb.EstimatorUtility(
        LogisticRegression(max_iter=2000), X, y, score="neg_log_loss"
    ),
    "a function": lambda X, y: sb.EstimatorUtility(LogisticRegression(max_iter=2000), X, y, _own),
    "a forest": lambda X, y: sb.EstimatorUtility(
        RandomForestClassifier(5, max_depth=3), X, y, score="f1_macro"
    ),
}


def _own(fitted: Any, X: Any, y: Any) -> float:
    return float(accuracy_score(y, fitted.predict(X))) ** 2


def _games(utility: sb.Utility, y: Any) -> Games:
    draws = [
        Draws.whole(sb.ArraySource(X[at], y[at]).records) for at in np.split(np.arange(100, 160), 3)
    ]
    return Games(utility, utility.summarise_games(draws), ("a", "b", "c"), range(1), Seeds(5))


def _tables(name: str) -> tuple[sb.Utility, sb.Utility, Games]:
    """The utility on all rows, the one made for some of them, and a game of the first."""
    make, y = (MAKERS | CLASSIFIERS)[name], QUANTITY if name in MAKERS else LABEL
    whole, few = make(X[:100], y[:100]), make(X[ROWS], y[ROWS])
    return whole, few, _games(whole, y)


@pytest.mark.parametrize("name", [*MAKERS, *CLASSIFIERS])
def test_part_of_the_rows_equals_a_utility_made_for_them(name: str) -> None:
    whole, few, games = _tables(name)
    part = whole.on_rows(ROWS)
    assert whole.validation_rows == 100
    assert part.empty == pytest.approx(few.empty, rel=1e-12)
    expected = _games(few, QUANTITY if name in MAKERS else LABEL).table()
    found = Games(part, games.summaries, games.names, games.indices, games.seeds).table()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert not np.allclose(found, games.table(), rtol=1e-6, atol=1e-6)  # the rows do matter


@pytest.mark.parametrize("name", [*MAKERS, *CLASSIFIERS])
def test_one_fit_is_scored_on_all_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _, games = _tables(name)
    expected = games.table()
    kept = rows_kept(100)
    parts = [_with(games, whole.on_rows(rows)).table() for rows in kept]
    fits = _count_fits(monkeypatch)
    folded = whole.without_folds(kept)
    np.testing.assert_array_equal(_with(games, folded.whole).table(), expected)
    once = len(fits)
    for part, own in zip(folded.parts, parts, strict=True):
        np.testing.assert_allclose(_with(games, part).table(), own, rtol=1e-9, atol=1e-9)
    if isinstance(whole, sb.EstimatorUtility):
        assert once == 7
        assert len(fits) == once  # all coalitions but the empty one, once
        folded.forget()
        _with(games, folded.parts[0]).table()
        assert len(fits) == 2 * once


def _with(games: Games, utility: sb.Utility) -> Games:
    return Games(utility, games.summaries, games.names, games.indices, games.seeds)


def _count_fits(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    fits: list[None] = []
    before = sb.EstimatorUtility._fit_and_score

    def counted(self: Any, *arguments: Any) -> float:
        fits.append(None)
        return before(self, *arguments)

    monkeypatch.setattr(sb.EstimatorUtility, "_fit_and_score", counted)
    return fits


def test_folds_are_random_of_equal_sizes_and_keep_groups_together() -> None:
    kept = rows_kept(1469)
    assert [1469 - len(rows) for rows in kept] == [147] * 9 + [146]
    left_out = [np.setdiff1d(np.arange(1469), rows) for rows in kept]
    assert np.array_equal(np.sort(np.concatenate(left_out)), np.arange(1469))
    assert all(np.ptp(rows) > 1200 for rows in left_out)  # not neighbours
    groups = np.repeat(np.arange(30), 5)
    for rows in rows_kept(150, groups):
        inside = set(groups[rows])
        assert len(rows) == 5 * len(inside) == 135
    assert len(rows_kept(3)) == 3
    assert len(rows_kept(50, np.zeros(50))) == 1


def _trained(X: Any, y: Any, score: Any) -> sb.FederatedUtility:
    return sb.FederatedUtility("softmax", X, y, learning_rate=0.1, score=score, empty="baseline")


@pytest.mark.parametrize("only", [0, 1])
def test_auc_without_rows_of_a_label_is_refused(only: int, monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.array([1 - only, *[only] * 19])
    utilities = [
        sb.GaussianNBUtility(X[:20], y, score="roc_auc"),
        sb.LDAUtility(X[:20], y, score="roc_auc"),
        sb.LogisticUtility(X[:20], y, score="roc_auc"),
        sb.FederatedUtility(
            "logistic", X[:20], y, learning_rate=0.1, score="roc_auc", empty="baseline"
        ),
    ]

    def no_scores(name: str) -> None:
        raise AssertionError("compiled code must not get rows of one label")

    monkeypatch.setattr(kernels, "load", no_scores)
    for utility in utilities:
        with pytest.raises(InvalidInput, match=r"roc_auc.*one label"):
            utility.on_rows(np.arange(1, 20))


@pytest.mark.parametrize("score", ["accuracy", "neg_log_loss", "neg_brier_score"])
@pytest.mark.parametrize(
    "make", [sb.LogisticUtility, sb.GaussianNBUtility, sb.LDAUtility, _trained]
)
def test_dummy_score_does_not_depend_on_the_name_of_a_label_that_rows_lack(
    score: str, make: Callable[..., sb.Utility]
) -> None:
    codes, rows = np.array([0, 0, 1, 2] * 15), np.flatnonzero(np.arange(60) % 4 != 3)
    shares = np.array([2 / 3, 1 / 3])[codes[rows]]
    expected = {
        "accuracy": 2 / 3,
        "neg_log_loss": np.log(shares).mean(),
        "neg_brier_score": -(2 * (1 - shares) ** 2).mean(),  # three labels: it is not halved
    }[score]
    for names in (["a", "b", "last"], ["b", "last", "a"], ["a", "last", "b"]):
        y = np.array(names)[codes]
        assert make(X[:60], y, score=score).on_rows(rows).empty == pytest.approx(expected)


def test_score_that_fails_on_a_part_is_not_known_and_changes_nothing_else() -> None:
    y = np.array([1, *[0] * 59])  # one fold holds all rows of a label
    model = LogisticRegression(max_iter=2000)
    utility = sb.EstimatorUtility(model, X[:60], y, score="roc_auc", empty=0.5)
    games = _games(utility, np.tile([0.0, 1.0], 80))
    folded = utility.without_folds(rows_kept(60))
    np.testing.assert_array_equal(_with(games, folded.whole).table(), games.table())
    for part, kept in zip(folded.parts, rows_kept(60), strict=True):
        if 0 in kept:
            assert np.isfinite(_with(games, part).table()).all()
            continue
        with pytest.raises(sb.errors.EvaluationError, match="returned nan"):
            _with(games, part).table()


def test_changed_utilities_do_not_give_their_rows() -> None:
    class Doubled(sb.LinearUtility):
        def evaluate(self, summaries: Any, coalitions: Any) -> Any:
            return 2 * super().evaluate(summaries, coalitions)

    class OwnScore(sb.EstimatorUtility):
        def score(self, batch: Any) -> float:
            return float(len(batch))

    assert sb.LinearUtility(X, QUANTITY).knows_rows
    assert not Doubled(X, QUANTITY).knows_rows
    assert not OwnScore(Ridge(), X, QUANTITY).knows_rows
    assert not sb.FunctionUtility(lambda X, y: 0.0).knows_rows
    assert sb.AdditiveUtility().validation_rows == 0
