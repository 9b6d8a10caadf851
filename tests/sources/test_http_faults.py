"""Valuations over HTTP while requests fail: the same values, and no record charged twice."""

import numpy as np
import pyarrow  # noqa: F401  imported by the first answer otherwise, which may take longer than timeout
import pytest

import shapband as sb
from shapband.testing.faults import KINDS


class Patient(sb.FiniteSource):
    """A source that repeats requests which failed, for as long as the library does not."""

    waits = True

    def __init__(self, source):
        self._source = source
        self.size, self.schema, self.concurrent = source.size, source.schema, source.concurrent

    def take(self, rows):
        for _ in range(20):
            try:
                return self._source.take(rows)
            except sb.errors.TemporaryFailure:
                continue
        raise AssertionError("20 attempts failed")


def patient(source):
    return source if hasattr(sb, "Retry") else Patient(source)


def stocks(size=40):
    rng = np.random.default_rng(5)
    parts = {name: (rng.normal(size=(size, 2)), rng.normal(size=size)) for name in ("a", "b")}
    return {name: sb.ArraySource(X, y + X[:, 0]) for name, (X, y) in parts.items()}


def valued(sources, n_games, **options):
    providers = [sb.Provider(name, source) for name, source in sources.items()]
    return sb.value(
        providers, sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=n_games, seed=1, **options
    )


def check_faults(share, n_games, together):
    here = stocks()
    expected = valued(here, n_games)
    with sb.testing.serve(here, faults=share, seed=3) as server:
        there = {}
        for name, url in server.urls.items():
            source = sb.HTTPSource(url, timeout=0.5)
            source.together = together or source.together
            there[name] = patient(source)
        found = valued(there, n_games)
        assert found.expectation.tobytes() == expected.expectation.tobytes()
        assert found.variance.tobytes() == expected.variance.tobytes()
        for name in here:
            used = found.access.by_provider[name]
            charged = server.charged[name]
            assert (charged.requests, charged.records) == (used.requests, used.records)
            assert charged.records == 3 * n_games
        return server.faults


def test_faults_change_no_value_and_charge_nothing_twice():
    made = check_faults(share=0.2, n_games=60, together=1)
    assert all(made[kind] for kind in KINDS)


def test_faults_of_requests_for_several_draws_charge_nothing_twice():
    check_faults(share=0.2, n_games=60, together=None)


@pytest.mark.long
def test_faults_during_1000_games():
    made = check_faults(share=0.05, n_games=1000, together=1)
    assert all(made[kind] >= 3 for kind in KINDS)


def test_without_keys_the_same_faults_would_be_charged_twice(monkeypatch):
    """The control: keys that differ with every attempt make the server charge again."""
    from shapband.sources.http import source as module

    attempts = iter(range(10**6))
    monkeypatch.setattr(module, "_hash", lambda *parts: f"{next(attempts):064d}")
    with pytest.raises(AssertionError):
        check_faults(share=0.2, n_games=60, together=1)


def test_a_run_that_broke_off_after_a_draw_was_charged_is_not_charged_again(tmp_path, monkeypatch):
    here = stocks()
    expected = valued(here, 6)
    with sb.testing.serve(here) as server:
        there = {name: sb.HTTPSource(url) for name, url in server.urls.items()}
        for source in there.values():
            source.together = 1
        ask, asked = there["b"]._client.ask, []

        def lose(path, document=None):
            answer = ask(path, document)
            asked.append(path)
            if len(asked) >= 3:
                raise RuntimeError("the answer is lost")
            return answer

        monkeypatch.setattr(there["b"]._client, "ask", lose)
        with pytest.raises(sb.errors.SourceError, match="the answer is lost"):
            valued(there, 6, run=tmp_path / "run")
        assert server.charged["b"].requests >= 3
        again = {name: sb.HTTPSource(url) for name, url in server.urls.items()}
        found = valued(again, 6, run=tmp_path / "run")
        assert found.expectation.tobytes() == expected.expectation.tobytes()
        for name in here:
            assert server.charged[name].records == found.access.by_provider[name].records == 18
