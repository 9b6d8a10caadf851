"""Providers that no valuation can take, and what is said of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

import shapband as sb
from shapband.errors import SourceError
from tests.bad_input import (
    NAMES,
    counted,
    few,
    refused,
    refused_unasked,
    setups,
)


@few
@given(setups(), st.sampled_from([[], (), {}]))
def test_no_providers_is_refused(setup, none):
    refused_unasked(setup, "providers", providers=none)


@few
@given(setups(), st.sampled_from([None, 3, "north", object()]))
def test_providers_that_are_no_sequence_of_providers_are_refused(setup, thing):
    refused_unasked(setup, "providers", providers=thing)


@few
@given(setups())
def test_a_provider_without_a_list_is_refused(setup):
    refused_unasked(setup, "providers", providers=setup.providers[0])


@few
@given(setups(), st.data())
def test_an_object_that_is_no_provider_is_refused_by_its_position(setup, data):
    at = data.draw(st.integers(0, len(setup.sources)))
    stranger = data.draw(st.sampled_from(["south", None, 3.5, setup.sources[0], sb.Provider]))
    mixed = [*setup.providers[:at], stranger, *setup.providers[at:]]
    refused_unasked(setup, f"providers[{at}]", providers=mixed)


@few
@given(setups(), st.data())
def test_two_providers_of_one_name_are_refused(setup, data):
    twin = data.draw(st.sampled_from(setup.providers))
    message = refused_unasked(setup, repr(twin.name), providers=[*setup.providers, twin])
    assert "names must differ" in message


@few
@given(st.one_of(st.just(""), st.none(), st.integers(), st.binary(max_size=3)))
def test_a_provider_needs_a_name(name):
    refused(sb.Provider, "name", name=name, source=sb.ArraySource([[1.0]], [1.0]))


@few
@given(st.one_of(st.none(), st.integers(), st.just(np.zeros((3, 1))), st.just(sb.ArraySource)))
def test_a_provider_needs_a_source(thing):
    refused(sb.Provider, "source", "'north'", name="north", source=thing)


@few
@given(setups(), st.integers(1, 7), st.data())
def test_too_few_records_for_the_draws_are_refused(setup, size, data):
    sampling = data.draw(st.sampled_from([sb.Fresh(8), sb.Pooled(8, 4, replace=False)]))
    small = counted(*setup.records(size))
    setup.sources.append(small)
    argument = "n_sample" if isinstance(sampling, sb.Fresh) else "n_boot"
    name = repr(setup.providers[-1].name)
    refused_unasked(setup, name, argument, str(size), sampling=sampling)


@few
@given(setups(), st.integers(1, 2))
def test_providers_with_different_features_are_refused(setup, more):
    setup.sources.append(counted(*setup.records()))
    other = sb.Provider(
        "other", sb.ArraySource(np.ones((12, setup.n_features + more)), np.ones(12))
    )
    message = refused_unasked(
        setup,
        "'other'",
        "features",
        providers=[*setup.providers, other],
        utility=sb.AdditiveUtility(),
    )
    assert f"{setup.n_features + more} features" in message


@few
@given(setups(), st.integers(1, 2), st.booleans())
def test_features_other_than_those_of_x_val_are_refused(setup, more, by_estimator):
    X, y = np.ones((5, setup.n_features + more)), np.arange(5.0)
    utility = sb.EstimatorUtility(LinearRegression(), X, y) if by_estimator else None
    setup.sources.append(counted(*setup.records()))
    refused_unasked(setup, "'", "X_val", "features", utility=utility or sb.LinearUtility(X, y))


def test_columns_in_another_order_than_x_val_are_refused():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0], "y": [1.0, 0.0, 1.0]})
    providers = [sb.Provider("north", sb.FrameSource(frame, target="y"))]
    utility = sb.LinearUtility(frame[["b", "a"]], frame["y"])
    refused(
        sb.value, "'north'", "X_val", "a, b", "b, a",
        providers=providers, utility=utility, sampling=sb.Fresh(2), n_games=2, seed=0,
    )  # fmt: skip


def test_arrays_beside_frames_are_refused():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [1.0, 0.0, 1.0]})
    providers = [
        sb.Provider("north", sb.FrameSource(frame, target="y")),
        sb.Provider("south", south := counted([1.0, 2.0, 3.0], [1.0, 0.0, 1.0])),
    ]
    utility = sb.FunctionUtility(lambda X, y: y.mean())
    refused(
        sb.value, "'south'",
        providers=providers, utility=utility, sampling=sb.Fresh(2), n_games=2, seed=0,
    )  # fmt: skip
    assert south.asked == 0


def test_pandas_beside_polars_is_refused_before_any_source_is_asked():
    table = {"a": [1.0, 2.0, 3.0], "y": [1.0, 0.0, 1.0]}
    sources = [sb.FrameSource(pd.DataFrame(table), "y"), sb.FrameSource(pl.DataFrame(table), "y")]
    providers = [sb.Provider(name, s) for name, s in zip(NAMES, sources, strict=False)]
    utility = sb.FunctionUtility(lambda X, y: y.mean())
    refused(
        sb.value, "'south'",
        providers=providers, utility=utility, sampling=sb.Fresh(2), n_games=2, seed=0,
    )  # fmt: skip


class Mute(sb.sources.base.FiniteSource):
    """Cannot tell one thing about itself."""

    def __init__(self, question):
        self._question = question

    def _tell(self, question, answer):
        if question == self._question:
            raise ConnectionError("no\nroute")
        return answer

    @property
    def size(self):
        return self._tell("size", 40)

    @property
    def schema(self):
        return self._tell("schema", None)

    def take(self, rows):
        raise AssertionError("asked")


@pytest.mark.parametrize("question", ["size", "schema"])
def test_a_source_that_cannot_tell_about_itself_is_named(question):
    providers = [sb.Provider("north", Mute(question))]
    said = rf"provider 'north': .* cannot give its {question} \(ConnectionError: no route\)"
    with pytest.raises(SourceError, match=said):
        sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(2), n_games=2)
