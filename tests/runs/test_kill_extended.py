"""Extensions that are killed at random moments end with the bits of a direct run."""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import shapband as sb
from tests.runs import small
from tests.runs.test_extended_runs import bits, bought_twice
from tests.runs.test_kill import FORKS

# Arguments before and after the extension.
KINDS = {
    "games": ({"n_games": 12}, {"n_games": 24}),
    "pools": ({"n_games": 12, "n_pool": 12}, {"n_games": 12, "n_pool": 30}),
    "dealt": ({"n_games": 8, "n_pool": 12, "dealt": 1}, {"n_games": 16, "n_pool": 30, "dealt": 1}),
}


def value(
    run: Path | None, log: Path | None, n_games: int, n_pool: int = 0, dealt: int = 0
) -> sb.Valuation:
    sampling: sb.Sampling = sb.Fresh(small.SIZE)
    if n_pool:
        sampling = sb.Pooled(n_pool, small.SIZE, replace=not dealt)
    rows = small._rows(0)
    return sb.value(
        [
            sb.Provider("near", sb.ArraySource(rows, rows[:, 0])),
            sb.Provider("stock", small.Stock(log, 0.2 if n_pool else 0.02)),
        ],
        sb.FunctionUtility(small.Thinking(0.004)),
        sampling=sampling,
        solver=sb.Permutation(3),
        n_games=n_games,
        seed=small.SEED,
        chunk_size=2,
        run=run,
    )


def value_apart(ready: Connection, *arguments: Any, **options: Any) -> None:
    """What a process that will be killed does."""
    ready.send("ready")
    value(*arguments, **options)
    os._exit(0)


def killed(seconds: float | None, *arguments: Any, **options: Any) -> bool:
    """Extend or resume the run in a process; return whether it was killed before its end."""
    ready, far = FORKS.Pipe(duplex=False)
    child = FORKS.Process(target=value_apart, args=(far, *arguments), kwargs=options)
    child.start()
    far.close()
    with ready:
        assert ready.recv() == "ready"
    child.join(seconds)
    if child.exitcode is not None:
        assert child.exitcode == 0
        return False
    child.kill()
    child.join()
    return True


def torment(folder: Path, kind: str, rng: random.Random, most: int) -> int:
    """Kill an extension up to so many times, let it end, and check it; return the kills."""
    before, after = KINDS[kind]
    run, log = folder / "run", folder / "log"
    value(run, log, **before)
    began = time.perf_counter()
    direct = value(None, None, **after)
    seconds, kills = time.perf_counter() - began, 0
    while kills < most and killed(rng.uniform(0.0, seconds), run, log, **after):
        kills += 1
        sb.load(run).verify()
        assert sb.load(run).status.state != "running"
    found = value(run, log, **after)
    assert bits(found) == bits(direct)
    sb.load(run).verify()
    assert bought_twice(run) == []
    assert len(sb.load(run).status.extensions) == 1
    check_requests(sb.load(run).ledger, Counter(log.read_text().split()), kills)
    return kills


def check_requests(ledger: pd.DataFrame, logged: Counter[str], kills: int) -> None:
    """A request is repeated only after a kill that came before its answer; several may be open."""
    distant = ledger[ledger.outcome.isin(["asked", "received"])]
    for _, outcomes in distant.groupby(["providers", "purpose", "first_game"]).outcome:
        *asked, last = outcomes
        assert last == "received"
        assert set(asked) == {"asked"}
        assert len(asked) <= 1 + kills
    received = (distant.outcome == "received").sum()
    assert len(logged) == received
    # A kill may come after the entry in the ledger and before the request.
    assert sum(logged.values()) <= len(distant) - received


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_extension_resumes_with_the_bits_of_a_direct_run(tmp_path, kind):
    torment(tmp_path, kind, random.Random(kind), 2)  # noqa: S311


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_thirty_kills_of_each_kind_of_extension(tmp_path, kind, capsys):
    rng, kills, runs = random.Random(f"thirty {kind}"), 0, 0  # noqa: S311
    while kills < 30:
        folder = tmp_path / str(runs)
        folder.mkdir()
        kills, runs = kills + torment(folder, kind, rng, rng.choice([1, 2, 3])), runs + 1
    with capsys.disabled():
        sys.stdout.write(f"\nextension of {kind}: {kills} kills in {runs} runs\n")


def test_a_request_that_is_repeated_without_a_kill_is_noticed():
    """The control of `check_requests`."""

    def ledger(*outcomes: str) -> pd.DataFrame:
        rows = [{"providers": ("a",), "purpose": "draw", "first_game": 0, "outcome": one}
                for one in outcomes]  # fmt: skip
        return pd.DataFrame(rows)

    check_requests(ledger("asked", "asked", "received"), Counter({"x": 2}), kills=1)
    for outcomes, asked, kills in (
        (("asked", "asked", "received"), 2, 0),
        (("asked", "received", "asked", "received"), 2, 2),
        (("asked", "received"), 2, 2),
    ):
        with pytest.raises(AssertionError):
            check_requests(ledger(*outcomes), Counter({"x": asked}), kills)
