"""Sources that cannot be made, or that fail when they are asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from tests.bad_input import (
    NAMES,
    SAMPLINGS,
    counted,
    refused,
    setups,
)
from tests.counted import Counted, CountedDraws

import shapband as sb
from shapband.errors import SourceError
from shapband.records.batch import Batch


def faulty(fault: str, n_features: int, good_draws: int) -> sb.FunctionSource:
    """Give a source that works a few times, and then does not."""
    state = {"asked": 0}

    def draw(size: int, rng: np.random.Generator) -> Any:
        state["asked"] += 1
        X = rng.normal(size=(size, n_features))
        y = X.sum(axis=1)
        if state["asked"] <= good_draws:
            return X, y
        match fault:
            case "raises":
                raise OSError("the line is dead")  # a ConnectionError would be repeated
            case "few records":
                return X[1:], y[1:]
            case "many records":
                return np.vstack([X, X]), np.append(y, y)
            case "features":
                return np.hstack([X, X]), y
            case "lengths":
                return X, y[1:]
            case "X":
                return np.where(np.arange(n_features) == 0, np.nan, X), y
            case "y":
                return X, np.where(np.arange(size) == 0, np.inf, y)
            case "text":
                return X.astype(str).tolist(), ["a"] * size
            case _:
                return None

    return sb.FunctionSource(draw)


FAULTS = ["raises", "few records", "many records", "features", "lengths", "X", "y", "nothing"]


@settings(max_examples=80)
@given(setups(), st.sampled_from(FAULTS), st.data())
def test_a_source_that_fails_is_named(setup, fault, data):
    good = data.draw(st.integers(0, 2)) if isinstance(setup.sampling, sb.Fresh) else 0
    at = data.draw(st.integers(0, len(setup.sources)))
    bad = sb.Provider("broken", faulty(fault, setup.n_features, good))
    providers = [*setup.providers[:at], bad, *setup.providers[at:]]
    chunk_size = data.draw(st.sampled_from([None, 1, 2]))
    message = refused(
        setup.value, "'broken'", kind=SourceError, providers=providers, chunk_size=chunk_size
    )
    assert not any(repr(name) in message for name in NAMES)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
def test_a_source_of_other_features_than_expected_is_named_by_every_sampling(sampling):
    providers = [
        sb.Provider("steady", CountedDraws(2)),
        sb.Provider("broken", faulty("features", 2, good_draws=0)),
    ]
    refused(
        sb.value, "'broken'", kind=SourceError,
        providers=providers, utility=sb.LinearUtility(np.eye(2), [1.0, 2.0]), sampling=sampling,
        n_games=3, seed=0,
    )  # fmt: skip


@pytest.mark.parametrize("chunk_size", [None, 1])
@pytest.mark.parametrize("at", [0, 1])
def test_a_source_that_changes_its_features_is_named_where_any_features_will_do(at, chunk_size):
    providers = [sb.Provider("steady", CountedDraws(2))]
    providers.insert(at, sb.Provider("broken", faulty("features", 2, good_draws=1)))
    message = refused(
        sb.value, "'broken'", kind=SourceError,
        providers=providers, utility=sb.FunctionUtility(lambda X, y: y.mean()),
        sampling=sb.Fresh(3), n_games=3, seed=0, chunk_size=chunk_size,
    )  # fmt: skip
    assert "'steady' gave" not in message


@pytest.mark.parametrize("chunk_size", [None, 1])
def test_a_lonely_source_that_changes_its_features_is_named(chunk_size):
    refused(
        sb.value, "'broken'", kind=SourceError,
        providers=[sb.Provider("broken", faulty("features", 2, good_draws=1))],
        utility=sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=3, seed=0,
        chunk_size=chunk_size,
    )  # fmt: skip


@pytest.mark.parametrize("sampling", SAMPLINGS[:2], ids=repr)
def test_a_source_that_gives_labels_where_numbers_are_needed_is_named(sampling):
    def draw(size, rng):
        return rng.normal(size=(size, 1)), ["a"] * size

    refused(
        sb.value, "'broken'", "targets", kind=SourceError,
        providers=[sb.Provider("broken", sb.FunctionSource(draw))],
        utility=sb.LinearUtility([[1.0], [2.0]], [1.0, 2.0]), sampling=sampling, n_games=3, seed=0,
    )  # fmt: skip


class Leaky(Counted):
    """A finite source that lets NaN through, as a database may."""

    def __init__(self, X: Any, y: Any, where: str) -> None:
        super().__init__(sb.ArraySource(X, y))
        self._where = where

    def take(self, rows: Any) -> Batch:
        batch = super().take(rows)
        X, y = batch.X.copy(), batch.y.copy()
        if self._where == "X":
            X[0, 0] = np.nan
        else:
            y[0] = np.nan
        return Batch(X, y)


@pytest.mark.parametrize("where", ["X", "y"])
@pytest.mark.parametrize("sampling", SAMPLINGS[:2], ids=repr)
@pytest.mark.parametrize(
    "made_by", [sb.LinearUtility, sb.NeighborUtility], ids=lambda u: u.__name__
)
def test_a_source_of_ones_own_that_gives_nan_is_named(made_by, sampling, where):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    providers = [
        sb.Provider("sound", counted(X, y)),
        sb.Provider("leaky", Leaky(X, y, where)),
    ]
    refused(
        sb.value, "'leaky'", kind=SourceError,
        providers=providers, utility=made_by(X, y), sampling=sampling, n_games=3, seed=0,
    )  # fmt: skip


def test_a_source_that_fails_with_a_long_story_is_told_in_one_line():
    def draw(size, rng):
        raise RuntimeError("the first line\nthe second line")

    refused(
        sb.value, "'broken'", "the first line", kind=SourceError,
        providers=[sb.Provider("broken", sb.FunctionSource(draw))],
        utility=sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=3, seed=0,
    )  # fmt: skip


@pytest.mark.parametrize("thing", [None, 3, "draw"], ids=str)
def test_sources_of_the_wrong_things_are_refused(thing):
    refused(sb.FunctionSource, "FunctionSource", "draw", draw=thing)
    refused(sb.DistributionSource, "DistributionSource", "distribution", distribution=thing)
    refused(sb.FrameSource, "frame", frame=thing, target="y")
    refused(sb.providers_from_frame, "frame", frame=thing, by="site", target="y")
    refused(sb.with_delay, "source", source=thing, seconds=0.0)


@pytest.mark.parametrize("label", [3, "first"], ids=str)
def test_a_label_that_is_no_function_is_refused(label):
    refused(sb.DistributionSource, "label", distribution=norm(), label=label)


@pytest.mark.parametrize("seconds", [-0.1, np.nan, np.inf, "long", None], ids=str)
def test_a_delay_that_is_no_time_is_refused(seconds):
    source = sb.ArraySource([1.0], [1.0])
    refused(sb.with_delay, "with_delay", "seconds", source=source, seconds=seconds)
