"""What is shown while games are played."""

import io
from types import SimpleNamespace

import numpy as np
import pytest

import shapband as sb
from shapband import progress
from shapband.access.meter import AccessReport, Usage
from shapband.progress import PlainLines, format_usage, progress_display, widest


def progress_of(done, n_games=100, budget=None):
    moments = (
        sb.Moments.of(np.random.default_rng(0).normal(size=(done, 2)))
        if done
        else sb.Moments.empty(2)
    )
    return SimpleNamespace(
        done=done,
        n_games=n_games,
        moments=moments,
        report=AccessReport({"a": Usage(done, 10 * done)}),
        access=SimpleNamespace(budget=budget or sb.Budget()),
    )


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    return now


def test_lines_come_every_few_seconds_with_all_figures(clock):
    out = io.StringIO()
    with PlainLines(out, every=5.0) as show:
        for second in range(12):
            clock.seconds = 100.0 + second
            show(progress_of(5 * second, budget=sb.Budget(records=2000)))
    first, second = out.getvalue().splitlines()
    assert first.startswith("25 of 100 games · widest 95 % interval 0.")
    assert first.endswith("· 250 of 2,000 records · 15 s left")
    assert second.startswith("50 of 100 games")


def test_what_is_not_known_is_said_to_be(clock):
    out = io.StringIO()
    with PlainLines(out, every=0.0) as show:
        show(progress_of(0))
    assert "interval not known yet" in out.getvalue()
    assert "time left not known yet" in out.getvalue()


def test_the_games_of_an_earlier_session_do_not_count_for_the_pace(clock):
    out = io.StringIO()
    with PlainLines(out, every=10.0) as show:
        show(progress_of(80))
        clock.seconds += 10.0
        show(progress_of(90))
    assert out.getvalue().rstrip().endswith("10 s left")


def test_the_widest_interval_is_the_widest():
    moments = progress_of(50).moments
    from shapband.moments.intervals import expectation_interval

    assert widest(moments) == np.diff(expectation_interval(moments, 0.95)).max()


def test_a_budget_of_requests_is_shown_too():
    report = AccessReport({"a": Usage(3, 30)})
    assert format_usage(report, sb.Budget(requests=9)) == "30 records, 3 of 9 requests"


def test_quiet_shows_nothing(capsys):
    with progress_display(False) as show:
        show(progress_of(100))
    assert capsys.readouterr() == ("", "")
