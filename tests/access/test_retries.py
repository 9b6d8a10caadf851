"""Requests that fail in a way that may pass are made again, and change no bit of a valuation."""

import os
import random
import signal
import threading
import time

import numpy as np
import pytest
from tests.access.flaky import Flaky, at_random, first, hanging, near

import shapband as sb
from shapband.errors import InvalidInput, SourceError, TemporaryFailure
from shapband.sources.retry import Retry

QUICK = sb.Retry(attempts=40, wait=0.0005, longest_wait=0.01)


def value(sources, retry=None, n_games=6, **options):
    providers = [sb.Provider(name, source, retry) for name, source in sources.items()]
    utility = sb.AdditiveUtility()
    return sb.value(providers, utility, sampling=sb.Fresh(5), n_games=n_games, seed=1, **options)


def test_faults_at_random_in_a_thousand_games_change_no_bit():
    exact = value({"a": near(), "b": near(1.0), "c": near(2.0)}, n_games=1_000)
    sources = {
        "a": Flaky(at_random(0.3, seed=1), concurrent=6),
        "b": Flaky(at_random(0.05, seed=2), shift=1.0, concurrent=8),
        "c": Flaky(at_random(0.3, seed=3), shift=2.0, concurrent=3, together=7),
    }
    state = random.getstate()
    found = value(sources, QUICK, n_games=1_000)
    np.testing.assert_array_equal(found.games, exact.games)
    np.testing.assert_array_equal(found.variance, exact.variance)
    assert found.access.requests == 3_000
    assert random.getstate() == state  # pauses do not use the streams of anybody else
    for name in "ab":
        assert sources[name].faults > 30
        assert found.access.by_provider[name].retries == sources[name].faults
    assert found.access.by_provider["c"].retries > sources["c"].faults > 10  # several in a call
    assert all(source.most <= source.concurrent for source in sources.values())
    assert f"{found.access.retries:,} failed requests were repeated" in str(found)


def test_every_attempt_is_in_the_ledger(tmp_path):
    source = Flaky(first(3, ConnectionResetError("reset")))
    found = value({"a": source, "b": near()}, QUICK, run=tmp_path / "run")
    run = sb.load(tmp_path / "run")
    run.verify()
    far = run.ledger[run.ledger.providers == ("a",)]
    assert far.outcome.value_counts().to_dict() == {"asked": 9, "received": 6, "failed": 3}
    again = far[(far.outcome == "asked") & (far.note != "")]
    assert set(again.note) <= {"attempt 2", "attempt 3", "attempt 4"}
    assert len(again) == found.access.retries == run.status.access.retries == 3
    assert run.status.unanswered == 0
    assert "reset" in far[far.outcome == "failed"].note.iloc[0]
    assert sb.load(tmp_path / "run").valuation.access.retries == 3  # stored with the result
    assert value({"a": source, "b": near()}, QUICK, run=tmp_path / "run").access.retries == 3


def test_a_resumed_run_counts_the_attempts_before(tmp_path):
    def fault(number):
        if number < 2:
            raise ConnectionError("busy")
        if number == 4:
            raise ValueError("broken")

    source = Flaky(fault)
    with pytest.raises(SourceError, match=r"provider 'a'.*broken"):
        value({"a": source}, QUICK, run=tmp_path / "run")
    found = value({"a": source}, QUICK, run=tmp_path / "run")
    np.testing.assert_array_equal(found.games, value({"a": near()}).games)
    assert found.access.retries == 2
    assert found.access.requests == 6


def test_after_the_last_attempt_the_provider_is_named():
    source = Flaky(first(99, TemporaryFailure("the server is busy")))
    with pytest.raises(SourceError) as error:
        value({"a": source, "b": near()}, sb.Retry(attempts=3, wait=0.001))
    assert str(error.value) == "provider 'a': the server is busy (attempt 3 of 3)"
    # Both requests that are allowed at once are made three times at most, and no other.
    assert 3 <= source.calls <= 6


@pytest.mark.parametrize("cause", [ValueError("broken"), SourceError("no"), OSError("disk")])
def test_other_errors_are_not_repeated(cause):
    source = Flaky(first(1, cause))
    with pytest.raises(SourceError, match="provider 'a'"):
        value({"a": source})
    assert source.calls == 1


def test_sources_that_wait_are_asked_again_by_default_and_others_if_the_provider_says_so():
    source = Flaky(first(2, ConnectionError("busy")))
    assert value({"a": source}).access.retries == 2
    here = Flaky(first(2, ConnectionError("busy")))
    here.waits = False
    with pytest.raises(SourceError, match="busy"):
        value({"a": here})
    assert here.calls == 1
    assert value({"a": here}, sb.Retry(wait=0.001)).access.retries == 1


def test_no_other_request_is_made_in_a_pause_that_the_source_asks_for():
    times = []

    def fault(number):
        times.append(time.monotonic())
        if number == 2:
            raise TemporaryFailure("too many requests", retry_after=0.3)

    found = value({"a": Flaky(fault)}, sb.Retry(wait=0.01))
    assert found.access.retries == 1
    after = [when - times[2] for when in times[3:]]
    # One request was allowed ahead, before the answer was known; the others wait.
    assert sum(when < 0.3 for when in after) <= 1
    assert len(after) == 4


