"""``python -m shapband`` is the command line."""

from shapband.cli.app import main

main()
