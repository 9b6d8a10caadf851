"""Settings of the documentation site, which `make site` builds."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path
from typing import Any

import shapband

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # sphinx-gallery imports `gallery_warnings`

project = "shapband"
copyright = "the shapband authors"  # noqa: A001  the name that Sphinx wants
version = release = shapband.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "gallery"]
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "notebooks",  # written when the site is built
    "filename_pattern": r"\.py$",  # run all of them
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", "gallery_warnings.are_errors"),
    "reset_modules_order": "both",
    "capture_repr": ("_repr_html_", "__str__"),
    "ignore_repr_types": r"matplotlib\.axes",
    "min_reported_time": 1e9,  # times differ from build to build
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
}
html_theme = "furo"
html_title = f"shapband {release}"
html_extra_path = ["shapband.schema.json"]
html_static_path = ["static"]
html_css_files = ["width.css"]
myst_heading_anchors = 4
autodoc_default_options = {"members": True, "inherited-members": False}
autosummary_generate = False  # numpydoc brings autosummary along
autodoc_typehints = "none"  # the docstrings say it in words
numpydoc_show_class_members = False  # autodoc lists them
suppress_warnings = ["myst.strikethrough"]


def join_returns(
    _app: Any, _what: str, _name: str, _part: Any, _options: Any, lines: list[str]
) -> None:
    """Join the sentences under "Returns", which numpydoc would show as one value a line."""
    if "Returns" not in lines:
        return
    first = lines.index("Returns") + 2
    while first + 1 < len(lines) and lines[first + 1].strip():
        if " : " in lines[first] or lines[first + 1].startswith(" "):
            return  # a list of named values
        lines[first] += " " + lines.pop(first + 1)


def forget_old_notebooks() -> None:
    """Have all notebooks run again if the library has changed since they were run.

    sphinx-gallery itself runs a notebook again only if the notebook has changed.
    """
    written = HERE / "notebooks"
    digest = hashlib.sha256()
    for file in sorted(Path(shapband.__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    mark = written / "library.sha256"
    if not mark.exists() or mark.read_text() != digest.hexdigest():
        shutil.rmtree(written, ignore_errors=True)
        written.mkdir()
        mark.write_text(digest.hexdigest())


def setup(app: Any) -> None:
    forget_old_notebooks()
    app.connect("autodoc-process-docstring", join_returns, priority=400)  # numpydoc has 500
