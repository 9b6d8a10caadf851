"""``python -m shapband`` is the command line."""

from shapband.app.cli.app import main

main()
