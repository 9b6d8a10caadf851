"""Ctrl-C in a notebook or a shell keeps the games so far; a program ends."""

import sys

import pytest

import shapband as sb


class Interrupted(sb.Utility):
    """Raises KeyboardInterrupt in a game, like Ctrl-C."""

    mergeable = True

    def __init__(self, after):
        self.left = after

    def summarise(self, batch):
        return float(batch.y.mean())

    def evaluate(self, summaries, coalitions):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return [sum(summaries[i] for i in sb.extend.members(one)) for one in coalitions]


def value(after, **options):
    task = sb.datasets.wine()
    return sb.value(
        task.providers[:3],
        Interrupted(after),
        sampling=sb.Fresh(20),
        n_games=50,
        seed=0,
        chunk_size=1,
        **options,
    )


def test_a_person_gets_the_games_so_far(monkeypatch):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    found, whole = value(10), value(1_000)
    assert (found.n_games, found.stopped_code) == (10, "interrupted")
    assert (found.games == whole.games[:10]).all()
    assert "10 games (interrupted before the end)" in str(found)
    assert sb.Valuation.from_json(found.to_json()).stopped_code == "interrupted"
    assert found.access.requests < whole.access.requests


def test_too_few_games_are_no_valuation(monkeypatch):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    with pytest.raises(KeyboardInterrupt):
        value(1)


def test_a_program_ends(monkeypatch):
    monkeypatch.delattr(sys, "ps1", raising=False)
    with pytest.raises(KeyboardInterrupt):
        value(10)


def test_a_run_keeps_its_games_and_ends(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    with pytest.raises(KeyboardInterrupt):
        value(10, run=tmp_path / "run")
    assert sb.load(tmp_path / "run").status.done == 10
