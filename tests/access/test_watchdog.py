"""A source that hangs in the thread of the caller is named, and Ctrl-C ends the valuation."""

import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from tests.conftest import PATIENCE

import shapband as sb
from shapband.errors import SlowSource

HANGING = """
import threading, time
import shapband as sb

class Hanging(sb.GenerativeSource):
    def draw(self, size, rng):
        print("asked", flush=True)
        threading.Event().wait()

providers = [sb.Provider(name, Hanging()) for name in ("hanging", "other")]
sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(5), n_games=4, timeout=0.2)
"""


class Late(sb.GenerativeSource):
    def __init__(self, seconds):
        self.seconds, self.asked = seconds, 0

    def draw(self, size, rng):
        self.asked += 1
        if self.asked == 2:
            time.sleep(self.seconds)
        return rng.normal(size=size), rng.normal(size=size)


def value(seconds, timeout):
    numbers = np.arange(30.0)
    near = sb.Provider("near", sb.ArraySource(numbers, numbers))
    providers = [sb.Provider("late", Late(seconds)), near]
    options = {"sampling": sb.Fresh(5), "n_games": 4, "seed": 0, "timeout": timeout}
    return sb.value(providers, sb.AdditiveUtility(), **options)


def test_a_source_that_is_late_in_the_thread_of_the_caller_is_named_once():
    with pytest.warns(SlowSource, match="provider 'late'.*within 0.1 seconds.*Ctrl-C") as found:
        late = value(0.5, 0.1)
    assert len(found) == 1
    assert str(found[0].message) == (
        "provider 'late': its source has not answered within 0.1 seconds, and the request "
        "cannot be given up, because it is made in the thread that called value: wait, or press "
        "Ctrl-C; set waits = True for a source behind a network"
    )
    np.testing.assert_array_equal(late.games, value(0.0, 60.0).games)


def test_a_source_in_time_is_not_named_and_leaves_no_thread():
    before = set(threading.enumerate())  # some of them may end meanwhile
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value(0.0, 60.0)
    until = time.monotonic() + PATIENCE
    while set(threading.enumerate()) - before and time.monotonic() < until:
        time.sleep(0.01)
    assert not set(threading.enumerate()) - before


def test_ctrl_c_ends_a_valuation_whose_source_hangs():
    process = subprocess.Popen(  # noqa: S603  our own program
        [sys.executable, "-c", HANGING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "asked\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert "SlowSource: provider 'hanging'" in errors
    assert errors.endswith("KeyboardInterrupt\n")
