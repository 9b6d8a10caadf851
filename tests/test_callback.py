"""`callback=` of `value`, and what the logger ``shapband`` receives."""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest

import shapband as sb
from tests.conftest import gaussian_providers


def valued(**options):
    options = {"sampling": sb.Fresh(5), "n_games": 20, "seed": 0, "chunk_size": 5} | options
    providers = gaussian_providers((0.0, 1.0, 2.0), (1.0, 1.0, 1.0))
    return sb.value(providers, sb.AdditiveUtility(), **options)


def raises_after(games, error):
    def callback(so_far):
        if so_far.done >= games:
            raise error

    return callback


def test_it_is_called_after_every_chunk_with_the_estimate_so_far():
    seen = []
    valuation = valued(callback=seen.append)
    assert [one.done for one in seen] == [5, 10, 15, 20]
    assert {one.n_games for one in seen} == {20}
    assert all(one.names == valuation.names for one in seen)
    for one in seen:  # kept objects are not changed by later games
        np.testing.assert_allclose(
            one.estimate.expectation, valuation.games[: one.done].mean(axis=0), rtol=1e-12
        )
        assert one.access.records == 3 * 5 * one.done
    np.testing.assert_array_equal(seen[-1].estimate.expectation, valuation.expectation)


def test_the_result_does_not_depend_on_it():
    np.testing.assert_array_equal(valued(callback=print).games, valued().games)


def test_what_it_returns_is_ignored():
    assert valued(callback=lambda so_far: True).n_games == 20
    assert valued(callback=lambda so_far: np.ones(3)).n_games == 20


@pytest.mark.parametrize(
    "error", [RuntimeError("enough"), StopIteration(), sb.errors.InvalidInput("mine")]
)
def test_its_exception_propagates_and_nothing_is_lost(error, tmp_path):
    with pytest.raises(type(error)) as raised:
        valued(callback=raises_after(10, error), run=tmp_path / "run")
    assert raised.value is error
    assert sb.load(tmp_path / "run").status.done == 10
    seen = []
    resumed = valued(callback=seen.append, run=tmp_path / "run")
    assert [one.done for one in seen] == [10, 15, 20]  # stored games come first
    plain = valued()
    np.testing.assert_array_equal(resumed.games, plain.games)
    assert resumed.access.records == plain.access.records


def test_without_a_run_its_exception_propagates_too():
    with pytest.raises(StopIteration):
        valued(callback=raises_after(5, StopIteration()))


@pytest.mark.parametrize("bad", [3, "print", [print]])
def test_what_cannot_be_called_is_refused_before_a_source_is_asked(bad):
    def asked(size, rng):
        pytest.fail("the source was asked")

    with pytest.raises(sb.errors.InvalidInput, match="callback must be a function"):
        sb.value(
            [sb.Provider("a", sb.FunctionSource(asked))],
            sb.AdditiveUtility(),
            sampling=sb.Fresh(2),
            callback=bad,
        )


def messages(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "shapband"]


def test_begin_chunks_and_end_are_logged(caplog):
    with caplog.at_level(logging.INFO, "shapband"):
        valued()
    found = messages(caplog)
    assert found[0] == (
        "begin: 3 providers, 20 games, AdditiveUtility, Fresh(n_sample=5), Exact(), seed 0"
    )
    assert found[1:5] == [
        f"{done} of 20 games, {15 * done:,} records in {3 * done:,} requests"
        for done in (5, 10, 15, 20)
    ]
    assert found[5].startswith("end: 20 games (n_games reached), 300 records in 60 requests, ")
    assert len(found) == 6


def test_a_resumed_run_logs_how_many_games_are_stored(caplog, tmp_path):
    with pytest.raises(RuntimeError):
        valued(callback=raises_after(10, RuntimeError("enough")), run=tmp_path / "run")
    with caplog.at_level(logging.INFO, "shapband"):
        valued(run=tmp_path / "run")
    assert messages(caplog)[0].endswith("; 10 games are stored")


def test_a_failed_request_is_logged_without_secrets(caplog):
    def fails(size, rng):
        raise ConnectionError("https://reader:open-sesame@db.example.org did not answer\x1b[2J")

    providers = [sb.Provider("north", sb.FunctionSource(fails))]
    with caplog.at_level(logging.INFO, "shapband"), pytest.raises(sb.errors.SourceError):
        sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(2), n_games=2, seed=0)
    (failed,) = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert failed.getMessage().startswith("request failed: provider 'north': ConnectionError")
    whole = "\n".join(messages(caplog))
    assert "open-sesame" not in whole
    assert "\x1b" not in whole


def test_nothing_is_printed_unless_a_program_asks_for_it():
    """A warning without handlers would be printed by Python's handler of last resort."""
    code = (
        "import logging, shapband as sb\n"
        "from shapband.log import warning\n"
        "warning('hidden')\n"
        "assert [type(h) for h in logging.getLogger('shapband').handlers] == [logging.NullHandler]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == done.stderr == ""


def test_requests_that_are_made_again_are_logged(caplog, tmp_path):
    answers = iter([([[1.0]], [np.nan])])  # the first answer cannot be used

    def source(size, rng):
        return next(answers, (np.ones((size, 1)), rng.normal(size=size)))

    def play(**options):
        providers = [sb.Provider("north", sb.FunctionSource(source))]
        options = {"sampling": sb.Fresh(1), "n_games": 2, "seed": 0} | options
        return sb.value(providers, sb.AdditiveUtility(), run=tmp_path / "run", **options)

    with pytest.raises(sb.errors.SourceError):
        play()
    with caplog.at_level(logging.INFO, "shapband"):
        play(ask_again=True)
    assert "requests made again, because their answers could not be used: 1" in messages(caplog)
