"""Slopes that drift with the size of a coalition, and their share in the blend of surrogates."""

import numpy as np
import pytest
from tests.solvers.voting_games import voting_games

import shapband as sb
from shapband.games import Games
from shapband.seeds import Seeds
from shapband.solvers import strata
from shapband.solvers.blend import left_out_together, shares
from shapband.solvers.drift import drift_blocks, fit_drifts
from shapband.solvers.listed import Listed

N = 12


def coalitions(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    inside = (rng.random((rows, N)) < rng.uniform(0.1, 0.9, (rows, 1))).astype(np.uint8)
    return inside, inside.sum(axis=1).astype(np.int64), np.ones(rows, dtype=bool)


def fitted(inside, sizes, values, spreads, rows):
    """Slopes (n + 1, n) and means (n + 1,) of the surrogate fitted to some rows."""
    listed = Listed.of([inside], sizes)
    found = fit_drifts(listed, values, spreads, rows[:, None], drift_blocks(N), 1)
    slopes = spreads[:, None] * found.slopes[0]
    predictions = found.means[0, sizes] + (inside * slopes[sizes]).sum(axis=1)
    np.testing.assert_allclose(found.predictions[:, 0], predictions, rtol=1e-9, atol=1e-9)
    return slopes, found.means[0]


def test_who_matters_in_large_coalitions_only_has_no_slope_in_small_ones():
    inside, sizes, rows = coalitions()
    values = inside[:, 0] * (sizes > N / 2).astype(float)
    slopes, _ = fitted(inside, sizes, values, np.ones(N + 1), rows)
    assert slopes[N - 2, 0] > 0.5
    assert abs(slopes[2, 0]) < 0.2
    assert np.abs(slopes[:, 1:]).max() < 0.2


@pytest.mark.parametrize(("unit", "level"), [(1e-6, 0.0), (1.0, 1e3), (1e6, -1e6)])
def test_unit_and_level_of_the_values_do_not_matter(unit, level):
    inside, sizes, rows = coalitions()
    spreads = np.linspace(2.0, 1.0, N + 1)
    values = np.sqrt(inside @ np.arange(1.0, N + 1))
    slopes, means = fitted(inside, sizes, values, spreads, rows)
    others = fitted(inside, sizes, unit * values + level, spreads, rows)
    np.testing.assert_allclose(others[0] / unit, slopes, atol=1e-8)
    np.testing.assert_allclose((others[1] - level) / unit, means, atol=1e-8)


def test_rows_that_are_left_out_do_not_matter():
    inside, sizes, rows = coalitions()
    rows[::3] = False
    values = np.sqrt(inside @ np.arange(1.0, N + 1))
    first = fitted(inside, sizes, values, np.ones(N + 1), rows)
    second = fitted(inside, sizes, values * np.where(rows, 1, 9), np.ones(N + 1), rows)
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("n_folds", [4, 8])
def test_the_share_of_a_fold_does_not_depend_on_its_values(n_folds):
    """Residuals around 0, and around twice the mean of the rows that are not left out."""
    rng = np.random.default_rng(0)
    folds, weights = np.arange(80) % n_folds, rng.uniform(1, 2, 80)
    values = rng.normal(1.0, 0.3, 80)

    def share(values):
        pairs = left_out_together(n_folds)
        known = [values[(folds != one) & (folds != other)].mean() for one, other in pairs]
        around = values[:, None] - 2.0 * np.array(known)
        return shares(around, np.repeat(values[:, None], n_folds, axis=1), folds, weights)

    first, second = share(values), share(values + 3.0 * (folds == 2) * rng.normal(size=80))
    assert ((first > 0) & (first < 1)).all()
    changed = first != second
    assert not changed[2]
    assert changed.sum() == n_folds - 1 if n_folds == 4 else changed.any()


def test_the_share_is_that_of_least_squares():
    rng = np.random.default_rng(1)
    folds, weights = np.arange(40) % 4, rng.uniform(1, 2, 40)
    one, other = rng.normal(size=(2, 40))
    found = shares(*(np.repeat(part[:, None], 4, axis=1) for part in (one, other)), folds, weights)
    for fold in range(4):
        at = (folds == (fold + 1) % 4) | (folds == (fold - 1) % 4)
        tried = np.linspace(0, 1, 100_001)
        blended = one[at] + tried[:, None] * (other - one)[at]
        best = tried[(weights[at] * blended**2).sum(axis=1).argmin()]
        assert found[fold] == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("name", ["two vetoes", "five together"])
def test_where_few_decide_together_the_error_is_below_that_of_the_curve_alone(name, monkeypatch):
    """Seen: 0.5 to 0.6 times. Permutations have 0.7 times the error of the curve alone."""
    game = voting_games(30)[name]

    def squares():
        solution = sb.Strata(150).solve(game.copies(40))
        return ((solution.values - game.exact(sb.Shapley())) ** 2).mean()

    blended = squares()
    monkeypatch.setattr(strata, "shares", lambda first, *_: np.zeros(first.shape[1]))
    assert np.sqrt(blended / squares()) < 0.75


def test_additive_games_of_few_evaluations_keep_their_learning_curve():
    """Seen with four folds, of which two left too few coalitions for a curve: errors of 0.2."""
    worth = np.random.default_rng(0).normal(size=(5, 30))
    names = tuple(f"p{i:02}" for i in range(30))
    chunk = Games(sb.AdditiveUtility(empty=0.3), worth, names, range(5), Seeds(0))
    np.testing.assert_allclose(sb.Strata(150).solve(chunk).values, worth, atol=1e-5)


def test_blocks_of_sizes_grow_with_the_size_up_to_a_limit():
    """A block that begins at s has s // 8 sizes, and n // 64 at most: 3 of 200 providers."""
    found = drift_blocks(200).of_size
    firsts = np.flatnonzero(np.diff(found, prepend=-1))
    lengths = np.diff([*firsts, 201])
    expected = np.clip(firsts // 8, 1, 3)
    assert lengths[:-1].tolist() == expected[:-1].tolist()
    assert lengths[-1] <= expected[-1]
