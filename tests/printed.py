"""The pages of the documentation as a reader would run them.

A page is a sequence of fenced blocks. A `text` block that follows a `python` or a `shell` block is
what the code prints, word by word and digit by digit. The word `...` in it stands for any words,
such as times, and lines that are left out.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and content."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def run_shell(block: str, folder: Path, environment: Mapping[str, str], patience: float) -> str:
    """Run a block of shell in a folder, and return what it prints; it must not fail."""
    done = subprocess.run(  # noqa: S603
        ["bash", "-euo", "pipefail", "-c", block],  # noqa: S607
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=patience,
    )  # fmt: skip
    assert done.returncode == 0, f"{block}\n{done.stdout}"
    return done.stdout


def check_page(page: Path, language: str, run: Callable[[str], str]) -> int:
    """Run the blocks of one language, check what they print, and count the checks."""
    printed, ran, checked = "", False, 0
    for kind, content in blocks(page):
        if kind == language:
            printed, ran = run(content), True
        elif kind == "text" and ran:
            assert shows(content, printed), f"{page.name} shows\n{content}\nprinted is\n{printed}"
            for wrong in altered(content):
                assert not shows(wrong, printed), f"{wrong!r} would also pass"
            checked += 1
        else:
            ran = False
    return checked


def shows(block: str, printed: str) -> bool:
    """Whether a block is what was printed."""
    pattern = "".join(
        "(?:.* )?" if word == "..." else re.escape(word) + " " for word in block.split()
    )
    return re.fullmatch(pattern, "".join(word + " " for word in printed.split())) is not None


def altered(block: str) -> Iterator[str]:
    """The block with one digit changed, for every number in it."""
    for number in re.finditer(r"\d(?=\D|$)", block):
        digit = (int(number[0]) + 1) % 10
        yield block[: number.start()] + str(digit) + block[number.end() :]
