"""After a power loss nothing that was answered and stored is asked again: number 7.

The run is kept on a file system of its own, in a file that is mounted. A copy of that file, taken
while the process is stopped, holds what had reached the disk, as after a loss of power.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import PATIENCE
from tests.runs import small

ROOT = Path(__file__).parents[2]
OPTIONS = {"delay": 0.004, "think": 0.0, "n_games": 200, "affordable": 200}


def command(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True)  # noqa: S603


def can_mount() -> bool:
    return os.geteuid() == 0 and all(shutil.which(tool) for tool in ("mkfs.ext4", "mount"))


@contextmanager
def mounted(image: Path, at: Path) -> Iterator[Path]:
    at.mkdir(exist_ok=True)
    try:
        command("mount", "-o", "loop", image, at)
    except subprocess.CalledProcessError as refused:
        pytest.skip(f"*** NO POWER LOSS TEST: file systems cannot be mounted: {refused.stderr!r}")
    try:
        yield at
    finally:
        command("umount", at)


def play(run: Path, options: dict[str, object], requests: int | None) -> subprocess.Popen[str]:
    """Start or resume; stop the process after some requests, or let it end."""
    process = subprocess.Popen(  # noqa: S603  this test itself
        [sys.executable, "-m", "tests.runs.small", "value", str(run), json.dumps(options)],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "ready\n"
    if requests is None:
        assert process.wait() == 0
        return process
    patience = time.monotonic() + PATIENCE
    while len(lines(Path(str(options["log"])))) < requests:
        assert process.poll() is None
        assert time.monotonic() < patience
        time.sleep(0.001)
    process.send_signal(signal.SIGSTOP)
    return process


def lines(log: Path) -> list[str]:
    return log.read_text().split() if log.exists() else []


def asked_again(folder: Path, requests: int, *, durable: bool = True) -> tuple[int, int]:
    """Lose the power once; count answers that were stored, and those asked for again."""
    logs = folder / "before.log", folder / "after.log"
    image, copy = folder / "disk.img", folder / "survived.img"
    with image.open("wb") as file:
        file.truncate(64_000_000)
    command("mkfs.ext4", "-q", "-F", image)
    with mounted(image, folder / "disk") as disk:
        options = {**OPTIONS, "log": str(logs[0]), "durable": durable}
        process = play(disk / "run", options, requests)
        shutil.copyfile(image, copy)
        process.kill()
        process.wait()
    with mounted(copy, folder / "survived") as disk:
        play(disk / "run", {**OPTIONS, "log": str(logs[1])}, None)
        found = small.value_in(disk / "run", {**OPTIONS, "log": str(logs[1])})
    assert found.n_games == 200
    before, after = map(lines, logs)
    # A source answers one request at a time: all but its last were stored when the next was made.
    marks = {
        small.mark_of(name, "draw", game): name for name in small.DISTANT for game in range(200)
    }
    last = {marks[mark]: mark for mark in before}
    stored = [mark for mark in before if mark not in last.values()]
    return len(stored), len(set(stored) & set(after))


@pytest.mark.skipif(not can_mount(), reason="*** NO POWER LOSS TEST: it needs root and mkfs.ext4")
def test_7_what_was_stored_survives_a_power_loss(tmp_path):
    """Number 7."""
    stored, again = asked_again(tmp_path, 60)
    assert stored > 10
    assert again == 0


@pytest.mark.long
@pytest.mark.skipif(not can_mount(), reason="*** NO POWER LOSS TEST: it needs root and mkfs.ext4")
def test_7_twenty_power_losses(tmp_path, capsys):
    """Number 7, with a control: purchases that do not wait for the disk are bought again."""
    rng = random.Random(7)  # noqa: S311
    totals = {True: [0, 0], False: [0, 0]}
    for turn in range(25):
        durable = turn < 20
        folder = tmp_path / str(turn)
        folder.mkdir()
        stored, again = asked_again(folder, rng.randrange(10, 360), durable=durable)
        totals[durable][0] += stored
        totals[durable][1] += again
        shutil.rmtree(folder)
    with capsys.disabled():
        sys.stdout.write(f"\npower losses: {totals[True]}; control: {totals[False]}\n")
    assert totals[True][0] > 500
    assert totals[True][1] == 0
    assert totals[False][1] > 0
