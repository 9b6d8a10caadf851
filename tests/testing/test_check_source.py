"""The check of sources covers calls for several draws, temporary failures and versions."""

import pytest
from tests.access.flaky import Flaky, first

import shapband as sb
from shapband.errors import ConformanceError


def test_sound_sources_pass():
    sb.testing.check_source(Flaky(concurrent=3, together=4))
    noise = sb.FunctionSource(lambda size, rng: (rng.normal(size=size),) * 2)
    sb.testing.check_source(sb.with_delay(noise, 0))


class Many(Flaky):
    def __init__(self, change):
        super().__init__(together=4)
        self._change = change

    def take_many(self, draws):
        return self._change(super().take_many(draws))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda answers: answers[::-1], "must give one answer for each draw"),
        (lambda answers: [answers[1], answers[0], answers[2]], "the same records as one call"),
        (lambda answers: answers[:2], "2 answers to 3 draws"),
        (lambda answers: None, "must give one answer for each draw"),
    ],
)
def test_draws_that_are_answered_together_must_be_the_same(change, said):
    with pytest.raises(ConformanceError, match=said):
        sb.testing.check_source(Many(change))


class DrawnTogether(sb.GenerativeSource):
    together = 4

    def draw(self, size, rng):
        x = rng.normal(size=size)
        return x, x

    def draw_many(self, sizes, generators):
        return [self.draw(size, generators[0]) for size in sizes]


def test_generators_must_not_be_mixed_up():
    with pytest.raises(ConformanceError, match=r"draw_many must give the same records"):
        sb.testing.check_source(DrawnTogether())


def test_a_source_may_fail_in_a_way_that_may_pass():
    source = Flaky(first(2, ConnectionError("reset")))
    sb.testing.check_source(source)
    assert source.faults == 2
    with pytest.raises(ConformanceError, match="ConnectionError: reset"):
        sb.testing.check_source(Failing())


class Failing(Flaky):
    waits = False

    def __init__(self):
        super().__init__(first(1, ConnectionError("reset")))


class Shifted(Flaky):
    """After a failure it gives the next rows."""

    def take(self, rows):
        try:
            return super().take(rows)
        except ConnectionError:
            self._shift += 1
            raise


def test_a_source_that_gives_other_records_after_a_failure_is_found():
    def fault(number):
        if number == 1:
            raise ConnectionError("reset")

    with pytest.raises(ConformanceError, match="must give the same records"):
        sb.testing.check_source(Shifted(fault))


class Restless(Flaky):
    @property
    def version(self):
        return f"after {self.calls} calls"


def test_a_version_must_not_change_by_itself():
    with pytest.raises(ConformanceError, match=r"same size and version .* had become"):
        sb.testing.check_source(Restless())


def test_a_batch_of_one_row_is_a_batch():
    class One(Flaky):
        size = 1

    sb.testing.check_source(One(together=2))
