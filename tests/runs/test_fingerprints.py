"""Fingerprints: the same parts give the same one, and every part counts."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

import shapband as sb
from shapband.errors import InvalidInput, SourceError
from shapband.runs.fingerprints import (
    _parts,
    fingerprint,
    fingerprint_object,
    is_same_data,
    is_unchecked,
)
from shapband.runs.purchases import _Bits, _consecutive

X = np.arange(6.0).reshape(3, 2)


class Remote(sb.GenerativeSource):
    """A source that states a version, or fails to."""

    def __init__(self, version: Any) -> None:
        self.stated = version

    @property
    def version(self) -> Any:
        if isinstance(self.stated, Exception):
            raise self.stated
        return self.stated

    def draw(self, size: int, rng: np.random.Generator) -> Any:
        """Give nothing; only the version is read."""


def test_fingerprints_of_sources():
    assert fingerprint(Remote("monday")) == "Remote, version monday"
    assert fingerprint(Remote("a\x1b")) == "Remote, version a\\x1b"
    assert fingerprint(Remote(None)) == "Remote, not in memory"
    assert is_unchecked("Remote, not in memory")
    assert not is_unchecked("Remote, version monday")


@pytest.mark.parametrize(
    ("kind", "version", "message"),
    [
        (SourceError, OSError("down"), "Remote cannot give its version (OSError: down)"),
        (
            InvalidInput,
            "",
            "Remote: version must be a string that is not empty, or None; received ''",
        ),
        (
            InvalidInput,
            3,
            "Remote: version must be a string that is not empty, or None; received 3",
        ),
    ],
    ids=["fails", "empty", "number"],
)
def test_a_version_that_cannot_be_used(kind, version, message):
    with pytest.raises(kind) as refused:
        fingerprint(Remote(version))
    assert str(refused.value) == message


def test_data_are_the_same_unless_two_versions_differ():
    unchecked, monday, tuesday = "Remote, not in memory", "Remote, version m", "Remote, version t"
    assert is_same_data(monday, monday)
    assert is_same_data(unchecked, unchecked)
    assert is_same_data(unchecked, monday)
    assert not is_same_data(monday, unchecked)
    assert not is_same_data(monday, tuesday)
    assert not is_same_data(unchecked, "Other, version m")


def keyword(X: Any, y: Any, *, price: float = 1.0) -> float:
    return price


def closure(price: float) -> Any:
    return lambda X, y: price


class Slotted:
    """Has its parts in slots."""

    __slots__ = ("one", "two")

    def __init__(self) -> None:
        self.one = 1

    def method(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("thing", "names"),
    [
        ({"b": 1, "a": 2}, ["a", "b"]),
        ([7, 8], ["0", "1"]),
        ({"x"}, ["'x'"]),
        (keyword, ["code", "defaults", "keyword defaults"]),
        (closure(2.0), ["code", "defaults", "cell 0"]),
        (partial(keyword, price=2.0), ["function", "given", "named"]),
        (Slotted().method, ["object", "method"]),
        (keyword.__code__, ["code", "names", "consts"]),
        (Slotted(), ["one"]),
        (Slotted, []),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_the_parts_of_objects(thing, names):
    """Their names are part of the hash, and runs of earlier versions have these."""
    assert [name for name, _ in _parts(thing)] == names


def test_the_fingerprint_of_plain_parts_never_changes():
    """Runs keep it, so another version must find the same."""
    thing = {"a": [1, 2.5, "x", None, True], "b": (b"y", 3j), "c": {4}, "d": np.arange(3.0)}
    assert fingerprint_object(thing) == (
        "sha256:90c5e822e2a8d206d951044de10be6481c74d96fc709b359ed9c536d83037bdf"
    )


def models() -> dict[str, Any]:
    fitted = Ridge().fit(X, X[:, 0])
    return {
        "a model": sb.EstimatorUtility(Ridge(), X, X[:, 0]),
        "another parameter": sb.EstimatorUtility(Ridge(2.0), X, X[:, 0]),
        "other rows": sb.EstimatorUtility(Ridge(), X, X[:, 1] ** 2),
        "a fitted transformer": fitted,
        "a transformer": Ridge(),
    }


def test_every_part_counts_but_what_is_fitted_anew():
    marks = {name: fingerprint_object(thing) for name, thing in models().items()}
    assert len(set(marks.values())) == len(marks)
    assert marks == {name: fingerprint_object(thing) for name, thing in models().items()}
    fitted = sb.EstimatorUtility(Ridge().fit(X, X[:, 0]), X, X[:, 0])
    assert fingerprint_object(fitted) == marks["a model"]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5000))))
def test_bits_are_a_set_of_numbers(steps):
    bits, expected = _Bits(), set()
    for add, number in steps:
        if add:
            bits.add(number)
            expected.add(number)
        elif number in expected:
            bits.remove(number)
            expected.remove(number)
        assert bool(bits) == bool(expected)
        for one in (number, number + 1, number + 1024, 10**9):
            assert (one in bits) == (one in expected)


@given(st.sets(st.integers(0, 30), min_size=1))
def test_ascending_numbers_are_split_into_ranges(numbers):
    found = _consecutive(sorted(numbers))
    assert [one for part in found for one in part] == sorted(numbers)
    assert all(later.start > earlier.stop for earlier, later in pairwise(found))
