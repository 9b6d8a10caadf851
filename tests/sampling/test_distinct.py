"""Draws that repeat records are told: on the result, in JSON, in runs and by a warning."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bad_input import few
from tests.conftest import redesigned
from tests.runs.small import assert_same

import shapband as sb
from shapband.engine.arguments import check_arguments
from shapband.engine.workers.local import LocalWorkers
from shapband.errors import RepeatedRecords
from shapband.records.batch import Batch
from shapband.runs.plausible import check_valuation
from shapband.runs.run import begin
from shapband.sampling.distinct import count_distinct, expected_distinct

VALUES = st.sampled_from([0.0, -0.0, 1.0, 2.0, 0.1, -1.0, 1e300])


@few
@given(st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=40))
def test_arrays_are_counted_as_by_comparing_all_rows(rows):
    table = np.array(rows)
    expected = len(set(rows))  # Python finds 0.0 and -0.0 equal, too
    batch = Batch(table[:, :2], table[:, 2])
    assert count_distinct(batch) == expected


CELLS = st.sampled_from(["a", "b", "", None])
NUMBERS = st.sampled_from([1.0, 2.5, None])


@few
@given(st.lists(st.tuples(CELLS, NUMBERS, st.sampled_from(["x", "y"])), min_size=1, max_size=30))
def test_frames_with_text_and_missing_values_are_counted_as_by_comparing_all_rows(rows):
    words, numbers, labels = (list(column) for column in zip(*rows, strict=True))
    expected = len(set(rows))
    schema = {"word": pl.String, "number": pl.Float64}
    for frame in (
        pd.DataFrame({"word": words, "number": pd.array(numbers, dtype="Float64")}),
        pd.DataFrame({"word": words, "number": np.array(numbers, dtype=np.float64)}),
        pl.DataFrame({"word": words, "number": numbers}, schema=schema),
    ):
        assert count_distinct(Batch(frame, np.array(labels))) == expected


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([2**60, 2**60 + 1, 2**60]),  # equal as floats
        pd.Series([2**64 - 1, 2**64 - 2, 2**64 - 1], dtype="uint64"),
        pd.Series(pd.to_datetime(["2020-01-01", None, None])),
        pd.Series(["a", "b", "a"], dtype="category"),
        pd.Series([[1], {"b": 2}, [1]], dtype=object),  # no hash
        pd.Series([np.arange(3000), np.arange(3000) % 1500, np.arange(3000)]),
        pl.Series([[1, 2], [1, 3], [1, 2]], dtype=pl.Array(pl.Int64, 2)),
        pl.Series([{"a": 1}, None, {"a": 1}]),
    ],
    ids=lambda column: str(column.dtype),
)
def test_columns_of_any_type_are_counted(column):
    frame = pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame
    assert count_distinct(Batch(frame({"a": column}), np.zeros(3))) == 2


def test_regular_tables_have_no_collisions():
    grid = np.stack(np.meshgrid(*[[0.0, 1.0]] * 14), axis=-1).reshape(-1, 14)
    assert count_distinct(Batch(grid, np.zeros(len(grid)))) == 2**14
    powers = 2.0 ** np.stack(np.meshgrid(*[np.arange(-12, 12)] * 3), axis=-1).reshape(-1, 3)
    assert count_distinct(Batch(powers, np.ones(len(powers)))) == 24**3


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("draw", [1, 4, 20])
def test_draws_hold_as_many_different_records_as_expected_on_average(draw, replace):
    """4,000 draws from a stock with copies; 4.5 standard errors."""
    rng = np.random.default_rng(draw)
    kinds = np.repeat(np.arange(12.0), [1, 1, 1, 1, 1, 2, 2, 3, 5, 8, 1, 14])
    stock = Batch(kinds[:, None], kinds)
    seen = np.array(
        [len(set(rng.choice(kinds, draw, replace=replace).tolist())) for _ in range(4000)]
    )
    expected = expected_distinct(stock, draw, replace=replace)
    assert abs(seen.mean() - expected) <= 4.5 * seen.std() / np.sqrt(4000) + 1e-9
    # The control: the same draws from a stock without copies.
    apart = Batch(np.arange(40.0)[:, None], np.arange(40.0))
    other = expected_distinct(apart, draw, replace=replace)
    assert draw == 1 or abs(seen.mean() - other) > 4.5 * seen.std() / np.sqrt(4000)


def test_some_rows_of_a_large_stock_are_looked_at():
    rows = np.arange(300_000.0)
    assert expected_distinct(Batch(rows[:, None], rows), 60, replace=False) > 59.9
    copies = np.where(rows < 270_000, 0.0, rows)
    found = expected_distinct(Batch(copies[:, None], copies), 60, replace=False)
    assert found == pytest.approx(1 + 60 * 0.1, abs=0.1)


def test_a_stock_padded_with_copies_of_one_record_is_told_with_fresh_draws():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    X[20:] = X[0]
    padded = sb.Provider("padded", sb.ArraySource(X, X.sum(axis=1)))
    honest = sb.Provider("honest", sb.ArraySource(X[:20] + 1, X[:20, 0]))
    with pytest.warns(sb.errors.RepeatedRecords, match="padded has about 1.4 different ones for"):
        found = sb.value(
            [padded, honest], sb.AdditiveUtility(), sampling=sb.Fresh(20), n_games=2, seed=0
        )
    assert found.repeated_records.tolist() == [True, False]


def providers(**rows):
    """Providers of the first rows of one table, repeated as listed."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    y = X.sum(axis=1) + rng.normal(size=200)
    return [
        sb.Provider(name, sb.ArraySource(X[list(at)], y[list(at)])) for name, at in rows.items()
    ]


