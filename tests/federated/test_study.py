"""The study: its own trainer against a plain loop, and what it writes."""

import json
import re

import numpy as np
import pytest

import shapband as sb
from federated_study.__main__ import main
from federated_study.clients import CLIENTS, FAMILIES, NAMES, POSITIVE, SIZES, Draw, Population
from federated_study.measure import play, relative_error
from federated_study.odd_clients import KINDS, ODD, OddFederation, odd_settings
from federated_study.settings import METHODS, settings
from federated_study.summary import cell, measured_rows
from federated_study.training import (
    Federation,
    accuracy,
    negative_log_loss,
    record_alone,
    record_run,
    train_coalitions,
)
from tests.printed import ROOT


def trained_slowly(draws, members, present, steps, rate):
    """One coalition, record by record."""
    model = np.zeros(draws[0].X.shape[1])
    for here in present:
        sent, weights = [], []
        for i in members:
            if here[i]:
                own = model.copy()
                for _ in range(steps):
                    gradient = np.zeros_like(own)
                    for x, y in zip(draws[i].X, draws[i].y, strict=True):
                        gradient += (1 / (1 + np.exp(-x @ own)) - y) * x
                    own -= rate * gradient / len(draws[i].y)
                sent.append(own)
                weights.append(len(draws[i].y))
        if sent:
            model = sum(w * own for w, own in zip(weights, sent, strict=True)) / sum(weights)
    return model


@pytest.fixture(scope="module")
def federation():
    rng = np.random.default_rng(0)
    population = Population.make(rng)
    draws = [population.draw(5 + i, rng) for i in range(CLIENTS)]
    present = rng.random((3, CLIENTS)) < 0.6
    present[1] = False
    return Federation(draws, present, steps=2, rate=0.7)


def test_all_coalitions_equal_a_plain_loop(federation):
    models = train_coalitions(federation)
    for mask in (0, 1, 5, 22, 42, 63):
        members = [i for i in range(CLIENTS) if mask >> i & 1]
        wanted = trained_slowly(federation.draws, members, federation.present, 2, 0.7)
        np.testing.assert_allclose(models[mask], wanted, atol=1e-12)


def test_a_recorded_run_ends_at_the_model_of_everybody(federation):
    rounds = record_run(federation)
    models = train_coalitions(federation)
    found = sb.value_recorded(rounds, lambda p: float(p[0].sum()), method="MR", names=NAMES, seed=0)
    assert found.values.sum() == pytest.approx(models[-1].sum())
    assert found.departures == 0
    assert [set(one.updates) for one in rounds] == [
        {NAMES[i] for i in np.flatnonzero(here)} for here in federation.present
    ]


def test_clients_alone_make_the_steps_of_the_rounds_they_are_in(federation):
    alone = record_alone(federation)
    for i, name in enumerate(NAMES):
        steps = 2 * int(federation.present[:, i].sum())
        wanted = trained_slowly(federation.draws, [i], np.ones((1, CLIENTS), bool), steps, 0.7)
        np.testing.assert_allclose(alone.updates[name][0][0], wanted, atol=1e-12)


def test_families_are_as_described():
    rng = np.random.default_rng(1)
    population = Population.make(rng)
    drawn = {f: [population.draw_client(f, i, rng) for i in range(CLIENTS)] for f in FAMILIES}
    assert [len(one) for one in drawn["size skew"]] == list(SIZES)
    shares = [one.y.mean() for one in drawn["class skew"]]
    np.testing.assert_allclose(shares, POSITIVE, atol=0.01)
    # With half of the labels wrong, features say nothing about them: 4 standard errors of 60 rows.
    right = [
        ((one.X[:, :-1] @ population.slopes > 0) == one.y).mean() for one in drawn["label noise"]
    ]
    assert abs(right[5] - 0.5) < 4 * 0.5 / np.sqrt(60)
    assert right[0] > 0.65


def test_scores_of_the_initial_model_and_of_known_rows():
    rows = Draw(np.array([[1.0, 1], [-1, 1], [2, 1]]), np.array([1.0, 1, 0]))
    assert accuracy(np.zeros(2), rows) == 0.5
    assert accuracy(np.array([1.0, 0.0]), rows) == pytest.approx(1 / 3)
    wanted = np.mean(np.log([1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1)), 1 / (1 + np.exp(2))]))
    assert negative_log_loss(np.array([1.0, 0.0]), rows) == pytest.approx(wanted)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "shuffled labels"])
