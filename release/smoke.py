"""Check an installed shapband: its files, a small valuation, a plot, a report and the commands.

`make release` runs this in clean environments. It needs nothing but the package itself:

    python -I release/smoke.py
"""

import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import matplotlib as mpl

import shapband as sb

FILES = [
    "py.typed",
    "__init__.pyi",
    "app/config/starter.toml",
    "app/config/shapband.schema.json",
    "datasets/winequality-white.csv.gz",
    "datasets/WINE-LICENSE.md",
    "report/templates/page.html.jinja",
    "report/templates/section.html.jinja",
    "report/templates/waiting.html.jinja",
    "report/templates/style.css",
]
COMMANDS = [
    ["--help"],
    ["init"],
    ["run", "shapband.toml", "--out", "my-run"],
    ["show", "my-run"],
    ["verify", "my-run"],
    ["plot", "my-run", "--out", "my-run.png"],
    ["report", "my-run", "--out", "my-run.html"],
]


def main() -> None:
    installed = Path(sb.__file__)
    assert Path(sys.prefix) in installed.parents, f"this is not the installed package: {installed}"
    for name in FILES:
        assert files("shapband").joinpath(name).is_file(), f"the package lacks {name}"
    with tempfile.TemporaryDirectory() as folder:
        check_library(Path(folder))
        check_commands(Path(folder))
    versions = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "pandas", "numba")
    )
    print(f"shapband {sb.__version__} works: Python {platform.python_version()}, {versions}")


def check_library(folder: Path) -> None:
    task = sb.datasets.wine()
    valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=20, seed=0)
    assert valuation.n_games == 20
    # The sum of all values is the score of the grand coalition, 1 / (1 + MSE) = 0.63 with wine.
    assert 0.6 < valuation.expectation.sum() < 0.7, valuation.expectation
    mpl.use("agg")
    valuation.plot().figure.savefig(folder / "plot.png")
    valuation.report(folder / "report.html", payouts=sb.payouts(valuation, 1000))
    check_written(folder / "plot.png", folder / "report.html")


def check_commands(folder: Path) -> None:
    command = Path(sys.executable).with_name("shapband")
    for arguments in COMMANDS:
        done = subprocess.run(
            [command, *arguments], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"shapband {' '.join(arguments)}\n{done.stderr}"
    check_written(folder / "my-run.png", folder / "my-run.html")


def check_written(*paths: Path) -> None:
    for path in paths:
        assert path.stat().st_size > 10_000, f"{path.name} is too small"


if __name__ == "__main__":
    main()
