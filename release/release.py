"""Build the package, and check what a user would install.

    python release/release.py out/release

The wheel and the source distribution are built, and their metadata checked. Both are installed in
clean environments, with the oldest dependencies that `pyproject.toml` allows and with the newest,
and `smoke.py` tries each. The Python and shell of the README are then run with the wheel alone.
`make release` runs this; it needs the standard library only.
"""

import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ["build", "twine", "uv"]


def main(folder: Path) -> None:
    tools = environment(folder / "tools")
    run([tools / "python", "-m", "pip", "install", "--quiet", *TOOLS])
    run([tools / "python", "-m", "build", "--outdir", folder / "dist", ROOT])
    wheel, source = one(folder / "dist", "*.whl"), one(folder / "dist", "*.tar.gz")
    run([tools / "python", "-m", "twine", "check", "--strict", wheel, source])
    for dependencies in ("lowest-direct", "highest"):
        python = environment(folder / dependencies, pip=False) / "python"
        install = [tools / "uv", "pip", "install", "--quiet", "--python", python]
        # Old versions that have no wheel for this Python are passed over.
        requirements = ["--only-binary", ":all:", "--requirements", ROOT / "pyproject.toml"]
        run([*install, "--resolution", dependencies, *requirements])
        for built in (source, wheel):
            print(f"\n{built.name} with {dependencies} dependencies", flush=True)
            run([*install, "--no-deps", "--reinstall-package", "shapband", built])
            run([python, "-I", ROOT / "release" / "smoke.py"])
    run([python, "-I", ROOT / "release" / "readme.py"])  # the wheel was installed last
    print(f"\n{wheel.name} and {source.name} in {folder / 'dist'} can be released")


def environment(folder: Path, *, pip: bool = True) -> Path:
    """Make an empty environment, and return the folder of its programs."""
    venv.create(folder, clear=True, with_pip=pip)
    return folder.absolute() / ("Scripts" if sys.platform == "win32" else "bin")


def one(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def run(command: Sequence[object]) -> None:
    done = subprocess.run([str(part) for part in command], check=False)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