def test_an_odd_client_sends_what_its_kind_says(kind):
    rng = np.random.default_rng(2)
    population = Population.make(rng)
    draws = [population.draw(60, rng) for _ in range(CLIENTS)]
    present, noise = np.ones((2, CLIENTS), bool), rng.normal(size=(2, 11))
    odd = OddFederation(draws, present, 5, 0.5, kind, noise)
    start = rng.normal(size=(1, 11))
    honest = Federation(draws, present, 5, 0.5).send(ODD, 1, start, 5)
    wanted = {
        "honest": honest, "noise": start + noise[1], "poison": start - 3 * (honest - start),
    }.get(kind, start)  # fmt: skip
    np.testing.assert_allclose(odd.send(ODD, 1, start, 5), wanted, atol=1e-12)
    assert odd.send(0, 1, start, 5).tolist() != start.tolist()
    assert odd.records[ODD] == (600 if kind == "large claim" else 60)


def test_a_client_with_shuffled_labels_is_last_and_a_free_rider_is_worth_nothing():
    rng = np.random.default_rng(3)
    population = Population.make(rng)
    rows = population.draw(500, rng)
    draws = [population.draw(60, rng) for _ in range(CLIENTS)]
    draws[ODD] = Draw(draws[ODD].X, rng.permutation(draws[ODD].y))
    present = np.ones((5, CLIENTS), bool)
    values = play(Federation(draws, present, 5, 0.5), rows, 0)["log loss"]
    for method in ("exact", *METHODS):
        assert np.argmin(values[method]) == ODD, method
    rider = OddFederation(draws, present, 5, 0.5, "free rider", np.zeros((5, 11)))
    models = train_coalitions(rider)
    # Brute force: the value of the free rider from all coalitions without it.
    scores = [accuracy(model, rows) for model in models]
    exact = sum(
        (scores[s | 1 << ODD] - scores[s]) / (CLIENTS * len([t for t in range(32)
         if t.bit_count() == s.bit_count()]))
        for s in range(32)
    )  # fmt: skip
    assert play(rider, rows, 0)["accuracy"]["exact"][ODD] == pytest.approx(exact, abs=1e-12)


def test_errors_and_ranges_of_made_up_records():
    records = [
        {"accuracy": {"exact": [1.0, 2, 3], "OR": [1.0, 2, 6]}},
        {"accuracy": {"exact": [1.0, 2, 3], "OR": [3.0, 2, 1]}},
    ]
    found = cell(records, "accuracy", "OR")
    assert found.error == pytest.approx((0.5 + 4 / 6) / 2)
    assert found.spread == pytest.approx((4 / 6 - 0.5) / 2)
    assert found.rank == pytest.approx(0.0)
    assert relative_error(np.array([1.0, -1]), np.array([2.0, -2])) == 0.5


def test_the_command_writes_a_page_and_the_numbers_of_the_library(tmp_path, monkeypatch, capsys):
    few = [one for one in settings(quick=True) if one.rate == 0.5 and one.rounds == 5]
    monkeypatch.setattr("federated_study.__main__.settings", lambda *, quick: few)
    monkeypatch.setattr("federated_study.page.ROUNDS", (5,))
    odd = [one for one in odd_settings(quick=True) if one.kind in ("honest", "free rider")]
    monkeypatch.setattr("federated_study.__main__.odd_settings", lambda *, quick: odd)
    numbers = tmp_path / "measured.json"
    main(["--quick", "--out", str(tmp_path / "out"), "--package", str(numbers)])
    text = (tmp_path / "out" / "federated-errors.md").read_text("utf-8")
    assert "| 5 | accuracy | truncated MR |" in text
    assert "| free rider | " in text
    rows = json.loads(numbers.read_text("utf-8"))["rows"]
    assert len(rows) == 4 * 2 * 3  # methods, participation, families
    again = json.loads((tmp_path / "out" / "label-noise-0.5-5-1.json").read_text("utf-8"))
    row = next(one for one in rows if one["method"] == "OR" and one["participation"] == 1)
    cells = [cell(again["records"], score, "OR").error for score in ("accuracy", "log loss")]
    assert (row["low"], row["high"]) == pytest.approx((min(cells), max(cells)), abs=1e-4)
    assert measured_rows({few[0]: again["records"]}, ["OR"])[0].high == row["high"]
    capsys.readouterr()


def test_the_page_and_the_numbers_of_the_library_are_of_one_run():
    page = (ROOT / "docs" / "federated-errors.md").read_text("utf-8")
    stored = json.loads((ROOT / "src/shapband/federated/measured.json").read_text("utf-8"))
    assert f"Measured on {stored['date']} with {stored['versions']}" in page
    # Percentages of the page: of both scores, with everybody present, at 5 rounds.
    spans = re.findall(r"^\| 5 \| .* \| OR \| (\d+) to (\d+) \|", page, re.MULTILINE)[:2]
    row = next(one for one in stored["rows"] if one["method"] == "OR" and one["rounds"] == 5)
    assert min(int(low) for low, _ in spans) == pytest.approx(100 * row["low"], abs=0.51)
    assert max(int(high) for _, high in spans) == pytest.approx(100 * row["high"], abs=0.51)
