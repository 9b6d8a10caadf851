"""Values by round of training, and the variance by its causes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shapband as sb
from shapband.seeds import Seeds
from tests.rounds import Drift, all_masks, all_values, exact_values, small_providers
from tests.test_participation_in_rounds import NAMES, valued

HALF = sb.Independent(0.5, per="round")


def after(utility: Drift, draw: Any, mask: Any) -> Any:
    """Values after each round: the game with only the first rounds."""
    there = mask.any(axis=0)
    found = []
    for r in range(1, len(mask) + 1):
        # A client that joins only later counts as a member whose presence changes nothing yet.
        short = Drift(r)
        values = np.zeros(len(draw))
        values[there] = _among(short, draw, mask[:r], np.flatnonzero(there))
        found.append(values)
    return np.array(found)


def _among(utility: Drift, draw: Any, mask: Any, places: Any) -> Any:
    """Shapley values of one game among some providers, from the definition."""
    from itertools import permutations

    values = np.zeros(len(draw))
    orders = list(permutations(places.tolist()))
    for order in orders:
        before = utility.empty
        for k, i in enumerate(order):
            number = 0.0
            for row in mask:
                near = [
                    number + utility.step * (draw[j] - number) for j in order[: k + 1] if row[j]
                ]
                number = sum(near) / len(near) if near else number
            score = -((number - 1.0) ** 2)
            values[i] += (score - before) / len(orders)
            before = score
    return values[places]


def test_values_by_round_equal_brute_force_and_add_up() -> None:
    n_games = 25
    found = valued(HALF, n_games=n_games, rounds=3, by_round=True)
    draws = sb.value(
        small_providers(), sb.AdditiveUtility(), sampling=sb.Fresh(1), n_games=n_games, seed=0
    ).games
    masks = HALF.present_in_rounds(Seeds(0), NAMES, range(n_games), 3)
    games = [after(Drift(3), draw, mask) for draw, mask in zip(draws, masks, strict=True)]
    expected = np.array(games)  # (n_games, n_rounds, n)
    each = np.diff(expected, axis=1, prepend=0.0)
    rounds = found.by_round
    assert rounds is not None
    np.testing.assert_allclose(rounds.expectation, each.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(rounds.after.expectation, expected.mean(axis=0), atol=1e-12)
    error = each.std(axis=0, ddof=1) / np.sqrt(n_games)
    np.testing.assert_allclose(rounds.standard_error, error, rtol=1e-9)
    error = expected.std(axis=0, ddof=1) / np.sqrt(n_games)
    np.testing.assert_allclose(rounds.after.standard_error, error, rtol=1e-9)
    np.testing.assert_allclose(rounds.expectation.sum(axis=0), found.expectation, atol=1e-12)
    assert (rounds.after.standard_error[-1] == found.standard_error).all()
    assert (rounds.after.interval(0.9)[-1] == found.interval(0.9)).all()


def test_the_values_themselves_keep_their_bits_and_one_training_serves_all_rounds() -> None:
    for noise in (0.0, 0.3):
        utility = Drift(3, noise=noise)
        Drift.trainings = 0
        plain = valued(HALF, utility=utility, solver=sb.Exact())
        once = Drift.trainings
        Drift.trainings = 0
        found = valued(HALF, utility=utility, solver=sb.Exact(), by_round=True)
        assert Drift.trainings == once
        assert (found.games == plain.games).all()
        assert found.by_round is not None
        assert plain.by_round is None


@pytest.mark.parametrize("solver", [sb.Permutation(6), sb.BalancedPermutation(12), sb.Strata(40)])
def test_values_by_round_of_sampling_solvers_add_up(solver: sb.Solver) -> None:
    providers = [
        sb.Provider(f"p{at}", sb.ArraySource(np.zeros((3, 1)), [at / 4, 1.0, 2 - at / 4]))
        for at in range(6)
    ]
    given = {"providers": providers, "solver": solver, "n_games": 20, "rounds": 3}
    plain = valued(HALF, **given)
    found = valued(HALF, by_round=True, **given)
    assert (found.games == plain.games).all()
    rounds = found.by_round
    assert rounds is not None
    np.testing.assert_allclose(rounds.expectation.sum(axis=0), found.expectation, atol=1e-12)
    assert rounds.found[1].solver_variance.max() > 0


def test_values_by_round_have_the_same_bits_in_runs_chunks_and_workers(tmp_path: Any) -> None:
    given = {"by_round": True, "variance_parts": True, "utility": Drift(3, noise=0.3)}
    whole = valued(HALF, **given)
    valued(HALF, n_games=15, run=tmp_path / "run", chunk_size=4, **given)
    extended = valued(HALF, run=tmp_path / "run", **given)
    read = sb.load(tmp_path / "run").valuation
    chunked, shared = valued(HALF, chunk_size=3, **given), valued(HALF, n_jobs=2, **given)
    document = sb.Valuation.from_json(whole.to_json())
    for other in (extended, read, chunked, shared, document):
        assert other is not None
        assert other.by_round.to_frame().equals(whole.by_round.to_frame())
        assert other.variance_parts.equals(whole.variance_parts)
        assert str(other.by_round) == str(whole.by_round)
    sb.load(tmp_path / "run").verify()
    with pytest.raises(sb.errors.RunError, match="by_round changed"):
        valued(HALF, run=tmp_path / "run", **{**given, "by_round": False})


def test_one_round_is_the_total() -> None:
    found = valued(HALF, rounds=1, by_round=True)
    assert found.by_round is not None
    assert (found.by_round.expectation == found.expectation).all()
    again = sb.Valuation.from_json(found.to_json())
    assert again.by_round is not None
    assert again.by_round.n_rounds == 1


def test_the_errors_by_round_cover_the_validation_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    y = X @ [1.0, -1.0] + rng.normal(size=160)
    data = {"a": (X[:50], y[:50]), "b": (X[50:100], y[50:100])}
    utility = sb.FederatedUtility("linear", X[100:], y[100:], rounds=3, learning_rate=0.1)
    given: Any = {"sampling": sb.Fresh(20), "n_games": 14, "seed": 0, "by_round": True}
    rows = sb.value(data, utility, **given)
    fixed = sb.value(data, utility, fixed_validation=True, **given)
    assert rows.by_round is not None
    assert fixed.by_round is not None
    np.testing.assert_allclose(rows.by_round.expectation, fixed.by_round.expectation, atol=1e-12)
    assert (rows.by_round.standard_error > fixed.by_round.standard_error).all()
    last = rows.by_round.after.found[-1].errors.by_cause["validation"]
    assert (last == rows.estimate.errors.by_cause["validation"]).all()
    # The effect of a fold on the total is the sum of its effects on the rounds.
    effects = [one.moments.validation for one in rows.by_round.found]
    assert all(one is not None for one in effects)


def test_values_by_round_are_printed_drawn_and_reported(tmp_path: Any) -> None:
    found = valued(HALF, rounds=3, by_round=True, variance_parts=True)
    rounds = found.by_round
    assert rounds is not None
    lines = str(rounds).splitlines()
    assert lines[0] == "values of 3 rounds of training from 40 games"
    assert lines[2].split()[:3] == ["provider", "round", "1"]
    frame = rounds.to_frame()
    assert frame["round"].tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert frame["provider"].tolist() == list(NAMES) * 3
    assert found.plot.frame("by_round").equals(frame)
    found.plot.save(tmp_path / "rounds.png", "by_round")
    found.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Which rounds the values come from" in page
    assert "Where the spread of the values comes from" in page
    with pytest.raises(sb.errors.InvalidInput, match="by_round: this valuation has none"):
        valued(HALF).plot.by_round()


def test_the_parts_of_the_variance_are_those_of_all_masks_and_draws() -> None:
    """Each of 6 numbers is tested at 4 standard errors; the control takes masks for data."""
    values = all_values(Drift(2), all_masks(2, 3))  # all masks are equally likely
    data = values.mean(axis=1).var(axis=0)
    participation = values.var(axis=1).mean(axis=0)
    found = valued(HALF, n_games=600, variance_parts=True)
    parts = found.variance_parts
    assert parts is not None
    assert (np.abs(parts["data"] - data) < 4 * parts["data_error"]).all()
    away = np.abs(parts["participation"] - participation)
    assert (away < 4 * parts["participation_error"]).all()
    assert (np.abs(parts["data"] - participation) > 4 * parts["data_error"]).any()
    assert (parts[["training", "training_error"]] == 0).all().all()
    total = parts[["data", "participation", "training"]].sum(axis=1)
    np.testing.assert_allclose(total, found.variance, rtol=1e-12)
    # The errors are neither much too large nor much too small.
    assert (parts["participation_error"] < 0.2 * participation).all()


def test_random_training_has_a_part_of_the_variance() -> None:
    utility = Drift(2, noise=0.4)
    found = valued(HALF, n_games=600, variance_parts=True, utility=utility)
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    weights = weights / weights.sum()
    draws = [(x, y, z) for x in (0.5, 1.5) for y in (1.0, 3.0) for z in (-1.0, 2.0)]
    values = np.array(
        [
            [
                [exact_values(utility, draw, mask, 0.4 * node) for node in nodes]
                for mask in all_masks(2, 3)
            ]
            for draw in draws
        ]
    )  # (n_draws, n_masks, n_nodes, n)
    given_both = np.einsum("dmtn,t->dmn", values, weights)
    training = np.einsum("dmtn,t->dmn", values**2, weights) - given_both**2
    exact = {
        "data": given_both.mean(axis=1).var(axis=0),
        "participation": given_both.var(axis=1).mean(axis=0),
        "training": training.mean(axis=(0, 1)),
    }
    parts = found.variance_parts
    assert parts is not None
    for part, expected in exact.items():
        assert (np.abs(parts[part] - expected) < 4 * parts[f"{part}_error"]).all(), part
    assert "from the training" in str(found)


def test_solver_noise_is_in_no_part() -> None:
    exact = valued(HALF, n_games=400, variance_parts=True).variance_parts
    noisy = valued(HALF, n_games=400, variance_parts=True, solver=sb.Permutation(2)).variance_parts
    assert exact is not None
    assert noisy is not None
    for part in ("data", "participation"):
        error = np.hypot(exact[f"{part}_error"], noisy[f"{part}_error"])
        assert (np.abs(exact[part] - noisy[part]) < 4 * error).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"by_round": "yes"}, "by_round must be True or False"),
        ({"by_round": True, "utility": sb.AdditiveUtility(), "participation": None}, "no rounds"),
        ({"variance_parts": 3}, "variance_parts must be True or False"),
        ({"variance_parts": True, "participation": None}, "nothing but the data is random"),
        ({"variance_parts": True, "participation": sb.Independent(0.5)}, "absent providers give"),
        (
            {"variance_parts": True, "participation": sb.Trace(np.ones((2, 3)), per="round")},
            "is recorded, so presence is not random",
        ),
        (
            {
                "by_round": True,
                "participation": None,
                "providers": [sb.Group("g", small_providers()[:2]), small_providers()[2]],
            },
            "the values of groups are not split by round",
        ),
    ],
)
def test_values_by_round_and_parts_are_refused_where_they_make_no_sense(
    given: dict[str, Any], message: str
) -> None:
    given = {"participation": HALF, **given}
    with pytest.raises(sb.errors.InvalidInput, match=message):
        valued(given.pop("participation"), **given)


def test_values_by_round_with_presence_per_game_and_averages() -> None:
    pooled = sb.Pooled(2, 1)
    averaged = valued(sb.Independent(0.5), sampling=pooled, by_round=True, n_games=30)
    assert averaged.design.averaged
    assert averaged.by_round is not None
    sums = averaged.by_round.expectation.sum(axis=0)
    np.testing.assert_allclose(sums, averaged.expectation, atol=1e-12)
    drawn = valued(sb.Independent(0.5), by_round=True, n_games=30)
    assert drawn.by_round is not None
    sums = drawn.by_round.expectation.sum(axis=0)
    np.testing.assert_allclose(sums, drawn.expectation, atol=1e-12)
