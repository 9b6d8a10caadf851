"""The demo runs, and its tables and picture hold what they should."""

import contextlib
import io
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"
GAMES = 20


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "wine.png"


@pytest.fixture(scope="module")
def printed(picture: Path) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(DEMO))["main"](picture, GAMES)
    return out.getvalue()


def line(printed: str, start: str) -> str:
    (found,) = (one for one in printed.splitlines() if re.match(rf"\s*{start}\s+[\d,]", one))
    return found


def test_fresh_draws_pay_for_every_game(printed: str) -> None:
    # 10 providers, 60 records each, in every game: 120,000 records and 2,000 requests for 200.
    assert line(printed, "Fresh").split()[1:3] == [f"{600 * GAMES:,}", f"{10 * GAMES:,}"]


@pytest.mark.parametrize("method", ["Pooled", "Stratified"])
def test_pools_are_paid_for_once(printed: str, method: str) -> None:
    # Nine pools of 250 and one of the 227 wines that the smallest provider has.
    assert line(printed, method).split()[1:3] == ["2,477", "10"]


@pytest.mark.parametrize("method", ["Fresh", "Pooled", "Stratified"])
def test_every_coalition_of_every_game_is_evaluated(printed: str, method: str) -> None:
    assert f"{(2**10 - 1) * GAMES:,}" in line(printed, method)


def test_the_first_table_has_one_method_sorted_by_value(printed: str) -> None:
    first, _, _ = printed.partition("Picture:")
    rows = [row.split() for row in first.splitlines() if row.startswith("alcohol")]
    values = [float(row[2]) for row in rows]
    assert len(rows) == 10
    assert values == sorted(values, reverse=True)
    assert "Pooled(n_pool=250, n_boot=60, replace=False)" in first


def test_every_provider_has_an_estimate_an_error_and_a_deviation_per_method(printed: str) -> None:
    _, _, compared = printed.partition("three methods of the paper")
    rows = [row for row in compared.splitlines() if row.strip().startswith("alcohol")]
    assert len(rows) == 10
    cell = r"\d\.\d{4} ± \d\.\d{4}\s+\d\.\d{4}"
    assert all(len(re.findall(cell, row)) == 3 for row in rows)


def test_the_tables_fit_in_100_columns(printed: str, picture: Path) -> None:
    assert "…" not in printed
    assert all(len(row) <= 100 for row in printed.splitlines() if str(picture.parent) not in row)


@pytest.mark.parametrize(("said", "name"), [("Picture", ""), ("Picture of the three", "-methods")])
def test_the_pictures_are_where_the_demo_says_and_not_blank(
    printed: str, picture: Path, said: str, name: str
) -> None:
    path = picture.with_name(f"{picture.stem}{name}.png")
    assert f"\n{said}: {path.resolve()}" in printed
    pixels = imread(path)
    height, width, _ = pixels.shape
    assert width > 1000
    assert height > 500
    inked = np.any(pixels[..., :3] < 0.95, axis=2).mean()
    assert 0.05 < inked < 0.6
