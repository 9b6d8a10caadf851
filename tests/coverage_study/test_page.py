"""A run measures once, keeps what it measured, and writes a page."""

import json

import pytest

from coverage_study.__main__ import measure
from coverage_study.page import page
from coverage_study.play import play_pool
from coverage_study.settings import Setting
from coverage_study.several import flags, joint_levels
from coverage_study.store import Store

SETTINGS = [Setting("gaussian", one, 6, (10, 30)) for one in ("fresh", "pooled", "subsets")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("coverage")
    for setting in SETTINGS:
        Store(path).measure(setting.name, setting, play_pool)
    return path


def test_a_second_run_keeps_the_results(folder, capsys):
    before = (folder / "gaussian-fresh.json").read_bytes()
    Store(folder).measure("gaussian-fresh", SETTINGS[0], None)
    assert "kept" in capsys.readouterr().err
    Store(folder, fresh=True).measure("gaussian-fresh", SETTINGS[0], play_pool)
    after = json.loads((folder / "gaussian-fresh.json").read_bytes())
    assert after["records"] == json.loads(before)["records"]


@pytest.mark.long
def test_the_number_of_processes_does_not_change_the_results(folder, tmp_path):
    Store(tmp_path, jobs=2).measure("one", SETTINGS[1], play_pool)
    one, other = Store(tmp_path).read("one"), Store(folder).read("gaussian-pooled")
    assert one["records"] == other["records"]


def test_the_page_has_a_row_for_each_setting_and_names_the_missing(folder):
    missing = Setting("skewed", "pooled", 6, (10, 30))
    text = page([*SETTINGS, missing], Store(folder), "make coverage")
    assert "**Not measured yet:** additive, lognormal (0.8): pooled." in text
    assert text.count("| additive, Gaussian | `Pooled(n_pool=250, n_boot=60)` |") == 2


def test_only_named_settings_are_measured(tmp_path):
    measure(Store(tmp_path), "no such setting", quick=True)
    assert list(tmp_path.iterdir()) == []


def test_flags_and_joint_levels():
    records = [
        {"p_value": [0.001, 0.5], "simultaneous": [[0, 2], [1, 3]], "ranks": [[2, 2], [1, 1]]},
        {"p_value": [0.04, 0.03], "simultaneous": [[0, 2], [5, 6]], "ranks": [[1, 2], [2, 2]]},
    ]
    found = flags(records)
    assert (found.single, found.any_of_all) == (0.75, 0.5)
    assert joint_levels(records, [1.0, 2.0]) == {"simultaneous": 0.5, "ranks": 0.5}
