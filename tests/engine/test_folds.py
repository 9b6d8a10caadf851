"""Games solved again without folds of the validation rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import shapband as sb
from shapband.errors import InvalidInput, RunError
from shapband.estimate.validation import ValidationErrors
from shapband.report.about import alerts_section
from shapband.utilities.rows import rows_kept

RNG = np.random.default_rng(8)
X = RNG.normal(size=(500, 3))
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=500)
ROWS = 60


def _providers(n: int = 4) -> list[sb.Provider]:
    parts = np.array_split(np.arange(ROWS, 500), n)
    return [sb.Provider(f"p{i}", sb.ArraySource(X[at], Y[at])) for i, at in enumerate(parts)]


def _utility(rows: Any = slice(0, ROWS), **options: Any) -> sb.LinearUtility:
    return sb.LinearUtility(X[:ROWS][rows], Y[:ROWS][rows], **options)


def _value(utility: sb.Utility | None = None, **options: Any) -> sb.Valuation:
    given = {"sampling": sb.Fresh(15), "n_games": 30, "seed": 4, **options}
    return sb.value(_providers(), utility or _utility(), **given)


def _jackknife(solver: sb.Solver | None, n_games: int = 12, **options: Any) -> Any:
    """Squared errors from valuations on the rows without each fold, the slow way."""
    given = {"solver": solver, "fixed_validation": True, "n_games": n_games, **options}
    whole = _value(**given).games
    apart = np.stack([_value(_utility(rows), **given).games - whole for rows in rows_kept(ROWS)])
    apart = apart - apart.mean(axis=0)  # (folds, games, providers)
    common = apart.mean(axis=2, keepdims=True)
    effects = 0.0
    for part in (common, apart - common):  # noise is subtracted from each
        mean = part.mean(axis=1)
        square, noise = (mean**2).sum(axis=0), part.var(axis=1, ddof=1).sum(axis=0) / n_games
        effects = effects + mean * np.sqrt(np.maximum(square - noise, 0.25 * square) / square)
    return 0.9 * np.square(effects).sum(axis=0)


@pytest.mark.parametrize(
    "solver", [None, sb.Permutation(3), sb.BalancedPermutation(8), sb.Strata(15)], ids=repr
)
def test_squared_errors_are_those_of_a_jackknife(solver: sb.Solver | None) -> None:
    found = _value(solver=solver)
    np.testing.assert_allclose(
        found.error["validation"].to_numpy() ** 2, _jackknife(solver), rtol=1e-6
    )
    fixed = _value(solver=solver, fixed_validation=True)
    np.testing.assert_array_equal(found.games, fixed.games)
    assert (fixed.error["validation"] == 0).all()
    assert (found.interval()[:, 0] < fixed.interval()[:, 0]).all()


def test_solver_that_adapts_to_values_evaluates_the_same_coalitions() -> None:
    # Ten providers, so that Strata samples; the pilot decides which coalitions are evaluated.
    providers, solver = _providers(10), sb.Strata(60)
    model = sb.EstimatorUtility(Ridge(), X[:ROWS], Y[:ROWS])
    given: dict[str, Any] = {"sampling": sb.Fresh(15), "n_games": 3, "seed": 4, "solver": solver}
    fits = []
    before = sb.EstimatorUtility._fit_and_score
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            sb.EstimatorUtility,
            "_fit_and_score",
            lambda self, *rest: fits.append(0) or before(self, *rest),  # type: ignore[func-returns-value]
        )
        found = sb.value(providers, model, **given)
    assert len(fits) == found.evaluations == 180
    assert (found.error["validation"] > 0).all()


def test_result_does_not_depend_on_chunks_or_workers(tmp_path: Path) -> None:
    for utility in (_utility(), sb.EstimatorUtility(Ridge(), X[:ROWS], Y[:ROWS])):
        one = _value(utility).to_json()
        for options in ({"chunk_size": 1}, {"chunk_size": 7}, {"n_jobs": 2}):
            other = sb.Valuation.from_json(_value(utility, **options).to_json())
            expected = sb.Valuation.from_json(one)
            np.testing.assert_array_equal(other.error, expected.error)


def test_resumed_run_has_the_same_errors(tmp_path: Path) -> None:
    expected = _value().error
    for kept in (1, 5, 12, 20):
        run = tmp_path / f"run{kept}"
        with pytest.MonkeyPatch.context() as patch:
            _interrupt_after(kept, patch)
            with pytest.raises(KeyboardInterrupt):
                _value(run=run, chunk_size=1)
        so_far = sb.load(run).valuation
        assert so_far is None or (so_far.error["validation"] > 0).all()
        found = _value(run=run, chunk_size=1)
        np.testing.assert_array_equal(found.error, expected)
        sb.load(run).verify()
        loaded = sb.load(run).valuation
        assert loaded is not None
        np.testing.assert_array_equal(loaded.error, expected)
        with pytest.raises(RunError, match="fixed_validation"):
            _value(run=run, chunk_size=1, fixed_validation=True)


def _interrupt_after(games: int, patch: pytest.MonkeyPatch) -> None:
    from shapband.runs.solved import StoredGames

    before = StoredGames.store_games

    def stored(self: StoredGames, *rest: Any) -> None:
        before(self, *rest)
        if self.solved() >= games:
            raise KeyboardInterrupt

    patch.setattr(StoredGames, "store_games", stored)


def test_groups_share_the_effects_of_their_members() -> None:
    one, two, three, four = _providers()
    providers = [sb.Group("both", [one, two]), three, four]
    given: dict[str, Any] = {"sampling": sb.Fresh(15), "n_games": 20, "seed": 1}
    found = sb.value(providers, _utility(), **given)
    assert found.groups is not None
    effects = found.estimate.moments.validation
    of_group = found.group_estimate.estimate.moments.validation  # type: ignore[union-attr]
    assert effects is not None
    assert of_group is not None
    assert of_group.variance[0] > 0
    low, high = found.groups.interval()[0]
    fixed = sb.value(providers, _utility(), fixed_validation=True, **given)
    assert fixed.groups is not None
    assert low < fixed.groups.interval()[0, 0] < fixed.groups.interval()[0, 1] < high


def test_providers_that_are_seldom_present_have_small_effects() -> None:
    never = [[False, True, True, True], [False, True, False, True]] * 10
    trace = sb.Trace([*never, [True] * 4])
    found = _value(participation=trace)
    errors = found.error["validation"]
    assert 0 < errors["p0"] < 0.2 * errors[["p1", "p2", "p3"]].min()


def test_rows_that_belong_together_count_as_one_choice() -> None:
    repeated = np.repeat(np.arange(20), 3)
    nearly = X[repeated] + 1e-9 * np.arange(60)[:, None]  # no row equals another
    utility = sb.LinearUtility(nearly, Y[repeated])
    together = _value(utility, validation_groups=repeated)
    alone = _value(utility)
    # Three rows that are nearly equal hold no more than one, and count as three times as many.
    squares = [(one.error["validation"] ** 2).sum() for one in (together, alone)]
    assert 1.5 < squares[0] / squares[1] < 6.0
    assert "60 rows, in 20 groups; errors of expectations cover their choice" in str(together)
    names = [f"patient {one}" for one in repeated]
    np.testing.assert_array_equal(
        _value(utility, validation_groups=names).estimate.errors.total,
        _value(utility, validation_groups=np.array(names)).estimate.errors.total,
    )


@pytest.mark.parametrize(
    "make",
    [
        sb.LinearUtility,
        lambda X, y: sb.EstimatorUtility(Ridge(), X, y),
        lambda X, y: sb.NeighborUtility(X, y),
        lambda X, y: sb.LogisticUtility(X, (y > 0).astype(int)),
        lambda X, y: sb.GaussianNBUtility(X, (y > 0).astype(int)),
        lambda X, y: sb.NetworkUtility(X, (y > 0).astype(int), hidden=(2,), max_iter=3),
        lambda X, y: sb.FederatedUtility("linear", X, y, learning_rate=0.1),
    ],
)
def test_copies_of_a_validation_row_count_as_one_choice(make: Any) -> None:
    repeated = np.repeat(np.arange(30), 4)
    parts = np.array_split(np.arange(ROWS, 500), 3)
    utility = make(X[repeated], Y[repeated])
    targets = Y if utility.labels is None else (Y > 0).astype(int)
    providers = [
        sb.Provider(f"p{i}", sb.ArraySource(X[a], targets[a])) for i, a in enumerate(parts)
    ]
    given: dict[str, Any] = {"sampling": sb.Fresh(15), "n_games": 4, "seed": 4}
    copies = sb.value(providers, utility, **given)
    once = sb.value(providers, make(X[:30], Y[:30]), **given)
    np.testing.assert_allclose(copies.error["validation"], once.error["validation"], rtol=1e-6)
    assert "120 rows, 30 of them different; errors of expectations cover" in str(copies)
    assert (
        "30 rows; errors of expectations cover their choice, errors of variances do not\n"
        in str(once)
    )


def test_result_says_that_few_rows_or_groups_vary() -> None:
    said = "intervals hold less often than their level"
    few = _value(_utility(slice(0, 12)))
    line = next(line for line in str(few).splitlines() if line.startswith("validation:"))
    assert line.startswith("validation: 12 rows; errors of expectations cover their choice")
    assert ", but with fewer than 20 rows" in line
    assert line.endswith(said)
    groups = np.repeat(np.arange(13), [36] + [2] * 12)
    unequal = _value(validation_groups=groups)
    assert "60 rows, in 13 groups that count as 2.7 of equal size; errors" in str(unequal)
    for found in (few, unequal, sb.Valuation.from_json(few.to_json())):
        assert said in str(found)
        assert any(said in alert for alert in alerts_section(found, None).alerts)
    for found in (_value(), _value(_utility(slice(0, 12)), fixed_validation=True)):
        assert said not in str(found)
        assert not any(said in alert for alert in alerts_section(found, None).alerts)


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        (["a"] * 59, "one label for each of the 60 validation rows; received 59 labels"),
        ("column", "one label for each of the 60 validation rows"),
        (5, "one label for each of the 60 validation rows; received 5"),
    ],
)
def test_wrong_groups_are_refused(groups: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        _value(validation_groups=groups)
    with pytest.raises(InvalidInput, match="fixed_validation must be True or False"):
        _value(fixed_validation="yes")
    with pytest.raises(InvalidInput, match="validation_groups"):
        _value(sb.AdditiveUtility(), validation_groups=[1])


def test_result_says_what_its_errors_cover() -> None:
    covered = "60 rows; errors of expectations cover their choice, errors of variances do not"
    assert covered in str(_value())
    assert "do not cover their choice (fixed_validation=True)" in str(_value(fixed_validation=True))
    own = sb.FunctionUtility(lambda X, y: float(y.mean()))
    assert "do not cover their choice (FunctionUtility does not give its validation" in str(
        _value(own)
    )
    assert "validation:" not in str(_value(sb.AdditiveUtility()))
    one = _utility(slice(0, 1))
    assert "1 row; the errors do not cover their choice (one row does not show" in str(_value(one))


def test_errors_of_variances_are_about_these_rows_and_the_result_says_so() -> None:
    covering, fixed = _value(), _value(fixed_validation=True)
    assert "errors of variances do not" in str(covering)
    assert "errors of variances" not in str(fixed)
    np.testing.assert_array_equal(covering.variance_interval(), fixed.variance_interval())
    np.testing.assert_array_equal(covering.distribution().low, fixed.distribution().low)
    # A control: intervals of expectations do cover the choice of the rows.
    assert (np.diff(covering.interval()) > np.diff(fixed.interval())).all()


def test_score_that_a_fold_leaves_undefined_is_not_covered_and_no_error() -> None:
    y = np.array([1.0, *[0.0] * (ROWS - 1)])
    utility = sb.GaussianNBUtility(X[:ROWS], y.astype(int), score="roc_auc", empty=0.5)
    labels = (Y > 0).astype(int)
    parts = np.array_split(np.arange(ROWS, 500), 3)
    providers = [sb.Provider(f"p{i}", sb.ArraySource(X[a], labels[a])) for i, a in enumerate(parts)]
    found = sb.value(providers, utility, sampling=sb.Fresh(30), n_games=15, seed=0)
    assert (found.error["validation"] == 0).all()
    assert "do not cover their choice (the score is not defined without some" in str(found)


class _Ranked(sb.Utility):
    """A utility of the user whose score needs two labels."""

    def __init__(self, labels: Any, *, broken: bool = False) -> None:
        self.of_rows, self.broken, self._about = labels, broken, "ranked"

    @property
    def validation_rows(self) -> int:
        return len(self.of_rows)

    def on_rows(self, rows: Any) -> _Ranked:
        if len(set(self.of_rows[rows])) < 2:
            raise ValueError("AUC needs two labels")
        return _Ranked(self.of_rows[rows])

    def summarise(self, batch: sb.Batch) -> float:
        return float(batch.y.mean())

    def evaluate(self, summaries: Any, coalitions: Any) -> Any:
        if self.broken:
            raise ValueError("AUC needs two labels")
        inside = [[summaries[i] for i in sb.extend.members(c)] for c in coalitions]
        return np.array([sum(found) * self.of_rows.mean() for found in inside])


def test_any_error_on_a_part_of_the_rows_says_why_they_are_not_covered() -> None:
    labels = np.array([1.0, *[0.0] * (ROWS - 1)])
    found = _value(_Ranked(labels))
    assert (found.error["validation"] == 0).all()
    said = "do not cover their choice (the score is not defined without some of the rows"
    assert f"{said}: ValueError: AUC needs two labels)" in str(found)
    assert "errors of expectations cover their choice" in str(_value(_Ranked(np.arange(ROWS) % 2)))
    with pytest.raises(sb.errors.EvaluationError, match="AUC needs two labels"):
        _value(_Ranked(labels, broken=True))
    model = sb.EstimatorUtility(LogisticRegression(), X[:ROWS], labels.astype(int), "roc_auc")
    parts = np.array_split(np.arange(ROWS, 500), 2)
    providers = [
        sb.Provider(f"p{i}", sb.ArraySource(X[a], (Y[a] > 0).astype(int)))
        for i, a in enumerate(parts)
    ]
    other = sb.value(providers, model, sampling=sb.Fresh(30), n_games=2, seed=0)
    assert f"{said}: ValueError: " in str(other)


def test_rule_that_more_games_cannot_meet_says_how_many_rows() -> None:
    rule = sb.Precision(absolute=0.004)
    found = _value(n_games=2000, stop=rule)
    assert found.stopped_code == "validation"
    assert "cannot be met by more games: validate on about" in found.stopped
    assert "instead of 60" in found.stopped
    again = _value(n_games=2000, stop=rule, fixed_validation=True)
    assert again.stopped_code != "validation"


def three_clinics(rows: int, seed: int) -> tuple[list[sb.Provider], sb.Utility]:
    """The same stocks for every seed, and validation rows of the seed."""
    rng = np.random.default_rng(1)

    def drawn(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        X = rng.normal(size=(n, 2))
        return X, X @ [1.0, -1.0] + rng.normal(size=n)

    providers = [sb.Provider(f"p{i}", sb.ArraySource(*drawn(400, rng))) for i in range(3)]
    known = drawn(rows, np.random.default_rng([2, seed]))
    return providers, sb.LinearUtility(*known, score="r2")


def joins_late(games: int) -> sb.Trace:
    present = np.ones((40, 3), dtype=bool)
    present[:games, 2] = False
    return sb.Trace(present)


def test_more_games_are_solved_again_until_everybody_took_part_in_twelve() -> None:
    providers, utility = three_clinics(50, 0)

    def games(participation: Any) -> int:
        found = sb.value(
            providers, utility, sampling=sb.Fresh(10), n_games=80, participation=participation,
            seed=0,
        ).design.validation  # fmt: skip
        assert found is not None
        return found.games

    assert games(None) == games(joins_late(0)) == 12
    assert games(joins_late(5)) == 17
    assert games(joins_late(39)) == 60  # at most, which is the provider's first game and no more
    assert 12 < games(sb.Independent(0.5)) <= 60


def late_levels(repeats: int, joins: int) -> tuple[float, float]:
    """Intervals of a late provider that hold with other rows, and its reported over true error."""
    participation = joins_late(joins)
    given: dict[str, Any] = {"sampling": sb.Fresh(20), "participation": participation}
    providers, known = three_clinics(20_000, 10**6)
    truth = sb.value(providers, known, **given, n_games=4000, seed=9, fixed_validation=True)
    held, reported, errors = 0, 0.0, 0.0
    for seed in range(repeats):
        found = sb.value(*three_clinics(100, seed), **given, n_games=200, seed=seed)
        low, high = found.interval(0.95)[2]
        held += low <= truth.expectation[2] <= high
        reported += found.standard_error[2] ** 2
        errors += (found.expectation[2] - truth.expectation[2]) ** 2
    return held / repeats, float(np.sqrt(reported / errors))


def test_errors_cover_the_rows_for_a_provider_that_joins_late() -> None:
    """100 repetitions: a level of 95 % is at least 0.87 in all but 1 of 1,000 seeds."""
    held, ratio = late_levels(100, joins=20)
    assert held >= 0.87
    assert 0.75 < ratio < 1.6


def test_effects_in_the_games_of_a_provider_count_by_its_rate() -> None:
    """Equal games: the effect of a fold if present, times the share of games with the provider."""
    n_folds, games = 10, 20
    rng = np.random.default_rng(3)
    effects = rng.normal(size=(n_folds, 2))
    present = np.ones((games, 2), dtype=bool)
    present[:15, 1] = False
    folds = np.where(present[:, None, :], effects, 0.0)
    rates = np.array([1.0, 0.5])
    found = ValidationErrors.of_present(folds, present, rates)
    assert found is not None
    apart = effects - effects.mean(axis=0)
    np.testing.assert_allclose(found.variance, rates**2 * 0.9 * (apart**2).sum(axis=0))
    plain = ValidationErrors.of(folds)
    assert plain is not None
    assert plain.variance[1] < 0.5 * found.variance[1]  # a control: a mean over all of these games


def test_a_provider_of_none_of_the_games_that_show_the_rows_is_named() -> None:
    providers, utility = three_clinics(50, 0)
    present = np.ones((100, 3), dtype=bool)
    present[:60, 2] = False
    found = sb.value(
        providers, utility, sampling=sb.Fresh(10), n_games=100, participation=sb.Trace(present),
        seed=0,
    )  # fmt: skip
    assert found.estimate.moments.validation is None
    assert "(p2 took part in none of the first 60 games, which would show them)" in str(found)
