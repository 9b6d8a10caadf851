"""The usual answer of a source takes a shorter way through the checks, to the same result."""

import numpy as np
import pandas as pd
import pytest

import shapband as sb
from shapband.access import access, answers
from shapband.errors import SourceError
from shapband.records.batch import take_in

X, Y = np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0, 3.0])


class Odd(np.ndarray):
    """A subclass of array."""


def changed(array, value):
    other = array.copy()
    other.flat[-1] = value
    return other


USUAL = {"rows": (X, Y), "columns": (np.asfortranarray(X), Y), "steps": (X[:, ::-1], Y[::-1])}
UNUSUAL = {
    "one dimension": (Y, Y),
    "single precision": (X.astype(np.float32), Y),
    "other bytes": (X.astype(">f8"), Y),
    "whole numbers": (X, Y.astype(int)),
    "labels": (X, np.array(["a", "b", "c"])),
    "lists": (X.tolist(), Y.tolist()),
    "subclass": (X.view(Odd), Y),
    "masked, without masked values": (np.ma.array(X), Y),
}
WRONG = {
    "NaN": (changed(X, np.nan), Y),
    "infinite": (changed(X, -np.inf), Y),
    "NaN as target": (X, changed(Y, np.nan)),
    "infinite target": (X, changed(Y, np.inf)),
    "too few": (X[:2], Y[:2]),
    "no features": (X[:, :0], Y),
    "other length": (X, Y[:2]),
    "targets as a column": (X, Y[:, None]),
    "three dimensions": (X[None], Y),
    "masked": (np.ma.array(X, mask=X > 4), Y),
}


@pytest.mark.parametrize("answer", USUAL.values(), ids=USUAL)
def test_the_short_way_gives_what_the_long_one_gives(answer):
    short, long = answers._plain_batch(*answer, 3), take_in(*answer, "the source")
    for one, other in ((short.X, long.X), (short.y, long.y)):
        np.testing.assert_array_equal(one, other, strict=True)
        assert one.flags.c_contiguous
    given = answers.check_answer(sb.Batch(*answer), 3)
    assert not np.shares_memory(given.X, answer[0])
    assert not np.shares_memory(given.y, answer[1])


@pytest.mark.parametrize("answer", UNUSUAL.values(), ids=UNUSUAL)
def test_other_answers_take_the_long_way(answer):
    assert answers._plain_batch(*answer, 3) is None
    assert len(answers.check_answer(answer, 3)) == 3


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG)
def test_wrong_answers_are_refused(answer):
    assert answers._plain_batch(*answer, 3) is None
    with pytest.raises(SourceError):
        answers.check_answer(answer, 3)


@pytest.mark.parametrize("rows", [np.array([2, 0, 2]), [2, 0], [], np.array([True, False, True])])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_batch_takes_rows_as_an_index_does(rows, order):
    taken = sb.Batch(np.array(X, order=order), Y).take(rows)
    np.testing.assert_array_equal(taken.X, X[rows])
    np.testing.assert_array_equal(taken.y, Y[rows])


@pytest.mark.parametrize("others", ["ab", "ba"])
def test_frames_must_have_one_order_of_columns_also_where_validation_rows_are_an_array(others):
    def source(columns):
        return sb.FunctionSource(
            lambda size, rng: (
                pd.DataFrame(rng.normal(size=(size, 2)), columns=columns),
                rng.random(size),
            )
        )

    providers = [
        sb.Provider("north", source(list("ab"))),
        sb.Provider("south", source(list(others))),
    ]
    utility = sb.LinearUtility(np.arange(6.0).reshape(3, 2) ** 2, Y)
    options = {"sampling": sb.Fresh(10), "n_games": 2, "seed": 0}
    if others == "ab":
        assert sb.value(providers, utility, **options).n_games == 2
        return
    said = "'south': the source gave the columns b, a .* where the columns a, b"
    with pytest.raises(SourceError, match=said):
        sb.value(providers, utility, **options)


def frame_source(*columns):
    """A distant source of data frames, or of arrays without names."""

    def draw(size, rng):
        X = rng.normal(size=(size, 2))
        return pd.DataFrame(X, columns=columns) if columns else X, rng.normal(size=size)

    return sb.FunctionSource(draw)


def test_names_of_columns_count_although_an_array_came_between():
    providers = [
        sb.Provider(f"p{at}", frame_source(*names))
        for at, names in enumerate([("a", "b"), (), "cd"])
    ]
    with pytest.raises(SourceError) as refused:
        sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=2, seed=0)
    assert str(refused.value) == (
        "provider 'p2': the source gave the columns c, d of a pandas frame where the columns a, b "
        "of a pandas frame were expected"
    )


def test_records_that_cannot_be_joined(monkeypatch):
    """Libraries of data frames decide which types they join."""

    def refuse(batches):
        raise TypeError("strings and numbers")

    monkeypatch.setattr(access, "concat", refuse)
    with pytest.raises(SourceError) as refused:
        sb.value(
            [sb.Provider("p", frame_source("a", "b"))],
            sb.AdditiveUtility(),
            sampling=sb.Fresh(2),
            n_games=2,
            seed=0,
        )
    assert str(refused.value) == (
        "provider 'p': the source gave records of different types in different requests, which "
        "cannot be joined (TypeError: strings and numbers)"
    )


def test_a_refusal_has_the_reason_and_the_number_of_records():
    kept = answers.Refusal.of((X, Y), 5, ValueError("odd"))
    assert (kept.reason, kept.records, len(kept.batch.X)) == ("ValueError: odd", 3, 3)
    unknown = answers.Refusal.of(None, 5, SourceError("the source gave nothing"))
    assert (unknown.reason, unknown.records, unknown.batch) == ("the source gave nothing", 5, None)