HONEST = providers(north=range(100), south=range(100, 160))
TINY = providers(tiny=range(3))
PADDED = providers(padded=[*range(30)] * 4)
HALF = providers(half=[*range(80)] * 2)


def valued(given, sampling, **changes):
    return sb.value(given, sb.AdditiveUtility(), sampling=sampling, n_games=20, seed=0, **changes)


@pytest.mark.parametrize(
    ("more", "sampling", "told"),
    [
        (TINY, sb.Pooled(60, 20), "tiny has 3 different ones for draws of 20"),
        (TINY, sb.Stratified(60, 20, 0.9), "tiny has 3 different ones for draws of"),
        (PADDED, sb.Pooled(120, 20), "padded has 30 different ones in a pool of 120"),
        (PADDED, sb.Pooled(120, 20, replace=False), "padded has 30 different ones in a pool of 1"),
        (
            PADDED,
            sb.Pooled(120, 20, replace=False),
            "padded has 30 different ones in a pool of 120",
        ),
        (PADDED, sb.Fresh(50), "padded has about 27 different ones for draws of 50"),
        (
            [*TINY, *PADDED, *HALF, *providers(last=[1] * 90)],
            sb.Pooled(200, 20),
            "tiny has 3 different ones for draws of 20, padded has 30 different ones in a pool of "
            "120, half has 80 different ones in a pool of 160, and 1 more",
        ),
    ],
    ids=lambda one: repr(one) if isinstance(one, sb.Sampling) else None,
)
def test_repeats_are_told(more, sampling, told):
    with pytest.warns(RepeatedRecords) as caught:
        found = valued([*HONEST, *more], sampling)
    (warning,) = caught
    assert str(warning.message).startswith(f"records repeat: {told}")
    assert warning.filename == __file__
    assert found.repeated_records.tolist() == [False, False] + [True] * len(more)
    assert f"records repeat: {told}" in str(found)
    assert told[:20] in found._repr_html_()
    np.testing.assert_array_equal(found.to_frame()["distinct_records"], found.distinct_records)
    again = sb.Valuation.from_json(found.to_json())
    np.testing.assert_array_equal(again.distinct_records, found.distinct_records, strict=True)
    assert str(again) == str(found)


@pytest.mark.parametrize(
    ("given", "sampling", "counts"),
    [
        (HONEST, sb.Fresh(30), [30, 30]),
        (HONEST, sb.Pooled(60, 60), [60, 60]),
        (HONEST, sb.Pooled(200, 60), [100, 60]),
        (HONEST, sb.Pooled(50, 75), [50, 50]),  # exactly two thirds
        ([*HONEST, *PADDED], sb.Fresh(25), [25, 25, 18.37]),
        (providers(third=[*range(60), *range(30)]), sb.Pooled(90, 20), [60]),
    ],
    ids=lambda one: repr(one) if isinstance(one, sb.Sampling) else None,
)
def test_different_records_are_counted_and_nothing_is_told(given, sampling, counts):
    found = valued(given, sampling)  # a warning would be an error
    assert found.distinct_records.tolist() == pytest.approx(counts, abs=0.01)
    assert not found.repeated_records.any()
    assert "records repeat" not in str(found)


