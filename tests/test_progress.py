"""What is shown while games are played."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import shapband as sb
from shapband import progress
from shapband.access.meter import AccessReport, Usage
from shapband.estimate.moments import Moments
from shapband.progress import PlainLines, format_usage, progress_display, widest


def progress_of(done, n_games=100, budget=None):
    estimate = (
        sb.Estimate.of(np.random.default_rng(0).normal(size=(done, 2)))
        if done
        else sb.Estimate.of_moments(Moments.empty(2))
    )
    return SimpleNamespace(
        done=done,
        n_games=n_games,
        estimate=estimate,
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
    assert first.startswith("25 of 100 games · ± 95 % at most 0.")
    assert first.endswith("· 250 of 2,000 records · 15 s left")
    assert second.startswith("50 of 100 games")


def test_what_is_not_known_is_said_to_be(clock):
    out = io.StringIO()
    with PlainLines(out, every=0.0) as show:
        show(progress_of(0))
    assert "at most not known yet" in out.getvalue()
    assert "time left not known yet" in out.getvalue()


def test_the_games_of_an_earlier_session_do_not_count_for_the_pace(clock):
    out = io.StringIO()
    with PlainLines(out, every=10.0) as show:
        show(progress_of(80))
        clock.seconds += 10.0
        show(progress_of(90))
    assert out.getvalue().rstrip().endswith("10 s left")


def test_the_widest_interval_is_the_widest():
    estimate = progress_of(50).estimate
    from shapband.estimate.intervals import expectation_interval

    assert widest(estimate) == np.diff(expectation_interval(estimate, 0.95)).max() / 2


def test_a_budget_of_requests_is_shown_too():
    report = AccessReport({"a": Usage(3, 30)})
    assert format_usage(report, sb.Budget(requests=9)) == "30 records, 3 of 9 requests"


def test_quiet_shows_nothing(capsys):
    with progress_display(False) as show:
        show(progress_of(100))
    assert capsys.readouterr() == ("", "")


class FakeNotebook:
    """What a display of a notebook is told."""

    def __init__(self):
        self.lines = []

    def display(self, line, *, raw, display_id):
        assert raw
        assert display_id
        self.lines.append(line["text/plain"])
        return SimpleNamespace(update=lambda line, raw: self.lines.append(line["text/plain"]))


@pytest.fixture
def notebook(monkeypatch):
    fake = FakeNotebook()
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=fake.display))
    return fake


def test_a_notebook_has_one_line_that_is_updated_and_removed(clock, notebook):
    with progress_display(True) as show:
        for second in range(1, 4):
            clock.seconds = 100.0 + second
            show(progress_of(25 * second))
    *shown, last = notebook.lines
    assert [line.split(" · ")[0].split()[1] for line in shown] == ["25", "50", "75"]
    assert shown[1].startswith("█" * 15 + "░" * 15 + " 50 of 100 games")
    assert last == ""


def test_quick_work_shows_nothing_in_a_notebook(clock, notebook):
    with progress_display(None) as show:
        show(progress_of(50))
    assert notebook.lines == []


def test_a_python_shell_is_no_notebook(monkeypatch):
    shell = SimpleNamespace()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert not progress.in_notebook()
