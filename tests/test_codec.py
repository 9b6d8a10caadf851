"""Records as JSON documents: what is written is read again, and what does not fit is refused."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import GenericAlias
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import shapband as sb
from shapband._typing import FloatArray, IntArray
from shapband.codec import decode, encode
from shapband.estimate.averaged import Averaged
from shapband.estimate.moments import Moments, moments_of_games
from shapband.estimate.pools import PoolErrors
from shapband.estimate.presence import PresenceMoments
from shapband.grouping import Grouping
from shapband.sampling.rare import RareLabel
from shapband.sampling.replays import Replays
from shapband.sampling.shared import Held, Shared
from shapband.sampling.targets import OddLabel
from shapband.sampling.validation import Validation

Floats = FloatArray  # the same type by another name


@dataclass(frozen=True, eq=False)
class Inner:
    numbers: Floats
    label: str = "none"


class Pair(NamedTuple):
    one: int
    other: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Outer:
    """A field of every kind."""

    count: int
    amount: float
    flag: bool
    text: str
    kind: Literal["a", "b"] = "a"
    counts: IntArray | None = None
    inner: Inner | None = None
    pairs: tuple[Pair, ...] = ()
    by_name: Mapping[str, Inner] = dataclasses.field(default_factory=dict)


SOUND = {"count": 1, "amount": 0.5, "flag": True, "text": "x"}


def through_text(kind, record):
    return decode(kind, json.loads(json.dumps(encode(record), allow_nan=False)))


def assert_equal(found, expected, where="record"):
    """Compare records part by part, with arrays bit for bit and by their type."""
    assert type(found) is type(expected), where
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected, err_msg=where, strict=True)
    elif dataclasses.is_dataclass(expected):
        for one in fields(expected):
            pair = getattr(found, one.name), getattr(expected, one.name)
            assert_equal(*pair, f"{where}.{one.name}")
    elif isinstance(expected, tuple | list):
        assert len(found) == len(expected), where
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other, where)
    elif isinstance(expected, dict):
        assert list(found) == list(expected), where
        for name, part in expected.items():
            assert_equal(found[name], part, f"{where}[{name}]")
    elif isinstance(expected, float) and np.isnan(expected):
        assert np.isnan(found), where
    else:
        assert found == expected, where


numbers = st.floats(allow_infinity=False, width=64)
whole = st.integers(-(2**62), 2**62)
words = st.text(st.characters(exclude_categories=["Cs"]))
inners = st.builds(Inner, arrays(np.float64, array_shapes(max_dims=2), elements=numbers), words)
pairs = st.builds(Pair, st.integers(), st.none() | st.floats(allow_infinity=False, allow_nan=False))
outers = st.builds(
    Outer,
    count=st.integers(),
    amount=numbers,
    flag=st.booleans(),
    text=words,
    kind=st.sampled_from(["a", "b"]),
    counts=st.none() | arrays(np.int64, st.integers(0, 4), elements=whole),
    inner=st.none() | inners,
    pairs=st.lists(pairs, max_size=3).map(tuple),
    by_name=st.dictionaries(words, inners, max_size=3),
)


@given(outers)
def test_any_record_is_the_same_after_a_round_trip(record):
    assert_equal(through_text(Outer, record), record)


def test_negative_zero_and_the_smallest_numbers_keep_their_bits():
    record = Inner(np.array([-0.0, 5e-324, 1 / 3, np.nan, 1.7976931348623157e308]))
    found = through_text(Inner, record).numbers
    assert found.tobytes() == record.numbers.tobytes()


def test_two_records_that_differ_in_the_last_bit_stay_different():
    """The control: comparing bit by bit notices a change of one unit in the last place."""
    record = Inner(np.array([1 / 3]))
    other = through_text(Inner, Inner(np.nextafter(record.numbers, 1)))
    with pytest.raises(AssertionError):
        assert_equal(other, record)


DESIGN = sb.Design(
    names=("north", "süd\n"),
    seed=2**80,
    draw_sizes=np.array([5, 6]),
    estimand="draws of 5 to 6 records",
)
PARTICIPATIONS = [
    sb.Independent({"north": 0.5, "süd\n": 1.0}),
    sb.Cohort(2),
    sb.MarkovChain(0.1, 0.9),
    sb.Trace([[1, 0], [1, 1]]),
    sb.Independent(0.5, per="round"),
    sb.Trace([[1, 0], [1, 1]], per="round"),
]


def test_a_design_with_nothing_but_its_first_parts_is_the_same():
    assert_equal(through_text(sb.Design, DESIGN), DESIGN)


def test_a_design_with_all_parts_is_the_same():
    design = replace(
        DESIGN,
        estimand_code="pools",
        pool_sizes=np.array([50, 60]),
        unseen=np.array([1.0, 0.1]),
        replace=False,
        per_shuffle=4,
        averaged=True,
        grouping=Grouping(("both",), ((0, 1),)),
        setup={"utility": "made up", "index": "Banzhaf()"},
        distinct_records=np.array([np.nan, 3.5]),
        shared_records=(Shared("north", "süd\n", 3, 4, ("column 'x'",), 0.01, 2.0),),
        held_rows=(Held("north", 3, 4, ("column 'x'",), 0.01, 2.0),),
        one_label=("north",),
        odd_labels=(OddLabel("east", "-1", "0"),),
        rare_labels=(RareLabel("north", "1", 0, 50, 50, float("nan"), 0),),
        unseen_labels=(RareLabel("north", "1", 5, 50, 9, 0.25),),
        validation=Validation(40, 10, 12, "none", 30, 20, 7.5),
        rounds=3,
        replays=Replays(presence=True, training=False),
    )
    assert {field.name for field in fields(design)} - {"participation"} == {
        field.name
        for field in fields(design)
        if not np.array_equal(getattr(design, field.name), getattr(DESIGN, field.name))
        or field.name in ("names", "seed", "draw_sizes", "estimand")
    }
    assert_equal(through_text(sb.Design, design), design)


@pytest.mark.parametrize("law", PARTICIPATIONS, ids=repr)
def test_a_participation_in_a_design_is_the_same(law):
    found = through_text(sb.Design, replace(DESIGN, participation=law))
    assert repr(found.participation) == repr(law)
    np.testing.assert_array_equal(
        found.present(range(50)), replace(DESIGN, participation=law).present(range(50))
    )


def sums(per_shuffle=None):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(12, 3)), rng.random((12, 3))
    return moments_of_games(x, np.where(w > 0.9, np.nan, w), per_shuffle)


def filled(kind, seed, **parts):
    """A record whose arrays have random numbers, and one that is not known."""
    rng = np.random.default_rng(seed)
    made = {}
    for field in fields(kind):
        made[field.name] = rng.random(3)
        made[field.name][1] = np.nan
    return kind(**{**made, **parts})


def presence(**parts):
    rng = np.random.default_rng(3)
    given = {"correlation": rng.random((3, 3)), "rounds_per_game": 5}
    return filled(PresenceMoments, 4, **given, **parts)


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"products": None},
        {"pools": filled(PoolErrors, 1)},
        {"averaged": filled(Averaged, 2)},
        {"presence": presence()},
        {"certain": True},
        {"n_games": 1, "shuffles": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("per_shuffle", [None, 4])
def test_sums_over_games_are_the_same(per_shuffle, parts):
    moments = replace(sums(per_shuffle), **parts)
    assert np.isnan(moments.noise).any()
    assert_equal(through_text(Moments, moments), moments)


def test_groups_and_copies_are_the_same():
    for record in (
        Grouping(("g", "h"), ((0, 2), (1,))),
        Shared("a", "b", 3, 4),
        Shared("a", "a", 3, 4, ("column 'x'", "column 'y'"), 0.1, 0.0),
    ):
        assert_equal(through_text(type(record), record), record)


def test_infinite_numbers_cannot_be_written():
    with pytest.raises(ValueError, match="infinite values cannot be written as JSON"):
        encode(replace(sums(), m4=np.array([1.0, np.inf, 1.0])))


def test_fields_that_are_missing_take_their_defaults():
    found = decode(Outer, SOUND)
    assert (found.kind, found.counts, found.inner, found.pairs) == ("a", None, None, ())
    assert found.by_name == {}
    document = encode(DESIGN)
    least = {name: document[name] for name in ("names", "seed", "draw_sizes", "estimand")}
    assert_equal(decode(sb.Design, least), DESIGN)


@pytest.mark.parametrize("name", SOUND)
def test_fields_without_a_default_must_be_there(name):
    with pytest.raises((TypeError, ValueError), match=name):
        decode(Outer, {key: value for key, value in SOUND.items() if key != name})


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"other": 1}, "Outer: 'other'"),
        ({"count": 1.0}, "Outer.count"),
        ({"count": True}, "Outer.count"),
        ({"count": "1"}, "Outer.count"),
        ({"count": None}, "Outer.count"),
        ({"amount": "0.5"}, "Outer.amount"),
        ({"amount": True}, "Outer.amount"),
        ({"amount": float("inf")}, "Outer.amount"),
        ({"flag": 1}, "Outer.flag"),
        ({"flag": None}, "Outer.flag"),
        ({"text": 1}, "Outer.text"),
        ({"text": None}, "Outer.text"),
        ({"kind": "c"}, "Outer.kind"),
        ({"kind": ["a"]}, "Outer.kind"),
        ({"counts": 1}, "Outer.counts"),
        ({"counts": "12"}, "Outer.counts"),
        ({"counts": [[1], [1, 2]]}, "Outer.counts"),
        ({"counts": [None]}, "Outer.counts"),
        ({"counts": ["many"]}, "Outer.counts"),
        ({"counts": [2**70]}, "Outer.counts"),
        ({"counts": [1.5]}, "Outer.counts"),
        ({"counts": [1.0]}, "Outer.counts"),
        ({"counts": ["3"]}, "Outer.counts"),
        ({"counts": [True]}, "Outer.counts"),
        ({"inner": {"numbers": ["1.5"]}}, "Outer.inner.numbers"),
        ({"inner": {"numbers": [[True]]}}, "Outer.inner.numbers"),
        ({"inner": []}, "Outer.inner"),
        ({"inner": {"numbers": [float("inf")]}}, "Outer.inner.numbers"),
        ({"inner": {"numbers": [{}]}}, "Outer.inner.numbers"),
        ({"inner": {"numbers": [1.0], "label": 2}}, "Outer.inner.label"),
        ({"inner": {"numbers": [1.0], "odd": 2}}, "Outer.inner: 'odd'"),
        ({"pairs": {"one": 1}}, "Outer.pairs"),
        ({"pairs": [[1, 2.0]]}, "Outer.pairs"),
        ({"pairs": [{"one": "1"}]}, "Outer.pairs.one"),
        ({"by_name": [["a", None]]}, "Outer.by_name"),
        ({"by_name": {"a": {"numbers": 1}}}, "Outer.by_name['a'].numbers"),
    ],
)  # fmt: skip
def test_values_of_another_kind_are_refused_with_their_place(change, place):
    decode(Outer, SOUND)
    with pytest.raises(ValueError) as caught:
        decode(Outer, {**SOUND, **change})
    assert str(caught.value).startswith(place + " is ")


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
def test_texts_that_cannot_be_written_are_refused(text):
    with pytest.raises(ValueError, match="surrogates"):
        decode(Outer, {**SOUND, "text": text})
    with pytest.raises(ValueError, match="surrogates"):
        decode(Outer, {**SOUND, "by_name": {text: {"numbers": []}}})


@pytest.mark.parametrize("document", [None, [], "design", 3])
def test_a_document_must_have_names(document):
    with pytest.raises(ValueError, match=r"^Design is missing, unknown or of another kind"):
        decode(sb.Design, document)


Kind = TypeVar("Kind", bound=np.generic)


class Alias:
    """What `type NDArray[Kind] = ...` makes, which Python 3.11 cannot write."""

    __value__ = np.ndarray[tuple[Any, ...], np.dtype[Kind]]
    __class_getitem__ = classmethod(GenericAlias)


def test_arrays_are_read_by_the_aliases_of_newer_versions_of_numpy():
    @dataclass
    class Numbers:
        x: Alias[np.float64]

    found = decode(Numbers, {"x": [1, 2.5]})
    np.testing.assert_array_equal(found.x, np.array([1.0, 2.5]))
    assert found.x.dtype == np.float64
