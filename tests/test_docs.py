"""The examples of the README and the guides run as they stand."""

import re
from pathlib import Path

import pytest

import shapband as sb

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if python_blocks(page)], ids=lambda page: page.name
)
def test_the_python_of_a_page_runs(page, capsys):
    script = compile("\n".join(python_blocks(page)), page.name, "exec")
    exec(script, {"__name__": "__main__"})  # noqa: S102
    assert "Traceback" not in capsys.readouterr().out


def test_the_readme_shows_python():
    assert python_blocks(ROOT / "README.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_extending_needs_public_names_only():
    script = "\n".join(python_blocks(ROOT / "docs" / "extending.md"))
    imports = re.findall(r"^(?:from (\S+)|import (\S+))", script, flags=re.MULTILINE)
    assert {"".join(found) for found in imports} == {"dataclasses", "numpy", "shapband"}


@pytest.mark.parametrize("name", [n for n in sb.__all__ if callable(getattr(sb, n))])
def test_every_public_object_shows_an_example(name):
    assert ">>>" in getattr(sb, name).__doc__
