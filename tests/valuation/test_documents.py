"""Valuations as JSON: what is written is read again, also from older formats, or is refused."""

import json
import re
import warnings
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import shapband as sb
from shapband.errors import InvalidInput
from shapband.estimate.moments import Moments
from shapband.sampling.shared import Shared
from tests.conftest import redesigned
from tests.valuation.older.make import cases

OLDER = sorted((Path(__file__).parent / "older").glob("*.json"))


@pytest.fixture(scope="module")
def valuations():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the older version had Blocks
        return cases()


def older(name):
    return json.loads((Path(__file__).parent / "older" / f"{name}.json").read_text("utf-8"))


def numbers_of(valuation):
    parts = {
        "games": valuation.games,
        "intervals": valuation.interval(),
        "intervals of variances": valuation.variance_interval(),
        "errors": valuation.error.to_numpy(),
        "presence": valuation.participation.to_numpy(),
    }
    if valuation.groups is not None:
        parts["groups"] = valuation.groups.to_frame().select_dtypes("number").to_numpy()
    return parts


def same_numbers(one, other):
    expected = numbers_of(other)
    for name, found in numbers_of(one).items():
        np.testing.assert_array_equal(found, expected[name], err_msg=name)


def nearly_same_estimates(one, other):
    """Another processor may have computed one of them, and its errors followed other rules."""
    names = ("expectation", "raw_variance", "solver_variance")
    for name in names:
        found, expected = (getattr(each.estimate, name) for each in (one, other))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(one.games, other.games, rtol=1e-6, atol=1e-9)
    if one.groups is not None:
        found, expected = (each.group_estimate.estimate.expectation for each in (one, other))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_older_results_have_no_correction_for_skewness():
    valuation = sb.Valuation.from_json(json.dumps(older("present")["document"]))
    moments = valuation.estimate.moments
    assert moments.m6 is None
    assert moments.products_21 is None
    low, high = valuation.variance_interval().T
    assert (low <= high).all()
    found = valuation.difference(*valuation.names[:2])
    assert found.high - found.estimate == pytest.approx(found.estimate - found.low)


@pytest.mark.parametrize("name", ["groups", "shuffles", "present", "averaged"])
def test_what_is_written_is_read_again(valuations, name):
    valuation = valuations[name]
    text = valuation.to_json()
    again = sb.Valuation.from_json(text)
    assert again.to_json() == text
    assert str(again) == str(valuation)
    assert again.shared_records == valuation.shared_records != ()
    assert again.one_label == ("east",)
    assert repr(again.design.participation) == repr(valuation.design.participation)
    same_numbers(again, valuation)
    document = json.loads(text)
    assert document["format"] == 5
    used = document["access"]["by_provider"]["north"]
    assert used.keys() == {"requests", "records", "seconds", "retries"}


def without_best(text):
    """The text without the error that more games reach: its degrees of freedom are counted anew."""
    return re.sub(r"more games alone reach .* at best", "", text)


@pytest.mark.parametrize("path", OLDER, ids=lambda path: path.stem)
def test_format_3_is_read_with_all_its_numbers(valuations, path):
    """The text is what the version that wrote the document printed, by the rules of this one."""
    found = older(path.stem)
    assert found["document"]["format"] == 3
    valuation = sb.Valuation.from_json(json.dumps(found["document"]))
    assert without_best(str(valuation)) == without_best(found["text"])
    assert valuation.one_label == ("east",)
    assert valuation.shared_records == (Shared("north", "south", 30, 30, (), 0.0, 2.0),)
    if path.stem == "shuffles":  # errors are estimated differently since format 5
        np.testing.assert_allclose(valuation.games, valuations[path.stem].games, rtol=1e-6)
    else:
        nearly_same_estimates(valuation, valuations[path.stem])
    again = sb.Valuation.from_json(valuation.to_json())
    assert str(again) == str(valuation)
    same_numbers(again, valuation)


