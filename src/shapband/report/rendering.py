"""How a page is filled in from its template, and written to a file."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from shapband.checks import one_line, written
from shapband.errors import InvalidInput
from shapband.report.names import shown

_TEMPLATES = Path(__file__).parent / "templates"
# Endings of other formats, which a browser would not open as a page.
_OTHERS = (".pdf", ".png", ".svg", ".jpg", ".docx", ".csv", ".json", ".md", ".txt")


def write_html(path: str | os.PathLike[str], make: Callable[[], str]) -> None:
    """Make a page and write it to a file."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidInput(f"report: path must be the name of a file; received {written(path)}")
    suffix = Path(path).suffix.lower()
    if suffix in _OTHERS:
        raise InvalidInput(
            f"report: the file is an HTML page; received a name in {suffix}: end it in .html, and "
            "print the page to a file for a PDF"
        )
    content = make().encode()
    try:
        Path(path).write_bytes(content)
    except (OSError, ValueError) as cause:  # a name with a null character is a ValueError
        reason = (getattr(cause, "strerror", None) or one_line(cause)).lower()
        raise InvalidInput(f"report: {shown(str(path))} cannot be written: {reason}") from cause


def render(template: str, **values: Any) -> str:
    """Fill in a template; the page names the digest of its style, and allows no other."""
    style = (_TEMPLATES / "style.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    values |= {"style": Markup(style), "style_digest": digest}  # noqa: S704  a file of this package
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    return environment.get_template(template).render(values)


def _harmless(thing: Any) -> Any:
    """Escape every string that the template inserts, except markup, which is already escaped."""
    return shown(thing) if isinstance(thing, str) and not isinstance(thing, Markup) else thing
