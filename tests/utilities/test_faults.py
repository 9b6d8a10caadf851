"""What is said about records that cannot be evaluated, word for word."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

import shapband as sb
from shapband.errors import InvalidInput, LoneLabels
from shapband.records.batch import Batch
from shapband.utilities.faults import found_fault, warn_of_lone_labels
from shapband.utilities.few_records import _alike
from shapband.utilities.gram import Centre
from shapband.utilities.kinds import check_kinds, differences, kinds_of, not_numbers

TOLD = "the records of all providers together cannot be evaluated: ValueError: odd"


def framed(dtype: str = "float64", **columns: list[object]) -> Batch:
    return Batch(pd.DataFrame(columns or {"a": [1, 2]}).astype(dtype), np.array([1.0, 2.0]))


def fault(batches: Sequence[Batch], rows: Batch, *, culprit: int | None = None) -> str:
    """What is said if everybody together fails, or whoever is with one provider."""

    def cause_of(tried: Sequence[Batch]) -> str:
        fails = culprit is None or any(one is batches[culprit] for one in tried)
        return "ValueError: odd" if fails else ""

    return found_fault(cause_of, [f"p{at}" for at in range(len(batches))], batches, rows)


def test_records_that_can_be_evaluated_have_no_fault():
    assert found_fault(lambda tried: "", ["p"], [framed()], framed()) == ""


def test_other_kinds_of_values_are_the_first_suspects():
    texts = framed("object", a=["x", "y"])
    assert fault([framed(), texts], framed()) == (
        f"{TOLD}; provider 'p1': column 'a' holds strings such as 'x', but in the validation rows "
        "numbers such as 1.0: convert them to one kind"
    )


def test_the_provider_without_whom_it_works_is_named():
    one, two = framed(), framed()
    assert fault([one, two], framed(), culprit=1) == f"{TOLD}; without provider 'p1' they can"
    other = framed("float32")
    assert fault([one, other], framed(), culprit=1) == (
        f"{TOLD}; without provider 'p1' they can: its column 'a' has the type float32, but float64 "
        "in X_val"
    )
    assert fault([other], framed(), culprit=0) == TOLD  # without the only provider nothing is left


def test_at_most_32_providers_are_left_out():
    many = [framed() for _ in range(33)]
    assert fault(many[:32], framed(), culprit=31) == f"{TOLD}; without provider 'p31' they can"
    assert fault(many, framed(), culprit=31) == TOLD


def test_columns_that_are_no_numbers_are_the_last_suspects():
    rows = framed("object", ward=["x", "y"], age=[1, 2])
    assert fault([rows, rows], rows) == (
        f"{TOLD}; column 'ward' holds strings such as 'x': does the model take them?"
    )
    both = framed("object", ward=["x", "y"], kind=["u", 2])
    assert not_numbers(both) == (
        "column 'ward' holds strings such as 'x', column 'kind' holds strings such as 'u' and "
        "numbers such as 2"
    )


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (np.array([3, 4]), {"numbers": 3}),
        (np.array([np.nan, 4.0]), {"numbers": 4.0}),
        (np.array([np.nan]), {}),
        (np.array(["x", "y"]), {"strings": "x"}),
        (np.array([b"x"]), {"bytes": b"x"}),
        (
            np.array(["NaT", "2026-01-02"], dtype="M8[ns]"),
            {"dates": "2026-01-02T00:00:00.000000000"},
        ),
        (
            np.array([None, "x", 3, float("nan"), True, "y"], dtype=object),
            {"strings": "x", "numbers": 3},
        ),
        (np.array([pd.NA, pd.NaT], dtype=object), {}),
        (np.array([datetime.time(1), {}], dtype=object), {"dates": datetime.time(1), "dict": {}}),
    ],
    ids=str,
)
def test_kinds_of_targets(values, found):
    assert kinds_of(Batch(np.zeros((len(values), 1)), values)) == {"the targets": found}


def test_kinds_that_the_validation_rows_lack():
    rows, other = framed("object", a=[1, 2]), framed("object", a=["x", 2])
    told = "column 'a' holds strings such as 'x', but in the validation rows numbers such as 1"
    assert list(differences(other, rows)) == [("column 'a'", told)]
    check_kinds(other, rows, columns=False)
    with pytest.raises(InvalidInput) as refused:
        check_kinds(other, rows, columns=True)
    assert str(refused.value) == f"{told}: convert them to one kind"
    labels = Batch(np.zeros((2, 1)), np.array(["x", "y"]))
    with pytest.raises(InvalidInput) as refused:
        check_kinds(labels, Batch(np.zeros((2, 1)), np.array([1.0, 2.0])), columns=False)
    assert str(refused.value) == (
        "the targets hold strings such as 'x', but in the validation rows numbers such as 1.0: "
        "convert them to one kind"
    )


def labelled(*labels: Sequence[str]) -> list[sb.Provider]:
    return [
        sb.Provider(f"p{at}", sb.ArraySource(np.zeros((len(own), 1)), list(own)))
        for at, own in enumerate(labels)
    ]


def test_labels_that_nobody_else_has():
    with pytest.warns(LoneLabels) as caught:
        warn_of_lone_labels(labelled(["no", "yes"], ["YES", "NO"]), np.array(["no", "yes"]))
    assert [str(one.message) for one in caught] == [
        "provider 'p1': neither y_val nor another provider has any of its labels, such as 'NO': "
        "are they written differently?"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_lone_labels(labelled(["no"], ["no", "NO"]), np.array(["yes"]))
        warn_of_lone_labels(labelled(["no"], ["yes"]), np.array(["no", "yes"]))


def test_records_whose_features_differ_too_much_are_not_alike():
    """By 1e7 in their spread, or by 1e4 spreads from the validation rows."""
    centre = Centre(np.zeros(2), np.ones(2), 0.0)

    def alike(first: list[float], second: list[float]) -> bool:
        return _alike(np.array([[*first, 0.0], [*second, 0.0]]), centre)

    assert alike([0.0, 0.0], [1.0, 1e7])
    assert not alike([0.0, 0.0], [1.0, 1.1e7])
    assert alike([1e4 - 1, 0.0], [1e4, 1.0])
    assert not alike([1e4, 0.0], [1e4 + 1, 1.0])
    assert alike([1e9, 0.0], [1e9, 1.0])  # a feature that does not vary counts for nothing
    assert alike([1e9, 5.0], [1e9, 5.0])
