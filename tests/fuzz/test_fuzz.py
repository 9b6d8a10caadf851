"""Bad and odd inputs: each is refused in one line, or valued as a slow reference values it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.odd_configs import try_configs, write_files
from tests.fuzz.odd_sources import try_asked_sources, try_held_sources
from tests.fuzz.odd_utilities import (
    try_estimators,
    try_functions,
    try_neighbors,
    try_own_utilities,
)
from tests.fuzz.outcomes import Tally

Attempt = Callable[[Tally, Any], None]

# What is tried, and how many inputs of it in the long and in the ordinary tests.
TRIED: dict[str, tuple[Callable[..., None], int, int]] = {
    "sources that are asked": (try_asked_sources, 2_400, 40),
    "records in memory": (try_held_sources, 2_000, 30),
    "functions": (try_functions, 1_700, 40),
    "utilities": (try_own_utilities, 2_000, 30),
    "estimators": (try_estimators, 1_200, 30),
    "neighbours": (try_neighbors, 800, 20),
    "configurations": (try_configs, 1_000, 30),
}


def test_the_long_fuzz_has_ten_thousand_inputs():
    assert sum(many for _, many, _ in TRIED.values()) >= 10_000


@pytest.mark.parametrize("what", TRIED)
def test_a_few_odd_inputs(what, tmp_path):
    attempt, _, few = TRIED[what]
    fuzz(_bound(attempt, tmp_path), few)


@pytest.mark.long
@pytest.mark.parametrize("what", TRIED)
def test_many_odd_inputs(what, tmp_path, capsys):
    attempt, many, _ = TRIED[what]
    tally = fuzz(_bound(attempt, tmp_path), many)
    with capsys.disabled():
        print(f"\n{what}: {tally}", end=" ")  # noqa: T201
    assert tally.tried >= many
    assert tally.refused > 0
    assert tally.valued > 0


def _bound(attempt: Callable[..., None], folder: Any) -> Attempt:
    """Give the configurations a folder with the files that they name."""
    if attempt is not try_configs:
        return attempt
    write_files(folder)
    return partial(attempt, base=folder)


def fuzz(attempt: Attempt, examples: int) -> Tally:
    tally = Tally()

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def run(data: Any) -> None:
        attempt(tally, data)

    run()
    return tally
