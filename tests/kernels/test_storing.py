"""Where machine code is stored, and that machine code of other sources never runs."""

import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest
from numba.core.caching import IndexDataCacheFile
from tests.conftest import PATIENCE

import shapband
from shapband.kernels import storing
from shapband.kernels.compiling import import_compiled
from shapband.kernels.storing import temporary_directory

ROOT = Path(__file__).parents[2]
PACKAGE = Path(shapband.__file__).parent
SAID = "shapband: compiling caller.call, once for this version (about 1 s)\n"
CHOICES = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "NUMBA_CACHE_LOCATOR_CLASSES", "PYTHONPATH")

# Two small kernels in files of their own: one calls the other.
HELPER = """
from numba import njit

@njit(cache=True)
def helped():
    return {}
"""
CALLER = """
from numba import njit
from shapband.kernels.compiled.helper import helped

@njit(cache=True)
def call():
    return helped() + 0.0
"""
CALL = """
from shapband.kernels.compiling import import_compiled
print(import_compiled("caller").call())
"""


def run(code, python=sys.executable, **environment):
    kept = {key: value for key, value in os.environ.items() if key not in CHOICES}
    return subprocess.run(  # noqa: S603
        [python, "-c", code], capture_output=True, text=True, check=True,
        env={**kept, **environment}, timeout=PATIENCE,
    )  # fmt: skip


def a_copy(place, helped):
    """A copy of the package that has the two kernels."""
    shutil.copytree(
        PACKAGE, place / "shapband", ignore=shutil.ignore_patterns("__pycache__", "*.gz")
    )
    (place / "shapband/kernels/compiled/caller.py").write_text(CALLER)
    change(place, helped)
    return {"PYTHONPATH": str(place), "XDG_CACHE_HOME": str(place.parent / "cache")}


def change(place, helped):
    (place / "shapband/kernels/compiled/helper.py").write_text(HELPER.format(helped))


def stored(cache):
    return {file for file in cache.rglob("*") if file.suffix in (".nbi", ".nbc")}


def test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed(tmp_path):
    environment = a_copy(tmp_path / "old", helped=1)
    assert run(CALL, **environment).stdout == "1.0\n"
    change(tmp_path / "old", helped=2)
    assert run(CALL, **environment).stdout == "2.0\n"


def test_environments_with_equal_kernels_share_machine_code(tmp_path):
    first = run(CALL, **a_copy(tmp_path / "one", helped=1))
    again = run(CALL, **a_copy(tmp_path / "two", helped=1))
    assert (first.stdout, first.stderr) == ("1.0\n", SAID)
    assert (again.stdout, again.stderr) == ("1.0\n", "")
    (place,) = (tmp_path / "cache/shapband").iterdir()
    assert stored(place) == stored(tmp_path)
    assert place.stat().st_mode & 0o777 == 0o700


def test_settings_of_numba_do_not_bring_back_machine_code_of_other_sources(tmp_path):
    named = tmp_path / "named"
    chosen = {"NUMBA_CACHE_DIR": str(named), "NUMBA_CACHE_LOCATOR_CLASSES": "InTreeCacheLocator"}
    environment = a_copy(tmp_path / "old", helped=1) | chosen
    run(CALL, **environment)
    change(tmp_path / "old", helped=2)
    assert run(CALL, **environment).stdout == "2.0\n"
    assert [place.name[:8] for place in (named / "shapband").iterdir()] == ["kernels-"] * 2
    assert stored(named) == stored(tmp_path)


def test_kernels_changed_while_a_process_runs_are_told_and_not_stored(tmp_path):
    """The process may hold some kernels of the old version and some of the new one."""
    environment = a_copy(tmp_path / "old", helped=1)
    helper = tmp_path / "old/shapband/kernels/compiled/helper.py"
    upgrade = f"""
from pathlib import Path
import shapband.kernels.compiled.helper
Path({str(helper)!r}).write_text({HELPER.format(2)!r})
"""
    done = run(upgrade + CALL, **environment)
    assert done.stdout == "1.0\n"
    assert done.stderr.count("start Python again, so that all kernels are of one version") == 1
    assert {file.name.split(".")[0] for file in stored(tmp_path)} == {"helper"}  # of its own source


def test_kernels_that_cannot_be_stored_are_stored_in_a_temporary_directory(tmp_path):
    copied = a_copy(tmp_path / "old", helped=1)
    (tmp_path / "cache").write_text("a file, so that no directory can be made there")
    environment = copied | {"TMPDIR": str(tmp_path)}
    first = run(CALL, **environment).stderr
    place = tmp_path / f"shapband-{os.getuid()}"
    assert first.count(f"compiled kernels are stored in {place}, because {tmp_path}/cache/") == 1
    assert "set NUMBA_CACHE_DIR" in first
    assert SAID in first
    assert stored(place)
    assert SAID not in run(CALL, **environment).stderr


@pytest.mark.parametrize("open_to_others", [0o770, 0o707, 0o755])
def test_a_directory_that_others_can_use_is_not_used(tmp_path, monkeypatch, open_to_others):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", "to be restored")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    named = tmp_path / "shapband" / "kernels-0"
    assert storing._usable(tmp_path / "shapband", "kernels-0") == named
    named.chmod(open_to_others)
    with pytest.warns(UserWarning, match="is not private: set NUMBA_CACHE_DIR"):
        found = storing._usable(tmp_path / "shapband", "kernels-0")
    assert found == tmp_path / f"shapband-{os.getuid()}" / "shapband" / "kernels-0"
    assert found.stat().st_mode & 0o777 == 0o700


