"""The command line as a program, for tests that run it as one from any folder."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

if __name__ == "__main__":
    from shapband.app.cli.app import main

    main()
