"""The command line. Commands import what they need when they run, so that help is instant."""

from __future__ import annotations

from shapband.app.cli import playing, results  # noqa: F401  they add the commands, in this order
from shapband.app.cli.program import app


def main() -> None:
    """Run the command line."""
    app(prog_name="shapband")


if __name__ == "__main__":
    main()
