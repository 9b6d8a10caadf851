"""What is recorded, kept in files, and printed."""

import json

import numpy as np
import pytest

import shapband as sb
from shapband.errors import InvalidInput

ODD = "a <b>\x1b[31m"


def rounds_with(name="north", n_rounds=2):
    rng = np.random.default_rng(0)
    return [
        sb.RecordedRound(
            [rng.normal(size=(2, 2)).astype(np.float32), np.array(at)],
            {
                name: ([rng.normal(size=(2, 2)).astype(np.float32), np.array(7)], 60),
                "south": ([np.zeros((2, 2), dtype=np.float32), np.array(8)], 2.5),
            },
        )
        for at in range(n_rounds)
    ]


def score(parameters):
    return float(np.tanh(parameters[0]).sum())


def test_a_recorded_round_keeps_copies_that_cannot_be_changed():
    start, own = [np.zeros(2)], [np.ones(2)]
    updates = {"a": (own, 3)}
    kept = sb.RecordedRound(start, updates)
    start[0][0], own[0][0] = 5, 5
    updates["b"] = updates["a"]
    assert kept.parameters[0].tolist() == [0, 0]
    assert kept.updates["a"][0][0].tolist() == [1, 1]
    assert list(kept.updates) == ["a"]
    with pytest.raises(ValueError, match="read-only"):
        kept.parameters[0][0] = 1
    with pytest.raises(TypeError):
        kept.updates["c"] = updates["a"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros(2), {}), "parameters must be a list of arrays; received ndarray"),
        ((["x"], {}), r"parameters\[0\] must be an array of real numbers"),
        (([np.zeros(2) * 1j], {}), "dtype complex128"),
        (([np.zeros(2)], []), "updates must be a dictionary"),
        (([np.zeros(2)], {3: ([np.zeros(2)], 1)}), "non-empty string; received 3"),
        (([np.zeros(2)], {"a": [np.zeros(2)]}), r"updates\['a'\] must be a pair"),
        (([np.zeros(2)], {"a": ([np.zeros(2)], 0)}), "n_records must be above 0; received 0"),
        (([np.zeros(2)], {"a": ([np.zeros(2)], np.nan)}), "n_records must be a finite number"),
    ],
)
def test_a_round_that_is_not_one_is_refused(arguments, words):
    with pytest.raises(InvalidInput, match=words):
        sb.RecordedRound(*arguments)


def test_rounds_survive_a_file_bit_by_bit(tmp_path):
    rounds = [*rounds_with(ODD), sb.RecordedRound([np.zeros((2, 2), "f4"), np.array(1)], {})]
    path = tmp_path / "run.npz"
    sb.save_rounds(path, rounds)
    read = sb.load_rounds(path)
    assert [list(one.updates) for one in read] == [[ODD, "south"], [ODD, "south"], []]
    for one, other in zip(rounds, read, strict=True):
        for name, (arrays, n_records) in [("", (one.parameters, 0)), *one.updates.items()]:
            again = (other.parameters, 0) if name == "" else other.updates[name]
            assert again[1] == n_records
            for left, right in zip(arrays, again[0], strict=True):
                assert left.dtype == right.dtype
                assert np.array_equal(left, right)
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_files_that_are_not_recorded_rounds_are_refused(tmp_path):
    path = tmp_path / "run.npz"
    np.savez(path, x=np.zeros(2))
    with pytest.raises(InvalidInput, match="is not a file that save_rounds wrote"):
        sb.load_rounds(path)
    sb.save_rounds(path, rounds_with())
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InvalidInput, match="is not a file that save_rounds wrote"):
        sb.load_rounds(path)
    np.save(tmp_path / "pickled.npy", np.array([{}], dtype=object))
    with pytest.raises(InvalidInput, match="is not a file that save_rounds wrote"):
        sb.load_rounds(tmp_path / "pickled.npy")
    with pytest.raises(InvalidInput, match=r"rounds\[0\] must be a RecordedRound"):
        sb.save_rounds(path, [1])


