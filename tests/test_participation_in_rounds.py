"""Providers that come and go in the rounds of a game: who is present, and what values follow."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shapband as sb
from shapband.runs.fingerprints import fingerprint_object
from shapband.seeds import Seeds
from tests.rounds import Drift, all_masks, all_values, exact_values, small_providers

NAMES = ("a", "b", "c")
TRACE = pd.DataFrame(
    [[1, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]], columns=list(NAMES)
)
PARTICIPATIONS = [
    sb.Independent({"a": 0.5, "b": 0.8, "c": 0.3}, per="round"),
    sb.Cohort(2, per="round"),
    sb.MarkovChain(join=0.3, stay=0.8, per="round"),
    sb.MarkovChain(join=0.9, stay={"a": 0.1, "b": 0.5, "c": 0.9}, per="round"),
    sb.Trace(TRACE, per="round"),
]


def valued(participation: Any, n_games: int = 40, rounds: int = 2, **others: Any) -> sb.Valuation:
    given = {"sampling": sb.Fresh(1), "seed": 0, **others}
    utility = given.pop("utility", None) or Drift(rounds)
    providers = given.pop("providers", None) or small_providers()
    return sb.value(providers, utility, participation=participation, n_games=n_games, **given)


@pytest.mark.parametrize("participation", PARTICIPATIONS, ids=repr)
def test_presence_in_rounds_keeps_the_rules(participation: sb.Participation) -> None:
    sb.testing.check_participation(participation, NAMES, rounds=3)


@pytest.mark.parametrize("participation", PARTICIPATIONS, ids=repr)
def test_settings_make_the_same_participation_again(participation: sb.Participation) -> None:
    document = json.loads(json.dumps(participation.to_document()))
    again = sb.Participation.from_document(document)
    assert repr(again) == repr(participation)
    assert again.per == "round"
    given = Seeds(3), NAMES, range(5, 9), 2
    assert np.array_equal(again.present_in_rounds(*given), participation.present_in_rounds(*given))


def test_settings_and_fingerprints_per_game_are_those_of_older_versions() -> None:
    assert sb.Independent(0.5).to_document() == {"kind": "independent", "probability": 0.5}
    assert sb.Cohort(2).to_document() == {"kind": "cohort", "k": 2}
    chain = sb.MarkovChain(join=0.2, stay=0.9)
    assert chain.to_document() == {"kind": "markov", "join": 0.2, "stay": 0.9}
    assert set(sb.Trace(TRACE).to_document()) == {"kind", "rounds", "names"}
    # Fingerprints that the version before `per` computed.
    assert fingerprint_object(sb.Cohort(2)) == FINGERPRINTS["Cohort(2)"]
    assert fingerprint_object(sb.Independent(0.5)) == FINGERPRINTS["Independent(0.5)"]
    assert fingerprint_object(sb.Trace(TRACE)) == FINGERPRINTS["Trace"]
    assert fingerprint_object(sb.Cohort(2, per="round")) != FINGERPRINTS["Cohort(2)"]


FINGERPRINTS = {
    "Cohort(2)": "sha256:6f928233cab0b636daac16c56b8dd3aaea5087607a13342d72baacc0f128b6d2",
    "Independent(0.5)": "sha256:47890fc63754449614ec873f6875a397adab17929304c3e5a3d0ce9cd5d970bd",
    "Trace": "sha256:2f3f8b9ad214ef8e0bcaf2454075a0d58376f7472e873a0b27c031688b4b63c4",
}


def test_one_round_has_the_presence_of_games() -> None:
    given = Seeds(7), NAMES, range(100)
    for in_rounds, in_games in (
        (sb.Independent(0.6, per="round"), sb.Independent(0.6)),
        (sb.Cohort(2, per="round"), sb.Cohort(2)),
    ):
        found = in_rounds.present_in_rounds(*given, 1)[:, 0]
        assert np.array_equal(found, in_games.present(*given))


def test_a_chain_goes_over_rounds_and_begins_anew_in_every_game() -> None:
    chain = sb.MarkovChain(join=0.3, stay=0.8, per="round")
    there = chain.present_in_rounds(Seeds(0), ("a",), range(20_000), 4)[:, :, 0].astype(float)
    rate = 0.3 / (1 + 0.3 - 0.8)
    error = np.sqrt(rate * (1 - rate) / 20_000)
    assert (np.abs(there.mean(axis=0) - rate) < 4 * error).all()
    within = np.corrcoef(there.T)
    assert abs(within[0, 1] - 0.5) < 4 / np.sqrt(20_000)
    assert abs(within[0, 2] - 0.25) < 4 / np.sqrt(20_000)
    between = np.corrcoef(there[:-1, -1], there[1:, 0])[0, 1]
    assert abs(between) < 4 / np.sqrt(20_000)


def test_a_game_takes_its_rows_of_a_trace() -> None:
    trace = sb.Trace(TRACE[["b", "c", "a"]], per="round")
    found = trace.present_in_rounds(Seeds(0), NAMES, range(1, 5), 2)
    rows = TRACE[list(NAMES)].to_numpy(dtype=bool)
    assert np.array_equal(found, rows.reshape(3, 2, 3)[[1, 2, 0, 1]])


def test_simulated_rounds_are_those_of_a_valuation() -> None:
    participation = sb.Independent(0.4, per="round")
    frame = participation.simulate(NAMES, n_rounds=2, seed=0, n_games=40)
    assert frame.index.names == ["game", "round"]
    rate = valued(participation).participation["rate"]
    assert rate.tolist() == frame.mean().tolist()
    in_games = frame.groupby("game").any().mean()
    assert valued(participation).participation["rate_in_games"].tolist() == in_games.tolist()
    with pytest.raises(sb.errors.InvalidInput, match="n_games is for per="):
        sb.Independent(0.4).simulate(NAMES, 2, seed=0, n_games=2)


@pytest.mark.parametrize("participation", PARTICIPATIONS, ids=repr)
def test_values_of_every_game_equal_brute_force(participation: sb.Participation) -> None:
    found = valued(participation, n_games=30)
    masks = participation.present_in_rounds(Seeds(0), NAMES, range(30), 2)
    draws = _draws(30)
    expected = [exact_values(Drift(2), draw, mask) for draw, mask in zip(draws, masks, strict=True)]
    np.testing.assert_allclose(found.games, expected, rtol=0, atol=1e-12)
    assert (found.games[~masks.any(axis=1)] == 0).all()


def _draws(n_games: int) -> np.ndarray[Any, Any]:
    """The draws of games with seed 0, seen by a utility that values each provider by its draw."""
    alone = sb.value(
        small_providers(), sb.AdditiveUtility(), sampling=sb.Fresh(1), n_games=n_games, seed=0
    )
    return alone.games


def test_a_client_that_is_absent_in_all_rounds_is_worth_0_for_any_value_of_nobody() -> None:
    utility = Drift(2)
    utility.empty = 5.0  # not the score of the initial model
    found = valued(sb.Independent(0.3, per="round"), utility=utility, n_games=60)
    masks = sb.Independent(0.3, per="round").present_in_rounds(Seeds(0), NAMES, range(60), 2)
    absent = ~masks.any(axis=1)
    assert absent.any()
    assert (found.games[absent] == 0).all()
    assert (found.games[~absent] != 0).all()


def moments_of_masks(rate: float) -> tuple[Any, Any]:
    """Exact expectation and variance of the values with independent presence in two rounds."""
    masks = all_masks(2, 3)
    weights = np.array([rate ** mask.sum() * (1 - rate) ** (~mask).sum() for mask in masks])
    values = all_values(Drift(2), masks)
    mean = (values.mean(axis=0) * weights[:, None]).sum(axis=0)
    square = ((values**2).mean(axis=0) * weights[:, None]).sum(axis=0)
    return mean, square - mean**2


def test_expectation_and_variance_are_those_of_all_masks_and_draws() -> None:
    """With 6 numbers, one differs by more than 4 standard errors in 1 of 2,600 seeds."""
    found = valued(sb.Independent(0.5, per="round"), n_games=3000)
    mean, variance = moments_of_masks(0.5)
    assert (np.abs(found.expectation - mean) < 4 * found.standard_error).all()
    assert (np.abs(found.variance - variance) < 4 * found.variance_standard_error).all()
    other = valued(sb.Independent(0.5), n_games=3000)  # the control: presence per game
    assert (np.abs(other.expectation - mean) > 4 * other.standard_error).any()


def test_bits_do_not_depend_on_chunks_workers_and_order() -> None:
    participation = sb.MarkovChain(join=0.3, stay=0.8, per="round")
    one = valued(participation, chunk_size=1)
    for others in ({"chunk_size": 7}, {"n_jobs": 2}):
        other = valued(participation, **others)
        assert (other.games == one.games).all()
        assert (other.standard_error == one.standard_error).all()
    turned = valued(participation, providers=small_providers()[::-1])
    np.testing.assert_allclose(turned.games[:, ::-1], one.games, rtol=0, atol=1e-12)
    assert (turned.participation["rate"][::-1] == one.participation["rate"]).all()


def test_a_run_is_resumed_extended_and_read(tmp_path: Any) -> None:
    participation = sb.Cohort(1, per="round")
    whole = valued(participation, n_games=40)
    valued(participation, n_games=12, run=tmp_path / "run")
    extended = valued(participation, n_games=40, run=tmp_path / "run")
    read = sb.load(tmp_path / "run").valuation
    assert read is not None
    for other in (extended, read):
        assert (other.standard_error == whole.standard_error).all()
        assert other.participation.equals(whole.participation)
        assert other.estimand.endswith("by random cohorts of 1 of the clients in each round")
    with pytest.raises(sb.errors.RunError, match="participation changed"):
        valued(sb.Cohort(1), n_games=40, run=tmp_path / "run")


def test_the_result_says_how_often_clients_were_present_in_rounds(tmp_path: Any) -> None:
    found = valued(sb.Independent(0.5, per="round"))
    assert "by clients that take part in each round with probability 0.5" in str(found)
    assert "in rounds" in str(found)
    assert "if present" not in str(found)
    assert found.participation.columns.tolist() == ["rate", "rate_in_games"]
    again = sb.Valuation.from_json(found.to_json())
    assert str(again) == str(found)
    assert again.participation.equals(found.participation)
    found.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "present in rounds" in page
    found.report(tmp_path / "owner.html", provider="a")
    assert "of the rounds of training" in (tmp_path / "owner.html").read_text()
    assert "rate_in_games" in found.to_frame().columns


def test_recorded_rounds_have_the_error_of_the_data_alone() -> None:
    """The mean over the three games of the trace is known, and its error is due to the draws."""
    trace = sb.Trace(TRACE, per="round")
    masks = TRACE.to_numpy(dtype=bool).reshape(3, 2, 3)
    values = all_values(Drift(2), list(masks))
    n_games = 300
    found = valued(trace, n_games=n_games)
    mean = values.mean(axis=(0, 1))
    error = np.sqrt(values.var(axis=0).mean(axis=0) / n_games)
    assert (np.abs(found.expectation - mean) < 4 * error).all()
    np.testing.assert_allclose(found.standard_error, error, rtol=0.15)
    spread = np.sqrt(values.reshape(-1, 3).var(axis=0) / n_games)  # if masks were random
    assert (found.standard_error < 0.95 * spread).any()


def test_chains_over_rounds_have_the_errors_of_independent_games() -> None:
    found = valued(sb.MarkovChain(join=0.2, stay=0.9, per="round"), n_games=200)
    independent = np.sqrt(found.raw_variance / found.n_games)
    np.testing.assert_allclose(found.standard_error, independent, rtol=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"utility": sb.AdditiveUtility()}, r"AdditiveUtility has no rounds: use per=\"game\""),
        ({"participation": sb.Trace(TRACE[:5], per="round")}, "must be a multiple of the 2 rounds"),
        ({"participation": sb.Cohort(4, per="round")}, "k must be at most the number of providers"),
        (
            {
                "providers": [
                    sb.Group("g", small_providers()[:2]),
                    small_providers()[2],
                ]
            },
            "with groups everybody must take part",
        ),
    ],
)
def test_participation_in_rounds_is_refused_where_it_makes_no_sense(
    given: dict[str, Any], message: str
) -> None:
    given = {"participation": sb.Independent(0.5, per="round"), **given}
    with pytest.raises(sb.errors.InvalidInput, match=message):
        valued(given.pop("participation"), **given)


@pytest.mark.parametrize("wrong", ["rounds", "Game", None, 1, ["round"]])
def test_other_words_than_game_and_round_are_refused(wrong: Any) -> None:
    for make in (
        lambda: sb.Independent(0.5, per=wrong),
        lambda: sb.Cohort(1, per=wrong),
        lambda: sb.MarkovChain(0.5, 0.5, per=wrong),
        lambda: sb.Trace(TRACE, per=wrong),
    ):
        with pytest.raises(sb.errors.InvalidInput, match='per must be "game" or "round"'):
            make()


class EveryOther(sb.Participation):
    """Each client is present in every other round; an example of a class of the user."""

    recorded = True
    per = "round"

    def check(self, names: Any) -> None:
        pass

    def present(self, seeds: Any, names: Any, games: range) -> Any:
        raise AssertionError("not called if presence is per round")

    def present_in_rounds(self, seeds: Any, names: Any, games: range, n_rounds: int) -> Any:
        numbers = np.arange(games.start * n_rounds, games.stop * n_rounds)
        turns = np.add.outer(numbers, [sum(map(ord, name)) for name in names]) % 2 == 0
        return turns.reshape(len(games), n_rounds, -1)

    def counts(self, names: Any) -> Any:
        return range(1, len(names) + 1)

    def rates(self, names: Any) -> Any:
        return np.full(len(names), 0.5)

    estimand = "by clients that take turns"


def test_a_participation_of_the_user_may_be_about_rounds() -> None:
    sb.testing.check_participation(EveryOther(), NAMES, rounds=2)
    found = valued(EveryOther(), n_games=20)
    assert found.participation["rate"].tolist() == [0.5, 0.5, 0.5]

    class Wrong(EveryOther):
        def present_in_rounds(self, seeds: Any, names: Any, games: range, n_rounds: int) -> Any:
            return np.ones((len(games), len(names)), dtype=bool)

    with pytest.raises(sb.errors.InvalidInput, match=r"Wrong.present_in_rounds must give a bool"):
        valued(Wrong(), n_games=20)


def test_a_plan_and_averages_do_not_use_presence_in_rounds() -> None:
    pooled = valued(sb.Independent(0.5, per="round"), sampling=sb.Pooled(2, 1))
    assert "presence" not in pooled.setup
    with pytest.raises(sb.errors.InvalidInput, match="a plan does not know"):
        sb.plan(
            small_providers(),
            Drift(2),
            n_sample=1,
            error=0.1,
            participation=sb.Independent(0.5, per="round"),
        )
