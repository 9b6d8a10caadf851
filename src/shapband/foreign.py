"""Strings from outside, such as names of providers, made harmless for the format of the output.

`shapband.checks.printable` serves terminals, `csv_cell` spreadsheets, `json_text` programs, and
`shapband.report.names` pages. Every writer uses one of them.
"""

from __future__ import annotations

import json
import unicodedata

from shapband.checks import UNSAFE, printable

# A cell that begins with one of these is a formula in Excel, LibreOffice and Google Sheets.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def csv_cell(text: str) -> str:
    r"""Make a string one cell of a CSV file, without line breaks, formulas or invisible characters.

    Examples
    --------
    >>> csv_cell("=cmd()"), csv_cell("a\r=cmd()"), csv_cell("north")
    ("'=cmd()", 'a\\r=cmd()', 'north')
    """
    shown = printable(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown


def json_text(document: object) -> str:
    r"""Write a document as JSON in which control and direction characters are escaped.

    A program reads the same strings from it, and a terminal does not interpret the characters.

    Examples
    --------
    >>> print(json_text(["é", "\x1b[2J", "\u202e"]))
    [
      "é",
      "\u001b[2J",
      "\u202e"
    ]
    """
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return "".join(_escaped(char) for char in text)


def _escaped(char: str) -> str:
    # Line breaks are between the parts of the document; inside a string they are escaped already.
    if char == "\n" or unicodedata.category(char) not in UNSAFE:
        return char
    return json.dumps(char)[1:-1]