def test_a_temporary_directory_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = tmp_path / f"shapband-{os.getuid()}"
    assert temporary_directory() == place
    assert temporary_directory() == place
    assert place.stat().st_mode & 0o777 == 0o700
    place.chmod(0o770)  # others could put code into it
    found = temporary_directory()
    assert found != place
    assert found.stat().st_mode & 0o777 == 0o700
    place.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    place.symlink_to(elsewhere)
    assert temporary_directory() not in (place, elsewhere)


def test_kernels_that_were_not_used_for_a_month_are_removed_with_the_next_version(tmp_path):
    old, used, foreign = (tmp_path / name for name in ("kernels-old", "kernels-used", "notes"))
    for place in (old, used, foreign):
        place.mkdir(mode=0o700)
        os.utime(place, (time.time() - 40 * 24 * 3600,) * 2)
    assert storing._usable(tmp_path, used.name) == used
    assert old.exists()  # nothing new was made
    storing._usable(tmp_path, "kernels-new")
    assert sorted(place.name for place in tmp_path.iterdir()) == [
        "kernels-new", "kernels-used", "notes",
    ]  # fmt: skip


def test_a_relative_cache_directory_is_not_used(monkeypatch):
    """XDG wants such a setting to be ignored; the working directory may be anybody's."""
    monkeypatch.setattr("shapband.kernels.storing.config.CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert storing._parent() in (
        Path("/home/somebody/.cache/shapband"), Path("/home/somebody/Library/Caches/shapband"),
    )  # fmt: skip


def test_every_kernel_is_stored_by_the_digest_of_all_kernels():
    from numba.core.registry import CPUDispatcher

    for file in sorted((PACKAGE / "kernels/compiled").glob("[a-z]*.py")):
        kernels = [
            kernel
            for kernel in vars(import_compiled(file.stem)).values()
            if isinstance(kernel, CPUDispatcher) and kernel._cache.cache_path is not None
        ]
        places = {kernel._cache.cache_path for kernel in kernels}
        assert places <= {str(storing.directory())}


def test_kernels_are_made_of_nothing_but_the_sources_in_the_digest():
    """A constant from another file could change without a change of the digest."""
    outside = {
        line.split()[1]
        for file in (PACKAGE / "kernels/compiled").glob("[a-z]*.py")
        for line in file.read_text().splitlines()
        if line.startswith("from shapband") and not line.startswith("from shapband.kernels.compil")
    }
    assert outside <= {"shapband._typing"}


@pytest.mark.parametrize("files", [storing.Files, IndexDataCacheFile])
def test_machine_code_of_two_processes_does_not_mix(tmp_path, files):
    """The other process stores another signature between the two files that this one writes.

    numba's own files are the control: they give the machine code of one signature for the other.
    """
    mine, other = (files(str(tmp_path), "kernel", "stamp") for _ in range(2))
    other._load_index = dict  # it has looked before this process wrote
    write = mine._save_data

    def late(name, data):
        other.save("float", "code for floats")
        write(name, data)

    mine._save_data = late
    mine.save("int", "code for ints")
    found = files(str(tmp_path), "kernel", "stamp").load("float")
    assert (found == "code for floats") == (files is storing.Files)


def test_every_kernel_uses_files_of_its_own():
    from numba.core.registry import CPUDispatcher

    for part in vars(import_compiled("linear")).values():
        if isinstance(part, CPUDispatcher) and part._cache.cache_path is not None:
            assert isinstance(part._cache._cache_file, storing.Files)


NAIVE_BAYES = """
import numpy as np
import shapband as sb
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
providers = [sb.Provider(f"p{i}", sb.ArraySource(X[i::3], y[i::3])) for i in range(3)]
utility = sb.GaussianNBUtility(X, y, score="accuracy", empty=0.0)
print(sb.value(providers, utility, sampling=sb.Fresh(10), n_games=20, seed=0).expectation.sum())
"""


@pytest.mark.long
def test_an_upgraded_wheel_runs_its_own_kernels(tmp_path):
    """The second wheel has twice the scores, by a change in a file that its callers import."""
    tree = tmp_path / "tree"
    keep = shutil.ignore_patterns(".venv*", ".git", "out", "__pycache__")
    shutil.copytree(ROOT, tree, ignore=keep)
    scores = tree / "src/shapband/kernels/compiled/class_scores.py"
    python = tmp_path / "clean/bin/python"
    venv.create(tmp_path / "clean")
    (site,) = (tmp_path / "clean/lib").glob("python*/site-packages")
    (site / "others.pth").write_text(str(Path(pytest.__file__).parents[1]))

    def upgrade():
        shutil.rmtree(tmp_path / "wheels", ignore_errors=True)
        pip = [sys.executable, "-m", "pip"]
        wheel = [*pip, "wheel", "--quiet", "--no-deps", "-w", str(tmp_path / "wheels"), str(tree)]
        subprocess.run(wheel, check=True, timeout=PATIENCE)  # noqa: S603
        (made,) = (tmp_path / "wheels").iterdir()
        install = [*pip, "--python", str(python), "install", "--quiet", "--no-deps"]
        subprocess.run(  # noqa: S603
            [*install, "--force-reinstall", str(made)], check=True, timeout=PATIENCE
        )
        where = run("import shapband; print(shapband.__file__)", str(python)).stdout
        assert where.startswith(str(site))
        return float(run(NAIVE_BAYES, str(python), XDG_CACHE_HOME=str(tmp_path / "c")).stdout)

    before = upgrade()
    source, line = scores.read_text(), "return right / codes.shape[0]"
    assert source.count(line) == 1
    scores.write_text(source.replace(line, f"{line} * 2.0"))
    assert upgrade() == pytest.approx(2 * before, rel=1e-12)