def test_the_groups_of_format_3_are_read():
    valuation = sb.Valuation.from_json(json.dumps(older("groups")["document"]))
    assert valuation.groups.members == {"coast": ("north", "south")}
    assert valuation.groups.labels == ["coast", "coast", ""]
    coast = valuation.games[:, :2].sum(axis=1)
    np.testing.assert_allclose(valuation.groups.expectation, [coast.mean()], rtol=1e-12)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["x"], "groups must have one label for each provider"),
        (["x", "x", "", ""], "groups must have one label for each provider"),
        (["", "", ""], "if and only if it has groups"),
        (["x", "y", ""], "one number for each provider"),
        ([1, 1, ""], "another kind"),
    ],
)
def test_labels_that_fit_no_provider_are_refused(labels, said):
    document = older("groups")["document"]
    document["groups"]["labels"] = labels
    with pytest.raises(InvalidInput, match=said):
        sb.Valuation.from_json(json.dumps(document))


def test_texts_of_format_3_without_groups_are_read():
    document = older("shuffles")["document"]
    document.pop("groups", None)
    assert sb.Valuation.from_json(json.dumps(document)).groups is None


def test_early_texts_of_format_3_have_no_records_in_common_and_no_counts():
    document = older("shuffles")["document"]
    for key in ("shared_records", "one_target", "distinct_records"):
        del document[key]
    valuation = sb.Valuation.from_json(json.dumps(document))
    assert (valuation.shared_records, valuation.one_label) == ((), ())
    assert valuation.distinct_records is None


def test_format_2_has_no_covariances_and_no_errors_of_pools_and_shuffles():
    document = {**older("shuffles")["document"], "format": 2}
    for key in ("group_m2", "products", "pools"):
        del document["moments"][key]
    moments = sb.Valuation.from_json(json.dumps(document)).estimate.moments
    assert moments.shuffles.square.tolist() == [0.0] * 3
    assert moments.products is None
    assert moments.shuffles.size == 4
    within = np.array(document["moments"]["m2"]) / 6  # 8 games in 2 shuffles
    np.testing.assert_allclose(moments.variance, within, rtol=1e-12)
    # The error of a single shuffle of 4 games, which includes the error due to the pools.
    np.testing.assert_allclose(moments.pools.games, within / 4, rtol=1e-12)
    assert moments.pools.variance.tolist() == [0.0] * 3
    assert moments.pools.freedom.tolist() == [3.0] * 3


def test_older_documents_with_parts_that_are_missing_are_refused():
    for key in ("names", "target", "target_code", "setup", "moments", "access", "stopped_code"):
        document = older("groups")["document"]
        del document[key]
        with pytest.raises(InvalidInput, match=r"^Valuation\.from_json: "):
            sb.Valuation.from_json(json.dumps(document))


def test_old_names_of_attributes_still_answer(valuations):
    valuation = valuations["groups"]
    for old, new in (
        ("target", "estimand"),
        ("target_code", "estimand_code"),
        ("one_target", "one_label"),
    ):
        with pytest.warns(DeprecationWarning, match=f"Valuation.{old} is now called {new}"):
            assert getattr(valuation, old) == getattr(valuation, new)


def test_infinite_sums_cannot_be_written(valuations):
    valuation = valuations["shuffles"]
    sums = replace(valuation.estimate.moments, m4=np.full(3, np.inf))
    infinite = replace(valuation, estimate=sb.Estimate.of_moments(sums))
    with pytest.raises(InvalidInput, match=r"^Valuation\.to_json: infinite values cannot be"):
        infinite.to_json()


def altered(valuation, change):
    document = json.loads(valuation.to_json())
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize("name", [field.name for field in fields(Moments)][1:9])
def test_sums_must_be_one_for_each_provider(valuations, name):
    def cut(document):
        document["moments"][name].pop()

    with pytest.raises(InvalidInput, match=f"{name} must have one number for each provider"):
        sb.Valuation.from_json(altered(valuations["groups"], cut))


