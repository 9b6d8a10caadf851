"""Compiled models are fitted once and scored without each fold as a utility on these rows is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shapband as sb
from shapband.errors import InvalidInput
from shapband.games import Games
from shapband.kernels.careful import logistic as careful
from shapband.kernels.walks import first_occurrences
from shapband.records.draws import Draws
from shapband.seeds import Seeds
from shapband.utilities.neighbors import MANY_ROWS
from shapband.utilities.rows import folds_of, rows_kept

SCORES = ("accuracy", "neg_log_loss", "neg_brier_score", "roc_auc")
MODELS: dict[str, Callable[..., Any]] = {
    "naive Bayes": sb.GaussianNBUtility,
    "LDA": sb.LDAUtility,
    "logistic": sb.LogisticUtility,
}
NEIGHBORS: dict[str, dict[str, Any]] = {
    "1 neighbour": {"k": 1, "task": "regression"},
    "3 neighbours, R²": {"k": 3, "task": "regression", "score": "r2"},
    "weighted": {"k": 4, "task": "regression", "weights": "distance", "score": "neg_mse"},
    "1 label": {"k": 1, "task": "classification"},
    "5 labels": {"k": 5, "task": "classification", "empty": 0.25},
    "weighted labels": {"k": 12, "task": "classification", "weights": "distance"},
}


def _rows(rng: Any, n_rows: int, classes: int, features: int, few_values: bool) -> Any:
    y = rng.integers(0, classes, size=n_rows)
    X = rng.normal(size=(n_rows, features)) + 0.7 * y[:, None]
    return (np.round(X) if few_values else X), y


def _games(utility: sb.Utility, rng: Any, X: Any, y: Any, sizes: list[list[int]]) -> Games:
    """Games whose draws have these sizes; the last provider of each has one label alone."""
    games = []
    for of_game in sizes:
        draws = [
            Draws.whole(sb.ArraySource(X[at], y[at]).records)
            for at in (rng.integers(0, len(X), size=size) for size in of_game[:-1])
        ]
        alike = rng.choice(np.flatnonzero(y == y[0]), size=of_game[-1])
        draws.append(Draws.whole(sb.ArraySource(X[alike], y[alike]).records))
        games.append(utility.summarise_games(draws)[0])
    names = tuple("abcd"[: len(sizes[0])])
    return Games(utility, np.stack(games), names, range(len(sizes)), Seeds(5))


def _with(games: Games, utility: sb.Utility) -> Games:
    return Games(utility, games.summaries, games.names, games.indices, games.seeds)


def _asked(games: Games) -> list[Any]:
    """Values of coalitions in all forms in which solvers ask for them."""
    n, rng = games.n_providers, np.random.default_rng(1)
    orders = rng.permuted(np.tile(np.arange(n), (len(games.indices), 3, 1)), axis=2)
    inside = rng.integers(0, 2, size=(9, n)).astype(np.uint8)
    of_game = np.sort(rng.integers(0, len(games.indices), size=9))
    arcs = np.array(
        [[g, t, size] for g in range(len(games.indices)) for t, size in ((0, 1), (2, 3))]
    )
    utility, summaries = games.utility, games._placed
    return [
        games.table(),
        utility.evaluate_prefixes(summaries, orders, first_occurrences(orders)),
        games.values(inside, of_game),
        games.arcs(orders, arcs),
    ]


def _check(utility: Any, games: Games, kept: Any, tolerance: float = 1e-12) -> None:
    """Compare the values without each fold with those of a utility on these rows."""
    expected = _asked(games)
    folded = utility.without_folds(kept)
    for found, own in zip(_asked(_with(games, folded.whole)), expected, strict=True):
        np.testing.assert_array_equal(found, own)
    differ = False
    for rows, part in zip(kept, folded.parts, strict=True):
        slow = _with(games, utility.on_rows(rows))
        assert part.empty == slow.utility.empty
        for found, own, all_ in zip(
            _asked(_with(games, part)), _asked(slow), expected, strict=True
        ):
            np.testing.assert_allclose(found, own, rtol=tolerance, atol=tolerance)
            differ = differ or not np.allclose(own, all_, rtol=1e-9, atol=1e-9)
    assert differ  # the rows do matter


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("classes", "few_values"), [(2, False), (2, True), (3, False)])
def test_scores_without_each_fold(model: str, score: str, classes: int, few_values: bool) -> None:
    if score == "roc_auc" and classes > 2:
        with pytest.raises(InvalidInput, match="roc_auc"):
            MODELS[model](np.arange(6.0).reshape(3, 2), [0, 1, 2], score=score)
        return
    rng = np.random.default_rng(classes)
    X, y = _rows(rng, 61, classes, 3, few_values)
    utility = MODELS[model](X, y, score=score)
    more = _rows(rng, 80, classes, 3, few_values)
    games = _games(utility, rng, *more, [[12, 9, 5, 6], [12, 1, 5, 1]])
    _check(utility, games, rows_kept(61))
    # Five folds of very different sizes, of which one holds all rows of a label but one.
    groups = np.where(y == y[0], 0, np.arange(61) % 5)
    groups[np.flatnonzero(y == y[0])[0]] = 4
    _check(utility, games, rows_kept(61, groups))


@pytest.mark.parametrize("name", NEIGHBORS)
def test_neighbours_without_each_fold(name: str) -> None:
    rng, options = np.random.default_rng(4), NEIGHBORS[name]
    X, y = _rows(rng, 53, 3, 2, name == "5 labels")
    targets = y if options["task"] == "classification" else y + 1e3 * rng.normal(size=53) ** 3
    utility = sb.NeighborUtility(X, targets, **options)
    more, labels = _rows(rng, 80, 3, 2, name == "5 labels")
    games = _games(utility, rng, more, labels, [[12, 9, 5, 6], [12, 9, 5, 6]])
    _check(utility, games, rows_kept(53))
    _check(utility, games, rows_kept(53, np.minimum(np.arange(53), 12)))


@pytest.mark.long
def test_neighbours_of_many_rows_without_each_fold() -> None:
    rng = np.random.default_rng(4)
    X, y = _rows(rng, MANY_ROWS, 3, 2, False)
    utility = sb.NeighborUtility(X, y + rng.normal(size=MANY_ROWS), k=2)
    games = _games(utility, rng, X[:80], y[:80], [[12, 9, 5, 6]])
    _check(utility, games, rows_kept(MANY_ROWS), 1e-11)


@pytest.mark.parametrize("score", SCORES)
def test_careful_fits_are_scored_without_each_fold(
    score: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    utility = sb.LogisticUtility(X, y, C=1e6, score=score)
    games = _games(utility, rng, X, y, [[15, 14, 12, 3]])
    slow, refitted = careful.logistic_scores, []

    def noted(*arguments: Any) -> Any:
        refitted.extend(arguments[-2])
        return slow(*arguments)

    monkeypatch.setattr(careful, "logistic_scores", noted)
    _check(utility, games, rows_kept(60), 1e-9)
    assert refitted


def test_fits_of_many_features_and_of_labels_that_validation_lacks() -> None:
    rng = np.random.default_rng(2)
    X, y = _rows(rng, 60, 2, 45, False)
    utility = sb.LogisticUtility(X, y, score="neg_log_loss")
    games = _games(utility, rng, *_rows(rng, 90, 2, 45, False), [[20, 30, 9, 8]])
    _check(utility, games, rows_kept(60))
    third = sb.LogisticUtility(X[:, :3], y)
    _check(third, _games(third, rng, *_rows(rng, 90, 3, 3, False), [[20, 30, 9, 8]]), rows_kept(60))


@pytest.mark.parametrize("solver", [sb.Exact(), sb.Permutation(4), sb.Arcs(60), sb.Strata(30)])
def test_parts_are_looked_up_and_forgotten(
    solver: sb.Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    X, y = _rows(rng, 50, 2, 3, False)
    utility = sb.GaussianNBUtility(X, y)
    parts = np.array_split(np.arange(600), 6)
    more, labels = _rows(rng, 600, 2, 3, False)
    providers = [
        sb.Provider(f"p{i}", sb.ArraySource(more[a], labels[a])) for i, a in enumerate(parts)
    ]
    calls = []
    for name in ("_scores", "_scores_of_sums"):
        before = getattr(sb.GaussianNBUtility, name)

        def counted(self: Any, *arguments: Any, before: Any = before) -> Any:
            calls.append(arguments[-1] is not None)
            return before(self, *arguments)

        monkeypatch.setattr(sb.GaussianNBUtility, name, counted)
    given: dict[str, Any] = {"sampling": sb.Fresh(9), "n_games": 12, "seed": 1, "solver": solver}
    fixed = sb.value(providers, utility, fixed_validation=True, **given)
    plain, calls[:] = len(calls), []
    found = sb.value(providers, utility, **given)
    assert len(calls) == plain
    assert all(calls)
    np.testing.assert_array_equal(found.games, fixed.games)
    assert (found.error["validation"] > 0).any()
    kept = rows_kept(50)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sb.GaussianNBUtility, "without_folds", sb.Utility.without_folds)
        slow = sb.value(providers, utility, **given)
    np.testing.assert_allclose(found.error, slow.error, rtol=1e-9, atol=1e-12)
    folded = utility.without_folds(kept)
    games = _games(utility, rng, more, labels, [[12, 9, 5, 6]])
    calls.clear()
    _with(games, folded.parts[3]).table()
    _with(games, folded.whole).table()
    assert len(calls) == 1
    folded.forget()
    _with(games, folded.whole).table()
    assert len(calls) == 2


def test_parts_that_are_no_folds_are_fitted_alone() -> None:
    rng = np.random.default_rng(3)
    X, y = _rows(rng, 40, 2, 2, False)
    utility = sb.LDAUtility(X, y)
    games = _games(utility, rng, X, y, [[12, 9, 5, 6]])
    assert folds_of([np.arange(20), np.arange(20, 40)], 40) is not None
    overlapping = [np.arange(30), np.arange(10, 40)]
    assert folds_of(overlapping, 40) is None
    _check(utility, games, overlapping)
