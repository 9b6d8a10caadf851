"""Two records of the same version are equal, and a changed number is noticed."""

import json
from itertools import islice

from tests.golden.cases import cases
from tests.golden.record import differences, result


def test_two_records_of_a_case_are_equal_and_a_changed_bit_is_noticed(tmp_path):
    some = list(islice(cases(), 2, None, 80))
    one = {str(case): result(case, tmp_path / f"one-{i}") for i, case in enumerate(some)}
    again = {str(case): result(case, tmp_path / f"again-{i}") for i, case in enumerate(some)}
    assert differences(one, json.loads(json.dumps(again))) == []
    changed = json.loads(json.dumps(one))
    changed[str(some[0])]["expectation"][1] += 1e-16
    (line,) = differences(one, changed)
    assert "expectation" in line


def test_every_way_to_play_meets_a_result_and_names_differ():
    names = [str(case) for case in cases()]
    assert len(set(names)) == len(names) > 300
