"""Reads a report as a program would: its tables, headings, pictures and addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html.parser import HTMLParser

VOID = {"meta", "link", "br"}
VALUES = "Expected Shapley values of the providers"


class Page(HTMLParser):
    """What a page holds.

    Attributes
    ----------
    tables : caption → rows of cells, the header first
    headings : levels and texts
    elements : tags with their attributes
    text : all words outside of pictures' tooltips and styles
    """

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: dict[str, list[list[str]]] = {}
        self.headings: list[tuple[int, str]] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._open: list[str] = []
        self._rows: list[list[str]] = []
        self._caption = ""
        self.feed(content)
        self.close()
        assert self._open == [], self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag in VOID:
            return
        self._open.append(tag)
        if tag == "table":
            self._rows, self._caption = [], ""
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td"):
            self._rows[-1].append("")
        elif tag in ("h1", "h2", "h3"):
            self.headings.append((int(tag[1]), ""))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, tag
        if tag == "table":
            assert self._caption not in self.tables
            self.tables[self._caption] = self._rows

    def handle_data(self, data: str) -> None:
        inside = set(self._open)
        if inside & {"th", "td"}:
            self._rows[-1][-1] += data
        if "caption" in inside:
            self._caption += data
        if inside & {"h1", "h2", "h3"}:
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)
        if not inside & {"style", "title"}:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of all elements of one kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def column(self, caption: str, title: str) -> dict[str, str]:
        """One column of a table, by the names of its rows."""
        header, *rows = self.tables[caption]
        place = header.index(title)
        return {row[0]: row[place].strip() for row in rows}


def number(text: str) -> tuple[float, float]:
    """The number of a cell, and the largest error that its digits leave."""
    plain = text.replace(",", "")
    decimals = len(plain.partition(".")[2])
    return float(plain), 0.5000001 * 10**-decimals


def assert_shown(column: Mapping[str, str], names: Iterable[str], values: Iterable[float]) -> None:
    """The cells of a column are these values, to the last digit that is shown."""
    for name, value in zip(names, values, strict=True):
        found, rounding = number(column[name])
        assert abs(found - value) <= rounding, name
