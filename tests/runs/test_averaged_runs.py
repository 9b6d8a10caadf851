"""Runs of games that are averaged over who takes part: stored with their variances, and resumed."""

import sqlite3

import numpy as np
import pytest

import shapband as sb
from shapband.engine import arguments as checked
from shapband.errors import EvaluationError, RunDamaged, RunError
from tests.conftest import linear_providers
from tests.runs.small import assert_same
from tests.test_averaged_presence import draw_presence

LEFT = iter(range(0))  # evaluations before the utility fails


def worth(X, y):
    if next(LEFT, None) is None:
        raise RuntimeError("broken")
    return float(np.tanh(y.mean()))


def arguments(left=10**9, **changes):
    global LEFT
    LEFT = iter(range(left))
    given = {
        "providers": linear_providers(n=4)[0],
        "utility": sb.FunctionUtility(worth),
        "sampling": sb.Pooled(30, 8),
        "participation": sb.Independent(0.8),
        "n_games": 40,
        "seed": 4,
    }
    return {**given, **changes}


def same(found, expected):
    assert_same(found, expected)
    np.testing.assert_array_equal(found.participation, expected.participation)
    np.testing.assert_array_equal(found.variance_interval(), expected.variance_interval())


def test_a_run_gives_what_a_plain_valuation_gives(tmp_path):
    plain = sb.value(**arguments())
    same(sb.value(**arguments(), run=tmp_path / "run"), plain)
    run = sb.load(tmp_path / "run")
    run.verify()
    same(run.valuation, plain)
    same(sb.value(**arguments(), run=tmp_path / "run"), plain)


@pytest.mark.parametrize("left", [5, 100, 500])
def test_an_interrupted_run_is_resumed_with_the_same_bits(tmp_path, left):
    with pytest.raises(EvaluationError):
        sb.value(**arguments(left, chunk_size=3), run=tmp_path / "run")
    found = sb.value(**arguments(chunk_size=7), run=tmp_path / "run")
    same(found, sb.value(**arguments()))


def test_an_unfinished_run_shows_the_moments_so_far(tmp_path):
    with pytest.raises(EvaluationError):
        sb.value(**arguments(300, chunk_size=1), run=tmp_path / "run")
    shown = sb.load(tmp_path / "run").valuation
    expected = sb.value(**arguments(n_games=shown.n_games))
    assert shown.n_games == 20
    np.testing.assert_array_equal(shown.participation, expected.participation)
    np.testing.assert_array_equal(shown.variance_interval(), expected.variance_interval())


def test_a_run_with_drawn_presence_is_not_continued_with_averages(tmp_path, monkeypatch):
    monkeypatch.setattr(checked, "choose_averaging", draw_presence)
    with pytest.raises(EvaluationError):
        sb.value(**arguments(100, chunk_size=3), run=tmp_path / "run")
    drawn = sb.load(tmp_path / "run").valuation
    assert drawn.estimate.moments.averaged is None
    monkeypatch.undo()
    with pytest.raises(RunError, match=r"way that presence enters changed.*begin a new run"):
        sb.value(**arguments(), run=tmp_path / "run")


@pytest.mark.parametrize("left", [300, 10**9])
def test_altered_variances_are_damage(tmp_path, left):
    try:
        sb.value(**arguments(left, chunk_size=10), run=tmp_path / "run")
    except EvaluationError:
        assert left == 300
    connection = sqlite3.connect(tmp_path / "run" / "run.db")
    with connection:
        (blob,) = connection.execute("SELECT noise FROM games WHERE first_game = 0").fetchone()
        assert len(blob) == 8 * 10 * (4 + 4)  # noise, and variance over who takes part
        altered = np.frombuffer(blob).copy()
        altered[-1] += 1
        connection.execute("UPDATE games SET noise = ? WHERE first_game = 0", (altered.tobytes(),))
    connection.close()
    with pytest.raises(RunDamaged, match="values of games 0 to 9 were altered"):
        sb.load(tmp_path / "run").verify()
