"""What the benchmarks of defaults, growth and scale compute by themselves."""

from itertools import permutations

import numpy as np
import pytest

import shapband as sb
from benchmarks import baselines, choices, scale
from benchmarks.harness import seconds
from benchmarks.worths import WORTHS, OfWeights, lognormal


def test_a_solver_is_made_from_its_representation():
    for solver in (sb.Exact(), sb.Arcs(12), sb.Strata(40), sb.Known()):
        assert choices.named(repr(solver)) == solver


def test_all_permutations_give_the_values_of_all_coalitions():
    rng = np.random.default_rng(0)
    records = [(rng.normal(size=(9, 2)), rng.normal(size=9)) for _ in range(4)]
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    orders = np.array(list(permutations(range(4))))
    expected = baselines.from_grams(records, X, y)
    assert baselines.from_orders(records, X, y, orders) == pytest.approx(expected, abs=1e-10)
    assert baselines.from_orders(records, X, y, orders[:3]) != pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", WORTHS)
def test_rows_and_bitmasks_have_the_same_worth(name):
    utility = OfWeights(WORTHS[name])
    weights = [provider.source.records.y.mean() for provider in lognormal(5)]
    masks = [3, 5, 7, 21, 30, 31]
    rows = np.array([[mask >> i & 1 for i in range(5)] for mask in masks])
    found = utility.evaluate_rows([weights], rows, np.zeros(len(masks), dtype=int))
    assert found == pytest.approx(utility.evaluate(weights, masks))


def test_a_cell_compares_the_default_with_the_best_other_solver(monkeypatch):
    monkeypatch.setattr(choices, "SHOWN", 4)
    monkeypatch.setattr(choices, "ROUNDS", 1)
    monkeypatch.setattr(choices, "LOOK", 1e-4)
    monkeypatch.setattr(choices, "LONG", 1e-3)
    one = choices.cell("square root", 6)
    assert one.chosen == "Exact()"
    assert one.best != "Exact()"
    assert 0 < one.ratio < 20  # one short round on a busy machine
    assert choices.shown(choices.Cell(1.6, "A", "B", 1.0)) == "**1.60** (A, B)"
    assert choices.shown(choices.Cell(1.4, "A", "B", 1.0)) == "1.40 (A, B)"


def test_the_constants_replace_those_of_the_page():
    page = f"before\n{scale.BEGIN}\n\nold\n\n{scale.END}\nafter\n"
    found = scale.written(page, [("a task", "1 ms")])
    assert "| a task | 1 ms |" in found
    assert "old" not in found
    assert found.startswith("before\n")
    assert found.endswith("after\n")
    assert scale.written(found, [("a task", "1 ms")]) == found
    assert scale.BEGIN in scale.PAGE.read_text(encoding="utf-8")


def test_forecasts_are_proportional_to_providers_and_games():
    work, own = scale.forecast(86.4e-6, 8.64e-6)  # seconds per provider and game
    assert work[1] == "10 days of one core, 0.1 days on 100"
    assert own[1] == "1 days"


def test_seconds_use_the_given_clock():
    ticks = iter([3.0, 5.0])
    assert seconds(lambda: None, lambda: next(ticks)) == 2.0
