"""``python -m shapband`` is the command line."""

from shapband.cli import main

main()
