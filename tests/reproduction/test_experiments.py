"""Each experiment runs in seconds and leaves data, pictures and a comparison behind."""

import platform

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from reproduction.claims import ALIKE, BETTER, DOES_NOT, HOLDS, IN_RELATION, WORSE
from reproduction.report import read_report, write_page
from reproduction.run import EXPERIMENTS
from tests.reproduction.tiny import SLOW, TINY


def of(name, *parts):
    """The parameters of a test of one experiment, which is a long one if the experiment is slow."""
    marks = [pytest.mark.long] if name in SLOW else []
    return pytest.param(name, *parts, marks=marks)


NAMES = [of(name) for name in TINY]


def claim(found, name, part):
    (row,) = (row for row in found[name].claims if part in row.what)
    return row


def test_all_experiments_of_the_paper_are_there():
    assert list(EXPERIMENTS) == list(TINY)
    for name, profiles in EXPERIMENTS.items():
        assert profiles["quick"].name == profiles["paper"].name == name


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_leaves_its_files(found, out, name):
    report, folder = found[name], out / name
    assert len(pd.read_csv(folder / "data.csv")) > 0
    assert (folder / "figure.svg").read_text(encoding="utf-8").startswith("<?xml")
    picture = imread(folder / "figure.png")[..., :3]
    assert picture.std() > 0.03, "blank"
    assert (picture.mean(axis=2) < 0.95).mean() > 0.003, "next to nothing is drawn"
    assert read_report(folder) == report


@pytest.mark.parametrize("name", NAMES)
def test_every_row_has_the_four_columns_and_a_reason(found, out, name):
    written = found[name]
    for row in [*written.claims, *written.table]:
        assert row.verdict in (HOLDS, IN_RELATION, DOES_NOT)
    for row in written.beyond:
        assert row.verdict in (BETTER, WORSE, ALIKE)
    for row in [*written.claims, *written.table, *written.beyond]:
        assert all([row.what, row.paper, row.ours, row.theory, row.verdict, row.reason]), row
        assert "nan" not in row.ours.split(), row
        assert "|" not in "".join([row.what, row.paper, row.ours, row.theory, row.reason]), row
    page = (out / name / "comparison.md").read_text(encoding="utf-8")
    assert "| where | what | paper | ours | theory | verdict | reason |" in page
    assert written.claims
    assert written.beyond, "a line that the paper does not have"


@pytest.mark.parametrize(
    ("name", "part", "counted"),
    [
        of("example", "Example 1: estimated expectation", "(2.25, 2.75, 3.5)"),
        of("example", "Example 1: estimated variance", "(0.125, 1.125, 2.0)"),
        of("pooled-grid", "fewer fresh records", "2,000,000 to 50,000: 97.5 %"),
        of("source-budget", "pay for four fresh games", "4 games of 2,400 records; 2,477"),
        of("source-budget", "reallocates a fixed number", "600 to 600 in all, 30 to"),
        of("digits", "as many draws", "600 and 600 for 2 classes"),
        of("sensitivity", "32.3 % more", "2,477 to 3,277: 32.3 %"),
        of("sensitivity", "Every alpha", "identical to the last bit"),
        of("scalability", "in place of 4 n", "512 n; 75.0 % fewer"),
        of("scalability", "Allocations range", "64 to 256, 128 n"),
        of("latency", "in place of 50", "50 to 10, 80.0 %"),
    ],
)
def test_counts_are_exact(found, name, part, counted):
    row = claim(found, name, part)
    assert row.ours.startswith(counted)
    assert row.verdict == HOLDS


@pytest.mark.long
def test_the_cap_is_not_active(found):
    assert claim(found, "sensitivity", "below the cap of 125").verdict == HOLDS


@pytest.mark.long
def test_variance_errors_fall_as_the_paper_says(found):
    for part in ("The pooled method lowers the MAE of Var", "The stratified method lowers the MAE"):
        low = float(claim(found, "scalability", part).ours.split(" to ")[0])
        assert low > 60


@pytest.mark.long
def test_the_page_tells_all_and_gives_nothing_away(all_found, out, tmp_path):
    docs = tmp_path / "docs"
    write_page(list(all_found.values()), out, docs / "reproduction.md", docs / "images")
    page = (tmp_path / "docs" / "reproduction.md").read_text(encoding="utf-8")
    for name, written in all_found.items():
        assert f"## {name}" in page
        assert f"](images/{name}.png)" in page
        assert (tmp_path / "docs" / "images" / f"{name}.png").exists()
        assert all(row.what in page for row in written.claims)
    for section in ("Abstract", "IV-B", "IV-C", "IV-D", "IV-E", "IV-F", "IV-G"):
        assert f"| {section}" in page
    assert "cores" in page
    assert "Python" in page
    assert platform.node() not in page
    assert str(out) not in page


@pytest.mark.long
def test_wrong_numbers_would_be_found_out(found):
    """A control: not every row of Tables I and II can hold, because V and C differ."""
    verdicts = [row.verdict for row in found["baseline-grid"].table]
    assert verdicts.count(HOLDS) < len(verdicts)
    assert np.isfinite([float(row.paper) for row in found["baseline-grid"].table]).all()
