"""The examples of the README and the guides run as they stand, and print what the pages show."""

import inspect
import io
import pkgutil
import re
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec

import pytest

import shapband as sb
from tests.printed import PAGES, ROOT, blocks, check_page, shows

WITH_PYTHON = [page for page in PAGES if "python" in dict(blocks(page))]


def check_python(page):
    """Run the Python of a page in one namespace, and count the outputs that were compared."""
    names = {"__name__": "__main__"}

    def run(block):
        with redirect_stdout(io.StringIO()) as out:
            exec(compile(block, page.name, "exec"), names)  # noqa: S102
        return out.getvalue()

    return check_page(page, "python", run)


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
def test_the_python_of_a_page_runs_and_prints_what_it_says(page, tmp_path, monkeypatch, request):
    if page.name == "connect-sql.md":
        monkeypatch.setenv("CLINIC_URL", request.getfixturevalue("postgres"))
    if "import shapband.flower" in page.read_text("utf-8") and find_spec("flwr") is None:
        pytest.skip("*** NO FLWR: this page is not run ***")
    monkeypatch.chdir(tmp_path)  # where the pages write their files
    check_python(page)


def test_the_readme_shows_python_and_its_output():
    kinds = [kind for kind, _ in blocks(ROOT / "README.md")]
    assert kinds[kinds.index("python") + 1] == "text"


def test_a_wrong_digit_in_a_page_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    code = "```python\nvalue = 0.1816\n```\nand\n```python\nprint('east', value)\n```\n"
    page.write_text(f"{code}\n```text\neast 0.1816\n```\n")
    assert check_python(page) == 1
    page.write_text(f"{code}\n```text\neast 0.1516\n```\n")
    with pytest.raises(AssertionError, match=r"page.md shows\neast 0.1516"):
        check_python(page)


@pytest.mark.parametrize(
    ("block", "printed", "same"),
    [
        ("east  0.1816\nnorth 0.1977\n", "east 0.1816\n north   0.1977\n", True),
        ("east 0.1816", "east 0.1817", False),
        ("east 0.18", "east 0.1816", False),
        ("east 0.1816", "east 0.1816\nnorth 0.1977", False),
        ("north 0.1977", "east 0.1816\nnorth 0.1977", False),
        ("east 0.1816 ...", "east 0.1816\nnorth 0.1977", True),
        ("... north 0.1977", "east 0.1816\nnorth 0.1977", True),
        ("... east 0.1816 ...", "east 0.1816", True),
        ("time: ... s", "time: 0.41 s", True),
        ("time: ... s", "time: 0.41 m", False),
        ("0.18 ...", "0.1816 north", False),
    ],
)
def test_a_page_must_show_what_is_printed(block, printed, same):
    assert shows(block, printed) is same


def anchors(page):
    """The anchors that headings of a page have, on GitHub as on the site."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


def broken_links(page):
    """List the links of a page to files that do not exist, or to headings that they do not have."""
    found = []
    for link in re.findall(r"\]\(([^)\s:]+)\)", page.read_text("utf-8")):
        target, _, anchor = link.partition("#")
        file = page.parent / target if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    assert broken_links(page) == []


def test_a_broken_link_is_noticed(tmp_path):
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# Other\n\n## The v(∅) of a game\n")
    page.write_text("[a](other.md) [b](other.md#the-v-of-a-game) [c](https://example.org)\n")
    assert broken_links(page) == []
    page.write_text("[a](others.md) [b](other.md#the-v-of-games) [c](#here)\n")
    assert broken_links(page) == ["others.md", "other.md#the-v-of-games", "#here"]


def test_every_page_is_in_the_order_of_the_site():
    listed = re.findall(r"^[\w-]+$", (ROOT / "docs" / "index.md").read_text("utf-8"), re.MULTILINE)
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert len(set(listed)) == len(listed)
    assert set(listed) == pages - {"index"}


def test_every_public_name_is_in_the_reference():
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    documented = re.findall(
        r"^\.\. auto(?:class|function|module):: (?:shapband\.)?(\w+)$", page, re.M
    )
    assert sorted(documented) == sorted(sb.__all__)


def test_extending_needs_public_names_only():
    page = ROOT / "docs" / "extending.md"
    script = "\n".join(content for kind, content in blocks(page) if kind == "python")
    imports = re.findall(r"^(?:from (\S+)|import (\S+))", script, flags=re.MULTILINE)
    assert {"".join(found) for found in imports} == {"dataclasses", "numpy", "shapband"}


@pytest.mark.parametrize("name", [n for n in sb.__all__ if callable(getattr(sb, n))])
def test_every_public_object_shows_an_example(name):
    assert ">>>" in getattr(sb, name).__doc__


def undocumented(kind):
    """List the public methods of a class without a docstring, their own or an inherited one."""
    own = [name for name, part in vars(kind).items() if callable(part) or hasattr(part, "fget")]
    public = [name for name in own if not name.startswith("_")]
    return [name for name in public if not inspect.getdoc(getattr(kind, name))]


class Odd(sb.Solver):
    def check(self, n_providers): ...

    def undescribed(self): ...

    @property
    def untold(self): ...


def test_every_method_has_a_docstring_or_inherits_one():
    assert undocumented(Odd) == ["undescribed", "untold"]
    found = [one.name for one in pkgutil.walk_packages(sb.__path__, "shapband.")]
    if find_spec("flwr") is None:  # tests/flower says that these are left out
        found = [name for name in found if not name.startswith("shapband.flower")]
    modules = [import_module(name) for name in found if not name.endswith("__main__")]
    for module in modules:
        for name, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ == module.__name__ and not name.startswith("_"):
                assert undocumented(kind) == [], f"{module.__name__}.{name}"
