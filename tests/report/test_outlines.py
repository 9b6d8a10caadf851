"""Whole pages and pictures: every word, mark and number is as in the files of outlines."""

import pytest

from tests.report.outlining import FOLDER, OUTLINES


@pytest.mark.parametrize("name", OUTLINES)
def test_everything_on_a_page_or_picture_is_as_in_its_outline(name):
    """If the change is meant, write the outlines anew: python -m tests.report.outlining."""
    expected = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert OUTLINES[name]() == expected


def test_every_file_is_an_outline():
    assert {one.stem for one in FOLDER.iterdir()} == set(OUTLINES)