def test_the_wines_repeat_by_nature_and_nothing_is_told(wine):
    found = sb.value(wine.providers, wine.utility, sampling=sb.Pooled(500, 60), n_games=4, seed=0)
    shares = found.distinct_records / found.pool_sizes
    assert 0.69 < shares.min() < 0.7
    assert shares.max() < 0.93


def test_records_that_are_not_in_memory_are_not_known():
    distant = sb.with_delay(PADDED[0].source, 0.0)
    found = valued([sb.Provider("far", distant), *HONEST], sb.Fresh(50))
    np.testing.assert_array_equal(found.distinct_records, [np.nan, 50, 50])
    assert not found.repeated_records.any()
    assert json.loads(found.to_json())["design"]["distinct_records"] == [None, 50, 50]
    again = sb.Valuation.from_json(found.to_json())
    np.testing.assert_array_equal(again.distinct_records, found.distinct_records)
    with pytest.warns(RepeatedRecords, match="far has 30 different ones in a pool of 120"):
        valued([sb.Provider("far", distant), *HONEST], sb.Pooled(200, 30))


def test_texts_without_the_counts_are_read():
    found = valued(HONEST, sb.Fresh(5))
    document = json.loads(found.to_json())
    del document["design"]["distinct_records"]
    old = sb.Valuation.from_json(json.dumps(document))
    assert old.distinct_records is None
    assert not old.repeated_records.any()
    assert old.to_frame()["distinct_records"].isna().all()
    assert str(old) == str(redesigned(found, distinct_records=None))
    assert sb.Valuation.from_json(old.to_json()).distinct_records is None


def test_counting_changes_no_number(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatedRecords)
        found = valued([*HONEST, *TINY], sb.Pooled(60, 20))
        monkeypatch.setattr("shapband.sampling.base.count_distinct", lambda pool: np.nan)
        assert_same(valued([*HONEST, *TINY], sb.Pooled(60, 20)), found)


@pytest.mark.parametrize("sampling", [sb.Pooled(60, 20), sb.Fresh(25)], ids=repr)
def test_a_run_keeps_the_counts(sampling, tmp_path):
    few_records = TINY if isinstance(sampling, sb.Pooled) else providers(few=[0, 1] * 20)
    given, run = [*HONEST, *few_records], tmp_path / "run"
    with pytest.warns(RepeatedRecords):
        expected = valued(given, sampling)
    plan = check_arguments(
        given, sb.AdditiveUtility(), sampling=sampling, n_games=20, seed=0, chunk_size=4
    )

    def watch(progress):
        if progress.done >= 8:
            raise KeyboardInterrupt

    with pytest.warns(RepeatedRecords), pytest.raises(KeyboardInterrupt):
        begin(run, plan, LocalWorkers(1, threads=True), watch)
    early = sb.load(run).valuation
    assert early.n_games == 8
    with pytest.warns(RepeatedRecords):
        late = valued(given, sampling, run=run)
    assert_same(late, expected)
    for one in (early, late, sb.load(run).valuation):
        np.testing.assert_array_equal(one.distinct_records, expected.distinct_records)
        assert "records repeat" in str(one)


@pytest.mark.parametrize("count", [0.0, -3.0, np.inf, 1e30])
def test_counts_that_cannot_be_are_found_in_a_run(count):
    found = valued(HONEST, sb.Fresh(5))
    manifest = {"providers": found.names}
    check_valuation(found, manifest)
    check_valuation(
        redesigned(found, distinct_records=np.array([np.nan, 3.0])), {"providers": found.names}
    )
    with pytest.raises(ValueError, match="distinct records"):
        check_valuation(
            redesigned(found, distinct_records=np.array([count, 3.0])), {"providers": found.names}
        )
    with pytest.raises(ValueError, match="one number for each provider"):
        check_valuation(redesigned(found, distinct_records=np.ones(3)), manifest)
