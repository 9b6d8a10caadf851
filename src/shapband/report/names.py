"""Strings from outside, such as names, made safe to show on the page."""

from __future__ import annotations

from markupsafe import Markup

from shapband.checks import printable
from shapband.secrets import hide


def shown(text: str) -> str:
    """Hide secrets in a string, and escape its control and direction characters."""
    return hide(printable(text))


def named(name: str) -> Markup:
    """Write a name so that right-to-left letters do not change the order of the words around it.

    Examples
    --------
    >>> named("<script>")
    Markup('<bdi>&lt;script&gt;</bdi>')
    """
    return Markup("<bdi>{}</bdi>").format(shown(name))
