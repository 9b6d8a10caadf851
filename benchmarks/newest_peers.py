"""An environment of its own for shapiq's newest version, which needs a newer Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE.parent / ".venv-peers"
PYTHON = ENVIRONMENT / "bin" / "python"
PINS = HERE / "requirements-solvers.txt"
OLDEST = (3, 12)
NAMES = tuple(f"python3.{minor}" for minor in (14, 13, 12))


def newest_peers() -> Path | None:
    """Return the interpreter of `.venv-peers`, made if needed; None if it cannot be made."""
    stamp = ENVIRONMENT / "made-from"
    wanted = PINS.read_text()
    if stamp.exists() and stamp.read_text() == wanted:
        return PYTHON
    for python in filter(_is_new_enough, _candidates()):
        _say(f"making .venv-peers with {python} ...")
        pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        steps = [
            [python, "-m", "venv", "--clear", str(ENVIRONMENT)],
            [*pip, "--requirement", str(PINS)],
        ]
        # What pip prints must not mix with the rows on the standard output.
        if all(
            subprocess.run(step, check=False, stdout=sys.stderr).returncode == 0 for step in steps
        ):
            stamp.write_text(wanted)
            return PYTHON
    version = ".".join(map(str, OLDEST))
    _say(
        "!"
        * 72
        + f"\nSHAPIQ'S NEWEST VERSION IS NOT MEASURED: there is no Python {version} or newer "
        f"with which {PINS.name} can be installed.\n" + "!" * 72
    )
    return None


def _candidates() -> Iterator[str]:
    """Interpreters on the path, then those of pyenv, whose names on the path may be inactive."""
    yield sys.executable
    yield from filter(None, map(shutil.which, NAMES))
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for name in NAMES:
        yield from sorted(map(str, root.glob(f"versions/*/bin/{name}")), reverse=True)


def _is_new_enough(python: str) -> bool:
    code = f"import sys; sys.exit(sys.version_info < {OLDEST!r})"
    try:
        return (
            subprocess.run([python, "-c", code], check=False, capture_output=True).returncode == 0
        )
    except OSError:
        return False


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
