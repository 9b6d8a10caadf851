"""Frames of several providers are joined to columns of one kind, or refused by the column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shapband.errors import InvalidInput
from shapband.records.batch import concat, take_in


def joined(*columns):
    kind = pl.DataFrame if isinstance(columns[0], pl.Series) else pd.DataFrame
    batches = [take_in(kind({"a": one}), np.zeros(len(one)), "me") for one in columns]
    return concat(batches).X["a"]


def test_categories_with_other_levels_keep_all_levels():
    found = joined(pd.Series(["b", "a"], dtype="category"), pd.Series(["c"], dtype="category"))
    assert found.tolist() == ["b", "a", "c"]
    assert found.cat.categories.tolist() == ["a", "b", "c"]


def test_ordered_categories_with_other_levels_are_refused():
    one, other = (
        pd.Series(pd.Categorical(["a"], levels, ordered=True))
        for levels in (list("ab"), list("ba"))
    )
    assert joined(one, one).cat.ordered
    with pytest.raises(InvalidInput, match="column 'a' has ordered categories, which differ"):
        joined(one, other)


@pytest.mark.parametrize("kind", [pd.Series, pl.Series])
def test_numbers_of_several_types_meet_as_floats(kind):
    found = joined(kind([1, 2]), kind([True, False]), kind([0.5, None]))
    np.testing.assert_array_equal(found.to_numpy(), [1.0, 2.0, 1.0, 0.0, 0.5, np.nan])


@pytest.mark.parametrize("kind", [pd.Series, pl.Series])
def test_numbers_do_not_meet_strings(kind):
    with pytest.raises(InvalidInput, match="column 'a' holds numbers in some records and strings"):
        joined(kind([1.0]), kind(["x"]))


@pytest.mark.parametrize(
    "columns",
    [
        (pd.Series(["x", None]), pd.Series([None], dtype=object)),
        (pd.Series(["x", None], dtype="string"), pd.Series([np.nan])),
        (pd.Series(["x", None], dtype=object), pd.Series([None], dtype="category")),
        (pl.Series(["x", None]), pl.Series([None])),
        (pl.Series(["x", None], dtype=pl.Enum(["x"])), pl.Series([None], dtype=pl.Categorical)),
    ],
    ids=["str", "string", "objects", "polars", "enum"],
)
def test_a_column_that_one_provider_lacks_altogether_is_missing_there(columns):
    found = joined(*columns).to_list()
    assert found[0] == "x"
    assert [value is None or value != value for value in found[1:]] == [True, True]


@pytest.mark.parametrize("dtypes", [(pl.Enum(["x"]), pl.Enum(["x", "y"])),
                                    (pl.Categorical, pl.String)])  # fmt: skip
def test_labels_of_polars_meet_as_strings(dtypes):
    found = joined(*(pl.Series(["x"], dtype=dtype) for dtype in dtypes))
    assert found.to_list() == ["x", "x"]


def test_names_of_columns_that_are_written_alike_are_one():
    one, other = (take_in(pd.DataFrame({n: [1.0]}), [0.0], "me") for n in (0, "0"))
    assert concat([one, other]).X.shape == (2, 1)


def test_arrays_do_not_meet_frames():
    array, frame = (take_in(X, [0.0], "me") for X in ([[1.0]], pd.DataFrame({"a": [1.0]})))
    with pytest.raises(InvalidInput, match="records of numpy and of pandas cannot be joined"):
        concat([array, frame])


def test_targets_that_are_numbers_do_not_meet_labels():
    X = np.zeros((2, 1))
    labels = take_in(X, ["yes", "no"], "me")
    with pytest.raises(InvalidInput, match="the targets are numbers in some records and strings"):
        concat([labels, take_in(X, [1, 0], "me")])
    assert concat([labels, take_in(X, ["no", "no"], "me")]).y.tolist() == ["yes", "no", "no", "no"]
