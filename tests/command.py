"""The command line as a program, for tests that run it as one."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from shapband.cli import main
from tests import stand_in

stand_in.install()
main()
