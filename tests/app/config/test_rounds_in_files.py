"""Participation per round, values by round and parts of the variance in configuration files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shapband as sb
from shapband.app.config.config import Config
from shapband.engine.play import play
from shapband.errors import InvalidInput

FILE = """
n_games = 6
seed = 0
by_round = true
{more}
providers = [
    {{ name = "a", source = {{ kind = "csv", path = "a.csv", target = "y" }} }},
    {{ name = "b", source = {{ kind = "csv", path = "b.csv", target = "y" }} }},
]
sampling = {{ kind = "fresh", n_sample = 5 }}
participation = {{ {participation} }}
utility = {{ kind = "federated", model = "linear", rounds = 2, learning_rate = 0.1, \
validation = {{ kind = "csv", path = "rows.csv", target = "y" }} }}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for name in ("a", "b", "rows"):
        frame = pd.DataFrame(rng.normal(size=(20, 2)), columns=["x", "z"])
        frame["y"] = frame["x"] + rng.normal(size=20)
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "trace.csv").write_text("a,b\n1,0\n0,1\n1,1\n0,1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("participation", "made"),
    [
        ("kind = 'independent', probability = 0.5", "Independent(0.5, per='round')"),
        ("kind = 'cohort', k = 1", "Cohort(1, per='round')"),
        ("kind = 'markov', join = 0.5, stay = 0.9", "MarkovChain(join=0.5, stay=0.9, per='round')"),
        ("kind = 'trace', path = 'trace.csv'", "Trace(4 rounds, 2 providers, per='round')"),
    ],
)
def test_every_participation_may_be_per_round(folder: Path, participation: str, made: str) -> None:
    more = "" if "trace" in participation else "variance_parts = true"
    text = FILE.format(more=more, participation=f"{participation}, per = 'round'")
    built = Config.parse(text).build(folder)
    assert repr(built.arguments.participation) == made
    found = play(built.arguments, built.workers, lambda _: None)
    assert found.by_round is not None
    assert (found.variance_parts is None) == ("trace" in participation)
    assert "in rounds" in str(found)


def test_other_words_and_wrong_numbers_of_rounds_are_refused_by_key(folder: Path) -> None:
    text = FILE.format(more="", participation="kind = 'cohort', k = 1, per = 'rounds'")
    with pytest.raises(InvalidInput, match="participation"):
        Config.parse(text).build(folder)
    (folder / "trace.csv").write_text("a,b\n1,0\n0,1\n1,1\n")
    trace = "kind = 'trace', path = 'trace.csv', per = 'round'"
    with pytest.raises(InvalidInput, match=r"^participation: .*multiple of the 2 rounds"):
        Config.parse(FILE.format(more="", participation=trace)).build(folder)


def test_per_is_left_out_of_old_words() -> None:
    assert repr(sb.Independent(0.5)) == "Independent(0.5)"
