"""Settings of the documentation site, which `make site` builds."""

from __future__ import annotations

from typing import Any

import shapband

project = "shapband"
copyright = "the shapband authors"  # noqa: A001  the name that Sphinx wants
version = release = shapband.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "shapband"
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


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", join_returns, priority=400)  # numpydoc has 500