def test_a_result_prints_what_it_is_and_is_not():
    found = sb.value_recorded(rounds_with(ODD), score, method="MR", seed=0)
    text = str(found)
    assert text.splitlines()[0] == "2 clients, 2 rounds, rebuilt in every round (MR)"
    assert "\x1b" not in text
    assert "no standard error over draws" in text
    assert "not known here, because no coalition was retrained" in text
    assert "in percent of the mean value" in text
    assert "label noise: " in text
    assert "<b>" not in found._repr_html_()
    assert repr(found) == "<RecordedValuation: MR, 2 clients, 2 rounds>"


def test_a_checked_result_prints_its_bias():
    many = sb.RecordedRound(
        [np.zeros(1)], {f"c{i}": ([np.array([i / 4 - 0.4])], 10) for i in range(5)}
    )
    known = {"method": "OR", "retrain": lambda c: float(len(c) ** 1.5 / 10), "seed": 0}
    found = sb.value_recorded([many], score, check=9, **known)
    header = " ".join(str(found).splitlines()[2].split())
    assert header == "client value rounds bias ± std. error corrected"
    assert "estimated from" in str(found)
    found = sb.value_recorded(rounds_with(), score, check=3, **known)
    assert str(found).splitlines()[2].split() == ["client", "value", "rounds", "bias", "corrected"]
    assert "bias:    exact, because all 3 coalitions were retrained" in str(found)
    frame = found.to_frame()
    assert frame.index.name == "client"
    assert frame["corrected"].tolist() == pytest.approx((found.values - found.bias).tolist())
    assert list(frame) == [
        "value", "solver_error", "rounds_present", "bias", "bias_error", "corrected",
        "corrected_error",
    ]  # fmt: skip


def test_a_result_survives_json_bit_by_bit():
    for found in (
        sb.value_recorded(rounds_with(ODD), score, method="MR", truncation=0.1, seed=0),
        sb.value_recorded(rounds_with(), score, method="OR", check=3, retrain=len, seed=0),
    ):
        again = sb.RecordedValuation.from_json(found.to_json())
        assert again.to_json() == found.to_json()
        assert str(again) == str(found)
        assert again.values.tolist() == found.values.tolist()
        with pytest.raises(ValueError, match="read-only"):
            again.values[0] = 1


@pytest.mark.parametrize(
    "change",
    [
        {"values": [1.0]},
        {"method": "XR"},
        {"format": 2},
        {"names": []},
        {"more": 1},
        {"bias": [1, 2]},
    ],
)
def test_altered_json_is_refused(change):
    found = sb.value_recorded(rounds_with(), score, method="MR", seed=0)
    document = json.loads(found.to_json()) | change
    with pytest.raises(InvalidInput, match=r"RecordedValuation\.from_json"):
        sb.RecordedValuation.from_json(json.dumps(document))
    with pytest.raises(InvalidInput, match=r"RecordedValuation\.from_json"):
        sb.RecordedValuation.from_json("[1")


def test_the_errors_of_the_study_nearest_to_a_run_are_stated():
    few = sb.value_recorded(rounds_with(n_rounds=4), score, method="MR", seed=0)
    many = sb.value_recorded(rounds_with(n_rounds=30), score, method="MR", seed=0)
    cut = sb.value_recorded(rounds_with(), score, method="MR", truncation=0.0, seed=0)
    assert {(one.method, one.rounds, one.participation) for one in few.measured} == {("MR", 5, 1.0)}
    assert {one.rounds for one in many.measured} == {20}
    assert {one.method for one in cut.measured} == {"truncated MR"}
    half = sb.value_recorded(
        rounds_with(), score, method="OR", names=["north", "south", "east", "west"], seed=0
    )
    assert {one.participation for one in half.measured} == {0.5}
    once = sb.value_recorded(rounds_with(n_rounds=1), score, method="one-round", seed=0)
    assert {one.rounds for one in once.measured} == {5, 20}
    families = ["label noise", "class skew", "size skew"]
    assert [one.family for one in few.measured] == families
    assert all(0 <= one.low <= one.high for one in few.measured)
