"""The scripts of examples/ print what docs/examples.md shows, and write the reports beside it."""

import re
import runpy
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO

import pytest

from tests.printed import ROOT, check_page

PAGE = ROOT / "docs" / "examples.md"
REPORTS = ROOT / "docs" / "reports"
NAMES = ["hospitals", "market", "clients", "flower_clients", "digits"]
LARGEST = 250_000  # bytes of a report that is kept in the repository


def part_of(name):
    """Return what the page shows of one script: its section up to the next heading."""
    (part,) = re.findall(
        rf"^## [^\n]*`{name}\.py`\n.*?(?=^## |\Z)", PAGE.read_text("utf-8"), re.S | re.M
    )
    return part


def header(report):
    """Return the answer and the facts at the top of a report, after the line with its date."""
    return re.findall(r"<h1>.*?</header>", report.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("name", NAMES)
def test_a_script_prints_what_the_page_shows_and_writes_the_report(name, tmp_path):
    if name == "flower_clients" and find_spec("flwr") is None:
        pytest.skip("*** NO FLWR: the example of shapband.flower is not run ***")
    page = tmp_path / "part.md"
    page.write_text(part_of(name), "utf-8")
    report = tmp_path / "report.html"

    def run(_):
        with redirect_stdout(StringIO()) as out:
            runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["main"](str(report))
        return out.getvalue()

    assert check_page(page, "shell", run) == 1
    kept = REPORTS / f"{name}.html"
    assert len(header(kept)) == 1
    assert header(kept) == header(report)
    assert kept.stat().st_size < LARGEST


def test_every_example_is_on_the_page():
    found = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert found == {*NAMES, "demo"}
    for name in NAMES:
        assert f"(reports/{name}.html)" in part_of(name)
        assert f"python examples/{name}.py\n" in part_of(name)