def test_a_source_that_asks_for_too_long_a_pause_has_failed():
    source = Flaky(first(1, TemporaryFailure("too many requests", retry_after=3600)))
    with pytest.raises(SourceError, match=r"asks to wait 3600 seconds, longer than .* 60 seconds"):
        value({"a": source})
    assert source.calls == 1


def test_other_requests_go_on_during_a_pause():
    seen = []
    other = Flaky(shift=1.0)

    def fault(number):
        if number == 0:
            raise ConnectionError("refused")
        seen.append(other.calls)

    value({"a": Flaky(fault), "b": other}, sb.Retry(wait=0.5))
    assert other.calls == 6
    assert seen[-1] == 6  # b had answered all requests before a was asked again


def test_an_attempt_without_an_answer_in_time_is_repeated():
    exact = value({"a": near()})
    source = Flaky(hanging(2, 1.0), concurrent=2)
    started = time.monotonic()
    found = value({"a": source}, QUICK, timeout=0.2)
    assert time.monotonic() - started < 0.9  # the call that hangs is not waited for
    np.testing.assert_array_equal(found.games, exact.games)
    assert found.access.retries == 1


def test_a_source_that_answers_one_call_at_a_time_is_not_asked_while_a_late_call_is_under_way():
    source = Flaky(hanging(2, 0.4))
    found = value({"a": source}, QUICK, timeout=0.25)
    np.testing.assert_array_equal(found.games, value({"a": near()}).games)
    assert source.most == 1
    assert found.access.retries == 1


def test_a_source_that_never_answers_fails_after_twice_the_timeout():
    never = threading.Event()
    source = Flaky(lambda number: never.wait())
    started = time.monotonic()
    with pytest.raises(SourceError, match=r"provider 'a': no answer within 0\.2 seconds"):
        value({"a": source, "b": Flaky()}, QUICK, timeout=0.2, concurrency=1)
    assert 0.3 < time.monotonic() - started < 5
    never.set()


def test_a_late_failure_of_a_call_that_was_given_up_is_ignored():
    def fault(number):
        if number == 0:
            time.sleep(0.4)
            raise ValueError("too late to matter")
        time.sleep(0.15)

    found = value({"a": Flaky(fault, concurrent=2)}, QUICK, timeout=0.3, n_games=4)
    np.testing.assert_array_equal(found.games, value({"a": near()}, n_games=4).games)


def test_a_time_limit_ends_a_pause():
    source = Flaky(first(99, ConnectionError("down")))
    started = time.monotonic()
    with pytest.raises(SourceError, match="time limit"):
        value({"a": source}, sb.Retry(wait=30), stop=sb.Seconds(0.3))
    assert time.monotonic() - started < 5
    assert source.calls <= 2


def test_ctrl_c_ends_a_pause(request):
    # A process in the background may ignore the signal of Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    source = Flaky(first(99, ConnectionError("down")))
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        value({"a": source}, sb.Retry(wait=30))
    assert time.monotonic() - started < 5


def test_pauses_double_up_to_a_limit_and_are_random():
    retry = Retry(attempts=99, wait=0.5, longest_wait=3)
    for failures, longest in [(1, 0.5), (2, 1.0), (3, 2.0), (4, 3.0), (5000, 3.0)]:
        pauses = [retry.pause(failures, ConnectionError()) for _ in range(200)]
        assert longest / 2 <= min(pauses) < 0.6 * longest
        assert 0.9 * longest < max(pauses) <= longest
    assert retry.pause(1, TemporaryFailure("", retry_after=2)) >= 2.25
    for odd in (None, -1, float("nan"), "soon"):
        assert retry.pause(1, TemporaryFailure("", retry_after=odd)) <= 0.5
    assert not retry.allows(1, TemporaryFailure("", retry_after=float("inf")))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"attempts": 0}, "Retry: attempts"),
        ({"attempts": 2.5}, "Retry: attempts"),
        ({"wait": -1}, "Retry: wait"),
        ({"wait": float("nan")}, "Retry: wait"),
        ({"longest_wait": "long"}, "Retry: longest_wait"),
        ({"wait": 61}, "at most longest_wait, 60 seconds; received 61"),
    ],
)
def test_bad_arguments_are_named(options, words):
    with pytest.raises(InvalidInput, match=words):
        sb.Retry(**options)


def test_a_retry_that_is_none_is_refused():
    with pytest.raises(InvalidInput, match="provider 'a': retry must be a Retry"):
        sb.Provider("a", near(), retry=3)


def test_the_table_of_access_has_a_column_only_if_requests_were_repeated():
    report = value({"a": Flaky(first(2, ConnectionError("busy"))), "b": near()}, QUICK).access
    lines = str(report).splitlines()
    assert lines[0].split()[-1] == "repeated"
    assert [line.split()[-1] for line in lines[1:]] == ["2", "0", "2"]
    assert "repeated" not in str(value({"a": near()}).access)
    assert "repeated" not in str(value({"a": near()}))
