"""The measurement of overheads runs with the tasks as they are."""

import pytest

from benchmarks import blackbox, harness


@pytest.mark.long
def test_the_rows_of_the_network(monkeypatch):
    monkeypatch.setattr(blackbox, "N_GAMES", 2)
    monkeypatch.setattr(blackbox, "NETWORK_ROUNDS", 1)
    monkeypatch.setattr(blackbox, "IMPLAUSIBLE", -100.0)  # one round says nothing about times
    monkeypatch.setattr(harness, "check_pinned", lambda: None)
    first, loop, compiled = blackbox.network_rows()
    assert "20 fits" in first.measured
    assert first.target == "below 3 %"
    assert loop.met is None
    assert "20 networks" in compiled.measured


def test_rows_refuse_to_compare_different_work(monkeypatch):
    monkeypatch.setattr(blackbox, "N_GAMES", 2)
    monkeypatch.setattr(blackbox, "coalitions_of", lambda value: [])
    with pytest.raises(RuntimeError, match="not the same work"):
        blackbox.network_rows()