@pytest.mark.parametrize(
    ("part", "key"),
    [("pools", "variance"), ("presence", "count"), ("averaged", "mean")],
)
def test_parts_of_the_sums_must_be_one_for_each_provider(valuations, part, key):
    name = {"pools": "groups", "presence": "present", "averaged": "averaged"}[part]

    def cut(document):
        document["moments"][part][key].pop()

    with pytest.raises(InvalidInput, match=f"{key} must have one number for each provider"):
        sb.Valuation.from_json(altered(valuations[name], cut))


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("design", "names"), ["a", "a", "b"], "all names must differ"),
        (("design", "names"), [], "one number for each provider"),
        (("design", "seed"), -1, "the seed must be at least 0"),
        (("design", "draw_sizes"), [3, 3], "each size must have one number for each provider"),
        (("design", "pool_sizes"), [3, 3], "each size must have one number for each provider"),
        (("design", "unseen"), [0.5], "each size must have one number for each provider"),
        (("design", "distinct_records"), [0.0, 1.0, 1.0], "a number of distinct records is out"),
        (("design", "one_label"), ["west"], "one_label names an unknown provider"),
        (("design", "grouping", "members"), [[]], "every group must have a name and members"),
        (("design", "grouping", "members"), [[0, 3]], "groups must consist of different"),
        (("design", "grouping", "members"), [[0, 0]], "groups must consist of different"),
        (("design", "grouping", "members"), [[0, -1]], "groups must consist of different"),
        (("design", "participation"), {"kind": "odd"}, "odd"),
        (("moments", "n_games"), 1, "a count is no number, or out of bounds"),
        (("moments", "shuffles"), {"size": 1, "count": 2, "square": [0.0] * 3}, "a count is no"),
        (("moments", "shuffles"), {"size": 4, "count": 3, "square": [0.0] * 3}, "a count is no"),
        (("moments", "shuffles"), {"size": 4, "count": 2, "square": [0.0] * 2}, "one number for"),
        (("evaluations",), -1, "a count is no number, or out of bounds"),
        (("failures",), 2**63, "a count is no number, or out of bounds"),
        (("seconds",), None, "an amount is no number, or out of bounds"),
        (("access", "by_provider", "north", "records"), -1, "a count is no number"),
        (("access", "by_provider"), {}, "access must have one entry for each provider"),
        (("games",), [[0.0, 1.0]], "cannot reshape"),
        (("stopped_code",), "odd", "stopped_code must be one of n_games, budget"),
        (("group_moments",), None, "if and only if it has groups"),
        (("other",), 1, "'other' is missing, unknown or of another kind"),
    ],
)  # fmt: skip
def test_altered_documents_are_refused(valuations, place, value, said):
    def change(document):
        *folders, key = place
        for folder in folders:
            document = document[folder]
        document[key] = value

    with pytest.raises(InvalidInput, match=r"^Valuation\.from_json: .*" + said):
        sb.Valuation.from_json(altered(valuations["groups"], change))


@pytest.mark.parametrize(
    "pair",
    [
        Shared("north", "west", 3, 3),
        Shared("west", "north", 3, 3),
        Shared("north", "north", "3", 3),
        Shared("north", "north", 0, 3),
        Shared("north", "north", 3, 3, (1,)),
        Shared("north", "north", 3, 3, (), -1.0),
        Shared("north", "north", 3, 3, (), 0.0, "2"),
        Shared("north", "north", 3, 3, (), 0.0, -2.0),
    ],
)
def test_copies_of_others_are_refused(valuations, pair):
    sound = redesigned(valuations["groups"], shared_records=(Shared("north", "north", 3, 3),))
    assert sb.Valuation.from_json(sound.to_json()).shared_records == sound.shared_records
    with pytest.raises(InvalidInput, match=r"^Valuation\.from_json: "):
        sb.Valuation.from_json(redesigned(sound, shared_records=(pair,)).to_json())


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (lambda d: d["moments"].update(pools=None), "the error of the pools is missing"),
        (lambda d: d["moments"]["mean"].__setitem__(0, 0.5), "not the means of its games"),
        (lambda d: d["moments"]["mean"].__setitem__(0, None), "an expectation is not a number"),
        (lambda d: d["moments"]["m2"].__setitem__(0, -1.0), "a sum of squares is below 0"),
        (lambda d: d["design"]["draw_sizes"].__setitem__(0, -1), "a number of records is below 0"),
        (lambda d: d["design"].update(estimand_code="all"), "estimand_code is unknown"),
        (lambda d: d["group_moments"]["mean"].__setitem__(0, 0.5), "not the sums of their members"),
    ],
)
def test_parts_that_do_not_agree_are_refused(alter, said):
    task = sb.datasets.wine()
    players = [sb.Group("coast", task.providers[:2]), task.providers[2]]
    options = {"sampling": sb.Pooled(60, 20, replace=False), "n_games": 12, "seed": 0}
    document = json.loads(sb.value(players, task.utility, **options).to_json())
    sb.Valuation.from_json(json.dumps(document))
    alter(document)
    with pytest.raises(InvalidInput, match=said):
        sb.Valuation.from_json(json.dumps(document))
