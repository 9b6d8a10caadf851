"""The command line as a program, for tests that run it as one from any folder."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from shapband.cli import main  # noqa: E402
from tests import stand_in  # noqa: E402

stand_in.install()
main()
