"""The encoding of what the commands print."""

from __future__ import annotations

import io
import sys


def print_any_character() -> None:
    """Have standard output and standard error take all characters, such as the ∅ of a valuation.

    Windows gives a program whose output goes to a file or a pipe an encoding of 256 characters.
    Such output is written in UTF-8, as files that the commands write are. A terminal keeps its
    encoding, and shows a question mark for a character that it lacks.
    """
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper):
            continue
        if stream.isatty():
            stream.reconfigure(errors="replace")
        else:
            stream.reconfigure(encoding="utf-8")
