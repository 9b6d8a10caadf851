"""Bought records come back from bytes as they were, and nothing is ever unpickled."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.tree import DecisionTreeClassifier

import shapband as sb
from shapband.errors import InvalidInput, RunDamaged, RunError
from shapband.records.batch import Batch
from shapband.runs.batches import from_bytes, to_bytes

Y = np.array([0.5, -0.0, 2.0])


def back(batch: Batch) -> Batch:
    return from_bytes(to_bytes(batch))


@settings(max_examples=50)
@given(
    X=hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2)),
    kind=st.sampled_from(["<f8", "<i8", "<u2", "?", "<U5", "S3"]),
)
def test_arrays_come_back_bit_for_bit(X, kind):
    y = np.arange(len(X)).astype(kind)
    found = back(Batch(X, y))
    assert found.X.tobytes() == X.tobytes()
    assert found.X.shape == X.shape
    assert found.y.dtype == y.dtype
    assert found.y.tobytes() == y.tobytes()


@pytest.mark.parametrize(
    "y",
    [
        np.array(["a", 2, None], dtype=object),
        np.array(["a", "bb", "ü"], dtype=np.dtypes.StringDType()),
        np.array(["2020-01-01", "2021-01-01", "NaT"], dtype="M8[D]"),
    ],
    ids=["objects", "texts", "dates"],
)
def test_labels_come_back(y):
    found = back(Batch(np.zeros((3, 1)), y)).y
    assert found.dtype == y.dtype
    np.testing.assert_array_equal(found, y)


def mixed() -> pd.DataFrame:
    days = pd.to_datetime(["2020-01-01", "2021-06-01", None])
    return pd.DataFrame(
        {
            "whole": [1, 2, 3],
            "broken": [1.5, np.nan, -0.0],
            "text": ["p", "q", None],
            "named text": pd.array(["a", None, "b"], dtype="string"),
            "object": pd.Series(["x", None, 3.5], dtype=object),
            "object text": pd.Series(["x", "y", "z"], dtype=object),
            "category": pd.Categorical(["u", "v", None], ["v", "u", "w"], ordered=True),
            "numbered": pd.Categorical([3, 1, 3]),
            "day": days,
            "zoned": days.tz_localize("Europe/Berlin"),
            "length": pd.to_timedelta([1, 2, None], unit="s"),
            "nullable": pd.array([1, None, 3], dtype="Int16"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "small": pd.array([1.5, None, 3], dtype="Float32"),
        },
        index=[5, 5, 2],
    )


@pytest.mark.parametrize(
    "frame",
    [
        mixed(),
        mixed().set_index("text"),
        mixed().set_index(["whole", "object text"]),
        mixed().rename(columns={"whole": 7}),
        mixed().iloc[:0],
    ],
    ids=["mixed", "text index", "two levels", "numbered column", "empty"],
)
def test_pandas_frames_come_back(frame):
    found = back(Batch(frame, Y[: len(frame)]))
    pd.testing.assert_frame_equal(found.X, frame)
    assert found.schema == Batch(frame, Y).schema


def test_polars_frames_come_back():
    frame = pl.DataFrame(
        {
            "whole": pl.Series([1, 2, None], dtype=pl.Int8),
            "text": ["x", None, "z"],
            "lists": [[1], [2, 3], None],
            "category": pl.Series(["a", "b", "a"], dtype=pl.Categorical),
        }
    )
    found = back(Batch(frame, Y))
    assert found.X.equals(frame)
    assert found.X.schema == frame.schema
    assert found.schema.library == "polars"


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([{"a": 1}, 2, 3], dtype=object),
        pd.Series(pd.period_range("2020", periods=3, freq="D")),
    ],
    ids=["objects", "periods"],
)
def test_what_cannot_be_stored_is_refused_by_name(column):
    with pytest.raises(RunError, match=r"cannot store .* of the type (dict|period)"):
        to_bytes(Batch(pd.DataFrame({"odd": column}), Y))


class _Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_no_pickle_is_ever_loaded():
    with pytest.raises(RunDamaged):
        from_bytes(pickle.dumps(_Bomb()))
    archive = io.BytesIO()
    np.savez(archive, header=np.array([_Bomb()], dtype=object))
    with pytest.raises(RunDamaged):
        from_bytes(archive.getvalue())


@pytest.mark.parametrize("cut", [0, 10, -30])
def test_records_cut_short_are_damage(cut):
    with pytest.raises(RunDamaged, match="cannot be read"):
        from_bytes(to_bytes(Batch(np.zeros((3, 1)), Y))[:cut])


DATES = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]).as_unit("ns")


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.Series(DATES), "dates"),
        (pd.Series(DATES.tz_localize("UTC")), "dates"),
        (pd.Series(DATES - DATES[0]), "durations"),
        (pl.Series(DATES.date.tolist()), "dates"),
        (pl.Series(DATES.time.tolist()), "dates"),
        (pl.Series([b"a", b"b", b"c"]), "bytes"),
    ],
    ids=["dates", "dates in a time zone", "durations", "days", "times", "bytes"],
)
def test_dates_and_bytes_that_an_older_version_stored_are_not_taken_for_numbers(column, kind):
    frame = pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame
    utility = sb.EstimatorUtility(DecisionTreeClassifier(), frame({"a": [1.0, 2.0, 3.0]}), Y > 0)
    with pytest.raises(InvalidInput, match=f"column 'a' holds {kind} such as"):
        utility.check_batch(back(Batch(frame({"a": column}), Y)))
