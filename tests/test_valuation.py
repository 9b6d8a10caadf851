import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapband as sb
from tests.bad_input import few, refused
from tests.conftest import linear_providers


@pytest.fixture(scope="module")
def valuation():
    providers, validation = linear_providers()
    return sb.value(
        providers,
        sb.LinearUtility(*validation),
        sampling=sb.Stratified(30, 12, 0.8),
        solver=sb.Permutation(20),
        n_games=40,
        seed=0,
    )


def test_it_is_frozen(valuation):
    with pytest.raises(AttributeError):
        valuation.seed = 1


def test_a_frame_has_one_row_a_provider(valuation):
    frame = valuation.to_frame()
    assert list(frame.index) == list(valuation.names)
    np.testing.assert_array_equal(frame["expectation"], valuation.expectation)
    np.testing.assert_array_equal(frame["low"], valuation.interval()[:, 0])
    assert frame["records"].sum() == valuation.access.records


def test_raw_variance_is_the_paper_s_and_splits_into_two(valuation):
    np.testing.assert_allclose(valuation.raw_variance, valuation.games.var(axis=0, ddof=1))
    np.testing.assert_allclose(
        valuation.variance + valuation.solver_variance, valuation.raw_variance
    )


def test_the_estimand_is_named(valuation):
    assert "with replacement from pools of" in valuation.estimand
    assert valuation.draw_sizes.sum() == 5 * 12
    assert valuation.pool_sizes.tolist() == [30] * 5


def test_a_negative_variance_is_reported_and_flagged():
    """A fixed game has no variance, so its corrected estimate falls on either side of zero."""
    table = np.random.default_rng(0).normal(size=16)
    providers = [sb.Provider(f"p{i}", sb.ArraySource([[0.0]], [0.0])) for i in range(4)]
    valuation = sb.value(
        providers,
        sb.TableUtility(table),
        sampling=sb.Fresh(1),
        solver=sb.Permutation(4),
        n_games=20,
        seed=1,
    )
    assert valuation.negative_variance.any()
    np.testing.assert_array_equal(valuation.negative_variance, valuation.variance < 0)
    assert np.isnan(valuation.standard_deviation[valuation.negative_variance]).all()
    assert "negative" in str(valuation)


def test_requests_side_by_side_may_take_longer_than_all(valuation):
    access = sb.AccessReport({"a": sb.extend.Usage(1, 60, 12.5), "b": sb.extend.Usage(1, 60, 8.33)})
    text = str(replace(valuation, access=access, seconds=3.72))
    assert "requests, total request time 20.83 s\ntime:    3.72 s;" in text


def test_it_prints_well(valuation):
    lines = str(valuation).splitlines()
    assert lines[0] == "5 providers, 40 games (n_games reached)"
    assert max(len(line) for line in lines) <= 120
    for name in valuation.names:
        assert any(line.startswith(name) for line in lines)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 99}'])
def test_other_documents_are_refused(text):
    with pytest.raises(sb.errors.InvalidInput, match="from_json"):
        sb.Valuation.from_json(text)


def test_every_public_name_can_be_had():
    assert "value" in sb.__all__
    for name in sb.__all__:
        assert getattr(sb, name) is not None
    assert callable(sb.value)


@few
@given(
    st.floats(max_value=0.0)
    | st.floats(min_value=1.0)
    | st.just(np.nan)
    | st.sampled_from([95, None, "0.95", True, [0.95]])
)
def test_a_level_outside_its_range_is_refused(level):
    providers = [sb.Provider("north", sb.ArraySource([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]))]
    valuation = sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(1), n_games=4, seed=0)
    assert np.isfinite(valuation.interval(0.95)).all()
    refused(valuation.interval, "level", level=level)
    refused(valuation.variance_interval, "level", level=level)
    refused(valuation.to_frame, "level", level=level)


@pytest.mark.parametrize("name", sb.extend.__all__)
def test_names_for_extenders_are_found_in_their_old_place_with_a_warning(name):
    with pytest.warns(DeprecationWarning, match=f"shapband.{name} is now shapband.extend.{name}"):
        assert getattr(sb, name) is getattr(sb.extend, name)


def test_results_are_read_only_so_that_sorting_them_changes_no_payout(valuation):
    for array in (valuation.expectation, valuation.games, valuation.draw_sizes):
        with pytest.raises(ValueError, match="read-only"):
            array.sort()


@pytest.mark.parametrize("moved", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])  # noqa: S301
def test_a_valuation_can_be_copied_and_sent_to_another_process(valuation, moved):
    again = moved(valuation)
    assert str(again) == str(valuation)
    assert again.access == valuation.access
